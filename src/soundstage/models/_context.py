"""Edits of a long context, as a provider makes them before its model reads it: clear old results and thinking, compact.

Sources: the types of the official SDKs, and the providers' guides to context editing, to compaction at a threshold
(Anthropic: of 50,000 tokens or more, 150,000 unless said) and to `compact_threshold` (OpenAI: 1,000 or more; without
one nothing is compacted here, since a scripted model has no window).

A request keeps all its messages: rules and traces look at what the app has sent. The edits show in the answer and in
the tokens that are counted, four characters each, as usage is. A compaction puts a summary in the place of what came
before it; system messages stay. The summary is a fixed text, unless the reply has a block of type `compaction` itself.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from soundstage.match import preview
from soundstage.messages import Message, ModelRequest, Opaque, Text, Thinking, ToolCall, ToolResult

CHARACTERS_PER_TOKEN: Final = 4
FIELD: Final = "context_management"  # of a request, and of Anthropic's answer
COMPACTION: Final = "compaction"  # the type of the block, or item, that has a summary
USUAL_THRESHOLD: Final = 150_000  # tokens, from which on Anthropic compacts unless told
_OURS: Final = b"summary of soundstage\n"


class _Setting(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of what a request says about edits."""


class TokenThreshold(_Setting, frozen=True, kw_only=True, tag="input_tokens"):
    """A number of tokens."""

    value: Annotated[int, msgspec.Meta(ge=0)]


class CompactionThreshold(_Setting, frozen=True, kw_only=True, tag="input_tokens"):
    """A number of tokens from which on Anthropic compacts."""

    value: Annotated[int, msgspec.Meta(ge=50_000)]


class ToolUseCount(_Setting, frozen=True, kw_only=True, tag="tool_uses"):
    """A number of calls with their results."""

    value: Annotated[int, msgspec.Meta(ge=0)]


class ThinkingTurnCount(_Setting, frozen=True, kw_only=True, tag="thinking_turns"):
    """A number of turns that have thinking."""

    value: Annotated[int, msgspec.Meta(ge=1)]


class AllThinkingTurns(_Setting, frozen=True, kw_only=True, tag="all"):
    """All of them."""


class ClearToolUses(_Setting, frozen=True, kw_only=True, tag="clear_tool_uses_20250919"):
    """Old results of tools are cleared, and perhaps the arguments of their calls, which are not counted here."""

    trigger: TokenThreshold | ToolUseCount = TokenThreshold(value=100_000)
    keep: ToolUseCount = ToolUseCount(value=3)
    clear_at_least: TokenThreshold | None = None
    clear_tool_inputs: bool | list[str] | None = None
    exclude_tools: list[str] | None = None

    def freed(self, messages: Sequence[Message], tokens: int) -> dict[str, int]:
        """Count, for `applied_edits`, how much it clears of `messages` with so many tokens; empty if nothing."""
        parts = [part for message in messages for part in message.parts]
        results = [part for part in parts if isinstance(part, ToolResult)]
        reached = tokens if isinstance(self.trigger, TokenThreshold) else len(results)
        names = {part.id: part.name for part in parts if isinstance(part, ToolCall)}
        old = results[: max(len(results) - self.keep.value, 0)]
        cleared = [result for result in old if names.get(result.call_id) not in (self.exclude_tools or ())]
        freed = tokens_in(sum(len(result.text) for result in cleared))
        least = self.clear_at_least.value if self.clear_at_least is not None else 0
        if reached <= self.trigger.value or not cleared or freed < least:
            return {}
        return {"cleared_tool_uses": len(cleared), "cleared_input_tokens": freed}


class ClearThinking(_Setting, frozen=True, kw_only=True, tag="clear_thinking_20251015"):
    """The thinking of old turns is cleared. A turn is all that the model says to one message of the user."""

    keep: ThinkingTurnCount | AllThinkingTurns | Literal["all"] = ThinkingTurnCount(value=1)

    def freed(self, messages: Sequence[Message], tokens: int) -> dict[str, int]:
        """Count, for `applied_edits`, how much it clears of `messages`; empty if nothing."""
        if not isinstance(self.keep, ThinkingTurnCount):
            return {}
        turns: dict[int, int] = {}  # number of a turn -> the characters of its thinking
        number = 0
        for message in messages:
            number += message.role == "user" and bool(message.words)
            for part in message.parts:
                if isinstance(part, Thinking):
                    turns[number] = turns.get(number, 0) + len(part.text)
        old = list(turns.values())[: -self.keep.value]
        if not old:
            return {}
        return {"cleared_thinking_turns": len(old), "cleared_input_tokens": tokens_in(sum(old))}


class CompactContext(_Setting, frozen=True, kw_only=True, tag="compact_20260112"):
    """The context is compacted at a threshold. What the request says about the words of the summary has no effect."""

    trigger: CompactionThreshold | None = None
    pause_after_compaction: bool = False
    instructions: str | None = None

    @property
    def threshold(self) -> int:
        """Tokens from which on it happens."""
        return self.trigger.value if self.trigger is not None else USUAL_THRESHOLD


