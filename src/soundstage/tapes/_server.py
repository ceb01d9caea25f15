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
import threading
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from typing import Final
from urllib.parse import parse_qsl, urlencode

import msgspec

from soundstage.clock import Clock, running_clock
from soundstage.errors import ConnectionCut, EnvironmentProblem, ProviderError, RequestRejected
from soundstage.journal import Journal, Redactor
from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models import JournaledModel
from soundstage.net import LOOPBACK, Exchange, HttpRequest
from soundstage.tapes._accounts import KEY_PARAMETERS, Account
from soundstage.tapes._answers import frames_of, pieces_of, timed_frames
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._frames import Frames
from soundstage.tapes._passing import PASSING, Passing, PassingModel, ProviderRequest, Upstreams, call_of
from soundstage.tapes._playback import Playback, remapped
from soundstage.tapes._replay import ReplayModel
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import DivergenceError
from soundstage.wire import CODECS, AnswerStamp, ModelEndpoint, find_route, format_of, with_caller

BASES: Final = {"openai": "/openai/v1", "anthropic": "/anthropic", "gemini": "/gemini"}
_OF_FORMAT: Final = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
IDLE_WITHIN: Final = 5.0  # seconds
NO_RETRY: Final = {"x-should-retry": "false"}


class TapeServer(ModelEndpoint):
    """A server that records programs, and plays what it has recorded.

    Args:
        tape: what is played, and what is recorded.
        journal: where what it records and plays goes.
        playback: what to play; nothing unless given.
        upstreams: base URLs of the providers, as their SDKs take them; those that are not named are the real ones.
            `None` lets nothing out.
        accounts: the user's own keys, by provider, for programs that have none; unless given, those that programs
            send are used.
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
        accounts: Mapping[str, Account] | None = None,
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
        self._under_way = 0
        self._idle = threading.Condition()
        self._clock = clock if clock is not None else running_clock()
        self._begun = self._clock.now()
        self._upstreams = None if upstreams is None else Upstreams(upstreams, accounts)
        self._live = JournaledModel(PassingModel(), journal, source="tape")
        self._model = (
            JournaledModel(_FramesModel(playback, clock=self._clock, speed=speed), journal, source="tape")
            if playback is not None
            else None
        )

    @property
    def openai_url(self) -> str:
        """`base_url` for the `openai` package."""
        return self.url + BASES["openai"]

    @property
    def anthropic_url(self) -> str:
        """`base_url` for the `anthropic` package and `ANTHROPIC_BASE_URL`."""
        return self.url + BASES["anthropic"]

    @property
    def gemini_url(self) -> str:
        """`base_url` for `google-genai` (in its `http_options`)."""
        return self.url + BASES["gemini"]

    async def _stop(self) -> None:
        try:
            await super()._stop()
        finally:
            if self._upstreams is not None:
                await self._upstreams.close()

    def wait_until_idle(self, within: float = IDLE_WITHIN) -> None:
        """Block until no request is under way, from a thread other than the server's.

        A client has its whole answer a moment before that is on the tape.

        Args:
            within: seconds; what is under way then is told in `unreachable`.
        """
        with self._idle:
            if not self._idle.wait_for(lambda: not self._under_way, within):
                self.unreachable.append(f"{self._under_way} request(s) were under way when the run ended")

    async def _handle(self, request: HttpRequest, exchange: Exchange) -> None:
        with self._idle:
            self._under_way += 1
        try:
            await self._answer(request, exchange)
        finally:
            with self._idle:
                self._under_way -= 1
                self._idle.notify_all()

    async def _answer(self, request: HttpRequest, exchange: Exchange) -> None:
        asked = self._read(request)
        if self.playback is not None and await self._played(asked, request, exchange):
            return
        if self._upstreams is None:
            await self._tell(
                request, exchange, f"not on the tape {self.tape.name}: {request.method} {asked.path}"
            )
        else:
            await self._pass_on(asked, request, exchange, self._upstreams)

    def _read(self, request: HttpRequest) -> ProviderRequest:
        """The request, and who it is for. A body that the codec does not know is passed on as it is."""
        headers = self._clean_headers(request)
        to = next((name for name, base in BASES.items() if request.path.startswith(f"{base}/")), "")
        found = find_route(request.method, request.path, request.query, request.headers)
        if not to:
            to = _OF_FORMAT[found.format if found is not None else format_of(request.path, request.headers)]
            path = request.path.removeprefix("/v1") if to == "openai" else request.path
        else:
            path = request.path.removeprefix(BASES[to])
        query = urlencode(
            [
                pair
                for pair in parse_qsl(request.query, keep_blank_values=True)
                if pair[0] not in KEY_PARAMETERS
            ]
        )
        model = None
        if found is not None and found.kind == "generate":
            try:
                model = _without_headers(
                    with_caller(CODECS[found.format].decode(request.body, found.parameters), headers)
                )
            except RequestRejected:
                model = None
        return ProviderRequest(to, path, query, model)

    def _clean_headers(self, request: HttpRequest) -> dict[str, str]:
        redactor: Redactor = self.tape.redactor
        for name, value in parse_qsl(request.query):
            if name in KEY_PARAMETERS:
                redactor.meet(value)
        self.journal.redactor.headers(request.headers)
        return redactor.headers(request.headers)

    async def _tell(self, request: HttpRequest, exchange: Exchange, text: str, status: int = 400) -> None:
        found = find_route(request.method, request.path, request.query, request.headers)
        codec = CODECS[found.format if found is not None else format_of(request.path, request.headers)]
        error = ProviderError(text, status=status, kind="soundstage_divergence", headers=NO_RETRY)
        fault = codec.fault(error, AnswerStamp("tape".ljust(24, "0"), 0))
        await exchange.reply(fault.status, fault.headers, fault.body)

    async def _played(self, asked: ProviderRequest, request: HttpRequest, exchange: Exchange) -> bool:
        """Answer from the tape; whether that was possible, or is at an end with a verdict."""
        assert self.playback is not None
        if asked.model is None:
            call = call_of(asked, request)
            found = self.playback.take_call(call)
            if found is None:
                return False
            await _send(exchange, frames_of(found))
            return True
        if self._upstreams is not None and self.playback.find(asked.model) is None:
            return False
        await self._play(asked.model, request, exchange)
        return True

    async def _play(
        self, asked: ModelRequest, request: HttpRequest, exchange: Exchange
    ) -> RecordedExchange | None:
        """Answer from the tape; the exchange as it was sent, or none after a verdict."""
        assert self._model is not None
        sending = _SENDING.set(exchange)
        try:
            async for _ in exchange.each(self._model.stream(asked)):
                pass
        except DivergenceError as error:
            await self._tell(request, exchange, error.verdict.text())
            return None
        except (ProviderError, ConnectionCut):
            pass  # its frames have been sent
        finally:
            _SENDING.reset(sending)
        sent = _SENT.get()
        await _close(exchange, cut=sent.frames is not None and sent.frames.cut)
        return sent

    async def _pass_on(
        self, asked: ProviderRequest, request: HttpRequest, exchange: Exchange, upstreams: Upstreams
    ) -> None:
        """Ask the provider, hand on what it answers, and keep it on the tape."""
        number = self.tape.next_number()
        passing = Passing(number, asked, request, exchange, upstreams, self._clock, self._begun)
        try:
            await self._pass(asked, passing)
        except asyncio.CancelledError:
            self._keep(passing.recorded(left=True))
            raise
        except EnvironmentProblem as problem:
            self.unreachable.append(str(problem))
            await self._tell(request, exchange, str(problem), status=502)
            return
        self._keep(passing.recorded())
        await _close(exchange, cut=passing.broken)

    async def _pass(self, asked: ProviderRequest, passing: Passing) -> None:
        if asked.model is None:
            async for _ in passing.pieces():
                pass
            return
        current = PASSING.set(passing)
        try:
            async for _ in self._live.stream(asked.model):
                pass
        except (ProviderError, ConnectionCut):
            pass  # it has been handed on
        finally:
            PASSING.reset(current)

    def _keep(self, exchange: RecordedExchange) -> None:
        try:
            self.tape.append(exchange)
        except EnvironmentProblem as problem:
            self.unreachable.append(str(problem))
            raise
        self.recorded += 1


def _without_headers(request: ModelRequest) -> ModelRequest:
    """A request without headers that say nothing to a reader; who asks has been read from them."""
    caller = request.caller
    kept = {name: value for name, value in caller.headers.items() if name == "user-agent"}
    return msgspec.structs.replace(request, caller=msgspec.structs.replace(caller, headers=kept))


_SENDING: ContextVar[Exchange] = ContextVar("_SENDING")
_SENT: ContextVar[RecordedExchange] = ContextVar("_SENT")  # with its frames


class _FramesModel(ReplayModel):
    """Plays exchanges as frames: each goes out as bytes when its chunks go into the journal."""

    def __init__(self, playback: Playback, *, clock: Clock, speed: float | None) -> None:
        super().__init__(playback.tape, clock=clock, speed=speed, playback=playback)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The recorded reply; its bytes are sent meanwhile."""
        to = _SENDING.get()
        played = self.playback.take(request)
        exchange = remapped(played.exchange, self.tape.head.places, self.playback.here)
        frames = frames_of(exchange)
        _SENT.set(msgspec.structs.replace(exchange, frames=frames))
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
