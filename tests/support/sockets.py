"""An HTTP server on a loop of either kind, and a client of which a test sees every byte."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Coroutine
from typing import Any, NamedTuple, TypeVar

import uvloop

from soundstage.journal import Journal
from soundstage.net import Exchange, HttpRequest, HttpServer

T = TypeVar("T")
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
PLAIN = {"content-type": "text/plain"}
BIG = b"0123456789abcdef" * 65_536  # 1 MiB


def run_on(loop: str, main: Coroutine[Any, Any, T]) -> T:
    """Run a test on a loop of this kind; one that hangs fails."""

    async def limited() -> T:
        async with asyncio.timeout(30):
            return await main

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(limited())


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool = True


class Client:
    """One connection, of which tests see every byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, method="GET", path="/", body=b"", headers=()):
        head = [f"{method} {path} HTTP/1.1", "host: test", *headers]
        if body:
            head.append(f"content-length: {len(body)}")
        self.writer.write("\r\n".join([*head, "", ""]).encode() + body)

    async def head(self):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = [line.partition(": ") for line in lines[1:] if line]
        return int(lines[0].split()[1]), {name: value for name, _, value in pairs}

    async def chunk(self):
        """One chunk of a stream as it was framed; nothing at the end of the stream."""
        size = int((await self.reader.readline()).strip(), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def chunks(self):
        while data := await self.chunk():
            yield data

    async def answer(self, *, bodyless=False):
        status, headers = await self.head()
        if bodyless:
            return Answer(status, headers, b"")
        if "content-length" in headers:
            return Answer(status, headers, await self.reader.readexactly(int(headers["content-length"])))
        return Answer(status, headers, b"".join([data async for data in self.chunks()]))


@contextlib.asynccontextmanager
async def connect(server: HttpServer) -> AsyncIterator[Client]:
    host, port = re.match(r"\w+://\[?(.*?)\]?:(\d+)(?:/|$)", server.url).groups()
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def serving(handler, **options) -> AsyncIterator[HttpServer]:
    server = HttpServer(handler, Journal(), **options)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def no_task_is_left():
    """All other tasks come to their end by themselves."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        _, pending = await asyncio.wait(others, timeout=10)
        assert not pending


async def still_answers(server):
    async with connect(server) as client:
        client.send(path="/echo", body=b"alive")
        assert (await client.answer()).body == b"alive"


async def echo(request: HttpRequest, exchange: Exchange) -> None:
    await exchange.reply(
        200, PLAIN, request.body or f"{request.method} {request.path}?{request.query}".encode()
    )


def streams(items):
    """A handler that streams what `items()` yields, and echoes under /echo."""

    async def handler(request, exchange):
        if request.path == "/echo":
            await echo(request, exchange)
            return
        await exchange.begin(200, PLAIN)
        async for item in exchange.each(items()):
            exchange.write(item)
        await exchange.end()

    return handler
