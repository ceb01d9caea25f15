"""Provider-neutral messages: what an app says to a model and what a model says back.

All types are frozen `msgspec` structs. Part types that no format of ours knows are carried as `Opaque`,
never dropped. A reply is a stream of chunks; a complete `ModelResponse` is the fold of that stream.

    >>> request = ModelRequest(model="gpt-4o", messages=(user("hello"),))
    >>> request.last_user_text
    'hello'
    >>> respond([TextChunk(index=0, text="Hel"), TextChunk(index=0, text="lo"), FinishChunk()]).text
    'Hello'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from soundstage.errors import HarnessError

__all__ = [
    "CALLER_HEADERS",
    "MAIN",
    "ByteDelivery",
    "Caller",
    "FinishChunk",
    "FinishReason",
    "GarbledChunk",
    "Message",
    "ModelChunk",
    "ModelRequest",
    "ModelResponse",
    "Opaque",
    "OpaqueChunk",
    "Part",
    "Role",
    "StartChunk",
    "Text",
    "TextChunk",
    "Thinking",
    "ThinkingChunk",
    "ToolCall",
    "ToolCallChunk",
    "ToolDefinition",
    "ToolResult",
    "Usage",
    "assistant",
    "call",
    "decode_arguments",
    "reminder",
    "respond",
    "system",
    "tool",
    "user",
]

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "pause", "error"]

_decode_json = msgspec.json.Decoder().decode
_encode_json = msgspec.json.Encoder().encode


class _Tagged(msgspec.Struct, gc=False, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """Base of the tagged unions in this file."""


class Text(_Tagged, frozen=True, kw_only=True, tag="text"):
    """Plain text."""

    text: str


class Thinking(_Tagged, frozen=True, kw_only=True, tag="thinking"):
    """Reasoning that the model shows. `signature` is the provider's seal on it, if any."""

    text: str
    signature: str = ""


class ToolCall(_Tagged, frozen=True, kw_only=True, tag="tool_call"):
    """The model asks for a tool.

    `arguments` is the decoded JSON object. Arguments that are not a JSON object stay readable: they are
    in `raw`, and `arguments` is empty.
    """

    id: str
    name: str
    arguments: dict[str, Any] = {}
    raw: str = ""

    @property
    def arguments_json(self) -> str:
        """The arguments as the JSON text that goes over the wire."""
        return self.raw or _encode_json(self.arguments).decode()


class ToolResult(_Tagged, frozen=True, kw_only=True, tag="tool_result"):
    """The result of the tool call with id `call_id`. `name` is empty where the format omits it."""

    call_id: str
    text: str
    is_error: bool = False
    name: str = ""
    extra: tuple[Any, ...] = ()  # content that is not text, as the provider's JSON

    @property
    def readable(self) -> str:
        """The text, and what can be read in the content that is none."""
        return "\n".join([self.text, *_texts(self.extra)]) if self.extra else self.text


class Opaque(_Tagged, frozen=True, kw_only=True, tag="opaque"):
    """A part whose type we do not interpret (images, audio, files), kept as the provider's JSON."""

    type: str
    data: Any = None


Part = Text | Thinking | ToolCall | ToolResult | Opaque


class Message(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """One message: a role and its parts, in order."""

    role: Role
    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """All plain text of the message, parts joined by newlines."""
        parts = self.parts
        if len(parts) == 1:
            return parts[0].text if isinstance(parts[0], Text) else ""
        return "\n".join([part.text for part in parts if isinstance(part, Text)])

    @property
    def words(self) -> str:
        """The text without what a harness has added to it, which stands in `<system-reminder>` tags."""
        text = self.text
        return _REMINDER.sub("", text).strip() if _OPENED in text else text

    @property
    def everything(self) -> str:
        """All readable text: plain text, thinking, tool results, arguments of tool calls, texts in opaque parts."""
        return "\n".join(_readable(part) for part in self.parts)


_OPENED: Final = "<system-reminder>"
_CLOSED: Final = "</system-reminder>"
_REMINDER: Final = re.compile(f"{_OPENED}.*?{_CLOSED}\\s*", re.DOTALL)


def reminder(text: str) -> str:
    """Mark what a harness adds to a user's message: reports of other agents, whose turn it is. Not the user's words.

    The tag is the one that coding agents use, so it survives any wire format.

    Example:
        >>> user("Go on\\n\\n" + reminder("It is your turn.")).words
        'Go on'
    """
    return f"{_OPENED}{text.replace(_CLOSED, '</ system-reminder>')}{_CLOSED}"


def _readable(part: Part) -> str:
    if isinstance(part, Text | Thinking):
        return part.text
    if isinstance(part, ToolResult):
        return part.readable
    if isinstance(part, ToolCall):
        return f"{part.name} {part.arguments_json}"
    return "\n".join(_texts(part.data))


_UNREADABLE: Final = frozenset(
    {"type", "id", "tool_use_id", "call_id", "media_type", "mime_type", "signature"}
)


def _texts(value: Any, name: str = "", of_text: bool = True) -> Iterator[str]:  # noqa: FBT001, FBT002
    """The texts in a provider's JSON that a person could read: no ids, no types, nothing encoded or encrypted."""
    if isinstance(value, str):
        hidden = (
            name in _UNREADABLE or name.startswith("encrypted") or (name.endswith("data") and not of_text)
        )
        if value and not hidden and not value.startswith("data:"):
            yield value
    elif isinstance(value, dict):
        of_text = str(value.get("media_type") or "").startswith("text/")
        for inner, one in value.items():
            yield from _texts(one, str(inner), of_text)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one, name, of_text)


