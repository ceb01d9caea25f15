"""One client of a server: what it asks and what it gets, whatever carries the bytes.

How it works. A transport hands each message in: `request` gives what is to be sent for a request, `take` the rest.
Each request runs in a task of its own, so that a slow one keeps no other one back, and so that it can be cancelled:
by the client (`notifications/cancelled`), by a client that goes away, by the end of the server. What the server
tells by itself is put into `outbox`, from where the transport sends it; `None` in it is the end.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, Literal, NamedTuple, cast

from soundstage.errors import SoundstageError
from soundstage.mcp._answer import Json, text_of
from soundstage.mcp._backend import Served
from soundstage.mcp._call import CURRENT, LEVELS, McpCall, Questions, Send
from soundstage.mcp._core import McpCore
from soundstage.mcp._events import (
    KEPT,
    McpConnectionChanged,
    McpMessageRefused,
    McpNotified,
    McpServed,
    McpToolCalled,
    McpToolReturned,
    Transport,
)
from soundstage.mcp._faults import MISHAPS, McpFault, garbled
from soundstage.mcp._jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Id,
    Notification,
    Request,
    RpcAnswer,
    RpcError,
    RpcRefused,
    error_bytes,
    notification_bytes,
    result_bytes,
)
from soundstage.mcp._protocol import CALL, CANCELLED, INITIALIZED, LISTS, agreed

_NAMES: Final = ("name", "uri", "uriTemplate")
_UPDATED: Final = "notifications/resources/updated"


class Delivery(NamedTuple):
    """The reply to a request: messages, and whether the connection is cut in the middle of the last one."""

    messages: tuple[bytes, ...] = ()
    cut: bool = False


class McpSession:
    """A connection of a client.

    Attributes:
        number: which one it is, from 1.
        id: of an HTTP session.
        outbox: lines that the server tells by itself; `None` is the end.
        opened_at: the position of its beginning in the journal.
        ended: how it has ended; empty while it has not.
        listened: whether the client listens to what an HTTP server tells by itself.
    """

    def __init__(self, core: McpCore, number: int, transport: Transport, identity: str = "") -> None:
        self.number = number
        self.transport = transport
        self.id = identity
        self.outbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.opened_at = 0
        self.ended: Literal["", "closed", "cut"] = ""
        self.listened = False
        self._core = core
        self._client = ""
        self._protocol = ""
        self._ready = False
        self._subscribed: set[Any] = set()
        self._at_work: dict[Id, asyncio.Task[Delivery]] = {}
        self._questions = Questions(core, number)
        self.opened_at = self._changed("opened")

    # from the client

    async def request(self, request: Request, send: Send | None = None) -> Delivery:
        """Answer a request; nothing is sent if it was cancelled.

        Args:
            request: what the client asks.
            send: sends what belongs to the request before its answer; on the outbox unless given.
        """
        if request.id in self._at_work:
            error = RpcError(INVALID_REQUEST, f"there is another request with the id {request.id!r}")
            return Delivery((error_bytes(request.id, error.as_json()),))
        task = asyncio.create_task(
            self._delivery(request, send or self._put), name=f"{self._core.name} {request.method}"
        )
        self._at_work[request.id] = task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            del self._at_work[request.id]
        return Delivery() if task.cancelled() else task.result()

    def take(self, message: Notification | RpcAnswer | RpcRefused) -> None:
        """Take what is no request."""
        if isinstance(message, RpcAnswer):
            if self._questions.take(message):
                return
            message = RpcRefused(INVALID_REQUEST, "an answer to a request that was not made", str(message.id))
        if isinstance(message, RpcRefused):
            event = McpMessageRefused(text=message.text, reason=message.reason, connection=self.number)
            self._core.tell(event, self.opened_at)
            return
        self._core.tell(
            McpNotified(method=message.method, params=message.params, connection=self.number), self.opened_at
        )
        if message.method == INITIALIZED and self._protocol:
            self._ready = True
            self._changed("initialized")
        if message.method == CANCELLED:
            task = self._at_work.get(cast("Id", message.params.get("requestId")))
            if task is not None:
                task.cancel()

    # from the server

    def tell(self, method: str, params: Json) -> None:
        """Tell the client something, if hands have been shaken and it wants to know."""
        if not self._ready or (method == _UPDATED and params.get("uri") not in self._subscribed):
            return
        if not self._questions.wants(method, params):
            return
        told = McpNotified(method=method, params=params, connection=self.number, by="server")
        self._core.tell(told, self.opened_at)
        self._put(notification_bytes(method, params))

    def _put(self, message: bytes) -> None:
        self.outbox.put_nowait(message + b"\n")

    def end(
        self,
        change: Literal["closed", "cut"],
        *,
        by: Literal["client", "server"] = "client",
        reason: str = "",
    ) -> None:
        """It is over. Harmless when repeated."""
        if self.ended:
            return
        self.ended = change
        self._changed(change, by=by, reason=reason)
        for task in self._at_work.values():
            task.cancel()
        self.outbox.put_nowait(None)

    def _changed(
        self,
        change: Literal["opened", "initialized", "closed", "cut"],
        *,
        by: Literal["client", "server"] = "client",
        reason: str = "",
    ) -> int:
        event = McpConnectionChanged(
            change=change,
            connection=self.number,
            transport=self.transport,
            client=self._client,
            protocol=self._protocol,
            by=by,
            reason=reason,
        )
        return self._core.tell(event, self.opened_at or None)

    # one request

    async def _delivery(self, request: Request, send: Send) -> Delivery:
        if request.method == CALL and self._protocol:
            return await self._call(request, send)
        try:
            result = await self._served(request)
        except Exception as error:  # noqa: BLE001  (each is an answer of the protocol)
            failure = self._failure(error)
            self._tell_served(request, error=failure.message, code=failure.code)
            return Delivery((error_bytes(request.id, failure.as_json()),))
        return Delivery((result_bytes(request.id, result),))

    async def _served(self, request: Request) -> Json:
        if request.method == "ping":
            return {}
        if request.method == "initialize":
            return await self._initialize(request.params)
        if not self._protocol:
            raise RpcError(INVALID_REQUEST, "Received request before initialization was complete")
        served = await self._core.serve(request.method, request.params)
        if request.method == "resources/subscribe":
            self._subscribed.add(request.params.get("uri"))
        if request.method == "resources/unsubscribe":
            self._subscribed.discard(request.params.get("uri"))
        if request.method == "logging/setLevel" and request.params.get("level") in LEVELS:
            self._questions.level = str(request.params["level"])
        self._tell_served(request, names=_names(served.result.get(LISTS.get(request.method, ""))))
        return served.result

    async def _initialize(self, params: Json) -> Json:
        if self._protocol:
            raise RpcError(INVALID_REQUEST, "the connection has been initialized before")
        fault = self._core.strike("start", connection=self.number, cause=self.opened_at)
        if fault is not None:
            await self._suffer(fault)
        found = await self._core.backend.initialize(params)
        able, client = params.get("capabilities"), params.get("clientInfo")
        self._questions.capabilities = able if isinstance(able, dict) else {}
        if isinstance(client, dict):
            self._client = f"{client.get('name', '')} {client.get('version', '')}".strip()
        self._protocol = agreed(params.get("protocolVersion"))
        return {"protocolVersion": self._protocol, **found}

    async def _suffer(self, fault: McpFault) -> None:
        """Apply a fault that acts before there is an answer."""
        if fault.seconds:
            await self._core.journal.clock.sleep(fault.seconds)
        if fault.action == "reject":
            raise RpcError(fault.code, fault.text)
        if fault.action == "hang":
            await asyncio.get_running_loop().create_future()

    def _tell_served(
        self, request: Request, *, names: tuple[str, ...] = (), error: str = "", code: int = 0
    ) -> None:
        served = McpServed(
            method=request.method,
            params=request.params,
            connection=self.number,
            names=names,
            error=error,
            code=code,
        )
        self._core.tell(served, self.opened_at)

    def _failure(self, error: Exception) -> RpcError:
        """An error as the protocol has it. What is not the protocol's is ours, and on record."""
        if isinstance(error, RpcError):
            return error
        self._core.failed(error)
        words = error.summary if isinstance(error, SoundstageError) else f"{type(error).__name__}: {error}"
        return RpcError(INTERNAL_ERROR, words)

    # one call

    async def _call(self, request: Request, send: Send) -> Delivery:
        core, params = self._core, request.params
        tool, arguments = str(params.get("name", "")), params.get("arguments")
        arguments = arguments if isinstance(arguments, dict) else {}
        meta = params.get("_meta")
        asked = core.causes.of(tool, arguments, meta if isinstance(meta, dict) else {})
        called = McpToolCalled(
            tool=tool,
            arguments=arguments,
            connection=self.number,
            call_id=asked.call_id if asked is not None else "",
        )
        position = core.tell(called, asked.position if asked is not None else self.opened_at)
        CURRENT.set(McpCall(self._questions, core, self.number, params, send, position))  # of this task alone
        try:
            fault = core.strike("call", tool=tool, connection=self.number, cause=position)
            served = await self._result(request, fault)
        except asyncio.CancelledError:
            core.tell(McpToolReturned(tool=tool, outcome="cancelled"), position)
            raise
        except Exception as error:  # noqa: BLE001  (each is an answer of the protocol)
            failure = self._failure(error)
            told = McpToolReturned(tool=tool, outcome="rejected", text=failure.message, code=failure.code)
            core.tell(told, position)
            return Delivery((error_bytes(request.id, failure.as_json()),))
        core.tell(_returned(tool, served), position)
        return _spoilt(request.id, served)

    async def _result(self, request: Request, fault: McpFault | None) -> Served:
        if fault is not None:
            await self._suffer(fault)
            if fault.action == "fail":
                failed = {"content": [{"type": "text", "text": fault.text}], "isError": True}
                return Served(failed, served_by=fault.name)
        served = await self._core.serve(request.method, request.params)
        if served.delay:
            await self._core.journal.clock.sleep(served.delay)
        if fault is not None and fault.action in MISHAPS:
            served = served._replace(mishap=cast("Any", fault.action))
        if served.mishap == "hang":
            await asyncio.get_running_loop().create_future()
        return served


def _spoilt(identity: Id, served: Served) -> Delivery:
    """The answer as it goes out."""
    answer = result_bytes(identity, served.result)
    if served.mishap is None:
        return Delivery((answer,))
    if served.mishap == "disconnect":
        return Delivery((answer[: len(answer) // 2],), cut=True)
    return Delivery(tuple(garbled(served.mishap, identity, answer)))


def _returned(tool: str, served: Served) -> McpToolReturned:
    text = text_of(served.result)
    structured = served.result.get("structuredContent")
    outcome: Any = {None: "result", "disconnect": "cut"}.get(served.mishap, "garbled")
    if outcome == "result" and served.result.get("isError"):
        outcome = "error"
    return McpToolReturned(
        tool=tool,
        outcome=outcome,
        text=text[:KEPT],
        characters=len(text) if len(text) > KEPT else 0,
        structured=structured if isinstance(structured, dict) and len(text) <= KEPT else None,
        served_by=served.served_by,
    )


def _names(entries: Any) -> tuple[str, ...]:
    """The names in a list."""
    found = entries if isinstance(entries, list) else []
    return tuple(str(next((item[key] for key in _NAMES if key in item), "")) for item in found)
