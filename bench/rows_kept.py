"""Costs of what is kept: the bytes of a journal file, and the memory of a server that runs for long.

The conversation has 200 turns, each with a tool call, and comes as over the wire: every request is decoded anew. New in
its requests is each message, tool and setting once, as JSON; what else is on file (pieces of replies, replies) is all
new. The server answers Chat Completions and Responses, half and half.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from _load import BenchError, Target, expect_chat, rate
from _servers import server, soundstage
from _settings import Settings
from _table import Row
from soundstage.clock import SystemClock
from soundstage.journal import Journal
from soundstage.messages import ModelRequest, ToolDefinition, call, system, tool, user
from soundstage.models import JournaledModel, Script, ScriptedModel

NAME = "kept"
TURNS = 200
FEW, MANY = 10_000, 120_000
TEXT = "A sentence of the kind that engineers and models write to each other all day. "


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    with tempfile.TemporaryDirectory() as folder:
        asked, others, new = asyncio.run(_conversation(Path(folder) / "journal.jsonl"))
        for what, size, against, least in (
            (f"journal file of a {TURNS}-turn conversation with tools", asked + others, "file", new + others),
            ("its requests alone", asked, "requests", new),
        ):
            figures = f"{size / 1024:.0f} : {least / 1024:.0f} KiB"
            yield Row(what, f"the bytes that are new in the {against}", figures, size / least, 3.0, "at most")
        few, many = _memory(Path(folder), settings.scaled(FEW), settings.scaled(MANY), settings)
        yield Row(
            f"memory of serve after {settings.scaled(MANY):,} requests, Responses included",
            f"after {settings.scaled(FEW):,}",
            f"{many / 1024:.0f} : {few / 1024:.0f} MiB",
            many / few,
            1.2,
            "at most",
        )


async def _conversation(path: Path) -> tuple[int, int, int]:
    """The bytes of lines of requests, those of other lines, and what is new in requests."""
    script = Script()
    script.on(tool_result=True).reply(f"Done. {TEXT * 2}")
    script.on(tool_result=False).reply(f"I look. {TEXT}", tool_calls=[call("read", {"path": "src/a.py"})])
    journal = Journal(path, clock=SystemClock())
    model = JournaledModel(ScriptedModel(script), journal)
    tools = tuple(
        ToolDefinition(name=f"tool_{n}", description=TEXT * 3, schema={"type": "object"}) for n in range(9)
    )
    tools = (*tools, ToolDefinition(name="read", description=TEXT, schema={"type": "object"}))
    history = [system(TEXT * 40)]
    for turn in range(TURNS):
        history.append(user(f"Question {turn}. {TEXT}"))
        for step in (0, 1):
            request = ModelRequest(
                model="m", messages=tuple(history), tools=tools, stream=True, settings={"temperature": 0.5}
            )
            anew = msgspec.json.decode(msgspec.json.encode(request), type=ModelRequest)
            stream = model.stream(anew)
            async for _ in stream:
                pass
            reply = stream.response
            history.append(reply.message())
            if step == 0:
                history.append(tool(reply.tool_calls[0].id, f"{turn}: {TEXT * 8}"))
    journal.close()
    whole = ModelRequest(model="m", messages=tuple(history), tools=tools, settings={"temperature": 0.5})
    asked = sum(
        len(line) for line in path.read_bytes().splitlines(keepends=True) if b'"ModelRequested"' in line
    )
    return asked, path.stat().st_size - asked, len(msgspec.json.encode(whole))


def _memory(folder: Path, few: int, many: int, settings: Settings) -> tuple[int, int]:
    """KiB of resident memory after few and after many requests."""
    script = folder / "script.yaml"
    script.write_text("rules:\n  - when: {user: question}\n    reply: hello\n")
    chat = (
        b'{"model":"m","messages":[{"role":"user","content":"a question of ordinary length, asked again"}]}'
    )
    responses = b'{"model":"m","input":"a question of ordinary length, asked again and again"}'
    with server(soundstage(script)) as port:
        targets = (
            Target(port, chat, expect_chat("hello")),
            Target(port, responses, _expect_response, "/v1/responses"),
        )
        found = []
        for count in (few, many - few):
            for target in targets:
                rate(target, answers=count // 2)
            found.append(_resident())
            settings.tell(f"{count} requests more, {found[-1] / 1024:.0f} MiB")
    return found[0], found[1]


def _expect_response(body: bytes) -> None:
    if b'"hello"' not in body:
        raise BenchError(f"expected hello, got {body[:200]!r}")


def _resident() -> int:
    """KiB of the newest child of this process."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    status = Path(f"/proc/{children[-1]}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    if found is None:
        raise BenchError(f"no memory is told for process {children[-1]}")
    return int(found[1])