class ToolDefinition(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that the app offers to the model. `schema` is the JSON Schema of its arguments.

    `type` tells the provider's own tools apart; their `schema` is what the app has sent. `namespace` is the group that
    the tool belongs to, where a format has such groups; its name is a part of `name` then.
    """

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    type: str = "function"
    namespace: str = ""


class Usage(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """Token counts. `input_tokens` excludes tokens read from or written to a prompt cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """All tokens, cached ones included."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


MAIN: Final = "main"
CALLER_HEADERS: Final = {  # who asks, as servers of ours are told: field of `Caller` -> header
    "agent": "x-soundstage-agent",
    "conversation": "x-soundstage-conversation",
    "within": "x-soundstage-within",
    "phase": "x-soundstage-phase",
}
"""The name of an agent that has none, in traces and messages."""


class Caller(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """The agent that sends a request. On the wire it is derived from headers, session ids and identify rules.

    `parent` is the agent that started this one, `main` if that has no name. `within` is the conversation around
    this one, such as a plan's around that of a task: calls of an agent are counted there. `headers` are the
    request's, names in lower case.
    """

    agent: str = ""
    conversation: str = ""
    within: str = ""
    parent: str = ""
    phase: str = ""
    headers: dict[str, str] = {}

    @property
    def whole(self) -> str:
        """The conversation, or the one that it is a part of."""
        return self.within or self.conversation


class ModelRequest(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """One request to a model.

    Args:
        model: the name that the app asked for.
        messages: the conversation so far, system messages included, oldest first.
        tools: the tools on offer.
        stream: whether the app asked for a stream (the answer is the same).
        purpose: `main` for the agent's own steps; side requests name what they are for: `title`,
            `probe`, `summary`, `web_search`, `routing`, `utility`.
        format: the wire format it came in, empty in process.
        settings: everything else that was in the request, by the provider's names.
        caller: who asks.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    stream: bool = False
    purpose: str = "main"
    format: str = ""
    settings: dict[str, Any] = {}
    caller: Caller = Caller()

    @property
    def system_text(self) -> str:
        """All system messages, joined by newlines."""
        return "\n".join(message.text for message in self.messages if message.role == "system")

    @property
    def last_user_text(self) -> str | None:
        """The user's latest words; `None` when there are none. What a harness has added is not among them."""
        for message in reversed(self.messages):
            if message.role == "user" and (words := message.words):
                return words
        return None

    @property
    def turn(self) -> int:
        """The number of the user's latest turn; messages with words of the user are counted."""
        return sum(1 for message in self.messages if message.role == "user" and message.words)

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results of tools that came after the model's last message."""
        found: list[ToolResult] = []
        for message in reversed(self.messages):
            if message.role == "assistant":
                break
            found[:0] = [part for part in message.parts if isinstance(part, ToolResult)]
        return tuple(found)


class ByteDelivery(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """The way in which the bytes of an answer go over the wire; what they say stays the same.

    Args:
        pieces: in which they are sent: `whole`, every one of the `bytes` alone, cut inside of each of the `characters`
            that have several, or `drawn` from `seed`; as the answer comes, unless given.
        seed: of what is drawn.
        line_end: of the lines of a stream of events.
        comments: whether comments stand between the events.
        cut: bytes after which the connection breaks.
        dropped: whether the connection is closed without any answer, in the place of a cut.
        body: the bytes themselves, as a provider has sent them; those of the wire format unless given.
    """

    pieces: Literal["", "whole", "bytes", "characters", "drawn"] = ""
    seed: int = 0
    line_end: Literal["\n", "\r\n"] = "\n"
    comments: bool = False
    cut: int | None = None
    dropped: bool = False
    body: bytes = b""


class StartChunk(_Tagged, frozen=True, kw_only=True, tag="start"):
    """The first chunk, where something must be known before the content: response headers, a model name, and how the
    bytes of the answer are delivered on the wire.
    """

    model: str = ""
    headers: dict[str, str] = {}
    delivery: ByteDelivery | None = None


class TextChunk(_Tagged, frozen=True, kw_only=True, tag="text"):
    """A piece of text of the block with number `index`. Blocks are numbered in the order of the reply."""

    index: int
    text: str


class ThinkingChunk(_Tagged, frozen=True, kw_only=True, tag="thinking"):
    """A piece of thinking; the signature comes with the last piece of its block."""

    index: int
    text: str = ""
    signature: str = ""


class ToolCallChunk(_Tagged, frozen=True, kw_only=True, tag="tool_call"):
    """A piece of a tool call: id and name with the first piece, then fragments of the arguments' JSON."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class OpaqueChunk(_Tagged, frozen=True, kw_only=True, tag="opaque"):
    """A whole block that we do not interpret."""

    index: int
    type: str
    data: Any = None


class GarbledChunk(_Tagged, frozen=True, kw_only=True, tag="garbled"):
    """A fault: bytes that no format allows. The wire sends them as they are; in process they are noise."""

    data: bytes


class FinishChunk(_Tagged, frozen=True, kw_only=True, tag="finish"):
    """The last chunk: why the model stopped, what it used, which model it says it is.

    `served_by` says where the reply comes from: a rule, a line of a tape, a provider. `stopped_by` is the stop sequence
    of the request that ended it, if one did.
    """

    finish: FinishReason = "stop"
    usage: Usage = Usage()
    model: str = ""
    served_by: str = ""
    stopped_by: str = ""


ModelChunk = StartChunk | TextChunk | ThinkingChunk | ToolCallChunk | OpaqueChunk | GarbledChunk | FinishChunk


class ModelResponse(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """A complete reply: the parts in order, usage, and why the model stopped."""

    parts: tuple[Part, ...] = ()
    finish: FinishReason = "stop"
    usage: Usage = Usage()
    model: str = ""
    headers: dict[str, str] = {}
    served_by: str = ""
    stopped_by: str = ""

    @property
    def text(self) -> str:
        """All plain text of the reply, joined without a separator."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools that the model asks for, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    def message(self) -> Message:
        """The reply as the message that the app appends to its history."""
        return Message(role="assistant", parts=self.parts)


def decode_arguments(text: str) -> tuple[dict[str, Any], str]:
    """The arguments of a tool call from their JSON text: (object, "") or ({}, the text) if it is none."""
    if not text:
        return {}, ""
    try:
        value = _decode_json(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):  # half a surrogate pair; too deep
        return {}, text
    return (value, "") if isinstance(value, dict) else ({}, text)


def respond(chunks: Iterable[ModelChunk]) -> ModelResponse:
    """Fold the chunks of a stream into a complete reply. A stream without a finish ends with `error`.

    Raises:
        HarnessError: if a block is made of chunks that do not belong together.
    """
    blocks: dict[int, list[Any]] = {}
    start: StartChunk | None = None
    finish: FinishChunk | None = None
    for chunk in chunks:
        kind = type(chunk)
        if kind is FinishChunk:
            finish = chunk  # type: ignore[assignment]
        elif kind is StartChunk:
            start = chunk  # type: ignore[assignment]
        elif kind is not GarbledChunk:
            blocks.setdefault(chunk.index, []).append(chunk)  # type: ignore[union-attr]
    parts = tuple([_fold_block(blocks[index]) for index in sorted(blocks)])
    headers = start.headers if start is not None else {}
    model = start.model if start is not None else ""
    if finish is None:
        return ModelResponse(parts=parts, finish="error", model=model, headers=headers)
    return ModelResponse(
        parts=parts,
        finish=finish.finish,
        usage=finish.usage,
        model=finish.model or model,
        headers=headers,
        served_by=finish.served_by,
        stopped_by=finish.stopped_by,
    )


def _fold_block(pieces: list[Any]) -> Part:
    first = pieces[0]
    if len(pieces) > 1 and (len(set(map(type, pieces))) > 1 or type(first) is OpaqueChunk):
        raise HarnessError(
            f"a model sent chunks for block {first.index} that do not belong together",
            expected="pieces of one kind, or one opaque chunk",
            seen=", ".join(type(piece).__name__ for piece in pieces[:8]),
            hint="count the blocks of a reply: each has an index of its own",
        )
    if isinstance(first, TextChunk):
        return Text(text=first.text if len(pieces) == 1 else "".join(piece.text for piece in pieces))
    if isinstance(first, ThinkingChunk):
        return Thinking(
            text="".join(piece.text for piece in pieces),
            signature="".join(piece.signature for piece in pieces),
        )
    if isinstance(first, OpaqueChunk):
        return Opaque(type=first.type, data=first.data)
    arguments, raw = decode_arguments("".join(piece.arguments for piece in pieces))
    return ToolCall(id=first.id, name=first.name, arguments=arguments, raw=raw)


def user(text: str) -> Message:
    """A user message."""
    return Message(role="user", parts=(Text(text=text),))


def system(text: str) -> Message:
    """A system message."""
    return Message(role="system", parts=(Text(text=text),))


def assistant(text: str = "", *calls: ToolCall) -> Message:
    """An assistant message: text, then tool calls."""
    parts: tuple[Part, ...] = (Text(text=text), *calls) if text else calls
    return Message(role="assistant", parts=parts)


def tool(call_id: str, text: str, *, is_error: bool = False, name: str = "") -> Message:
    """A message that carries the result of one tool call."""
    return Message(role="tool", parts=(ToolResult(call_id=call_id, text=text, is_error=is_error, name=name),))


def call(name: str, arguments: Mapping[str, Any] | None = None, *, id: str = "") -> ToolCall:  # noqa: A002
    """A tool call, for scripts and tests. Without an id the model that plays it draws one."""
    return ToolCall(id=id, name=name, arguments=dict(arguments or {}))
