"""The last words of a program are on record before its exit, in every world on loopback.

Each program here sends something and exits without reading an answer.
The server's loop stands still meanwhile, and goes on when the exit is told, or is about to be: so an exit that does not
wait for what has arrived is told first, on every machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import sys
import threading
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
import pytest

from soundstage.clock import SystemClock
from soundstage.discord import Discord, DiscordGatewayChanged
from soundstage.drivers import Command
from soundstage.errors import ExpectationError
from soundstage.host import Composition
from soundstage.journal import Journal, MessageSent, ModelRequested, ProcessExited
from soundstage.lifecycle import LoopThread, before_exits
from soundstage.mcp import McpConnectionChanged, McpServer
from soundstage.models import Script, ScriptedModel
from soundstage.net import HttpServer
from soundstage.nostr import NostrEventReceived, NostrRelay
from soundstage.nostr._crypto import Keys
from soundstage.nostr._record import UnsignedEvent
from soundstage.wire import ModelServer

PROGRAM = """
import os, socket, sys

def connect():
    return socket.create_connection(("127.0.0.1", int(sys.argv[1])))

times, handshake, data = int(sys.argv[2]), bytes.fromhex(sys.argv[3]), bytes.fromhex(sys.argv[4])
made = connect() if handshake else None
if handshake:
    made.sendall(handshake)
    heard = b""
    while b"\\r\\n\\r\\n" not in heard:  # frames of the server may come right behind it
        heard += made.recv(4096) or sys.exit("the server closed during the handshake")
print("ready", flush=True)
sys.stdin.readline()
for _ in range(times):
    (made or connect()).sendall(data)
os._exit(0)
"""
HANDSHAKE = (
    "GET {path} HTTP/1.1\\r\\nHost: x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n"
).replace("\\r\\n", "\r\n")


def posted(path, body, **headers):
    encoded = json.dumps(body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "host: x",
        "content-type: application/json",
        f"content-length: {len(encoded)}",
    ]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + encoded


def framed(message):
    """A message of a client on a WebSocket, masked with zeros."""
    text = json.dumps(message).encode()
    return bytes((0x81, 0xFE)) + len(text).to_bytes(2, "big") + bytes(4) + text


class Sent(NamedTuple):
    """The bytes that a program sends, perhaps after the handshake of a WebSocket."""

    data: bytes
    path: str = ""


def asks_the_model(server):
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    return Sent(posted("/v1/chat/completions", body, authorization="Bearer x"))


def publishes(relay):
    unsigned = UnsignedEvent(created_at=1_700_000_000, kind=1, tags=(), content="last words")
    event = Keys(0, "app").sign(unsigned)
    return Sent(framed(["EVENT", msgspec.to_builtins(event)]), "/")


def writes(discord):
    path = f"/api/v10/channels/{discord.channel('general').id}/messages"
    return Sent(posted(path, {"content": "last words"}, authorization=f"Bot {discord.token}"))


def identifies(discord):
    identify = {
        "token": discord.token,
        "intents": 513,
        "properties": {"os": "linux", "browser": "x", "device": "x"},
    }
    path = urlsplit(discord.gateway_url).path
    return Sent(framed({"op": 2, "d": identify}), f"{path}?v=10&encoding=json")


def initializes(server):
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "last-words", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return Sent(posted("/mcp", body, accept="application/json, text/event-stream"))


def model_server(journal):
    script = Script()
    script.on(user="hello").reply("hi", delay=3600)
    return ModelServer(ScriptedModel(script, clock=journal.clock), journal)


class Case(NamedTuple):
    """A world, what the program sends there, and the event that tells of it."""

    make: object
    sends: object
    told: type
    holds: str


CASES = {
    "a model that would answer in an hour": Case(model_server, asks_the_model, ModelRequested, "hello"),
    "nostr": Case(NostrRelay, publishes, NostrEventReceived, "last words"),
    "discord": Case(Discord, writes, MessageSent, "last words"),
    "the gateway of discord": Case(Discord, identifies, DiscordGatewayChanged, "identified"),
    "mcp over http": Case(McpServer, initializes, McpConnectionChanged, "opened"),
}


async def exit_while_the_server_stands(journal, held, server, sent, times=1):
    """Run the program to its end while the server's loop stands still, until the exit is told, or is about to be."""
    handshake = HANDSHAKE.format(path=sent.path).encode() if sent.path else b""
    arguments = [str(urlsplit(server.url).port), str(times), handshake.hex(), sent.data.hex()]
    program = Command([sys.executable, "-I", "-S", "-c", PROGRAM, *arguments], journal, name="app")
    await program.start()
    try:
        await program.expect("ready", within=60)
        running = os.pidfd_open(program.pid)
        standing = held.hold()
        await program.send("go")
        until = select.poll()
        until.register(running, select.POLLIN)
        assert until.poll(60_000), "the program did not exit"
        os.close(running)
        await program.wait(0)
    finally:
        held.release.set()
        await program.stop()
    standing.result()


