"""The wire: any model, behind the HTTP interfaces of four providers.

One request: the path picks the codec, the codec makes a `ModelRequest` of the body, headers say who asks, the
journaled model answers in chunks, the same codec encodes them. Nothing here knows whether the model is
scripted, replayed or live.

Failures take the provider's shape: what it would refuse is refused with its status and words; a scripted
error is sent as it is; a script without an answer gives an error that no client retries and that says so.
Every one of them is in the journal.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qs

import msgspec

from soundstage.clock import Clock, IdSource, running_clock
from soundstage.errors import ConnectionCut, EnvironmentProblem, ProviderError, RequestRejected, ScriptError
from soundstage.journal import Journal, RequestRefused, RequestServed
from soundstage.messages import (
    ByteDelivery,
    FinishChunk,
    GarbledChunk,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    StartChunk,
    respond,
)
from soundstage.models import JournaledModel, Model
from soundstage.net import MAX_BODY, Exchange, HttpRequest
from soundstage.wire import _openai_responses, _side
from soundstage.wire._anthropic import AnthropicMessages
from soundstage.wire._bodies import accepted, unpacked
from soundstage.wire._callers import with_caller
from soundstage.wire._codec import AnswerStamp, Codec
from soundstage.wire._control import ControlApi, scripted_in
from soundstage.wire._delivery import delivery_in, pieces_for
from soundstage.wire._gemini import Gemini
from soundstage.wire._openai_chat import OpenAIChat
from soundstage.wire._openai_responses import OpenAIResponses
from soundstage.wire._routes import MatchedRoute, find_route, format_of, methods_of, sdk_routes
from soundstage.wire._signatures import IssuedSignatures
from soundstage.wire._threads import FIELD as THREAD
from soundstage.wire._threads import Threads

CODECS: Final[dict[str, Codec]] = {
    codec.name: codec for codec in (OpenAIChat(), OpenAIResponses(), AnthropicMessages(), Gemini())
}
SHOWN_OF_BODY: Final = 2000
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
UNSUPPORTED: Final = 415
NO_RETRY: Final = {"x-should-retry": "false"}
TOKEN_HEADERS: Final = ("x-soundstage-token", "x-api-key", "api-key", "x-goog-api-key")
REQUEST_IDS: Final = {"openai-chat": "x-request-id", "openai-responses": "x-request-id"}


class WireApp:
    """Answers provider requests from a model; give `handle` to an `HttpServer`.

    Args:
        model: what answers.
        journal: where everything goes.
        clock: whose time answers carry.
        ids: where ids come from.
        token: if given, what clients must send as API key or as `x-soundstage-token`.
        control_token: what requests to `/_soundstage/` must bring; a random one unless given.
        answers: that may be continued, of the Responses format and of Anthropic's threads; the newest are kept. All,
            unless given.
    """

    def __init__(
        self,
        model: Model,
        journal: Journal,
        *,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        token: str = "",
        control_token: str = "",
        answers: int | None = None,
    ) -> None:
        self.journal = journal
        self._clock = clock if clock is not None else running_clock()
        self._epoch = self._clock.wall().timestamp() - self._clock.now()  # Unix time of the clock's zero
        self._ids = ids if ids is not None else IdSource()
        self._token = token
        self.control_token = control_token or secrets.token_urlsafe(24)
        for secret in (token, self.control_token):
            if secret:
                journal.redactor.add(secret)
        scripted = scripted_in(model)
        identify = scripted.identify if scripted is not None else None
        self._model = JournaledModel(model, journal, source="wire", identify=identify)
        self._control = ControlApi(model, journal, self.control_token)
        self._answered: dict[str, tuple[ModelRequest, ModelResponse]] = {}  # Responses that may be continued
        self._answers = answers
        self._let_go = 0  # of those
        self._threads = Threads(answers)
        self._issued = IssuedSignatures(model, answers)
        self._kinds: dict[str, Callable[[HttpRequest, Exchange, MatchedRoute], Awaitable[None]]] = {
            "generate": self._generate,
            "count": self._side,
            "models": self._side,
            "model": self._side,
            "embed": self._side,
        }

    def close(self) -> None:
        """End what waits for news, so that the server can stop."""
        self._control.end_polls()

    async def handle(self, request: HttpRequest, exchange: Exchange) -> None:
        """Answer one request."""
        if request.path == "/health" or (request.path == "/" and request.method in ("GET", "HEAD")):
            await exchange.reply(200, {"content-type": "application/json"}, b'{"status":"ok"}')
            return
        try:
            await self._answer(request, exchange)
        except EnvironmentProblem as error:
            # The journal cannot be written: the app is told so, and not to try again.
            if exchange.started:
                raise
            codec = CODECS[format_of(request.path, request.headers)]
            fault = codec.fault(ProviderError(str(error), status=500, headers=NO_RETRY), self._stamp())
            await exchange.reply(fault.status, fault.headers, fault.body)

    async def _answer(self, request: HttpRequest, exchange: Exchange) -> None:
        if request.path.startswith("/_soundstage/"):
            await self._control.handle(request, exchange)
        elif self._token and not self._authorized(request):
            wrong = RequestRejected("invalid x-api-key", status=401, code="invalid_api_key")
            await self._refuse(request, exchange, wrong, of_a_stranger=True)
        else:
            await self._route(request, exchange)

    def _authorized(self, request: HttpRequest) -> bool:
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        given = [credentials or scheme, *parse_qs(request.query).get("key", ())]
        given += [request.headers.get(name, "") for name in TOKEN_HEADERS]
        return any(hmac.compare_digest(value.encode(), self._token.encode()) for value in given)

    async def _route(self, request: HttpRequest, exchange: Exchange) -> None:
        found = find_route(request.method, request.path, request.query, request.headers)
        if found is None:
            error, headers = _not_served(request)
            await self._refuse(request, exchange, error, headers=headers)
            return
        try:
            request = unpacked(request, MAX_BODY)
            if request.too_large:
                raise RequestRejected("Request exceeds the maximum allowed number of bytes.", status=413)
            await self._kinds[found.kind](request, exchange, found)
        except RequestRejected as error:
            if exchange.started:
                raise
            headers = {"accept-encoding": accepted()} if error.status == UNSUPPORTED else {}
            await self._refuse(request, exchange, error, headers=headers)

    async def _refuse(
        self,
        request: HttpRequest,
        exchange: Exchange,
        error: RequestRejected,
        *,
        of_a_stranger: bool = False,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        found = find_route(request.method, request.path, request.query, request.headers)
        codec = CODECS[found.format if found is not None else format_of(request.path, request.headers)]
        fault = codec.fault(error, self._stamp())
        shown = b"" if of_a_stranger else self._beginning_of_body(request)
        self.journal.append(
            RequestRefused(
                format=codec.name,
                path=request.path,
                status=fault.status,
                message=error.message,
                body=shown.decode("utf-8", "replace"),
            ),
            source="wire",
        )
        await exchange.reply(fault.status, {**fault.headers, **headers}, fault.body)

    def _beginning_of_body(self, request: HttpRequest) -> bytes:
        """The part of a refused body that the journal keeps. Nothing is kept of, or learnt from, a stranger's."""
        self._clean_headers(request)  # what is secret in them is known before the body is kept
        clean = self.journal.redactor.bytes(request.body[: 2 * SHOWN_OF_BODY])
        return clean[:SHOWN_OF_BODY]  # cut off last: no beginning of a secret is left

    def _clean_headers(self, request: HttpRequest) -> dict[str, str]:
        """The headers without their secrets; the journal's redactor learns these, and a key in the query."""
        redactor = self.journal.redactor
        for key in parse_qs(request.query).get("key", ()) if request.query else ():
            redactor.meet(key)
        return redactor.headers(request.headers)

    def _stamp(self) -> AnswerStamp:
        return AnswerStamp(self._ids.draw(), int(self._epoch + self._clock.now()))

    async def _side(self, request: HttpRequest, exchange: Exchange, found: MatchedRoute) -> None:
        """Answer a request that needs no model: counts, lists, embeddings."""
        what, body = _side.answer(found, request.body)
        self.journal.append(RequestServed(format=found.format, path=request.path, what=what), source="wire")
        await exchange.reply(200, {"content-type": "application/json"}, body)

    async def _generate(self, request: HttpRequest, exchange: Exchange, found: MatchedRoute) -> None:
        stamp = self._stamp()
        try:
            await self._generate_as(stamp, request, exchange, found)
        finally:
            self._threads.end(f"msg_{stamp.id}")

    async def _generate_as(
        self, stamp: AnswerStamp, request: HttpRequest, exchange: Exchange, found: MatchedRoute
    ) -> None:
        codec = CODECS[found.format]
        of_anthropic = codec.name == "anthropic"
        body = request.body
        if of_anthropic and THREAD in body:
            body = self._threads.begin(f"msg_{stamp.id}", body)
        asked = codec.decode(body, found.parameters)
        asked = self._continued(with_caller(asked, self._clean_headers(request)))
        if of_anthropic:
            self._issued.check(asked, body)
        try:
            if asked.stream:
                await self._stream(codec, asked, exchange, stamp)
            else:
                await self._complete(codec, asked, exchange, stamp)
        except ProviderError as error:
            await self._fault(codec, exchange, error, stamp)
        except ScriptError as error:
            refusal = ProviderError(str(error), status=400, kind="soundstage_no_answer", headers=NO_RETRY)
            await self._fault(codec, exchange, refusal, stamp)

    def _continued(self, asked: ModelRequest) -> ModelRequest:
        """A request of the Responses format that continues an earlier answer, with that history in front."""
        previous = asked.settings.get("previous_response_id")
        if asked.format != "openai-responses" or not isinstance(previous, str):
            return asked
        if previous not in self._answered:
            kept = f" Soundstage keeps the newest {self._answers} answers; {self._let_go} older ones have been let go."
            raise RequestRejected(
                f"Previous response with id '{previous}' not found." + (kept if self._let_go else ""),
                param="previous_response_id",
                code="previous_response_not_found",
            )
        continued = _openai_responses.continue_from(asked, *self._answered[previous])
        _openai_responses.check_calls(continued)
        return continued

    def _remember(self, asked: ModelRequest, chunks: list[ModelChunk], stamp: AnswerStamp) -> None:
        """Keep what later requests refer to."""
        if asked.format == "anthropic":
            self._issued.keep(chunks)
            if self._threads.holds(f"msg_{stamp.id}"):
                message = msgspec.json.decode(CODECS[asked.format].encode(respond(chunks), asked, stamp))
                self._threads.keep(message["id"], message["content"])
        if asked.format == "openai-responses" and asked.settings.get("store") is not False:
            self._answered[f"resp_{stamp.id}"] = (asked, respond(chunks))
            if self._answers is not None and len(self._answered) > self._answers:
                del self._answered[next(iter(self._answered))]
                self._let_go += 1

    async def _fault(
        self, codec: Codec, exchange: Exchange, error: ProviderError, stamp: AnswerStamp
    ) -> None:
        if exchange.started:
            raise error
        fault = codec.fault(error, stamp)
        await exchange.reply(fault.status, fault.headers, fault.body)

    async def _complete(
        self, codec: Codec, asked: ModelRequest, exchange: Exchange, stamp: AnswerStamp
    ) -> None:
        stream = self._model.stream(asked)
        chunks = stream.take()
        cut = False
        if chunks is None:
            chunks = []
            try:
                async for chunk in exchange.each(stream):
                    chunks.append(chunk)
            except ConnectionCut:
                cut = True
        response = stream.response or respond(chunks)
        body = codec.encode(response, asked, stamp)
        garbage = [chunk.data for chunk in chunks if isinstance(chunk, GarbledChunk)]
        if garbage:
            body = body[: len(body) // 2] + b"".join(garbage)
        request_id = REQUEST_IDS.get(codec.name, "request-id")
        headers = {"content-type": "application/json", request_id: f"req_{stamp.id}", **response.headers}
        delivery = delivery_in(chunks)
        if cut and delivery is not None and delivery.dropped:
            await exchange.drop()
            return
        if cut or delivery is not None:
            body = delivery.body or body if delivery is not None else body
            exchange.shape(pieces_for(delivery))
            await exchange.begin(200, {**headers, "content-length": str(len(body))})
            exchange.write(body[: len(body) // 2] if cut else body)
            await (exchange.cut() if cut else exchange.end())
            if not cut:
                self._remember(asked, chunks, stamp)
            return
        self._remember(asked, chunks, stamp)
        await exchange.reply(200, headers, body)

    async def _stream(
        self, codec: Codec, asked: ModelRequest, exchange: Exchange, stamp: AnswerStamp
    ) -> None:
        events = _StreamEncoding(codec, asked, stamp)
        stream = self._model.stream(asked)
        chunks = stream.take()
        try:
            if chunks is not None:
                data = b"".join([events.of(chunk) for chunk in chunks])
                exchange.shape(pieces_for(events.delivery))
                await exchange.begin(200, events.headers)
                exchange.write(data)
            else:
                chunks = await self._send_each(exchange, stream, events)
        except ConnectionCut:
            if not exchange.started and events.delivery is not None and events.delivery.dropped:
                await exchange.drop()
                return
            if not exchange.started:
                await exchange.begin(200, events.headers)
            await exchange.cut()
            return
        except ProviderError as error:
            if not exchange.started:
                raise
            await exchange.flush()  # some clients know an error only if it comes alone
            exchange.write(events.encoder.error(error))
        else:
            self._remember(asked, chunks, stamp)
        await (exchange.end() if events.cut is None else exchange.cut())

    async def _send_each(
        self, exchange: Exchange, stream: AsyncIterator[ModelChunk], events: _StreamEncoding
    ) -> list[ModelChunk]:
        chunks: list[ModelChunk] = []
        async for chunk in exchange.each(stream):
            chunks.append(chunk)
            data = events.of(chunk)
            if not exchange.started and type(chunk) is not StartChunk:
                exchange.shape(pieces_for(events.delivery))
                await exchange.begin(200, events.headers)
            exchange.write(data)
        return chunks


def _not_served(request: HttpRequest) -> tuple[RequestRejected, dict[str, str]]:
    """The answer to a request that no route knows, and its headers: another method, or a WebSocket, or another path."""
    if "websocket" in request.headers.get("upgrade", "").lower():
        words = f"Soundstage serves no WebSocket at {request.path}: use POST."
        return RequestRejected(words, status=426), {"upgrade": "HTTP/1.1", "connection": "Upgrade"}
    if methods := ", ".join(methods_of(request.path)):
        words = f"Not allowed: {request.method} {request.path}. Soundstage serves it with {methods}."
        return RequestRejected(words, status=405), {"allow": methods}
    shown = ", ".join(sdk_routes(format_of(request.path, request.headers).partition("-")[0]).served)
    words = f"Unknown request URL: {request.method} {request.path}. Soundstage does not serve it. It serves {shown}."
    return RequestRejected(words, status=404), {}


class _StreamEncoding:
    """Makes the events of one streamed answer; the first chunk may still change its headers and its model."""

    def __init__(self, codec: Codec, asked: ModelRequest, stamp: AnswerStamp) -> None:
        self._codec = codec
        self._asked = asked
        self._stamp = stamp
        self._begun = False
        self.delivery: ByteDelivery | None = None
        self.encoder = codec.encoder(asked, stamp)
        self.headers = {
            "content-type": getattr(self.encoder, "stream_type", codec.stream_type),
            "cache-control": "no-cache",
            REQUEST_IDS.get(codec.name, "request-id"): f"req_{stamp.id}",
        }

    @property
    def cut(self) -> int | None:
        """The bytes after which the connection breaks, if it is to."""
        return None if self.delivery is None else self.delivery.cut

    def of(self, chunk: ModelChunk) -> bytes:
        """The bytes to send for `chunk`."""
        if type(chunk) is StartChunk:
            self.headers.update(chunk.headers)
            self.delivery = chunk.delivery
            shown = msgspec.structs.replace(self._asked, model=chunk.model or self._asked.model)
            self.encoder = self._codec.encoder(shown, self._stamp)
            return b""
        encoder = self.encoder
        data = encoder.finish(chunk) if type(chunk) is FinishChunk else encoder.chunk(chunk)
        if self._begun:
            return data
        self._begun = True
        return encoder.begin() + data