class CompactResponse(_Setting, frozen=True, kw_only=True, tag=COMPACTION):
    """The same in OpenAI's Responses."""

    compact_threshold: Annotated[int, msgspec.Meta(ge=1_000)] | None = None

    @property
    def threshold(self) -> int | None:
        """Tokens from which on it happens; `None` for never."""
        return self.compact_threshold


ContextEdit = ClearToolUses | ClearThinking | CompactContext | CompactResponse


class AnthropicContext(msgspec.Struct, frozen=True, kw_only=True):
    """`context_management` of a request to Anthropic."""

    edits: list[ClearToolUses | ClearThinking | CompactContext] = []


class EditedContext(NamedTuple):
    """The context of a request after its edits.

    Args:
        tokens: that are left.
        applied: the edits that cleared something, as Anthropic tells them.
        summary: of a compaction; empty if there was none.
        before: tokens before the compaction.
        pause: whether the answer ends behind the compaction.
    """

    tokens: int
    applied: tuple[dict[str, Any], ...] = ()
    summary: str = ""
    before: int = 0
    pause: bool = False


def context_edits(format: str, given: Any) -> Sequence[ContextEdit]:  # noqa: A002
    """The edits that `context_management` of a request asks for.

    Raises:
        msgspec.ValidationError: if it is not what the format has.
    """
    if given is None:
        return ()
    if format == "anthropic":
        return msgspec.convert(given, AnthropicContext).edits
    return msgspec.convert(given, list[CompactResponse]) if format == "openai-responses" else ()


def edited_context(request: ModelRequest) -> EditedContext:
    """Edit the context of a request whose settings the codec has accepted."""
    messages = context(request.messages)
    tokens, applied, pause = _count(messages), [], False
    threshold: int | None = None
    for edit in context_edits(request.format, request.settings.get(FIELD)):
        if isinstance(edit, ClearToolUses | ClearThinking):
            if freed := edit.freed(messages, tokens):
                applied.append({"type": edit.__struct_config__.tag, **freed})
                tokens -= freed["cleared_input_tokens"]
        elif edit.threshold is not None:
            threshold = edit.threshold
            pause = isinstance(edit, CompactContext) and edit.pause_after_compaction
    if threshold is None or tokens < threshold:
        return EditedContext(tokens, tuple(applied))
    summary = _summary(messages)
    left = _count([message for message in messages if message.role == "system"]) + tokens_in(len(summary))
    return EditedContext(left, tuple(applied), summary, tokens, pause)


def asked_tokens(request: ModelRequest) -> int:
    """The estimate of what went in: the text of all messages that the model reads."""
    if request.settings.get(FIELD):
        return edited_context(request).tokens
    return _count(context(request.messages))


def context(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages that a model reads: those behind the latest summary, with it as text, and all of the system."""
    for number in range(len(messages) - 1, -1, -1):
        parts = messages[number].parts
        for place in range(len(parts) - 1, -1, -1):
            part = parts[place]
            if type(part) is Opaque and part.type == COMPACTION and (summary := summary_in(part.data)):
                rest = Message(role=messages[number].role, parts=(Text(text=summary), *parts[place + 1 :]))
                kept = (message for message in messages[:number] if message.role == "system")
                return (*kept, rest, *messages[number + 1 :])
    return messages


def compaction(request: ModelRequest, summary: str, id: str) -> dict[str, Any]:  # noqa: A002
    """The block, or the item with this id, that has `summary`."""
    if request.format == "anthropic":
        return {"type": COMPACTION, "content": summary}
    sealed = base64.b64encode(_OURS + summary.encode()).decode()
    return {"id": id, "type": COMPACTION, "encrypted_content": sealed}


def summary_in(given: Any) -> str:
    """The summary in a block or an item. One that we did not encrypt stands for itself; a failed one has none."""
    given = given if isinstance(given, dict) else {}
    content, sealed = given.get("content"), given.get("encrypted_content")
    if isinstance(content, str) and content:
        return content
    if "content" in given or not isinstance(sealed, str):
        return ""
    try:
        found = base64.b64decode(sealed, validate=True)
        return found.removeprefix(_OURS).decode() if found.startswith(_OURS) else sealed
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return sealed


def _summary(messages: Sequence[Message]) -> str:
    said = [preview(message.words) for message in messages if message.role == "user" and message.words]
    asked = f" The user began with {said[0]}." if said else ""
    asked += f" The user asked last for {said[-1]}." if len(said) > 1 else ""
    return f"Soundstage has compacted {len(messages)} message{'s' * (len(messages) != 1)}.{asked}"


def tokens_in(text_length: int) -> int:
    """The estimate that usage is made of: four characters a token, rounded up."""
    return -(-text_length // CHARACTERS_PER_TOKEN)


def _count(messages: Iterable[Message]) -> int:
    asked = 0
    for message in messages:
        for part in message.parts:
            asked += len(getattr(part, "text", ""))
    return tokens_in(asked)
