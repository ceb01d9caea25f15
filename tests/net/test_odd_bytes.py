"""Odd bytes on the sockets of our servers: an answer in the shape of HTTP or WebSocket, or a close, and nothing left.

A case is what a client would send, cut, doubled, spoilt, and given in pieces, from a client that reads, leaves or
breaks off. A whole request is answered, and so is the head of a handshake; a ping right behind a good one gets its
pong. After each case the server answers a good request, has no connection of that client and no task for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Opcode

from soundstage.clock import SystemClock
from soundstage.discord import Discord
from soundstage.journal import DaemonChanged, Journal
from soundstage.mcp import McpServer
from soundstage.models import Script, ScriptedModel
from soundstage.net import HttpServer
from soundstage.nostr import NostrRelay
from soundstage.wire import ModelServer
from support.frames import frame, goodbye, handshake, told
from support.odd import JUNK, SLOWEST, assert_readable, no_longer_than
from support.sockets import LOOPS, connect, echo
from support.wires import WIRES

ROUNDS = 6  # of the loop, in which a server reads what has been written
LATE = 5.0  # seconds after which something is left behind


def post(path: str, body: Any, *headers: str) -> bytes:
    data = json.dumps(body).encode()
    head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers]
    return "\r\n".join([*head, f"Content-Length: {len(data)}", "", ""]).encode() + data


def chunked(path: str, body: Any) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    pieces = [data[start : start + 20] for start in range(0, len(data), 20)]
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]).encode()


class Kind(NamedTuple):
    """A server, how it is made, what its clients send, and the bytes to which it answers with 200."""

    make: Callable[[Journal], HttpServer]
    sent: list[bytes]
    good: bytes
    messages: Sequence[bytes] = ()
    sockets: Sequence[str] = ()  # paths of its WebSockets


async def socket_echo(websocket: Any) -> None:
    if websocket.path == "/no":
        await websocket.refuse(404, "not here")
        return
    await websocket.accept()
    if websocket.path == "/bye":
        await websocket.close(4000, "bye")
    while True:
        await websocket.send(await websocket.receive())


def model_server(journal: Journal) -> HttpServer:
    script = Script()
    script.on(contains="call").reply(tool_calls=[{"name": "x", "arguments": {}}], check_calls=False)
    script.on().reply("an answer of some words, in pieces")
    return ModelServer(ScriptedModel(script), journal)


def model_requests() -> list[bytes]:
    bodies = [(wire.path, wire.body("hi", "")) for wire in WIRES.values()]
    bodies += [
        (wire.stream_path, wire.body("call", "") | ({} if wire.name == "gemini" else {"stream": True}))
        for wire in WIRES.values()
    ]
    return [
        *(post(path, body) for path, body in bodies),
        *(chunked(path, body) for path, body in bodies),
        get("/v1/models"),
    ]


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
TAKES = "Accept: application/json, text/event-stream"
IDENTIFY = {"op": 2, "d": {"token": "x", "intents": 0, "properties": {}}}
NOTE = {
    "id": "0" * 64,
    "pubkey": "0" * 64,
    "created_at": 1,
    "kind": 1,
    "tags": [],
    "content": "x",
    "sig": "0" * 128,
}

KINDS = {
    "bare": Kind(
        lambda journal: HttpServer(echo, journal, websocket=socket_echo),
        [get("/a"), post("/b", {"x": "y"}), chunked("/c", ["z"] * 9), post("/d", 1, "Expect: 100-continue")],
        get("/good"),
        [b"text", b"\xc3\xa9"],
        ["/", "/no", "/bye"],
    ),
    "model server": Kind(model_server, model_requests(), get("/health")),
    "discord": Kind(
        Discord,
        [
            get("/api/v10/users/@me", "Authorization: Bot x"),
            post("/api/v10/channels/1/messages", {"content": "x"}),
        ],
        get("/api/v10/gateway"),
        [json.dumps(IDENTIFY).encode(), b'{"op": 1, "d": null}', b'{"op": 6, "d": {}}'],
        ["/?v=10&encoding=json", "/?v=10&encoding=etf", "/?v=10&encoding=json&compress=zlib-stream", "/x"],
    ),
    "nostr": Kind(
        NostrRelay,
        [get("/", "Accept: application/nostr+json"), get("/x")],
        get("/", "Accept: application/nostr+json"),
        [b'["REQ", "a", {"kinds": [1]}]', json.dumps(["EVENT", NOTE]).encode(), b'["CLOSE", "a"]'],
        ["/"],
    ),
    "mcp": Kind(
        McpServer,
        [post("/mcp", INITIALIZE, TAKES), post("/mcp", PING, TAKES), get("/mcp", TAKES)],
        post("/mcp", INITIALIZE, TAKES),
        [json.dumps(one).encode() for one in (INITIALIZE, PING)],
        ["/stdio", "/mcp"],
    ),
}
SPOILT = [
    *JUNK,
    *(b"\r\n", b"\n", b" ", b":", b"0", b"-1", b"ffffffffffffffffff", b"%00", b"%", b"\xc3\xa9", b"x" * 9000),
    *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"HTTP/1.0"),
    *(b"Connection: close\r\n", b"Connection: Upgrade\r\n", b"Upgrade: websocket\r\n", b"Upgrade: h2c\r\n"),
    *(
        b"Sec-WebSocket-Key: x\r\n",
        b"Sec-WebSocket-Protocol: a\r\n",
        b"Content-Encoding: gzip\r\n",
        b"PUT ",
        b"HEAD",
    ),
]


@st.composite
def frames(draw: st.DrawFn, messages: Sequence[bytes]) -> bytes:
    """One frame, more often good than odd."""
    data = draw(st.sampled_from([*messages, b"", b"\xff", b"{", b"x" * 200]))
    act = draw(
        st.sampled_from(["good", "good", "good", "ping", "part", "bare", "bye", "code", "bytes", "opcode"])
    )
    if act == "part":
        half = len(data) // 2
        return frame(data[:half], fin=False) + frame(data[half:], Opcode.CONT)
    return {
        "good": lambda: frame(data),
        "ping": lambda: frame(data[:100], draw(st.sampled_from([Opcode.PING, Opcode.PONG]))),
        "bare": lambda: frame(data, mask=False),
        "bye": goodbye,
        "code": lambda: goodbye(draw(st.sampled_from([0, 999, 1004, 1005, 1006, 1015, 3000, 4999, 65535]))),
        "bytes": lambda: frame(data, Opcode.BINARY, fin=draw(st.booleans())),
        "opcode": lambda: bytes([draw(st.integers(0, 255)), draw(st.integers(0, 255))]) + data,
    }[act]()


@st.composite
def spoilt(draw: st.DrawFn, data: bytes) -> bytes:
    """`data` with nothing, or some of its bytes, changed."""
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2, 4]))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(start + 30, len(data))))
        new = draw(st.sampled_from([*SPOILT, data[start:end] * 2]))
        lines = [found.end() for found in re.finditer(rb"\r\n", data)]
        if new.endswith(b"\r\n") and len(new) > 2 and lines:
            start = end = draw(st.sampled_from(lines))
        data = data[:start] + new + data[end:]
    return data


class Case(NamedTuple):
    """The bytes of a client, how it ends, and what it is owed before: nothing, an answer, or a pong."""

    pieces: list[bytes]
    end: str
    owed: Literal["", "answer", "pong"]


@st.composite
def cases(draw: st.DrawFn, kind: Kind) -> Case:
    """Pieces of bytes from one client, and how it ends."""
    owed: Literal["", "answer", "pong"] = ""
    before = b"".join(draw(st.lists(st.sampled_from(kind.sent), max_size=2)))
    if kind.sockets and draw(st.booleans()):
        good = handshake(draw(st.sampled_from(kind.sockets)))
        data = draw(spoilt(good))
        if draw(st.integers(0, 4)) == 0:
            data = before + data
        elif data == good:
            owed = "pong"
        elif b"\r\n\r\n" in data and not re.search(rb"(?i)content-length|transfer-encoding", data):
            owed = "answer"
        data += frame(b"first", Opcode.PING) + b"".join(draw(st.lists(frames(kind.messages), max_size=5)))
    else:
        data = draw(spoilt(before))
        owed = "answer" if data and data == before else ""
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=3)))
    pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    end = draw(st.sampled_from(["read", "read", "close", "half", "abort"]))
    return Case(pieces, end, owed if end == "read" else "")


def assert_answers(data: bytes) -> None:
    """All bytes of a server are whole answers, of which the last may be cut; no status is 500."""
    while data:
        found = re.match(rb"HTTP/1\.1 (\d{3})[ \w-]*\r\n((?:[\w-]+: [^\r\n]*\r\n)*)\r\n", data)
        if found is None:
            assert b"\r\n\r\n" not in data, data
            return
        status, fields, rest = int(found[1]), found[2].lower(), data[found.end() :]
        assert status < 500, data
        if status == 101:
            assert told(data)
            return
        if status < 200:
            data = rest
            continue
        length = re.search(rb"content-length: (\d+)", fields)
        if length is not None:
            data = rest[int(length[1]) :]
        elif b"transfer-encoding: chunked" in fields:
            data = _behind_chunks(rest)
        else:  # to a client of HTTP/1.0
            assert b"connection: close" in fields, data
            return


def _behind_chunks(data: bytes) -> bytes:
    while found := re.match(rb"([0-9a-f]+)\r\n", data):
        size = int(found[1], 16)
        end = data[found.end() + size : found.end() + size + 2]
        assert b"\r\n".startswith(end), data
        data = data[found.end() + size + 2 :]
        if size == 0:
            return data
    assert data == b"" or re.fullmatch(rb"[0-9a-f]*\r?", data), data
    return b""


class Watched:
    """A server, and what has gone wrong in its loop and in its library."""

    def __init__(self, kind: Kind) -> None:
        self.journal = Journal(clock=SystemClock())
        self.server = kind.make(self.journal)
        self.good = kind.good
        self.wrong: list[Any] = []

    async def begin(self) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: self.wrong.append(context))
        await self.server.start()
        await self.answers_well()

    async def answers_well(self) -> None:
        async with connect(self.server) as client:
            client.writer.write(self.good)
            assert (await client.answer()).status == 200

    async def meet(self, case: Case) -> None:
        """Be the client of this case, and see that nothing is left of it."""
        before = asyncio.all_tasks()
        async with connect(self.server) as client:
            answered = Answered(client.reader)
            with contextlib.suppress(OSError):
                for piece in case.pieces:
                    client.writer.write(piece)
                    for _ in range(ROUNDS):
                        await asyncio.sleep(0)
                if case.end == "half":
                    client.writer.write_eof()
                elif case.end == "abort":
                    client.writer.transport.abort()
            if case.end == "read":
                await self.answers_well()
                await answered.has(case.owed)
        await self.answers_well()
        async with asyncio.timeout(LATE):
            await answered.reading
            await self.server._connections.gone()
            left = asyncio.all_tasks() - before
            if left:
                await asyncio.wait(left)
        assert_answers(bytes(answered.data))
        assert self.wrong == []
        assert [event for event in self.journal.events(DaemonChanged) if event.error] == []


class Answered:
    """The bytes that a server sends, while they come."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.data = bytearray()
        self._news = asyncio.Event()
        self.reading = asyncio.create_task(self._read(reader))

    async def has(self, owed: str) -> None:
        """Wait for what is owed, or for the end of the connection; a handshake that is refused is answered."""
        async with asyncio.timeout(LATE):
            while not self._paid(owed) and not self.reading.done():
                self._news.clear()
                await self._news.wait()
        assert owed != "pong" or self._paid(owed), bytes(self.data)

    def _paid(self, owed: str) -> bool:
        refused = self.data.startswith(b"HTTP/1.1 ") and not self.data.startswith(b"HTTP/1.1 101")
        return not owed or (bool(self.data) if owed == "answer" else refused or b"\x8a\x05first" in self.data)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            with contextlib.suppress(ConnectionError):
                while piece := await reader.read(65536):
                    self.data += piece
                    self._news.set()
        finally:
            asyncio.get_running_loop().call_soon(self._news.set)


PLACES = [("bare", loop) for loop in LOOPS] + [(name, "asyncio") for name in KINDS if name != "bare"]


@pytest.mark.parametrize(("name", "loop"), PLACES)
def test_odd_bytes_are_answered_or_refused_and_leave_nothing(name, loop):
    kind = KINDS[name]
    watched = Watched(kind)

    @given(case=cases(kind))
    def each(case: Case) -> None:
        with no_longer_than(SLOWEST):
            runner.run(watched.meet(case))

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(watched.begin())
        each()
        with no_longer_than(SLOWEST):
            runner.run(watched.server.stop())
    assert_readable(watched.journal)
