"""Looking at the fields of a request, at all depths: processor time of an answer, against the same without the look.

What an answer costs is measured at a server of ours, and the look beside it in this process, on bodies that have just
been decoded as the server decodes them. The difference of two servers cannot show it: the look at a small request takes
a millionth of a second, and the same server differs from itself by ten times as much from one round to the next. The
large requests are conversations of an agent with tools, so that they have many objects, and each is looked at.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from _load import BenchError, Target, expect_chat, rate
from _pairs import interleave, ratio
from _servers import newest_child, server, soundstage, spent
from _settings import Settings
from _table import Row, micros
from soundstage.wire._fields import ANTHROPIC, CHAT, RESPONSES, RequestTable

NAME = "fields"
SIZE = 400_000  # bytes of a large request
ANSWER = "It is done."
SMALL, LARGE = 200, 3  # answers in a turn
ROUNDS = 5  # for each of another row
TOOLS, TEXT = 30, "A line of a file that an agent has read, as long as lines are. "


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps({"rules": [{"when": {"user": "please"}, "reply": {"text": ANSWER}}]}))
        port = stack.enter_context(server(soundstage(script)))
        process = newest_child()
        for what, table, target, answers, most in _requests():
            asked = target(port)
            turns = {
                "answer": partial(_answered, asked, process, answers),
                "look": partial(_looked, table, asked.body, answers),
            }
            interleave(turns, 1)  # warms up
            times = interleave(turns, ROUNDS * settings.rounds, settings.tell)
            without = [answer - look for answer, look in zip(times["answer"], times["look"], strict=True)]
            figures = f"{micros(times['look'])} of {micros(times['answer'])} of the processor"
            value = ratio(times["answer"], without)
            yield Row(what, "the same without the look at fields", figures, value, most, "at most")


def _answered(target: Target, process: int, answers: int) -> float:
    before = spent(process)
    rate(target, answers=answers, connections=2)
    return (spent(process) - before) / answers


def _looked(table: RequestTable, body: bytes, answers: int) -> float:
    spent = 0.0
    for _ in range(answers):
        given = msgspec.json.decode(body)
        before = time.thread_time()
        table.check(given)
        spent += time.thread_time() - before
    return spent / answers


def _requests() -> Iterator[tuple[str, RequestTable, Callable[[int], Target], int, float]]:
    """Rows: words, the table of the format, target at a port, answers in a turn, and the most that looking may cost."""
    small = {"model": "m", "messages": [{"role": "user", "content": "Go on, please."}]}
    for what, table, path, body, check, answers, most in (
        ("chat, a small request", CHAT, "/v1/chat/completions", small, expect_chat(ANSWER), SMALL, 1.05),
        ("chat", CHAT, "/v1/chat/completions", _chat(), expect_chat(ANSWER), LARGE, 1.10),
        ("Anthropic", ANTHROPIC, "/v1/messages", _anthropic(), _expect_anthropic, LARGE, 1.10),
        ("Responses", RESPONSES, "/v1/responses", _responses(), _expect_responses, LARGE, 1.10),
    ):
        encoded = json.dumps(body).encode()
        size = "" if what.endswith("request") else f", {len(encoded) // 1000} kB with {TOOLS} tools"
        yield f"fields of {what}{size}", table, partial(_target, encoded, check, path), answers, most


def _target(body: bytes, check: Callable[[bytes], None], path: str, port: int) -> Target:
    return Target(port, body, check, path)


def _expect_anthropic(body: bytes) -> None:
    _same(json.loads(body)["content"][0]["text"])


def _expect_responses(body: bytes) -> None:
    _same(json.loads(body)["output"][0]["content"][0]["text"])


def _same(found: object) -> None:
    if found != ANSWER:
        raise BenchError(f"expected the text {ANSWER!r}, got {found!r}")


def _grown(turn: Callable[[int], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """A conversation as long as a large request is; each turn has a call of a tool and its result."""
    found: list[dict[str, Any]] = []
    size = 0
    while size < SIZE:
        added = turn(len(found))
        size += len(json.dumps(added))
        found += added
    return found


def _schema(number: int) -> dict[str, Any]:
    path = {"type": "string", "description": f"The file that tool {number} takes."}
    return {"type": "object", "properties": {"path": path}, "required": ["path"]}


def _chat() -> dict[str, Any]:
    def turn(number: int) -> list[dict[str, Any]]:
        function = {"name": "tool1", "arguments": '{"path": "a.py"}'}
        return [
            {"role": "user", "content": [{"type": "text", "text": f"Go on, please. {number}"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": TEXT * 12},
            {"role": "assistant", "content": TEXT},
        ]

    tools = [
        {"type": "function", "function": {"name": f"tool{n}", "description": TEXT, "parameters": _schema(n)}}
        for n in range(TOOLS)
    ]
    last = {"role": "user", "content": "Go on, please."}
    return {"model": "m", "temperature": 0, "tools": tools, "messages": [*_grown(turn), last]}


def _anthropic() -> dict[str, Any]:
    def turn(number: int) -> list[dict[str, Any]]:
        call = {"type": "tool_use", "id": f"c{number}", "name": "tool1", "input": {"path": "a.py"}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [_text(TEXT * 12)]}
        return [
            {"role": "user", "content": [_text(f"Go on, please. {number}")]},
            {"role": "assistant", "content": [_text(TEXT), call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [_text(TEXT)]},
        ]

    tools = [{"name": f"tool{n}", "description": TEXT, "input_schema": _schema(n)} for n in range(TOOLS)]
    last = {"role": "user", "content": [_text("Go on, please.")]}
    messages = [*_grown(turn), last]
    return {"model": "m", "max_tokens": 99, "system": [_text(TEXT)], "tools": tools, "messages": messages}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _responses() -> dict[str, Any]:
    def turn(number: int) -> list[dict[str, Any]]:
        named = {"type": "function_call", "call_id": f"c{number}", "name": "tool1"}
        said = [{"type": "input_text", "text": f"Go on, please. {number}"}]
        return [
            {"role": "user", "content": said},
            {**named, "arguments": '{"path": "a.py"}'},
            {"type": "function_call_output", "call_id": f"c{number}", "output": TEXT * 12},
            {"role": "assistant", "content": [{"type": "output_text", "text": TEXT}]},
        ]

    tools = [
        {"type": "function", "name": f"tool{n}", "description": TEXT, "parameters": _schema(n)}
        for n in range(TOOLS)
    ]
    last = {"role": "user", "content": "Go on, please."}
    return {"model": "m", "tools": tools, "input": [*_grown(turn), last]}