class HeldLoop:
    """The loop of a server in a thread of its own, which can be held. It goes on when an exit is about to be told."""

    def __init__(self, journal, thread):
        self.release = threading.Event()
        self._stands = threading.Event()
        self._thread = thread
        before_exits(journal, self._let_go)  # before the server's own

    async def _let_go(self):
        self.release.set()

    async def _stand(self):
        self._stands.set()
        assert self.release.wait(60), "nobody has let the server go on"

    def hold(self):
        standing = asyncio.run_coroutine_threadsafe(self._stand(), self._thread._loop)
        assert self._stands.wait(60), "the server goes on"
        return standing


@contextlib.asynccontextmanager
async def served(journal, make):
    """A world in a thread of its own, as fixtures have it, and that thread's loop."""
    with LoopThread("servers") as thread:
        held = HeldLoop(journal, thread)
        world = Composition(journal).make(make)
        thread.call(world.start())
        try:
            yield held, world
        finally:
            thread.call(world.stop())


def order(journal, told, holds=""):
    """The positions of the events that tell what was sent, and that of the exit."""
    records = journal.read()
    [exited] = [record.position for record in records if isinstance(record.event, ProcessExited)]
    found = [r.position for r in records if isinstance(r.event, told) and holds in str(r.event)]
    return found, exited


@pytest.mark.parametrize("what", CASES)
def test_what_a_program_has_sent_is_on_record_before_its_exit(what):
    case = CASES[what]

    async def main():
        journal = Journal(clock=SystemClock())
        async with served(journal, case.make) as (held, world):
            await exit_while_the_server_stands(journal, held, world, case.sends(world))
            told, exited = order(journal, case.told, case.holds)
            assert told, "nothing of it was heard when the wait for the exit was over"
            assert told[0] < exited

    asyncio.run(main())


def test_a_wait_finds_what_came_just_before_the_exit_and_says_so_of_what_never_came():
    async def main():
        journal = Journal(clock=SystemClock())
        async with served(journal, NostrRelay) as (held, relay):
            relay.app_name = "app"
            waits = [asyncio.create_task(relay.expect(text, within=60)) for text in ("last words", "never")]
            await asyncio.sleep(0)
            await exit_while_the_server_stands(journal, held, relay, publishes(relay))
            found, never = await asyncio.gather(*waits, return_exceptions=True)
            assert found.content == "last words"
            assert isinstance(never, ExpectationError)
            assert "exited with code 0" in str(never)

    asyncio.run(main())


def test_many_connections_are_all_read_before_the_exit():
    times = 100

    async def main():
        journal = Journal(clock=SystemClock())
        async with served(journal, model_server) as (held, server):
            await exit_while_the_server_stands(journal, held, server, asks_the_model(server), times)
            told, exited = order(journal, ModelRequested)
            assert len(told) == times
            assert told[-1] < exited

    asyncio.run(main())


def test_a_handler_that_hangs_holds_the_exit_up_for_a_moment_only():
    over = threading.Event()

    async def hang(request, exchange):
        while not over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.get_running_loop().create_future()

    async def main():
        journal = Journal(clock=SystemClock())
        async with served(journal, lambda journal: HttpServer(hang, journal, grace=0.1)) as (held, server):
            await exit_while_the_server_stands(journal, held, server, Sent(posted("/", {})))
            assert order(journal, ProcessExited)[1]
            over.set()

    asyncio.run(main())
