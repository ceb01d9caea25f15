"""A real model behind the seam: a provider is asked over HTTPS, and its stream becomes chunks.

How it works. A request is encoded in the provider's format and posted; the answer is always streamed, so that
pieces and times can be recorded. Status 400 and above is a `ProviderError` with the provider's words. A
stream that ends before its last event, falls silent for too long or cannot be read is a `ConnectionCut`. What
keeps us from asking at all (no permission, no key, no way there) is an `EnvironmentProblem`. Errors of the
HTTP library cross at one table, `translate`.

A live call costs money and answers differently each time, so there is a hard stop: without the permission of
`SOUNDSTAGE_ALLOW_LIVE=1` or `allow=True` no live model can be made. Each request has a connection of its own,
so nothing has to be closed.

A server on this machine may be one of ours, so it is told who asks, in the headers that our server reads; then
conversations that run side by side do not share counters. A provider is told nothing of the kind.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit
from uuid import uuid4

import msgspec

from soundstage.clock import running_clock
from soundstage.errors import (
    ConnectionCut,
    EnvironmentProblem,
    NetworkForbiddenError,
    ScriptError,
    SoundstageError,
)
from soundstage.guard import permitted, real_proxy, real_variable
from soundstage.live._answers import AnswerReader
from soundstage.live._request_anthropic import ANTHROPIC
from soundstage.live._request_format import LiveFormat
from soundstage.live._request_gemini import GEMINI
from soundstage.live._request_openai import OPENAI
from soundstage.live._request_responses import RESPONSES
from soundstage.messages import CALLER_HEADERS, Caller, ModelChunk, ModelRequest, ToolCallChunk

PERMISSION: Final = "SOUNDSTAGE_ALLOW_LIVE"
FORMATS: Final[dict[str, LiveFormat]] = {
    "openai": OPENAI,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
}
MODEL: Final = "{model}"  # in the path of a format
CONNECT_WITHIN: Final = 15.0
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class LiveModel:
    """A provider's model, asked for real.

    Args:
        format: `openai` (chat completions), `openai-responses`, `anthropic` (messages) or `gemini`.
        api_key: the key; unless given `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, or `GOOGLE_API_KEY` and then
            `GEMINI_API_KEY` of the environment.
        base_url: where the provider is, for proxies and compatible servers: `http://127.0.0.1:8600/v1` for
            `openai` and `openai-responses`, `http://127.0.0.1:8600` for `anthropic` and `gemini`.
        model: the model to ask; the one that the app asks for unless given.
        allow: permits live calls in the place of `SOUNDSTAGE_ALLOW_LIVE=1`.
        silence: seconds without a sign of life after which an answer counts as broken off.

    Attributes:
        provider: `openai`, `anthropic` or `gemini`: whose limits count.
        model: the model to ask, if it was given.
        url: where it is asked.
        elsewhere: host, port and path of `base_url` if that is not the provider's own; empty otherwise.

    Raises:
        EnvironmentProblem: without the permission or the key.

    Example:
        >>> model = LiveModel("openai", api_key="not-a-real-key", allow=True)
        >>> model.url
        'https://api.openai.com/v1/chat/completions'
    """

    def __init__(
        self,
        format: Literal["openai", "openai-responses", "anthropic", "gemini"],  # noqa: A002
        *,
        api_key: str = "",
        base_url: str = "",
        model: str = "",
        allow: bool = False,
        silence: float = 600.0,
    ) -> None:
        if format not in FORMATS:
            raise ScriptError("this format is not known", expected=" or ".join(FORMATS), seen=repr(format))
        self._format = FORMATS[format]
        self.provider = format.partition("-")[0]
        _check_permission(allow=allow)
        self._key = api_key or _key_of(self._format)
        self.url = (base_url or self._format.base_url).rstrip("/") + self._format.path
        self.elsewhere = _elsewhere(base_url, self._format.base_url)
        self._host = urlsplit(self.url).hostname or ""
        self._near = self._host in _LOOPBACK
        self._proxy = None if self._near else real_proxy(self.url)
        self.model = model
        self._silence = silence
        self._context: Any = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The provider's reply; see `soundstage.models.Model`.

        Raises:
            ProviderError: if the provider answers with an error.
            ConnectionCut: if the answer breaks off.
            EnvironmentProblem: if the provider cannot be reached.
            NetworkForbiddenError: on virtual time.
        """
        import httpx

        named = self._named(request)
        body = msgspec.json.encode(self._format.encode(request, named))
        url = self.url.replace(MODEL, quote(named.removeprefix("models/"), safe=""))
        _check_time()
        try:
            async with (
                self._client() as client,
                self._asked(
                    client,
                    client.build_request("POST", url, content=body, headers=self._headers(request)),
                ) as response,
            ):
                await self._check(response)
                async for chunk in self._chunks(response):
                    yield chunk
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise translate(error, self.url) from error

    @contextlib.asynccontextmanager
    async def _asked(self, client: Any, request: Any) -> AsyncIterator[Any]:
        """The answer, as far as its head. The connection is ours; what the app does meanwhile is not."""
        with permitted([self._host, *([urlsplit(self._proxy).hostname or ""] if self._proxy else [])]):
            response = await client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    def _named(self, request: ModelRequest) -> str:
        """The model to ask. A request that came over the wire in another format cannot be passed on."""
        if request.format not in ("", self._format.name):
            raise ScriptError(
                f"a live model for {self._format.name} cannot pass this request on",
                expected=f"a request in the format {self._format.name}, or one made in process",
                seen=f"a request in the format {request.format}",
                hint="point the app at the endpoint of that format, or use a LiveModel of the other one",
            )
        return self.model or request.model

    def _client(self) -> Any:
        """A client for one request. What is expensive about one, the certificates, is read once."""
        import httpx

        if self._context is None and self.url.startswith("https:"):
            self._context = httpx.create_ssl_context()
        return httpx.AsyncClient(
            verify=self._context if self._context is not None else True,
            trust_env=False,
            proxy=self._proxy,
            timeout=httpx.Timeout(self._silence, connect=CONNECT_WITHIN),
        )

    def _headers(self, request: ModelRequest) -> dict[str, str]:
        asked = request.caller.headers
        forwarded = {name: asked[name] for name in sorted(self._format.forwarded) if name in asked}
        return {
            "content-type": "application/json",
            "accept": "text/event-stream",
            **self._format.headers(self._key),
            **(_caller_headers(request.caller) if self._near else {}),
            **forwarded,
        }

    async def _check(self, response: Any) -> None:
        """Go on only with a stream."""
        if response.status_code >= 400:
            reader = self._reader(response)
            reader.feed(await response.aread())
            reader.end()
        kind = response.headers.get("content-type", "")
        if response.status_code != 200 or not kind.startswith("text/event-stream"):
            raise EnvironmentProblem(
                f"{self.url} does not answer like a provider",
                expected="status 200 and a stream of events",
                seen=f"status {response.status_code}, content type {kind or 'unknown'}",
                hint="check base_url",
            )

    def _reader(self, response: Any) -> AnswerReader:
        return AnswerReader(self._format.name, status=response.status_code, headers=response.headers)

    async def _chunks(self, response: Any) -> AsyncIterator[ModelChunk]:
        reader = self._reader(response)
        async for piece in response.aiter_bytes():
            for chunk in reader.feed(piece):
                yield _numbered(chunk)
            if reader.done:
                break
        *rest, finish = reader.end()
        for chunk in rest:
            yield chunk
        yield msgspec.structs.replace(finish, served_by=f"live: {urlsplit(self.url).netloc}")


