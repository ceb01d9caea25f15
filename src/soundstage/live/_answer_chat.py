"""OpenAI Chat Completions, an answer read. Pure.

Source: the provider's API reference for chat completions and their chunks. A whole answer has `message` where a chunk
has `delta`, and is read by the same code. Thinking is in `reasoning_content` or `reasoning`, as compatible servers
write it. The first choice is the answer; another one is an opaque part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from soundstage.live._answer_format import EMPTY, AnswerDecoder, merged, provider_error
from soundstage.messages import (
    FinishChunk,
    FinishReason,
    ModelChunk,
    OpaqueChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
)

FINISH: Final[dict[str, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}
THINKING: Final = ("reasoning_content", "reasoning")
_MESSAGE: Final = frozenset({"role", "content", "tool_calls", "function_call", *THINKING})
_CHOICE: Final = frozenset({"index", "delta", "message", "finish_reason", "native_finish_reason"})


class ChatDecoder(AnswerDecoder):
    """Text and thinking are blocks as long as they are not interrupted; each tool call is one."""

    def __init__(self) -> None:
        super().__init__()
        self._latest: tuple[str, int] = ("", -1)  # the kind and number of the block that goes on
        self._calls: dict[object, int] = {}
        self._more: dict[str, Any] = {}  # fields beside the message; their pieces are joined, as are those of
        self._others: dict[int, Any] = {}  # other choices
        self._finish: FinishReason | None = None
        self._usage = Usage()

    def event(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.event`."""
        if given.get("error"):
            raise provider_error(given["error"])
        self.model = self.model or str(given.get("model") or "")
        if isinstance(given.get("usage"), dict):
            self._usage = _usage(given["usage"])
        for choice in given.get("choices") or ():
            yield from self._choice(choice)
        self._keep({name: value for name, value in given.items() if isinstance(value, list)}, ("choices",))

    def whole(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.whole`."""
        yield from self.event(given)
        self.done = True

    def _choice(self, choice: dict[str, Any]) -> Iterator[ModelChunk]:
        said = choice.get("delta") or choice.get("message") or {}
        number = choice.get("index") or 0
        if number:
            other = {name: value for name, value in choice.items() if name != "delta"} | {"message": said}
            self._others[number] = merged(self._others.get(number, {}), other)
            return
        yield from self._said(said)
        more = {name: value for name, value in choice.items() if name not in _CHOICE}
        more |= {name: value for name, value in said.items() if name not in _MESSAGE}
        self._more = merged(self._more, {name: value for name, value in more.items() if value not in EMPTY})
        if choice.get("finish_reason"):
            self._finish = FINISH.get(choice["finish_reason"], "stop")

    def _said(self, said: dict[str, Any]) -> Iterator[ModelChunk]:
        thinking = next((said[name] for name in THINKING if said.get(name)), "")
        if thinking:
            yield ThinkingChunk(index=self._run("thinking"), text=thinking)
        content = said.get("content") or ()
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                yield TextChunk(index=self._run("text"), text=part["text"])
            else:
                yield self._opaque(part)
        old = said.get("function_call")
        if old:
            yield self._call("function_call", {"id": old.get("name"), "function": old})
        for place, call in enumerate(said.get("tool_calls") or ()):
            yield self._call(call.get("index", place), call)

    def _opaque(self, part: dict[str, Any]) -> OpaqueChunk:
        self._latest = ("", -1)
        return self._part(part)

    def _call(self, key: object, call: dict[str, Any]) -> ToolCallChunk:
        """A piece of a call; a custom tool takes free text in the place of JSON."""
        self._latest = ("", -1)
        if key not in self._calls:
            self._calls[key] = self._new()
        called = call.get("function") or call.get("custom") or {}
        return ToolCallChunk(
            index=self._calls[key],
            id=call.get("id") or "",
            name=called.get("name") or "",
            arguments=called.get("arguments") or called.get("input") or "",
        )

    def _run(self, kind: str) -> int:
        """The number of the block of text or thinking that goes on, or begins."""
        if self._latest[0] != kind:
            self._latest = (kind, self._new())
        return self._latest[1]

    def rest(self) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.rest`."""
        self._keep(self._more, ())
        yield from super().rest()
        for _, choice in sorted(self._others.items()):
            yield self._part(choice, "choice")

    def finish(self) -> FinishChunk | None:
        """See `AnswerDecoder.finish`."""
        if self._finish is None:
            return None
        return FinishChunk(finish=self._finish, usage=self._usage, model=self.model)


def _usage(given: dict[str, Any]) -> Usage:
    details = given.get("prompt_tokens_details") or {}
    cached, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
    return Usage(
        input_tokens=max((given.get("prompt_tokens") or 0) - cached - written, 0),
        output_tokens=given.get("completion_tokens") or 0,
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )
