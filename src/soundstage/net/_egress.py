"""The egress guard for processes: a proxy that refuses everything and puts each try on record.

How it works. Programs that speak HTTP take their proxy from the environment: `environment()` gives the
variables that point them here, while loopback addresses stay direct (`NO_PROXY`), so that scripted servers
are reached and nothing else is. An encrypted request arrives as `CONNECT host:port`, a plain one with an
absolute URL; both name where the program wanted to go. The answer is 403 with a body that says so, and an
`EgressTried` in the journal. No name is looked up and nothing is forwarded, ever.

What it guards. A program that ignores the variables and opens its own socket is neither seen nor stopped
here; a network of its own is the guard for that (the level `netns`). HTTP libraries, curl, git, pip, npm and
the Claude Code CLI honour them. Node's own `fetch` does since Node 22.21, with `NODE_USE_ENV_PROXY`.

Clients may send anything. The head of a request is read up to a limit of bytes and of seconds, and what has
come by then is judged; what is not a request is answered with 400 and noted. After the answer our side of
the connection is closed, and what the client still sends is read and dropped until it closes too: closing at
once would reset the connection, and the client would see that instead of the answer. Each connection is a
task of its own, and `stop` cancels those that are left.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from soundstage.errors import EnvironmentProblem, InvalidStateError
from soundstage.journal import EgressTried, Journal, Noted
from soundstage.lifecycle import Daemon
from soundstage.match import preview
from soundstage.net._listeners import Listener, announce
from soundstage.net._server import LOOPBACK

MAX_HEAD: Final = 64 * 1024
REQUEST_WITHIN: Final = 10.0  # seconds that a client has to send its request, and again to close
DIRECT: Final = "127.0.0.1,localhost,::1"
_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}


class ProxyTarget(NamedTuple):
    """The destination of a request through the proxy."""

    host: str
    port: int
    method: str


def parse_target(line: bytes) -> ProxyTarget | None:
    """The target in the first line of a request; `None` if it is no request to a proxy.

    >>> parse_target(b"CONNECT api.example.com:443 HTTP/1.1")
    ProxyTarget(host='api.example.com', port=443, method='CONNECT')
    >>> parse_target(b"GET http://example.com/x HTTP/1.1")
    ProxyTarget(host='example.com', port=80, method='GET')
    """
    parts = line.decode("latin-1").split()
    if len(parts) != 3 or not parts[2].startswith("HTTP/") or not parts[0].isalpha():
        return None
    method, url, _ = parts
    try:
        found = urlsplit(f"//{url}" if method.upper() == "CONNECT" else url)
        host, port = found.hostname, found.port or _PORTS.get(found.scheme, 0)
    except ValueError:
        return None
    return ProxyTarget(host, port, method.upper()) if host else None


class EgressProxy(Daemon):
    """A proxy that refuses every request and records it. Give `environment()` to the processes of a run.

    Args:
        journal: where `EgressTried` events go.
        request_within: seconds that a client has to send its request.
        direct: hosts that programs may reach; they are told to do it without a proxy.
        port: where to listen if it is free; else, and without it, on any free port.
        name: how messages call it.

    Example:
        ::

            proxy = EgressProxy(journal)
            await proxy.start()
            ...  # run a program with proxy.environment()
            assert journal.events(EgressTried) == []
    """

    def __init__(
        self,
        journal: Journal,
        *,
        request_within: float = REQUEST_WITHIN,
        direct: Sequence[str] = (),
        port: int = 0,
        name: str = "egress",
    ) -> None:
        super().__init__(name, journal)
        self._direct = ",".join([DIRECT, *direct])
        self._port = port
        self._request_within = request_within
        self._server: asyncio.Server | None = None
        self._listener: Listener | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:port`."""
        if self._server is None or not self._server.sockets:
            raise InvalidStateError(
                f"{self.name} has no port", seen=f"it is {self.status.value}", hint="start it"
            )
        return f"http://{LOOPBACK}:{self._server.sockets[0].getsockname()[1]}"

    @property
    def port(self) -> int:
        """The address that it listens on."""
        return int(self.url.rpartition(":")[2])

    def environment(self) -> dict[str, str]:
        """The variables that send a program's requests here, in capitals and in small letters."""
        upper = {
            "HTTP_PROXY": self.url,
            "HTTPS_PROXY": self.url,
            "ALL_PROXY": self.url,
            "NO_PROXY": self._direct,
        }
        return {**upper, **{name.lower(): value for name, value in upper.items()}, "NODE_USE_ENV_PROXY": "1"}

    async def _start(self) -> None:
        try:
            try:
                self._server = await self._listen(self._port)
            except OSError:
                self._server = await self._listen(0)
        except OSError as error:
            raise EnvironmentProblem(
                f"{self.name} cannot listen on {LOOPBACK}",
                seen=error.strerror or str(error),
                hint="check that the loopback interface is up",
            ) from None
        self._listener = announce(self.journal, LOOPBACK, self.port, self._serve_also)

    async def _listen(self, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._accept, LOOPBACK, port, limit=MAX_HEAD)

    async def _serve_also(self, sock: socket.socket) -> asyncio.AbstractServer:
        return await asyncio.start_server(self._accept, sock=sock, limit=MAX_HEAD)

    async def _stop(self) -> None:
        if self._listener is not None:
            self._listener.withdraw()
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(
            self._connection(reader, writer), name=f"{self.name} client"
        )
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await _read_head(reader, self._request_within)
            if head:
                writer.write(self._answer(head))
                async with asyncio.timeout(self._request_within):
                    await _hang_up(reader, writer)
        except (TimeoutError, OSError):
            pass  # it does not close, or is gone; its request is on record
        except Exception as error:  # noqa: BLE001  (a background failure goes on record)
            self.report_failure(error)
        finally:
            writer.transport.abort()

    def _answer(self, head: bytes) -> bytes:
        line = head.split(b"\n", 1)[0].strip()
        target = parse_target(line)
        if target is None:
            shown = preview(line.decode("latin-1"))
            self.journal.append(Noted(text="not a proxy request", data={"line": shown}), source=self.name)
            return _response(
                "400 Bad Request", f"Soundstage: this is a proxy, and {shown} asks it for nothing."
            )
        self.journal.append(
            EgressTried(host=target.host, port=target.port, method=target.method), source=self.name
        )
        return _response("403 Forbidden", _refusal(target))


def _refusal(target: ProxyTarget) -> str:
    text = f"Soundstage: this run may not reach {target.host}:{target.port}; the try is in its journal."
    if target.host in DIRECT.split(","):
        text += " A loopback address is to be reached directly: this client ignores NO_PROXY."
    return text


def _response(status: str, text: str) -> bytes:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"{head}X-Soundstage-Egress: refused\r\nConnection: close\r\n\r\n".encode() + body


async def _read_head(reader: asyncio.StreamReader, request_within: float) -> bytes:
    """Read up to an empty line, the limit of bytes, or the time limit."""
    head = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(request_within):
            while not _complete(head) and (piece := await reader.read(MAX_HEAD)):
                head += piece
    return head


def _complete(head: bytes) -> bool:
    """Whether reading on is of no use: the head is there, too long, or does not begin like a request."""
    return b"\r\n\r\n" in head or len(head) >= MAX_HEAD or (head != b"" and not head[:1].isalpha())


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send what is written, close our side, and read until the client closes its side."""
    await writer.drain()
    with contextlib.suppress(OSError):  # the client was faster
        writer.write_eof()
    while await reader.read(MAX_HEAD):
        pass