def _numbered(chunk: ModelChunk) -> ModelChunk:
    """A call without an id gets one, so that its result can name it: Gemini often gives none."""
    if isinstance(chunk, ToolCallChunk) and chunk.name and not chunk.id:
        return msgspec.structs.replace(chunk, id=f"call_{uuid4().hex}")
    return chunk


def _caller_headers(caller: Caller) -> dict[str, str]:
    """Headers that name the caller."""
    said = {name: getattr(caller, field) for field, name in CALLER_HEADERS.items()}
    return {name: value for name, value in said.items() if value and value.isascii() and value.isprintable()}


def _check_permission(*, allow: bool) -> None:
    if not allow and os.environ.get(PERMISSION) != "1":
        raise EnvironmentProblem(
            "a live model was asked for, and live calls are not allowed here",
            expected=f"{PERMISSION}=1 in the environment, or LiveModel(..., allow=True)",
            seen=f"{PERMISSION}={os.environ[PERMISSION]}" if PERMISSION in os.environ else "neither",
            hint="live calls cost money and differ each time; record one run to a tape and replay that",
        )


def _check_time() -> None:
    if running_clock().virtual:
        raise NetworkForbiddenError(
            "a live model was asked in a run on virtual time",
            expected="a scripted or a replaying model, or the machine's time",
            seen="the network has a time of its own",
            hint="run it with clock=SystemClock(), or record a tape once and replay that",
        )


def _key_of(format: LiveFormat) -> str:  # noqa: A002
    key = next(filter(None, map(real_variable, format.key_variables)), "")
    if not key:
        wanted = " or ".join(format.key_variables)
        raise EnvironmentProblem(
            f"there is no API key for {format.name}",
            expected=f"{wanted} in the environment, or LiveModel(..., api_key=...)",
            seen="neither",
            hint=f"export {format.key_variables[0]}=...",
        )
    return key


def _elsewhere(base_url: str, own: str) -> str:
    """Where another address leads, without what may be secret in it."""
    here, there = (_place_of(one) for one in (base_url or own, own))
    return "" if here == there else here


def _place_of(url: str) -> str:
    parts = urlsplit(url)
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    port = f":{parts.port}" if parts.port not in (None, standard) else ""
    return f"{parts.hostname or ''}{port}{parts.path.rstrip('/')}"


def translate(error: Exception, url: str) -> SoundstageError:
    """An error of the HTTP library as one of ours: the way there is missing, or the answer broke off."""
    import httpx

    words = str(error) or type(error).__name__
    broken = (
        httpx.ReadTimeout,
        httpx.WriteTimeout,
        httpx.ReadError,
        httpx.WriteError,
        httpx.CloseError,
        httpx.ProtocolError,
        httpx.DecodingError,
    )
    if isinstance(error, broken):
        return ConnectionCut(f"the provider's answer broke off: {type(error).__name__}: {words}")
    return EnvironmentProblem(
        f"{url} cannot be reached",
        seen=f"{type(error).__name__}: {words}",
        hint="check base_url, the network and the proxy settings",
    )
