"""A client of a real server: what it asks, and what it makes of the answers. Carriers bring the bytes.

How it works. `request` sends and waits for the answer with its id, which `receive` brings. What the server tells by
itself goes to `told`. Requests of the server are answered: `ping` with nothing, all others with an error, because this
client offers nothing. When the connection is lost, everything that waits fails with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Literal, Protocol

from soundstage.clock import time_limit
from soundstage.errors import AppError, WaitTimeout
from soundstage.mcp._answer import Json
from soundstage.mcp._backend import Tell
from soundstage.mcp._jsonrpc import (
    METHOD_NOT_FOUND,
    Id,
    Notification,
    Request,
    RpcAnswer,
    RpcError,
    RpcRefused,
    error_bytes,
    notification_bytes,
    parse,
    request_bytes,
    result_bytes,
)
from soundstage.mcp._protocol import INITIALIZED, LATEST, LISTS

WITHIN: Final = 30.0
Send = Callable[[bytes], Awaitable[None]]


class Upstream(Protocol):
    """A real server, however it is reached: `McpHttpClient`, `McpProcess`."""

    told: Tell

    @property
    def transport(self) -> Literal["stdio", "http"]:
        """The way to it."""
        ...

    async def start(self) -> None:
        """Connect."""
        ...

    async def stop(self) -> None:
        """Disconnect. Harmless when repeated."""
        ...

    async def handshake(self, *, within: float = WITHIN) -> Json:
        """The result of `initialize`; hands are shaken once."""
        ...

    async def request(self, method: str, params: Json | None = None, *, within: float = WITHIN) -> Json:
        """The result of a request."""
        ...


def ignore(_method: str, _params: Json) -> None:
    """Ignore a notification."""


class McpClient:
    """The protocol's side of a client.

    Args:
        name: how messages call the server.
        send: sends one message.

    Attributes:
        told: gets what the server tells by itself.
    """

    def __init__(self, name: str, send: Send) -> None:
        self.name = name
        self.told: Tell = ignore
        self._send = send
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._asked = 0
        self._lost = ""
        self._greeted: Json | None = None
        self._greeting = asyncio.Lock()
        self._answers: set[asyncio.Task[None]] = set()

    async def handshake(self, *, within: float = WITHIN) -> Json:
        """The result of `initialize`; hands are shaken once.

        Raises:
            RpcError: if the server refuses.
            AppError: if it has gone.
            WaitTimeout: if it does not answer in time.
        """
        async with self._greeting:
            if self._greeted is None:
                offered = {
                    "protocolVersion": LATEST,
                    "capabilities": {},
                    "clientInfo": {"name": "soundstage", "version": "1"},
                }
                self._greeted = await self._ask("initialize", offered, within)
                await self._send(notification_bytes(INITIALIZED))
            return self._greeted

    async def request(self, method: str, params: Json | None = None, *, within: float = WITHIN) -> Json:
        """The result of a request, after the handshake. Raises what `handshake` raises."""
        await self.handshake(within=within)
        return await self._ask(method, params or {}, within)

    async def list_all(self, method: str = "tools/list", *, within: float = WITHIN) -> list[Json]:
        """All entries of a list, however many pages it has."""
        entries: list[Json] = []
        params: Json = {}
        while True:
            page = await self.request(method, params, within=within)
            entries += [entry for entry in page.get(LISTS[method], ()) if isinstance(entry, dict)]
            cursor = page.get("nextCursor")
            if not cursor or cursor == params.get("cursor"):
                return entries
            params = {"cursor": cursor}

    def receive(self, data: bytes) -> RpcRefused | None:
        """Take one message of the server; what is none is given back."""
        message = parse(data)
        if isinstance(message, Notification):
            self.told(message.method, message.params)
        elif isinstance(message, Request):
            task = asyncio.create_task(self._answer(message), name=f"answer {self.name}")
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
        elif isinstance(message, RpcAnswer):
            self._take(message)
        else:
            return message
        return None

    def lost(self, reason: str) -> None:
        """The connection is gone: everything that waits fails."""
        self._lost = self._lost or reason
        for number in list(self._waiting):
            self.fail(number, reason)

    def fail(self, number: Id, reason: str) -> None:
        """There will be no answer to a request. Harmless when there has been one."""
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is not None and not waiting.done():
            waiting.set_exception(self._gone(reason))

    def _gone(self, reason: str) -> AppError:
        return AppError(
            f"the MCP server {self.name} does not answer",
            expected="an answer of the protocol",
            seen=reason,
            hint="what it wrote to standard error is in the journal, if it is a process of ours",
        )

    async def _ask(self, method: str, params: Json, within: float) -> Json:
        if self._lost:
            raise self._gone(self._lost)
        self._asked += 1
        number = self._asked
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            async with time_limit(within):
                await self._send(request_bytes(number, method, params))
                return await waiting
        except TimeoutError:
            raise WaitTimeout(
                f"the MCP server {self.name} did not answer {method} within {within:g} s"
            ) from None
        finally:
            del self._waiting[number]
            if not waiting.cancel() and not waiting.cancelled():
                waiting.exception()  # asked for, so that nobody is told that nobody asked

    def _take(self, answer: RpcAnswer) -> None:
        waiting = self._waiting.get(answer.id) if isinstance(answer.id, int) else None
        if waiting is None or waiting.done():
            return
        if answer.error is not None:
            waiting.set_exception(_error(answer.error))
        elif isinstance(answer.result, dict):
            waiting.set_result(answer.result)
        else:
            waiting.set_exception(
                AppError(f"{self.name} answered with a result that is no object", seen=repr(answer.result))
            )

    async def _answer(self, request: Request) -> None:
        if request.method == "ping":
            await self._send(result_bytes(request.id, {}))
            return
        error = RpcError(METHOD_NOT_FOUND, f"Method not found: {request.method}")
        await self._send(error_bytes(request.id, error.as_json()))


def _error(found: Json) -> RpcError:
    code, message = found.get("code"), found.get("message")
    return RpcError(code if type(code) is int else 0, str(message), found.get("data"))
