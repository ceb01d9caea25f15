"""The load client, one for all contestants.

How it works. N connections; each sends its request again as soon as the answer is complete, so the server is
always busy and never overrun. The status of every answer is checked, and the first answer of each connection
is read in full and compared with what is expected. After the given time the answers are counted.

The client parses with httptools in callbacks and does nothing else, so that the server is the slower side.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import httptools
import uvloop

CONNECTIONS = 16


class BenchError(Exception):
    """A contestant did not do what is measured."""


class Target(NamedTuple):
    """A request and its expected answer. `check` raises BenchError for a wrong body."""

    port: int
    body: bytes
    check: Callable[[bytes], None]
    path: str = "/v1/chat/completions"

    def request(self) -> bytes:
        """The bytes of the request."""
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer bench-key\r\nContent-Length: {len(self.body)}\r\n\r\n"
        )
        return head.encode() + self.body


def rate(target: Target, *, seconds: float = 0.0, answers: int = 0, connections: int = CONNECTIONS) -> float:
    """Answers per second of a server, over so many seconds or so many answers.

    Raises:
        BenchError: for a wrong status, a wrong text or a connection that breaks.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(closed_loop(target, seconds, answers, connections))


async def closed_loop(target: Target, seconds: float, answers: int, connections: int) -> float:
    """The same inside a running loop."""
    loop = asyncio.get_running_loop()
    tally = _Tally(loop.create_future(), answers, target)
    made = [
        (await loop.create_connection(lambda: _Connection(tally), "127.0.0.1", target.port))[1]
        for _ in range(connections)
    ]
    try:
        start = time.perf_counter()
        for connection in made:
            connection.send()
        if seconds:
            loop.call_later(seconds, tally.stop)
        await tally.over
        if not tally.count:
            raise BenchError(f"no answer within {seconds} s: the machine is too busy to measure")
        return tally.count / (time.perf_counter() - start)
    finally:
        for connection in made:
            connection.transport.abort()


class _Tally:
    """Counts shared by all connections."""

    def __init__(self, over: asyncio.Future[None], limit: int, target: Target) -> None:
        self.over = over
        self.limit = limit or 1 << 60
        self.check = target.check
        self.request = target.request()
        self.count = 0

    def stop(self) -> None:
        if not self.over.done():
            self.over.set_result(None)

    def fail(self, reason: str) -> None:
        if not self.over.done():
            self.over.set_exception(BenchError(reason))


class _Connection(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self, tally: _Tally) -> None:
        self.tally = tally
        self.body: list[bytes] = []
        self.parser = httptools.HttpResponseParser(_FirstAnswer(self))

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def send(self) -> None:
        self.transport.write(self.tally.request)

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.tally.fail(f"the answer is not HTTP: {error}")

    def on_message_complete(self) -> None:
        """An answer is complete."""
        tally = self.tally
        if self.parser.get_status_code() != 200:
            tally.fail(f"status {self.parser.get_status_code()}")
        tally.count += 1
        if tally.count >= tally.limit:
            tally.stop()
        elif not tally.over.done():
            self.transport.write(tally.request)

    def first_complete(self) -> None:
        """The first answer is complete: look at its text. From now on only the status is looked at."""
        try:
            self.tally.check(b"".join(self.body))
        except BenchError as error:
            self.tally.fail(str(error))
        self.on_message_complete()
        self.parser = httptools.HttpResponseParser(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.tally.fail(f"the server closed a connection ({exc})")


class _FirstAnswer:
    """Callbacks of the parser while the first answer is read."""

    def __init__(self, connection: _Connection) -> None:
        self.on_body = connection.body.append
        self.on_message_complete = connection.first_complete


def expect_chat(text: str) -> Callable[[bytes], None]:
    """A check for a complete chat answer."""

    def check(body: bytes) -> None:
        _same(json.loads(body)["choices"][0]["message"]["content"], text)

    return check


def expect_stream(text: str, pieces: int) -> Callable[[bytes], None]:
    """A check for a streamed chat answer: this text, in so many pieces, with a proper end."""

    def check(body: bytes) -> None:
        found, ended = stream_pieces(body)
        _same("".join(found), text)
        if len(found) != pieces or not ended:
            raise BenchError(f"expected {pieces} pieces and an end, got {len(found)} and {ended=}")

    return check


def stream_pieces(body: bytes) -> tuple[list[str], bool]:
    """The pieces of text in a stream of chat events, and whether it has its end."""
    events = [line.removeprefix("data: ") for line in body.decode().split("\n") if line.startswith("data: ")]
    chunks = [json.loads(event) for event in events if event != "[DONE]"]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return [delta["content"] for delta in deltas if delta.get("content")], events[-1:] == ["[DONE]"]


def _same(found: object, text: str) -> None:
    if found != text:
        raise BenchError(f"expected the text {text!r}, got {found!r}")
