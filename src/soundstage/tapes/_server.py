"""The server between a program and the providers: it records what passes, plays a tape, or does both.

How it works. A program finds the server by its base URLs: `/openai/v1`, `/anthropic` and `/gemini` say which provider a
request is for. In a replay, the codec of the wire makes a request of the body, the playback finds its exchange, and the
frames go out byte for byte, at the recorded pace if it is wanted. What was not recorded is answered with an error that
says why, in the provider's shape, and which no client repeats.

While it records, a request goes to the real provider as it came, with the user's own key, and each piece of the answer
is passed on when it comes. When the answer is over, for whatever reason, the exchange goes onto the tape, without
secrets: those in headers are learnt before anything is written.

In mode `new` it does both: what is on the tape is played, the rest is asked for real and added.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from soundstage.clock import Clock, running_clock
from soundstage.errors import ConnectionCut, EnvironmentProblem, ProviderError, RequestRejected
from soundstage.guard import permitted
from soundstage.journal import Journal, Redactor
from soundstage.messages import ModelChunk, ModelRequest, respond
from soundstage.models import JournaledModel
from soundstage.net import LOOPBACK, Exchange, HttpRequest, HttpServer
from soundstage.tapes._answers import AnswerParts, frames_of, pieces_of, timed_frames
from soundstage.tapes._exchange import HttpCall, RecordedExchange, RecordedFailure
from soundstage.tapes._frames import Frames, digest, pack
from soundstage.tapes._playback import Playback, remapped
from soundstage.tapes._replay import ReplayModel
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import DivergenceError
from soundstage.wire import CODECS, AnswerStamp, find_route, format_of, with_caller

BASES: Final = {"openai": "/openai/v1", "anthropic": "/anthropic", "gemini": "/gemini"}
UPSTREAMS: Final = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
_VARIABLES: Final = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
}
_OF_FORMAT: Final = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
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
_KEYS: Final = frozenset({"key", "api_key", "access_token"})  # in a query
NO_RETRY: Final = {"x-should-retry": "false"}
CONNECT_WITHIN: Final = 15.0  # seconds
SILENT_FOR: Final = 600.0  # seconds


class _Asked(NamedTuple):
    """A request on its way: who it is for, the rest of its path, and what it asks a model, if it does."""

    to: str
    path: str
    query: str
    model: ModelRequest | None


class TapeServer(HttpServer):
    """A server that records programs, and plays what it has recorded.

    Args:
        tape: what is played, and what is recorded.
        journal: where what it plays goes.
        playback: what to play; nothing unless given.
        upstreams: base URLs of the providers, as their SDKs take them; those that are not named are the real ones.
            `None` lets nothing out.
        speed: of a replay: 1 keeps the recorded pace; without it there are no delays.
        port: 0 picks a free one.

    Attributes:
        unreachable: what went wrong on the way to a provider, one line each.
        recorded: exchanges that were recorded.
    """

    def __init__(
        self,
        tape: Tape,
        journal: Journal,
        *,
        playback: Playback | None = None,
        upstreams: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        speed: float | None = None,
        host: str = LOOPBACK,
        port: int = 0,
    ) -> None:
        super().__init__(self._handle, journal, host=host, port=port, name="tape-server")
        self.tape = tape
        self.playback = playback
        self.unreachable: list[str] = []
        self.recorded = 0
        self._clock = clock if clock is not None else running_clock()
        self._begun = self._clock.now()
        self._upstreams = None if upstreams is None else {**UPSTREAMS, **upstreams}
        self._clients: dict[str, Any] = {}
        self._number = max((one.number for one in tape.exchanges), default=0)
        self._model = (
            JournaledModel(
                _FramesModel(tape, playback, clock=self._clock, speed=speed), journal, source="tape"
            )
            if playback is not None
            else None
        )

    def environment(self) -> dict[str, str]:
        """Variables that point the official packages and CLIs at this server."""
        return {_VARIABLES[name]: f"{self.url}{base}" for name, base in BASES.items()}

    async def _stop(self) -> None:
        try:
            await super()._stop()
        finally:
            for client in self._clients.values():
                await client.aclose()

    async def _handle(self, request: HttpRequest, exchange: Exchange) -> None:
        asked = self._read(request)
        if self.playback is not None and await self._played(asked, request, exchange):
            return
        if self._upstreams is None:
            await self._tell(
                request, exchange, f"not on the tape {self.tape.name}: {request.method} {asked.path}"
            )
        else:
            await self._pass_on(asked, request, exchange, self._upstreams[asked.to])

    def _read(self, request: HttpRequest) -> _Asked:
        """The request, and who it is for. A body that the codec does not know is passed on as it is."""
        headers = self._clean_headers(request)
        to = next((name for name, base in BASES.items() if request.path.startswith(f"{base}/")), "")
        found = find_route(request.method, request.path, request.query, request.headers)
        if not to:
            to = _OF_FORMAT[found.format if found is not None else format_of(request.path)]
            path = request.path.removeprefix("/v1") if to == "openai" else request.path
        else:
            path = request.path.removeprefix(BASES[to])
        query = urlencode(
            [pair for pair in parse_qsl(request.query, keep_blank_values=True) if pair[0] not in _KEYS]
        )
        model = None
        if found is not None and found.kind == "generate":
            try:
                model = _without_headers(
                    with_caller(CODECS[found.format].decode(request.body, found.parameters), headers)
                )
            except RequestRejected:
                model = None
        return _Asked(to, path, query, model)

    def _clean_headers(self, request: HttpRequest) -> dict[str, str]:
        redactor: Redactor = self.tape.redactor
        for name, value in parse_qsl(request.query):
            if name in _KEYS:
                redactor.meet(value)
        self.journal.redactor.headers(request.headers)
        return redactor.headers(request.headers)

    async def _tell(self, request: HttpRequest, exchange: Exchange, text: str, status: int = 400) -> None:
        found = find_route(request.method, request.path, request.query, request.headers)
        codec = CODECS[found.format if found is not None else format_of(request.path)]
        error = ProviderError(text, status=status, kind="soundstage_divergence", headers=NO_RETRY)
        fault = codec.fault(error, AnswerStamp("tape".ljust(24, "0"), 0))
        await exchange.reply(fault.status, fault.headers, fault.body)

    async def _played(self, asked: _Asked, request: HttpRequest, exchange: Exchange) -> bool:
        """Answer from the tape; whether that was possible, or is at an end with a verdict."""
        assert self.playback is not None
        if asked.model is None:
            call = _call(asked, request)
            found = self.playback.take_call(call)
            if found is None:
                return False
            await _send(exchange, frames_of(found))
            return True
        if self._upstreams is not None and not self.playback.has(asked.model):
            return False
        await self._play(asked.model, request, exchange)
        return True

    async def _play(self, asked: ModelRequest, request: HttpRequest, exchange: Exchange) -> None:
        assert self._model is not None
        sending = _SENDING.set(exchange)
        try:
            async for _ in exchange.each(self._model.stream(asked)):
                pass
        except DivergenceError as error:
            await self._tell(request, exchange, error.verdict.text())
            return
        except (ProviderError, ConnectionCut):
            pass  # its frames have been sent
        finally:
            _SENDING.reset(sending)
        await _close(exchange, cut=_CUT.get())

    async def _pass_on(self, asked: _Asked, request: HttpRequest, exchange: Exchange, base: str) -> None:
        import httpx

        self._number += 1
        open_exchange = _OpenExchange(self._number, asked, request, self._clock, self._begun)
        try:
            failed = await self._pass(asked, request, exchange, base, open_exchange)
        except asyncio.CancelledError:
            self._keep(open_exchange.exchange("client_gone"))
            raise
        except httpx.HTTPError as error:
            if not open_exchange.begun:
                told = f"{base} cannot be reached: {type(error).__name__}: {error}"
                self.unreachable.append(told)
                await self._tell(request, exchange, told, status=502)
                return
            failed = True
        self._keep(open_exchange.exchange("cut" if failed else ""))
        await _close(exchange, cut=failed)

    async def _pass(
        self, asked: _Asked, request: HttpRequest, exchange: Exchange, base: str, kept: _OpenExchange
    ) -> bool:
        """Ask the provider and hand on what it answers; whether the answer broke off."""
        import httpx

        client = self._client(base)
        url = base.rstrip("/") + asked.path + (f"?{request.query}" if request.query else "")
        headers = [(name, value) for name, value in request.headers.items() if name not in _HOP]
        sent = client.build_request(
            request.method, url, content=request.body, headers=[*headers, ("accept-encoding", "identity")]
        )
        with permitted([urlsplit(base).hostname or ""]):
            response = await exchange.wait(client.send(sent, stream=True))
        try:
            coded = response.headers.get("content-encoding", "identity") != "identity"
            back = {name: value for name, value in response.headers.items() if name not in _NOT_BACK}
            if coded:
                back.pop("content-length", None)
            kept.begin(response.status_code, dict(response.headers))
            await exchange.begin(response.status_code, back)
            async for piece in exchange.each(
                aiter(response.aiter_bytes() if coded else response.aiter_raw())
            ):
                kept.add(piece)
                exchange.write(piece)
        except httpx.HTTPError:
            return True
        finally:
            await response.aclose()
        return False

    def _client(self, base: str) -> Any:
        import httpx

        if base not in self._clients:
            near = (urlsplit(base).hostname or "") in (LOOPBACK, "localhost", "::1")
            self._clients[base] = httpx.AsyncClient(
                timeout=httpx.Timeout(SILENT_FOR, connect=CONNECT_WITHIN),
                trust_env=not near,
                limits=httpx.Limits(max_connections=None),
            )
        return self._clients[base]

    def _keep(self, exchange: RecordedExchange) -> None:
        try:
            self.tape.append(exchange)
        except EnvironmentProblem as problem:
            self.unreachable.append(str(problem))
            raise
        self.recorded += 1


class _OpenExchange:
    """One exchange while it goes on."""

    def __init__(self, number: int, asked: _Asked, request: HttpRequest, clock: Clock, begun: float) -> None:
        self._number = number
        self._asked = asked
        self._http = _call(asked, request)
        self._clock = clock
        self._started = clock.now()
        self._started_ms = round((self._started - begun) * 1000, 1)
        self._wall = clock.wall().isoformat()
        self._status = 0
        self._headers: dict[str, str] = {}
        self._pieces: list[tuple[float, bytes]] = []

    @property
    def begun(self) -> bool:
        """Whether the provider has begun to answer."""
        return self._status > 0

    def begin(self, status: int, headers: dict[str, str]) -> None:
        self._status = status
        self._headers = headers

    def add(self, piece: bytes) -> None:
        self._pieces.append((self._passed(), piece))

    def _passed(self) -> float:
        return round((self._clock.now() - self._started) * 1000, 1)

    def exchange(self, broken: str) -> RecordedExchange:
        """The exchange; `broken` says how the answer was broken off, if it was."""
        frames = pack(self._status or 200, self._headers, self._pieces, cut=broken == "cut")
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
        return with_response(plain, self._asked.model, broken)


def with_response(plain: RecordedExchange, asked: ModelRequest, broken: str) -> RecordedExchange:
    """The exchange with what its frames come to."""
    frames = plain.frames
    assert frames is not None
    parts = AnswerParts(asked.format, frames.status, frames.headers)
    for _, piece in frames.pieces():
        parts.feed(piece)
    parts.end()
    response = respond(parts.chunks) if parts.chunks else None
    failure = RecordedFailure(type="client_gone") if broken == "client_gone" else parts.failure
    return msgspec.structs.replace(
        plain,
        response=response,
        failure=failure,
        frames=msgspec.structs.replace(frames, of=digest(response)),
    )


def _without_headers(request: ModelRequest) -> ModelRequest:
    """A request without headers that say nothing to a reader; who asks has been read from them."""
    caller = request.caller
    kept = {name: value for name, value in caller.headers.items() if name == "user-agent"}
    return msgspec.structs.replace(request, caller=msgspec.structs.replace(caller, headers=kept))


def _call(asked: _Asked, request: HttpRequest) -> HttpCall:
    body = "" if asked.model is not None else _as_text(request.body)
    return HttpCall(to=asked.to, method=request.method, path=asked.path, query=asked.query, body=body)


def _as_text(body: bytes) -> str:
    """A body as text; one that is none, by its digest."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return f"{len(body)} bytes, {digest(body.hex())}"


