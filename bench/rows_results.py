"""The result of a run that changed a hundred files, as soon as its journal has ended.

A hundred files of 200 lines are each changed twice, with a tool call and two hooks around each change, 1,000 records in
all; contents lie in the folder beside the journal. The records are in memory, as they are when a run ends.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from _pairs import median
from _settings import Settings
from _table import Row
from soundstage.journal import HookFired, Journal, Record, Redactor, ToolCalled, ToolReturned, file_changed
from soundstage.runs import build_result

NAME = "results"
FILES, LIMIT = 100, 50.0


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    with tempfile.TemporaryDirectory() as name:
        journal = Journal(Path(name) / "run.jsonl", redactor=Redactor())
        _fill(journal)
        records = journal.read()
        journal.close()
        built = median([_built(journal, records) for _ in range(5 * settings.rounds)])
    figures = f"{len(records):,} records, {built:.1f} ms"
    yield Row(
        f"the result of a run with {FILES} changed files", "a limit", figures, built, LIMIT, "at most", "ms"
    )


def _fill(journal: Journal) -> None:
    for turn in range(2):
        for number in range(FILES):
            call = f"{turn}-{number}"
            given = {"tool_name": "Edit", "tool_input": {"file_path": f"src/{number}.py"}}
            before = HookFired(hook="before", event="PreToolUse", call_id=call, input=given, paired=True)
            journal.append(before, source="agent")
            journal.append(
                ToolCalled(call_id=call, name="Edit", arguments=given["tool_input"]), source="agent"
            )
            event = file_changed(
                journal.contents, f"src/{number}.py", _text(number, turn), _text(number, turn + 1)
            )
            assert event is not None
            journal.append(event, source="workspace")
            journal.append(ToolReturned(call_id=call, text="ok"), source="agent")
            journal.append(
                HookFired(hook="after", event="PostToolUse", call_id=call, input=given), source="agent"
            )


def _text(number: int, state: int) -> bytes:
    return "".join(f"line {line} of {number}{state * (line % 50 == 0)}\n" for line in range(200)).encode()


def _built(journal: Journal, records: list[Record]) -> float:
    """Milliseconds until the result is there; its patches are read behind it."""
    begun = time.perf_counter()
    result = build_result(records, objects=journal.contents)
    took = (time.perf_counter() - begun) * 1000
    assert (len(result.files), result.status) == (FILES, "complete")
    assert all(entry.patch for entry in result.files)
    return took
