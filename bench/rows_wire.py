"""The wire: requests per second of `soundstage serve` against a constant answer and against aimock.

Every server is a process on the one core, the client is on the other. All run side by side and are asked in
turns. Ours has 10 rules, then 10,000, and in both cases the last rule is the one that matches.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _aimock
from _load import Target, expect_chat, expect_stream, rate
from _pairs import interleave, ratio
from _servers import CLIENT_CORE, constant, on_core, server, soundstage
from _settings import Settings
from _table import Row, per_second

NAME = "wire"
MANY, FEW, PIECES, PIECE = 10_000, 10, 20, 20
LARGE = 400_000  # bytes of a request
STREAMED = "".join(f"words of chunk {number:4} " for number in range(PIECES))


def _question(number: int) -> str:
    return f"This is question {number} please."


def _answer(number: int) -> str:
    return f"The answer to question {number} is short."


_ASKED = {
    "few": (_question(FEW), expect_chat(_answer(FEW))),
    "many": (_question(MANY), expect_chat(_answer(MANY))),
    "stream": ("tell me a story", expect_stream(STREAMED, PIECES)),
    "large": (f"{'words of a long file ' * (LARGE // 21)} {_question(FEW)}", expect_chat(_answer(FEW))),
}
_FILES = {"large": "few"}  # kinds that have the script and the fixtures of another


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    absent = _aimock.missing()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        targets = _start(Path(folder), stack, with_aimock=not absent)
        with on_core(CLIENT_CORE):
            for name, target in targets.items():
                settings.tell(f"warming up {name}")
                answers = _aimock.WARM_UP if len(target.body) < LARGE // 2 else _aimock.WARM_UP // 10
                rate(target, answers=settings.scaled(answers, least=answers // 10))
            turns = {name: _turn(target, settings.seconds) for name, target in targets.items()}
            rates = interleave(turns, settings.rounds, settings.tell)
    yield from _compared(rates, absent)


def _turn(target: Target, seconds: float) -> Callable[[], float]:
    return lambda: rate(target, seconds=seconds)


def _compared(rates: dict[str, list[float]], absent: str) -> Iterator[Row]:
    few = f"wire, chat, no stream, {FEW} rules"
    many = f"wire, chat, no stream, {MANY:,} rules, the last one matches"
    streamed = f"wire, chat, stream of {PIECES} chunks"
    large = f"wire, chat, a request of {LARGE // 1000} kB, journaled to a file"
    aimock = f"aimock {_aimock.version()}"
    for what, ours, against, theirs, target in (
        (few, "few", "uvicorn, a constant answer", "constant", 0.5),
        (few, "few", f"{aimock}, 1 fixture", "aimock", 2.0),
        (many, "many", f"the same with {FEW} rules", "few", 0.9),
        (many, "many", f"{aimock}, {MANY:,} fixtures", "aimock many", 6.0),
        (streamed, "stream", f"{aimock}, the same chunks", "aimock stream", 2.0),
        (large, "large", f"{aimock}, the same body, no journal", "aimock large", 1.5),
    ):
        if theirs not in rates:
            yield Row(what, against, absent, target=target)
            continue
        figures = f"{per_second(rates[ours])} : {per_second(rates[theirs])}"
        yield Row(what, against, figures, ratio(rates[ours], rates[theirs]), target)


def _start(folder: Path, stack: contextlib.ExitStack, *, with_aimock: bool) -> dict[str, Target]:
    def start(argv: list[str]) -> int:
        return stack.enter_context(server(argv))

    files = {name: _write(folder / f"{name}.json", value) for name, value in _files().items()}
    answer = _write(folder / "constant.json", _constant_answer())
    found = {"constant": _target(start(constant(answer, "application/json")), "few")}
    for kind in _ASKED:
        more = ("--journal", str(folder / "journal.jsonl")) if kind == "large" else ()
        found[kind] = _target(start(soundstage(files[_FILES.get(kind, kind)], *more)), kind)
    if with_aimock:
        for kind in _ASKED:
            name = "aimock" if kind == "few" else f"aimock {kind}"
            more = ("--chunk-size", str(PIECE)) if kind == "stream" else ()
            fixtures = files[f"aimock-{_FILES.get(kind, kind)}"]
            found[name] = _target(start(_aimock.command(fixtures, *more)), kind)
    return found


def _target(port: int, kind: str) -> Target:
    text, check = _ASKED[kind]
    return Target(port, _body(text, stream=kind == "stream"), check)


def _body(text: str, *, stream: bool) -> bytes:
    messages = [{"role": "system", "content": "You are helpful."}, {"role": "user", "content": text}]
    return json.dumps(
        {"model": "gpt-4o", "messages": messages, **({"stream": True} if stream else {})}
    ).encode()


def _write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def _files() -> dict[str, Any]:
    """Scripts for ours and fixtures for aimock that say the same."""

    def script(count: int) -> dict[str, Any]:
        rules = [
            {"when": {"user": f"question {n} "}, "reply": {"text": _answer(n)}} for n in range(1, count + 1)
        ]
        return {"rules": rules}

    def fixtures(*numbers: int) -> dict[str, Any]:
        return {
            "fixtures": [
                {"match": {"userMessage": f"question {n} "}, "response": {"content": _answer(n)}}
                for n in numbers
            ]
        }

    pieces = [STREAMED[place : place + PIECE] for place in range(0, len(STREAMED), PIECE)]
    story = {"match": {"userMessage": "a story"}, "response": {"content": STREAMED}}
    return {
        "few": script(FEW),
        "many": script(MANY),
        "stream": {"rules": [{"when": {"user": "a story"}, "reply": {"chunks": pieces}}]},
        "aimock-few": fixtures(FEW),
        "aimock-many": fixtures(*range(1, MANY + 1)),
        "aimock-stream": {"fixtures": [story]},
    }


def _constant_answer() -> dict[str, Any]:
    """An answer like ours, byte for byte as long."""
    message = {"role": "assistant", "content": _answer(FEW), "refusal": None}
    return {
        "id": "chatcmpl-" + "0" * 24,
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 9,
            "total_tokens": 21,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "system_fingerprint": "fp_soundstage",
    }