_SENDING: ContextVar[Exchange] = ContextVar("_SENDING")
_CUT: ContextVar[bool] = ContextVar("_CUT", default=False)


class _FramesModel(ReplayModel):
    """Plays exchanges as frames: each goes out as bytes when its chunks go into the journal."""

    def __init__(self, tape: Tape, playback: Playback, *, clock: Clock, speed: float | None) -> None:
        super().__init__(tape, clock=clock, speed=speed)
        self.playback = playback

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The recorded reply; its bytes are sent meanwhile."""
        to = _SENDING.get()
        played = self.playback.take(request)
        exchange = remapped(played.exchange, self.tape.head.places, self.playback.here)
        frames = frames_of(exchange)
        _CUT.set(frames.cut)
        passed = 0.0
        begun = False
        finish: ModelChunk | None = None
        for at, piece, chunks in timed_frames(frames, request.format):
            passed = await self.wait(passed, at)
            if not begun:
                await to.begin(frames.status, _headers(frames))
                begun = True
            to.write(piece)
            for chunk in chunks:
                yield chunk
        if not begun:
            await to.begin(frames.status, _headers(frames))
        if exchange.failure is not None:
            raise exchange.failure.exception()
        for timed in pieces_of(exchange)[-1:]:
            finish = timed.chunk
        if finish is not None:
            yield msgspec.structs.replace(finish, served_by=self.served_by(played))


def _headers(frames: Frames) -> dict[str, str]:
    if frames.cut or frames.headers.get("content-type", "").startswith("text/event-stream"):
        return frames.headers
    return {**frames.headers, "content-length": str(sum(frames.sizes))}


async def _send(exchange: Exchange, frames: Frames) -> None:
    """Answer with frames, at once."""
    await exchange.begin(frames.status, _headers(frames))
    exchange.write(frames.body)
    await _close(exchange, cut=frames.cut)


async def _close(exchange: Exchange, *, cut: bool) -> None:
    if cut:
        await exchange.cut()
    else:
        await exchange.end()
