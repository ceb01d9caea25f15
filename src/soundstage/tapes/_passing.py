"""The way to the real providers: a request goes out as it came, and each piece of the answer is handed on at once.

The pieces are kept with their times, and read on the way: what they come to goes into the journal and onto the tape.
Keys are those of the program, unless accounts are given: then the user's own take their place.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from soundstage.clock import Clock
from soundstage.errors import ConnectionCut, EnvironmentProblem
from soundstage.guard import permitted, real_proxy
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest, respond
from soundstage.net import LOOPBACK, Exchange, HttpRequest
from soundstage.tapes._accounts import KEY_HEADERS, KEY_PARAMETERS, KEY_VARIABLES, Account, keys_in
from soundstage.tapes._answers import AnswerParts
from soundstage.tapes._exchange import HttpCall, RecordedExchange, RecordedFailure
from soundstage.tapes._frames import digest, pack
from soundstage.wire import STAND_IN_KEY

UPSTREAMS: Final = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
        "accept-encoding",
        "expect",
    }
)
_NOT_BACK: Final = _HOP - {"content-length"} | {"content-encoding"}
_STAND_INS: Final = frozenset({STAND_IN_KEY, "sk-test"})
CONNECT_WITHIN: Final = 15.0  # seconds
SILENT_FOR: Final = 600.0  # seconds
KEPT_FOR: Final = 2.0  # seconds that an idle connection is used again; servers close theirs after 5 or more


class ProviderRequest(NamedTuple):
    """A request on its way.

    Args:
        to: the provider that it is for.
        path: the rest of its path.
        query: without keys.
        model: what it asks a model, if it does.
    """

    to: str
    path: str
    query: str
    model: ModelRequest | None


class Upstreams:
    """The providers, and how they are asked.

    Args:
        named: base URLs by provider, as their SDKs take them; the real ones for those that are not named.
        accounts: the user's own keys; unless given, those that programs send are used.
    """

    def __init__(self, named: Mapping[str, str], accounts: Mapping[str, Account] | None = None) -> None:
        bases = {name: each.base for name, each in (accounts or {}).items() if each.base}
        self._named = frozenset({*named, *bases})
        self._bases = {**UPSTREAMS, **bases, **named}
        self._accounts = accounts
        self._clients: dict[str, Any] = {}

    def base(self, asked: ProviderRequest) -> str:
        """The base URL of the provider that a request is for."""
        return self._bases[asked.to]

    def request(self, asked: ProviderRequest, request: HttpRequest) -> Any:
        """A request as it goes to the provider.

        Raises:
            EnvironmentProblem: if the program has no key but ours, and the user has none either.
        """
        headers = {name: value for name, value in request.headers.items() if name not in _HOP}
        query = parse_qsl(request.query, keep_blank_values=True)
        text = request.query
        own = (self._accounts or {}).get(asked.to, Account()).headers
        if own:
            headers = {name: value for name, value in headers.items() if name not in KEY_HEADERS} | {**own}
            text = urlencode([pair for pair in query if pair[0] not in KEY_PARAMETERS])
        elif self._accounts is not None and asked.to not in self._named:
            _check_key(asked.to, keys_in(headers, dict(query)))
        base = self._bases[asked.to]
        url = base.rstrip("/") + asked.path + (f"?{text}" if text else "")
        return self._client(base).build_request(
            request.method,
            url,
            content=request.body,
            headers={**headers, "accept-encoding": "identity"},
        )

    async def send(self, asked: ProviderRequest, sent: Any, exchange: Exchange) -> Any:
        """The provider's answer, as far as its head."""
        base = self._bases[asked.to]
        proxy = self._proxy(base)
        hosts = [urlsplit(url).hostname or "" for url in (base, proxy) if url]
        with permitted(hosts):
            return await exchange.wait(self._client(base).send(sent, stream=True))

    def _client(self, base: str) -> Any:
        import httpx

        if base not in self._clients:
            self._clients[base] = httpx.AsyncClient(
                timeout=httpx.Timeout(SILENT_FOR, connect=CONNECT_WITHIN),
                trust_env=False,
                proxy=self._proxy(base),
                limits=httpx.Limits(max_connections=None, keepalive_expiry=KEPT_FOR),
            )
        return self._clients[base]

    def _proxy(self, base: str) -> str | None:
        """The user's proxy on the way; the variables of a test name ours, which refuses."""
        near = (urlsplit(base).hostname or "") in (LOOPBACK, "localhost", "::1")
        return None if near else real_proxy(base)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()


def _check_key(to: str, keys: Iterable[str]) -> None:
    if all(key in _STAND_INS for key in keys):
        wanted = " or ".join(KEY_VARIABLES[to])
        raise EnvironmentProblem(
            f"there is no key for {to}",
            expected=f"{wanted} in the environment",
            seen="neither" if " or " in wanted else "it is not set",
            hint=f"export {KEY_VARIABLES[to][0]}=..., or name another address: upstream={{'{to}': URL}}",
        )


