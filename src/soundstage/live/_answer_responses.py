"""OpenAI Responses, an answer read. Pure.

Source: the provider's API reference for the response object and its streaming events. Text, thinking and the input of
calls are read from their deltas. When an item is done, it is read again: what no delta has brought is in it. When the
response is done, the same holds for its items. So a whole answer is read as the last event of a stream that has said
nothing before, and a server that streams whole items is understood.

Calls of tools that the provider defines and the app executes (`shell`, `apply_patch`) are tool calls like others. Items
that the app does not execute or show (searches, images, programs that the provider has run) are opaque, and so are
refusals, annotations and log probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from soundstage.live._answer_format import AnswerDecoder, merged, provider_error
from soundstage.messages import (
    FinishChunk,
    FinishReason,
    ModelChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
)
from soundstage.models.response_calls import ITEM_HEAD, beside_call, is_call, joined, read_call

FINISH: Final[dict[str, FinishReason]] = {
    "completed": "stop",
    "max_output_tokens": "length",
    "max_messages": "length",
    "steered": "pause",
    "content_filter": "content_filter",
    "cancelled": "error",
    "queued": "pause",  # an answer in the background is asked for again
    "in_progress": "pause",
}
CALLS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
}  # the field with what the tool gets
LAST: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)
_TEXT: Final = frozenset({"type", "text"})


class ResponseDecoder(AnswerDecoder):
    """Blocks by the item that they are in, and the part of it."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[tuple[Any, ...], int] = {}  # of blocks, by item and part
        self._latest: dict[tuple[Any, ...], int] = {}  # part of the thinking, by block
        self._read: set[int] = set()  # items that are done
        self._audio: dict[str, str] = {}
        self._called = False
        self._finish: FinishReason | None = None
        self._usage = Usage()
        self._events: Final[dict[str, Callable[[dict[str, Any]], Iterator[ModelChunk]]]] = {
            "response.output_item.added": self._added,
            "response.output_item.done": self._done,
            "response.output_text.delta": self._text,
            "response.reasoning_text.delta": self._reasoned,
            "response.reasoning_summary_text.delta": self._summarized,
            "response.function_call_arguments.delta": self._input,
            "response.custom_tool_call_input.delta": self._input,
            "response.audio.delta": self._heard,
            "response.audio.transcript.delta": self._heard,
        }

    def event(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.event`."""
        kind = str(given.get("type") or "")
        if kind == "error" or (not kind and given.get("error")):
            error = given.get("error")
            flat = {"code": given.get("code"), "message": given.get("message")}
            raise provider_error(error or flat)
        handle = self._events.get(kind)
        if handle is not None:
            yield from handle(given)
        elif kind in LAST:
            yield from self.whole(given["response"])
        elif isinstance(given.get("response"), dict):
            self.model = str(given["response"].get("model") or self.model)

    def whole(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.whole`."""
        self.model = str(given.get("model") or self.model)
        for number, item in enumerate(given.get("output") or ()):
            if number not in self._read:
                yield from self._done({"output_index": number, "item": item})
        if given.get("error"):
            raise provider_error(given["error"])
        if isinstance(given.get("usage"), dict):
            self._usage = _usage(given["usage"])
        reason = (given.get("incomplete_details") or {}).get("reason") or given["status"]
        self._finish = FINISH.get(reason, "length" if given["status"] == "incomplete" else "stop")
        self.done = True

    def _block(self, *key: Any) -> int:
        if key not in self._numbers:
            self._numbers[key] = self._new()
        return self._numbers[key]

    def _text(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        index = self._block(given["output_index"], "text", given["content_index"])
        yield TextChunk(index=index, text=given["delta"])

    def _reasoned(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        yield self._thinking(given["output_index"], "content", given["content_index"], given["delta"])

    def _summarized(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        yield self._thinking(given["output_index"], "summary", given["summary_index"], given["delta"])

    def _thinking(self, item: int, where: str, part: int, text: str) -> ThinkingChunk:
        """A piece of thinking; an empty line stands between the parts of an item."""
        key = (item, where)
        again = part != self._latest.get(key, part)
        self._latest[key] = part
        return ThinkingChunk(index=self._block(*key), text="\n\n" + text if again else text)

    def _added(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        item = given["item"]
        if item.get("type") in CALLS:
            yield self._call(given["output_index"], item)

    def _call(self, number: int, item: dict[str, Any]) -> ToolCallChunk:
        """The first piece of a call."""
        self._called = True
        space, name = item.get("namespace") or "", item.get("name") or ""
        return ToolCallChunk(
            index=self._block(number, "call"),
            id=item.get("call_id") or item.get("id") or "",
            name=joined(space, name),
        )

    def _input(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        number = given["output_index"]
        if (number, "call") in self._numbers:  # otherwise the item was not announced, and comes whole
            self._latest[number, "input"] = 0
            yield ToolCallChunk(index=self._numbers[number, "call"], arguments=given["delta"])

    def _heard(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        field = "transcript" if "transcript" in given["type"] else "data"
        self._audio = merged(self._audio, {field: given["delta"]})
        yield from ()

    def _done(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """An item is complete: read the parts of it that have not been said yet."""
        number, item = given["output_index"], given["item"]
        self._read.add(number)
        kind = item.get("type")
        if kind == "message":
            yield from self._message(number, item["content"])
            yield from self._fields(item, ITEM_HEAD | {"role", "content"})
        elif kind == "reasoning":
            yield from self._reasoning(number, item)
        elif kind in CALLS:
            if (number, "call") not in self._numbers:
                yield self._call(number, item)
            arguments = item.get(CALLS[kind])
            if arguments and (number, "input") not in self._latest:
                yield ToolCallChunk(index=self._block(number, "call"), arguments=arguments)
            yield from self._fields(item, ITEM_HEAD | {"name", "namespace", CALLS[kind]})
        elif is_call(item):
            yield from self._built_in(item)
        else:
            yield self._part(item)

    def _built_in(self, item: dict[str, Any]) -> Iterator[ModelChunk]:
        """The call of a tool that the provider defines and the app executes; it comes whole."""
        self._called = True
        call = read_call(item)
        yield ToolCallChunk(index=self._new(), id=call.id, name=call.name, arguments=call.arguments_json)
        yield from self._fields(beside_call(item), ())

    def _message(self, number: int, parts: list[dict[str, Any]]) -> Iterator[ModelChunk]:
        for place, part in enumerate(parts):
            if (
                part["type"] == "output_text"
                and part["text"]
                and (number, "text", place) not in self._numbers
            ):
                yield TextChunk(index=self._block(number, "text", place), text=part["text"])
        for part in parts:
            if part["type"] == "output_text":
                yield from self._fields(part, _TEXT)
            else:
                yield self._part(part)

    def _reasoning(self, number: int, item: dict[str, Any]) -> Iterator[ModelChunk]:
        for where in ("content", "summary"):
            if (number, where) not in self._numbers:
                for place, part in enumerate(item.get(where) or ()):
                    yield self._thinking(number, where, place, part["text"])
        sealed = item.get("encrypted_content")
        if sealed:
            where = "summary" if (number, "content") not in self._numbers else "content"
            yield ThinkingChunk(index=self._block(number, where), signature=sealed)

    def rest(self) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.rest`."""
        if self._audio:
            self._keep({"audio": self._audio}, ())
        yield from super().rest()

    def finish(self) -> FinishChunk | None:
        """See `AnswerDecoder.finish`."""
        if self._finish is None:
            return None
        finish: FinishReason = "tool_calls" if self._finish == "stop" and self._called else self._finish
        return FinishChunk(finish=finish, usage=self._usage, model=self.model)


def _usage(given: dict[str, Any]) -> Usage:
    details = given.get("input_tokens_details") or {}
    cached, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
    return Usage(
        input_tokens=max((given.get("input_tokens") or 0) - cached - written, 0),
        output_tokens=given.get("output_tokens") or 0,
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )
