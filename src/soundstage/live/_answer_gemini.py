"""Gemini, an answer read. Pure.

Source: the provider's API reference for generateContent and streamGenerateContent. Every piece of a stream is a
response of its own with the parts that are new, so a whole answer is a stream of one piece. Parts of text follow each
other without a sign where a block ends: text is one block until something else comes, and thinking until its signature.
A signature of a part that is no thinking is an opaque part behind it.

A prompt that is blocked has no candidates. The first candidate is the answer; another one is an opaque part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from soundstage.live._answer_format import AnswerDecoder, provider_error
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
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "ESCALATION": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "LANGUAGE": "error",
    "OTHER": "error",
    "IMAGE_OTHER": "error",
    "NO_IMAGE": "error",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "MALFORMED_RESPONSE": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
}
SIGNATURE: Final = "thoughtSignature"
_ABOUT: Final = frozenset({"thought", SIGNATURE, "mediaResolution", "mediaProcessing"})
_CANDIDATE: Final = frozenset({"content", "finishReason", "index", "avgLogprobs", "tokenCount"})
_CALL: Final = frozenset({"id", "name", "args"})


class ContentDecoder(AnswerDecoder):
    """Text and thinking are blocks as long as they go on."""

    def __init__(self) -> None:
        super().__init__()
        self._latest: tuple[str, int] = ("", -1)  # the kind and number of the block that goes on
        self._others: dict[int, list[Any]] = {}  # candidates
        self._called = False
        self._finish: FinishReason | None = None
        self._usage = Usage()

    def event(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.event`."""
        if given.get("error"):
            raise provider_error(given["error"])
        self.model = str(given.get("modelVersion") or self.model)
        if isinstance(given.get("usageMetadata"), dict):
            self._usage = _usage(given["usageMetadata"])
        for place, candidate in enumerate(given.get("candidates") or ()):
            if candidate.get("index") or place:
                self._others.setdefault(candidate.get("index") or place, []).append(candidate)
            else:
                yield from self._candidate(candidate)
        feedback = given.get("promptFeedback") or {}
        self._keep({"promptFeedback": feedback}, ())
        if feedback.get("blockReason"):
            self._finish = self._finish or "content_filter"

    def whole(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.whole`."""
        yield from self.event(given)
        self.done = True

    def _candidate(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        for part in (given.get("content") or {}).get("parts") or ():
            yield from self._read(part)
        self._keep(given, _CANDIDATE)
        reason = given.get("finishReason")
        if reason and reason != "FINISH_REASON_UNSPECIFIED":
            self._finish = FINISH.get(reason, "stop")

    def _read(self, part: dict[str, Any]) -> Iterator[ModelChunk]:
        signature = part.get(SIGNATURE) or ""
        if "text" in part and part.get("thought"):
            if part["text"] or signature:
                yield ThinkingChunk(index=self._run("thinking"), text=part["text"], signature=signature)
            if signature:
                self._latest = ("", -1)
            return
        if part.get("text"):
            yield TextChunk(index=self._run("text"), text=part["text"])
        elif "text" not in part:
            self._latest = ("", -1)
            call = part.get("functionCall")
            if call is None or call.keys() - _CALL:
                yield self._unknown(part)
                return
            yield self._call(call)
        if signature:
            self._latest = ("", -1)
            yield OpaqueChunk(index=self._new(), type=SIGNATURE, data={SIGNATURE: signature})

    def _unknown(self, part: dict[str, Any]) -> OpaqueChunk:
        kinds = (key for key in part if key not in _ABOUT and not key.endswith("Metadata"))
        return self._part(part, next(kinds, next(iter(part), "")))

    def _call(self, call: dict[str, Any]) -> ToolCallChunk:
        self._called = True
        arguments = msgspec.json.encode(call["args"]).decode() if call.get("args") else ""
        return ToolCallChunk(
            index=self._new(), id=call.get("id") or "", name=call.get("name") or "", arguments=arguments
        )

    def _run(self, kind: str) -> int:
        """The number of the block of text or thinking that goes on, or begins."""
        if self._latest[0] != kind:
            self._latest = (kind, self._new())
        return self._latest[1]

    def rest(self) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.rest`."""
        yield from super().rest()
        for _, pieces in sorted(self._others.items()):
            yield from (self._part(piece, "candidate") for piece in pieces)

    def finish(self) -> FinishChunk | None:
        """See `AnswerDecoder.finish`."""
        if self._finish is None:
            return None
        finish: FinishReason = "tool_calls" if self._finish == "stop" and self._called else self._finish
        return FinishChunk(finish=finish, usage=self._usage, model=self.model)


def _usage(given: dict[str, Any]) -> Usage:
    """Token counts. Those of the prompt include what was cached; thinking is counted apart from the answer."""

    def count(name: str) -> int:
        return given.get(name) or 0

    cached = count("cachedContentTokenCount")
    return Usage(
        input_tokens=max(count("promptTokenCount") + count("toolUsePromptTokenCount") - cached, 0),
        output_tokens=count("candidatesTokenCount") + count("thoughtsTokenCount"),
        cache_read_tokens=cached,
    )