class Passing:
    """One request to a provider, while it goes on.

    Args:
        number: of the exchange on the tape.
        asked: who is asked, and for what.
        request: as it came.
        exchange: the way back to the program.
        upstreams: the providers.
        clock: whose times are kept.
        begun: when the recording began.
    """

    def __init__(
        self,
        number: int,
        asked: ProviderRequest,
        request: HttpRequest,
        exchange: Exchange,
        upstreams: Upstreams,
        clock: Clock,
        begun: float,
    ) -> None:
        self._number = number
        self._asked, self._request, self._exchange = asked, request, exchange
        self._upstreams = upstreams
        self._http = call_of(asked, request)
        self._clock = clock
        self._started = clock.now()
        self._started_ms = round((self._started - begun) * 1000, 1)
        self._wall = clock.wall().isoformat()
        self._pieces: list[tuple[float, bytes]] = []
        self._status = 0
        self._headers: dict[str, str] = {}
        self._parts: AnswerParts | None = None
        self._whole = False
        self.broken = False

    @property
    def begun(self) -> bool:
        """Whether the provider has begun to answer."""
        return self._status > 0

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Hand on the answer, piece by piece.

        Raises:
            EnvironmentProblem: if the provider cannot be asked.
        """
        import httpx

        try:
            sent = self._upstreams.request(self._asked, self._request)
            response = await self._upstreams.send(self._asked, sent, self._exchange)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            base = self._upstreams.base(self._asked)
            raise EnvironmentProblem(f"{base} cannot be reached: {type(error).__name__}: {error}") from None
        try:
            coded = response.headers.get("content-encoding", "identity") != "identity"
            await self._begin(response, coded=coded)
            source = aiter(response.aiter_bytes() if coded else response.aiter_raw())
            async for piece in self._exchange.each(source):
                self._pieces.append((self._passed(), piece))
                self._exchange.write(piece)
                yield piece
        except httpx.HTTPError:
            self.broken = True
        finally:
            await response.aclose()

    async def _begin(self, response: Any, *, coded: bool) -> None:
        back = {name: value for name, value in response.headers.items() if name not in _NOT_BACK}
        if coded:
            back.pop("content-length", None)
        self._status = response.status_code
        self._headers = dict(response.headers)
        if self._asked.model is not None:
            frames = pack(self._status, self._headers, ())
            self._parts = AnswerParts(self._asked.model.format, frames.status, frames.headers)
        await self._exchange.begin(response.status_code, back)

    async def chunks(self) -> AsyncIterator[ModelChunk]:
        """The same, as the chunks of a model's reply.

        Raises:
            ProviderError: if the provider answers with an error; it has been handed on.
            ConnectionCut: if the answer broke off.
            EnvironmentProblem: if the provider cannot be asked.
        """
        given = 0
        async with aclosing(self.pieces()) as pieces:
            async for piece in pieces:
                assert self._parts is not None
                self._parts.feed(piece)
                fresh = self._parts.chunks[given:]
                given += len(fresh)
                for chunk in fresh:
                    if not isinstance(chunk, FinishChunk):
                        yield chunk
        assert self._parts is not None
        self._whole = True
        self._parts.end()
        if self._parts.failure is not None:
            raise self._parts.failure.exception()
        if self.broken:
            raise ConnectionCut("the provider's answer broke off")
        for chunk in self._parts.chunks[given:]:
            yield chunk

    def _passed(self) -> float:
        return round((self._clock.now() - self._started) * 1000, 1)

    def recorded(self, *, left: bool = False) -> RecordedExchange:
        """The exchange; `left` says that the program did not wait for the end."""
        frames = pack(self._status or 200, self._headers, self._pieces, cut=self.broken)
        plain = RecordedExchange(
            number=self._number,
            timestamp=self._wall,
            started_ms=self._started_ms,
            latency_ms=self._passed(),
            request=self._asked.model,
            http=self._http,
            frames=frames,
        )
        if self._asked.model is None:
            return plain
        parts = self._parts
        if parts is not None and not self._whole:
            parts.end()
        response = respond(parts.chunks) if parts is not None and parts.chunks else None
        failure = RecordedFailure(type="client_gone") if left else parts and parts.failure
        return msgspec.structs.replace(
            plain,
            response=response,
            failure=failure,
            frames=msgspec.structs.replace(frames, of=digest(response)),
        )


PASSING: ContextVar[Passing] = ContextVar("PASSING")
"""The request to a provider that the current task hands on."""


class PassingModel:
    """The provider as a model: its reply is handed on as bytes while its chunks go into the journal."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The provider's reply."""
        return PASSING.get().chunks()


def call_of(asked: ProviderRequest, request: HttpRequest) -> HttpCall:
    """The way that a request came by."""
    body = "" if asked.model is not None else _as_text(request.body)
    return HttpCall(to=asked.to, method=request.method, path=asked.path, query=asked.query, body=body)


def _as_text(body: bytes) -> str:
    """A body as text; one that is none, by its digest."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return f"{len(body)} bytes, {digest(body.hex())}"
