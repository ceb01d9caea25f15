"""A real server at a URL: streamable HTTP from the client's side.

Every message is a POST; the answer to a request comes in its response, as JSON or as a stream of events. Once hands are
shaken a GET listens to what the server tells by itself; servers that do not offer that answer 405.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from soundstage.errors import AppError, InvalidStateError
from soundstage.guard import permitted
from soundstage.mcp._answer import Json
from soundstage.mcp._backend import Tell
from soundstage.mcp._client import WITHIN, McpClient, ignore
from soundstage.mcp._jsonrpc import Request, parse


class McpHttpClient:
    """A client of a real MCP server at a URL, to record it.

    Args:
        url: its address: `http://127.0.0.1:8000/mcp`.
        headers: what every request has besides, such as `authorization`.
        name: how messages call it.

    Example:
        ::

            server = RecordingMcpServer(journal, McpHttpClient(url), "notes.tape", name="notes")
    """

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, name: str = "upstream") -> None:
        self.url = url
        self.name = name
        self.told: Tell = ignore
        self._headers = dict(headers or {})
        self._http: Any = None
        self._client = McpClient(name, self._send)
        self._listener: asyncio.Task[None] | None = None

    @property
    def transport(self) -> Literal["http"]:
        """The way to it."""
        return "http"

    async def start(self) -> None:
        """Make it ready; the first request connects."""
        import httpx

        class Ours(httpx.AsyncHTTPTransport):
            """Reaches the server that the test has named, also out of a closed run."""

            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                with permitted([request.url.host]):
                    return await super().handle_async_request(request)

        self._http = httpx.AsyncClient(
            timeout=None,  # noqa: S113  (`within` limits requests)
            trust_env=False,
            transport=Ours(),
        )
        self._client.told = self._tell

    async def stop(self) -> None:
        """End the session and disconnect. Harmless when repeated."""
        if self._http is None:
            return
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])
        if "mcp-session-id" in self._headers:
            import httpx

            with contextlib.suppress(httpx.HTTPError):
                await self._http.delete(self.url, headers=self._headers)
        await self._http.aclose()
        self._http = None

    async def handshake(self, *, within: float = WITHIN) -> Json:
        """See `McpClient.handshake`."""
        found = await self._client.handshake(within=within)
        self._headers.setdefault("mcp-protocol-version", str(found.get("protocolVersion", "")))
        if self._listener is None:
            self._listener = asyncio.create_task(self._listen(), name=f"listen to {self.name}")
        return found

    async def request(self, method: str, params: Json | None = None, *, within: float = WITHIN) -> Json:
        """See `McpClient.request`."""
        await self.handshake(within=within)
        return await self._client.request(method, params, within=within)

    def _tell(self, method: str, params: Json) -> None:
        self.told(method, params)

    async def _send(self, message: bytes) -> None:
        import httpx

        if self._http is None:
            raise InvalidStateError(f"the client of {self.name} is not connected", hint="start it first")
        headers = {
            **self._headers,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        try:
            async with self._http.stream("POST", self.url, content=message, headers=headers) as response:
                await self._receive(response, message)
        except httpx.HTTPError as error:
            raise AppError(
                f"the MCP server at {self.url} cannot be reached", seen=f"{type(error).__name__}: {error}"
            ) from None

    async def _receive(self, response: Any, message: bytes) -> None:
        """Take the answer to a message, if it is one that has an answer."""
        if (session := response.headers.get("mcp-session-id")) is not None:
            self._headers["mcp-session-id"] = session
        kind = response.headers.get("content-type", "")
        asked = parse(message)
        if kind.startswith("text/event-stream"):
            async for data in _events(response):
                self._client.receive(data)
        elif kind.startswith("application/json"):
            self._client.receive(await response.aread())
        if isinstance(asked, Request):
            self._client.fail(asked.id, f"status {response.status_code} without an answer")

    async def _listen(self) -> None:
        import httpx

        headers = {**self._headers, "accept": "text/event-stream"}
        with contextlib.suppress(
            httpx.HTTPError
        ):  # then it tells nothing by itself; requests say what is wrong
            async with self._http.stream("GET", self.url, headers=headers) as response:
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    async for data in _events(response):
                        self._client.receive(data)


async def _events(response: Any) -> AsyncIterator[bytes]:
    """The data of a stream of events."""
    data: list[str] = []
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data).encode()
            data = []
