"""Odd requests: what no client of a provider sends on purpose, made of what they do send.

`odd(seed)` gives a body with some of its values changed, taken away, or moved into another; `posted` also breaks its
bytes. `answer` hands a request to a handler as the server does, and fails where the server would have said 500;
`no_longer_than` fails where it would have hung.

More of them, by hand: `make fuzz N=5000 SEED=7`. The files that are called `test_odd_*.py` take part.
"""

from __future__ import annotations

import contextlib
import copy
import json
import signal
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from soundstage.journal import Journal, decode_record, encode_record
from soundstage.net import Exchange, HttpRequest

Json = Any
SLOWEST = 20.0  # seconds for one case, on a machine that is busy


def _nested(levels: int) -> Json:
    value: Json = "deep"
    for level in range(levels):
        value = [value] if level % 2 else {"x": value}
    return value


VALUES: list[Json] = [
    *(None, True, False, 0, -1, 1, 2, 1.5, -0.0, 2**31, 2**63, 2**70, -(2**70), 10**4000, 300_000_000, 1e308),
    *(
        "",
        "x",
        " ",
        "\x00",
        "²",
        "é\u2028",
        "\U0001f642" * 40,
        "-1",
        "9" * 30,
        "a" * 3000,
        "[" * 2000,
        "@me",
        "..",
        "%zz",
    ),
    *([], [[]], [None], ["x"], [0], [{}], [5, "x", None], ["x"] * 120),
    *(
        {},
        {"": None},
        {"type": 5},
        {"type": "x"},
        {"text": 5},
        {"name": None},
        {"id": "x"},
        {"content": {"x": [1]}},
    ),
    *(_nested(20), _nested(300)),
]
JUNK = [
    b"",
    b"\xff",
    b"{",
    b"}",
    b"]",
    b"\x00",
    b'"',
    b"\\ud800",
    b"[" * 3000,
    b"--x\r\n",
    b"\r\n\r\n",
    b"1e999",
    b"9" * 5000,
]


def _places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


def _changed(draw: st.DrawFn, body: Json) -> Json:
    places = list(_places(body))
    path = draw(st.sampled_from(places))
    if not path:
        return copy.deepcopy(draw(st.sampled_from(VALUES))) if draw(st.integers(0, 9)) == 0 else body
    holder = body
    for key in path[:-1]:
        holder = holder[key]
    act = draw(st.sampled_from(["replace", "replace", "replace", "move", "drop", "add"]))
    if act == "drop":
        del holder[path[-1]]
    elif act == "move":
        other: Json = body
        for key in draw(st.sampled_from(places)):
            other = other[key]
        holder[path[-1]] = copy.deepcopy(other)
    elif act == "add" and isinstance(holder, list):
        holder.append(copy.deepcopy(draw(st.sampled_from(VALUES))))
    else:
        holder[path[-1]] = copy.deepcopy(draw(st.sampled_from(VALUES)))
    return body


@st.composite
def odd(draw: st.DrawFn, seed: Json) -> Json:
    """`seed` with one to four changes."""
    body = copy.deepcopy(seed)
    for _ in range(draw(st.integers(1, 4))):
        body = _changed(draw, body)
    return body


@st.composite
def posted(draw: st.DrawFn, seed: Json) -> bytes:
    """An odd body as bytes; some are no JSON at all."""
    body = json.dumps(draw(odd(seed))).encode()
    if draw(st.integers(0, 7)):
        return body
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, min(start + 20, len(body))))
    return body[:start] + draw(st.sampled_from(JUNK)) + body[end:]


async def answer(
    handler: Callable[[HttpRequest, Exchange], Awaitable[None]], request: HttpRequest
) -> tuple[int, bytes]:
    """Status and body of the answer. What a handler raises is raised: the server makes a 500 of it."""
    client = _Client()
    await handler(request, Exchange(client, head_only=False, keep=True, old=False))
    head, _, body = bytes(client.sent).partition(b"\r\n\r\n")
    status = int(head.split()[1])
    return status, b"".join(_chunks(body)) if b"transfer-encoding: chunked" in head else body


class _Client:
    """A connection that takes everything."""

    unwritable = False

    def __init__(self) -> None:
        self.sent = bytearray()
        self.transport = self

    def write(self, data: bytes) -> None:
        self.sent += data

    async def drain(self) -> None:
        return

    def stays(self) -> bool:
        return True

    def answered(self, *, keep: bool) -> None:
        return


def _chunks(body: bytes) -> Iterator[bytes]:
    while body:
        size, _, rest = body.partition(b"\r\n")
        yield rest[: int(size, 16)]
        body = rest[int(size, 16) + 2 :]


def assert_readable(journal: Journal) -> None:
    """Every record reads back as it is, also in a reader that is itself deep in calls."""
    for record in journal.read():
        line = encode_record(record)
        assert encode_record(decode_record(line)) == line


@contextlib.contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Break off what hangs, also where it never lets the event loop run."""

    def over(signum: int, frame: Any) -> None:
        raise AssertionError(f"one case takes longer than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
