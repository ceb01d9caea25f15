"""The answer of a provider, read from its bytes. Pure.

How it works. The first byte tells how an answer is framed: an object is a whole answer, an array is a stream of Gemini
without `alt=sse`, anything else is a stream of events. The framing makes JSON objects of the bytes, however they were
cut, and the decoder of the format makes chunks of the objects. An answer with an error status is an error, whatever is
in it.

An error that comes within a stream is raised after the chunks before it have been given: by the same call if there are
none, else by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from soundstage.errors import ConnectionCut, ModelError, ScriptError, did_you_mean
from soundstage.live._answer_anthropic import MessageDecoder
from soundstage.live._answer_array import ArrayReader
from soundstage.live._answer_chat import ChatDecoder
from soundstage.live._answer_format import AnswerDecoder, error_in, garbled, read_object
from soundstage.live._answer_gemini import ContentDecoder
from soundstage.live._answer_responses import ResponseDecoder
from soundstage.live._answer_sse import SseReader
from soundstage.messages import ModelChunk, StartChunk

DECODERS: Final[dict[str, Callable[[], AnswerDecoder]]] = {
    "openai-chat": ChatDecoder,
    "openai-responses": ResponseDecoder,
    "anthropic": MessageDecoder,
    "gemini": ContentDecoder,
}
LAST: Final = "[DONE]"
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
_KEPT: Final = (
    "x-ratelimit-",
    "anthropic-ratelimit-",
    "retry-after",
    "x-should-retry",
    "request-id",
    "x-request-id",
)


class AnswerReader:
    """Reads the answer of a provider: bytes in, chunks out.

    It takes streamed answers and whole ones, in any pieces. What has no chunk of its own (citations, refusals, tools
    that the provider runs, further choices) comes as an `OpaqueChunk`.

    Args:
        format: `openai-chat`, `openai-responses`, `anthropic` or `gemini`, as in `ModelRequest.format`.
        status: HTTP status of the answer.
        headers: of the answer, in any case; those that apps act on are in the first chunk, and in an error.

    Raises:
        ScriptError: for a format that is not known.

    Example:
        >>> reader = AnswerReader("openai-chat")
        >>> reader.feed(b'data: {"model": "m", "choices": [{"index": 0, "delta": {"content": "Hel')
        []
        >>> start, text = reader.feed(b'lo"}, "finish_reason": "stop"}]}\\n\\ndata: [DONE]\\n\\n')
        >>> start.model, text.text, reader.done
        ('m', 'Hello', True)
        >>> (finish,) = reader.end()
        >>> finish.finish
        'stop'
    """

    def __init__(
        self,
        format: str,  # noqa: A002
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if format not in DECODERS:
            known = ", ".join(DECODERS)
            hint = did_you_mean(format, DECODERS)
            raise ScriptError("this format is not known", expected=known, seen=repr(format), hint=hint)
        self._status = status
        self._headers = kept_headers(headers or {})
        self._decoder = DECODERS[format]()
        self._held = bytearray()  # until the framing is known; of an error all
        self._framing: _Framing | None = None
        self._started = False
        self._failed: ModelError | None = None

    @property
    def done(self) -> bool:
        """Whether nothing more will come: the last event has, or an error."""
        return self._decoder.done or self._failed is not None

    def feed(self, piece: bytes) -> list[ModelChunk]:
        """The chunks that `piece` completes.

        Args:
            piece: bytes of the body as they come, `content-encoding` (gzip and others) already undone.

        Raises:
            ProviderError: if the provider reports an error within the answer.
            ConnectionCut: if the answer is garbled.
        """
        if self._status >= 400:
            self._held += piece
            return []
        if self._framing is None:
            self._held += piece
            begun = self._held.lstrip(_BLANK)
            if not begun:
                return []
            self._framing = _framing(begun[0])
            piece = bytes(self._held)
        return self._read(self._framing.feed(piece, self._decoder))

    def end(self) -> list[ModelChunk]:
        """The chunks that are known only when the answer has ended; the last one is the `FinishChunk`.

        Of an answer that is not streamed, that is all chunks.

        Raises:
            ProviderError: if the answer is an error: with its status, kind, code, message and headers.
            ConnectionCut: if the answer has broken off, or is garbled.
        """
        if self._status >= 400:
            raise error_in(bytes(self._held), self._status, self._headers)
        chunks = self._read(self._framing.end(self._decoder)) if self._framing is not None else []
        if self._failed is not None:
            raise self._failed
        finish = self._decoder.finish()
        if finish is None:
            raise ConnectionCut("the provider's answer broke off before its end")
        start = [] if self._started else [self._start()]
        return [*start, *chunks, *self._decoder.rest(), finish]

    def _read(self, found: Iterator[ModelChunk]) -> list[ModelChunk]:
        if self._failed is not None:
            raise self._failed
        chunks: list[ModelChunk] = []
        try:
            for chunk in found:
                if not self._started:
                    chunks.append(self._start())
                chunks.append(chunk)
        except ModelError as error:
            self._failed = error
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            self._failed = garbled(repr(error))
            self._failed.__cause__ = error
        if self._failed is not None and not chunks:
            raise self._failed
        return chunks

    def _start(self) -> StartChunk:
        self._started = True
        return StartChunk(model=self._decoder.model, headers=self._headers)


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that apps act on: limits, ids of requests, when to try again."""
    return {name.lower(): value for name, value in headers.items() if name.lower().startswith(_KEPT)}


class _Framing(Protocol):
    """How the objects of an answer are told apart."""

    def feed(self, piece: bytes, decoder: AnswerDecoder) -> Iterator[ModelChunk]: ...

    def end(self, decoder: AnswerDecoder) -> Iterator[ModelChunk]: ...


def _framing(first: int) -> _Framing:
    framings: dict[int, type[_Framing]] = {ord("{"): _Whole, ord("["): _Array}
    return framings.get(first, _Events)()


class _Whole:
    """One object."""

    def __init__(self) -> None:
        self._body = bytearray()

    def feed(self, piece: bytes, decoder: AnswerDecoder) -> Iterator[ModelChunk]:
        self._body += piece
        yield from ()

    def end(self, decoder: AnswerDecoder) -> Iterator[ModelChunk]:
        yield from decoder.whole(read_object(bytes(self._body).removeprefix(b"\xef\xbb\xbf")))


class _Array:
    """The items of an array."""

    def __init__(self) -> None:
        self._reader = ArrayReader()

    def feed(self, piece: bytes, decoder: AnswerDecoder) -> Iterator[ModelChunk]:
        for item in self._reader.feed(piece):
            yield from decoder.event(read_object(item))

    def end(self, decoder: AnswerDecoder) -> Iterator[ModelChunk]:
        if not self._reader.closed:
            raise ConnectionCut("the provider's answer broke off within its array")
        yield from ()


class _Events:
    """Server-sent events, with an object in each."""

    def __init__(self) -> None:
        self._reader = SseReader()

    def feed(self, piece: bytes, decoder: AnswerDecoder) -> Iterator[ModelChunk]:
        for event in self._reader.feed(piece):
            if event.data.strip() == LAST:
                decoder.done = True
            else:
                yield from decoder.event(read_object(event.data))

    def end(self, decoder: AnswerDecoder) -> Iterator[ModelChunk]:
        for event in self._reader.end():
            yield from decoder.event(read_object(event.data))
