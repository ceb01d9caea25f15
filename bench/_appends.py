"""Appends of events of several kinds, to a journal in memory and on file. A workload of `pairs.py`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from soundstage.journal import Journal, MessageSent, ModelChunked, ModelRequested, Noted, Redactor, ToolCalled
from soundstage.messages import ModelRequest, TextChunk, assistant, system, user

TEXT = "Hello, this is a message of ordinary length."
TURNS = [message for number in range(10) for message in (user(f"{TEXT} {number}"), assistant(TEXT))]
EVENTS = {
    "message": lambda: MessageSent(text=TEXT),
    "chunk": lambda: ModelChunked(chunk=TextChunk(index=0, text="Hello, ")),
    "call": lambda: ToolCalled(call_id="c1", name="read", arguments={"path": "a.txt", "lines": [1, 2]}),
    "note": lambda: Noted(text=TEXT, data={"x": 1}),
    "request of 21 messages": lambda: ModelRequested(
        request=ModelRequest(model="m", messages=(system(TEXT), *TURNS), settings={"temperature": 0.5})
    ),
}
COUNT = 2000


def once(kind: str, secrets: list[str] | None = None) -> float:
    """Seconds of one append; to a file whose journal knows these secrets, or in memory without them."""
    make = EVENTS[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = None if secrets is None else Path(folder) / "journal.jsonl"
        journal = Journal(path, redactor=Redactor(secrets or []))
        begun = time.perf_counter()
        for _ in range(COUNT):
            journal.append(make(), source="s", cause=None)
        spent = (time.perf_counter() - begun) / COUNT
        journal.close()
    return spent
