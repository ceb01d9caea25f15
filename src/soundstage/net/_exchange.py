"""One request, and the way back to its client.

A handler answers in one piece (`reply`) or as a stream (`begin`, `write`, `end`), or breaks the connection off (`cut`,
`drop`). `write` only collects; what has been collected goes out when the producer has to wait, or is done. So a reply
that is there at once costs one system call, and a slow one is sent as it comes.

A client that goes away ends the handler, if that waits for its producer (`each`, `wait`): its task is cancelled. A
handler that waits for something else goes on, and what it sends is dropped. Before anything is written, a client that
reads slowly is waited for.
"""

from __future__ import annotations

import asyncio
import functools
import http
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from soundstage.errors import InvalidStateError, ScriptError
from soundstage.net._steps import ProducerStep, Steps

BODYLESS: Final = (204, 304)
GONE: Final = "the client has gone"
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
T = TypeVar("T")


class HttpRequest(NamedTuple):
    """One request. Header names are in lower case; `too_large` means that `body` was cut off at the limit."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    too_large: bool = False


class HttpConnection(Protocol):
    """The connection of an exchange, as far as that needs it."""

    transport: Any
    unwritable: bool

    async def drain(self) -> None:
        """Wait until the client has read enough, or is gone."""

    def stays(self) -> bool:
        """Whether the server would keep the connection behind the answer that is made."""

    def answered(self, *, keep: bool) -> None:
        """The answer is complete."""


class Exchange:
    """The way back to one client."""

    __slots__ = (
        "_buffer",
        "_chunked",
        "_connection",
        "_gone",
        "_head_only",
        "_keep",
        "_left",
        "_old",
        "_shape",
        "_started",
        "_task",
        "complete",
    )

    def __init__(self, connection: HttpConnection, *, head_only: bool, keep: bool, old: bool) -> None:
        self._connection = connection
        self._head_only = head_only
        self._keep = keep
        self._old = old  # HTTP/1.0, which knows no chunks
        self._buffer: list[bytes] = []
        self._started = False
        self._chunked = False
        self._left: int | None = None  # bytes that the head has promised and nobody has written
        self._shape: Callable[[bytes], list[bytes]] | None = None
        self._task: asyncio.Task[Any] | None = None  # which waits for a producer
        self._gone = False
        self.complete = False

    @property
    def started(self) -> bool:
        """Whether the status line has been sent."""
        return self._started

    async def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Answer in one piece; see `begin`."""
        fields = _checked(headers)
        fields.pop("transfer-encoding", None)
        fields["content-length"] = str(len(body))
        if status in BODYLESS:
            del fields["content-length"]
            body = b""
        if self._connection.unwritable:
            await self._connection.drain()
        head = self._opened(status, fields)
        self._left = None
        self._finish(head if self._head_only else head + body)

    async def begin(self, status: int, headers: dict[str, str]) -> None:
        """Send status and headers; `write` and `end` follow.

        Raises:
            ScriptError: for a header that HTTP does not allow; nothing is sent then.
        """
        fields = _checked(headers)
        if fields.get("transfer-encoding", "").lower() == "chunked":
            fields.pop("content-length", None)
            self._chunked = True
        elif "content-length" in fields:
            self._left = int(fields["content-length"])
        elif self._old:
            self._keep = False  # the end of the connection is the end of the body
        elif status not in BODYLESS and not self._head_only:
            fields["transfer-encoding"] = "chunked"
            self._chunked = True
        head = self._opened(status, fields)
        if self._connection.unwritable:
            await self._connection.drain()
        self._put(head)

    def _opened(self, status: int, fields: dict[str, str]) -> bytes:
        """The head of the answer, with which it has started."""
        if self._started:
            raise InvalidStateError("this request has been answered", expected="one reply, or one begin")
        self._started = True
        said = fields.get("connection", "")
        if "close" in said.lower():
            self._keep = False
        elif not (self._keep and self._connection.stays()):
            self._keep = False
            fields = {**fields, "connection": f"{said}, close" if said else "close"}
        lines = [f"{name}: {value}\r\n" for name, value in fields.items()]
        return f"{_status_line(status)}{''.join(lines)}\r\n".encode("latin-1", "replace")

    def write(self, data: bytes) -> None:
        """Add to the stream. It is sent when the producer waits, or at the end."""
        if data:
            self._buffer.append(data)

    def shape(self, pieces: Callable[[bytes], list[bytes]] | None) -> None:
        """Hold what is written until the end, and send then what `pieces` makes of it, each in a write of its own."""
        self._shape = pieces

    async def flush(self) -> None:
        """Send what has been written."""
        if self._buffer and self._started and self._shape is None:
            data, self._buffer = b"".join(self._buffer), []
            await self._send(data)

    async def end(self) -> None:
        """The answer is complete."""
        await self._send_shaped()
        data, self._buffer = b"".join(self._buffer), []
        if self._connection.unwritable:
            await self._connection.drain()
        framed = self._framed(data)
        if self._left and not self._head_only:
            raise InvalidStateError(f"the body lacks {self._left} bytes of its content-length")
        self._finish(framed + b"0\r\n\r\n" if self._chunked and not self._head_only else framed)

    def _finish(self, data: bytes) -> None:
        self._task = None
        self.complete = True
        self._put(data)
        self._connection.answered(keep=self._keep)

    async def _send_shaped(self) -> None:
        if self._shape is not None:
            pieces, self._buffer, self._shape = self._shape(b"".join(self._buffer)), [], None
            for piece in pieces:
                await self._send(piece)

    async def _send(self, data: bytes) -> None:
        if self._connection.unwritable:
            await self._connection.drain()
        self._put(self._framed(data))

    def _put(self, data: bytes) -> None:
        if data and not self._gone:
            self._connection.transport.write(data)

    def _framed(self, data: bytes) -> bytes:
        """A piece of the body as it is sent."""
        if self._head_only or not data:
            return b""
        if self._chunked:
            return b"%x\r\n%b\r\n" % (len(data), data)
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                raise InvalidStateError(f"the body is {-self._left} bytes longer than its content-length")
        return data

    async def cut(self) -> None:
        """Break off: send what has been written, then close the connection without an end."""
        if not self._started:
            await self.begin(200, {})
        await self._send_shaped()
        await self.flush()
        self._task = None

    async def drop(self) -> None:
        """Close the connection without any answer; what has been written is lost."""
        self._task = None
        self._connection.transport.abort()

    def each(self, stream: AsyncIterator[T]) -> AsyncIterator[T]:
        """The items of `stream`; what has been written is flushed whenever the stream has to wait.

        Raises:
            asyncio.CancelledError: when the client goes away meanwhile.
        """
        return Steps(stream, self._suspended)

    async def wait(self, step: Awaitable[T]) -> T:
        """Await `step` and return its result; like `each`, for a single step."""
        result: T = await ProducerStep(step, self._suspended)
        return result

    async def _suspended(self) -> None:
        if self._task is None and not self.complete:
            self._task = asyncio.current_task()
            if self._gone and self._task is not None:
                self._task.cancel(GONE)
        await self.flush()

    def client_gone(self) -> None:
        """The connection is lost: end a handler that waits for its producer."""
        self._gone = True
        if self._task is not None and not self.complete:
            self._task.cancel(GONE)

    def leave(self) -> None:
        """The handler has ended: an answer that is not complete is broken off."""
        self._task = None
        if self.complete or self._gone:
            return
        if not self._started and not self._connection.transport.is_closing():
            self._put(plain_answer(500, "Soundstage gave no answer"))
        self._connection.transport.close()


def _checked(headers: dict[str, str]) -> dict[str, str]:
    """Headers as they are sent. Of names that differ in case only the last one counts."""
    fields: dict[str, str] = {}
    for name, value in headers.items():
        if not value.isprintable() and _CONTROL.search(value):
            raise ScriptError(f"the value of the header {name!r} holds a control character", seen=repr(value))
        fields[_header_name(name)] = value
    return fields


@functools.lru_cache(maxsize=256)
def _header_name(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise ScriptError("this is not the name of a header", seen=repr(name))
    return name.lower()


@functools.lru_cache(maxsize=64)
def _status_line(status: int) -> str:
    try:
        return f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n"
    except ValueError:
        return f"HTTP/1.1 {status} \r\n"


def plain_answer(status: int, text: str) -> bytes:
    """A whole answer in words, behind which the connection is closed."""
    body = text.encode("utf-8", "replace")
    head = "content-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    return f"{_status_line(status)}{head}content-length: {len(body)}\r\n\r\n".encode() + body
