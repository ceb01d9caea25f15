"""Replies: what a rule says. Plain records, and the chunks that they are made of."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from soundstage.clock import IdSource
from soundstage.errors import ProviderError, ScriptError, WrongTypeError, WrongValueError, did_you_mean
from soundstage.messages import (
    FinishReason,
    ModelChunk,
    ModelRequest,
    OpaqueChunk,
    StartChunk,
    TextChunk,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    decode_arguments,
)
from soundstage.models._server_tools import ServerToolName, citation_of, server_tool_blocks
from soundstage.scripts import in_words

PIECE: Final = 16  # characters; where a streamed text may be cut, if no chunks are given

_encode = msgspec.json.Encoder().encode
Seconds = Annotated[float, msgspec.Meta(ge=0, le=10**9)]  # an end: for none there is the fault `stall`


class _Data(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of what can be written in a script."""


class CallSpec(_Data, frozen=True, kw_only=True):
    """A tool call.

    Args:
        name: the tool.
        arguments: its arguments.
        id: the id of the call, if it matters; one is drawn otherwise.
        raw: any text in the place of the arguments, for arguments that are not valid JSON.
        params: another word for `arguments`.
        function: another word for `name`; together with `args`, the form of older scripts.
        args: the arguments as JSON text. A text that is no JSON object is `raw`: the app gets it as it is, and the
            trace warns.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)] = ""
    arguments: dict[str, Any] = {}
    id: str = ""
    raw: str = ""
    params: dict[str, Any] | None = None
    function: str = ""
    args: str | None = None

    def __post_init__(self) -> None:
        if bool(self.name) is bool(self.function):
            raise ValueError("a tool call needs a name, once: as `name`, or as `function`")
        given = [name for name in ("arguments", "raw", "params", "args") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"a tool call has its arguments once, not as {' and '.join(given)}")
        arguments, raw = self.params or self.arguments, self.raw
        if self.args:
            arguments, raw = decode_arguments(self.args)
        fields = {"name": self.name or self.function, "arguments": arguments, "raw": raw}
        for name, value in (fields | {"params": None, "function": "", "args": None}).items():
            msgspec.structs.force_setattr(self, name, value)


class ServerToolSpec(_Data, frozen=True, kw_only=True):
    """A tool that Anthropic has run itself: the call and its result, as the two blocks that they are.

    Args:
        name: the tool, e.g. `web_search`.
        arguments: its arguments.
        result: pages for `web_search` (`{url, title}`), a text or `{url, title, text}` for `web_fetch`, a text or
            `{stdout, stderr, return_code}` for code that ran, names of tools for a search of tools. Without one the
            call stands alone, as in an answer that pauses.
        error: the provider's code in the place of a result, e.g. `max_uses_exceeded`.
        id: the id of the call, if it matters; one is drawn otherwise.

    Example:
        >>> ServerToolSpec(name="web_search", arguments={"query": "tea"}, result=[{"url": "https://tea.test"}]).name
        'web_search'
    """

    name: ServerToolName
    arguments: dict[str, Any] = {}
    result: str | dict[str, Any] | list[Any] | None = None
    error: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        if self.error and self.result is not None:
            raise ValueError("a server tool has a result or an error, not both")


BODIES: Final = ("text", "thinking", "redacted_thinking", "tool_call", "server_tool", "opaque")


class BlockSpec(_Data, frozen=True, kw_only=True):
    """One block of an ordered reply: exactly one of the fields below; `citations` and `signature` go with another.

    Args:
        text: plain text.
        citations: what the text refers to, in Anthropic's format: `{url, title, cited_text}`, or with places in a
            document.
        thinking: reasoning that the model shows.
        signature: the provider's seal on the thinking.
        redacted_thinking: reasoning that Anthropic sends unreadable.
        tool_call: a tool to ask for.
        server_tool: a tool that Anthropic has run itself, with its result.
        opaque: a block of another type, as the provider's JSON.
    """

    text: str | None = None
    citations: tuple[dict[str, Any], ...] = ()
    thinking: str | None = None
    signature: str = ""
    redacted_thinking: str | None = None
    tool_call: CallSpec | None = None
    server_tool: ServerToolSpec | None = None
    opaque: dict[str, Any] | None = None

    @property
    def redacted(self) -> str:
        """The data of redacted thinking, which a client sends back as it is."""
        return base64.b64encode((self.redacted_thinking or "").encode()).decode()

    def __post_init__(self) -> None:
        given = [name for name in BODIES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a block has exactly one of {', '.join(BODIES)}; got {' and '.join(given) or 'none'}"
            )
        if self.citations and self.text is None:
            raise ValueError(f"citations belong to a text, not to {given[0]}")


class ErrorSpec(_Data, frozen=True, kw_only=True):
    """An error answer.

    Args:
        status: HTTP status.
        type: the provider's error type, e.g. `overloaded_error`; the usual one of the status unless given.
        message: the provider's words.
        code: the provider's error code, where it gives one.
        retry_after: seconds, for the header `retry-after`.
        should_retry: sets the header `x-should-retry`.
        headers: response headers.
    """

    status: Annotated[int, msgspec.Meta(ge=400, le=599)] = 500
    type: str = ""
    message: str = "scripted error"
    code: str = ""
    retry_after: Seconds | None = None
    should_retry: bool | None = None
    headers: dict[str, str] = {}

    def exception(self) -> ProviderError:
        """The error as a model raises it."""
        headers = dict(self.headers)
        if self.retry_after is not None:
            headers["retry-after"] = f"{self.retry_after:g}"
        if self.should_retry is not None:
            headers["x-should-retry"] = "true" if self.should_retry else "false"
        return ProviderError(
            self.message, status=self.status, kind=self.type, headers=headers, code=self.code
        )


class ReplyFault(_Data, frozen=True, kw_only=True):
    """Something that goes wrong on the way.

    `cut`: the connection breaks off. `stall`: nothing comes for a while, then the rest. `garbled`: bytes
    that no format allows, then the rest. `empty`: a reply without any content.

    Args:
        type: what goes wrong.
        after: chunks of the reply that come before it; at its end, if the reply is shorter.
        seconds: how long a stall takes; for ever, if not given.
    """

    type: Literal["cut", "stall", "garbled", "empty"]
    after: Annotated[int, msgspec.Meta(ge=0)] = 0
    seconds: Seconds | None = None


class Reply(_Data, frozen=True, kw_only=True):
    """A scripted answer: text, chunks, blocks, tool calls, an error or a fault.

    Args:
        text: the text; with `tool_calls`, it comes before them.
        chunks: the text, in the pieces in which it is streamed.
        blocks: text, thinking and tool calls in any order.
        tool_calls: the tools to ask for.
        error: an error answer instead of a reply.
        fault: what goes wrong on the way.
        usage: token counts; estimated at four characters a token unless given.
        finish: why the model stops; `tool_calls` when there are any, else `stop`.
        model: the model's name in the answer; the requested one unless given.
        headers: response headers.
        delay: seconds before the answer begins.
        first_token_after: seconds before the first piece; the same as `delay`, by its field name.
        tokens_per_second: speed of the pieces after the first.
        check_calls: false if calls of tools that were not offered, or that break their schemas, are deliberate.
    """

    text: str | None = None
    chunks: tuple[str, ...] | None = None
    blocks: tuple[BlockSpec, ...] | None = None
    tool_calls: tuple[CallSpec, ...] = ()
    error: ErrorSpec | None = None
    fault: ReplyFault | None = None
    usage: Usage | None = None
    finish: FinishReason | None = None
    model: str = ""
    headers: dict[str, str] = {}
    delay: Seconds = 0.0
    first_token_after: Seconds = 0.0
    tokens_per_second: Annotated[float, msgspec.Meta(gt=0)] | None = None
    check_calls: bool = True

    def __post_init__(self) -> None:
        bodies = [name for name in ("text", "chunks", "blocks") if getattr(self, name) is not None]
        if self.error is not None and (bodies or self.tool_calls or self.fault):
            other = (bodies + ["tool_calls"] * bool(self.tool_calls) + ["fault"] * bool(self.fault))[0]
            raise ValueError(f"a reply has either {other} or error, not both")
        if len(bodies) > 1:
            raise ValueError(f"a reply has one of text, chunks and blocks, not {' and '.join(bodies)}")
        if self.usage is not None and min(msgspec.structs.astuple(self.usage)) < 0:
            raise ValueError("a usage counts tokens, and no count is less than 0")
        if self.blocks is not None and self.tool_calls:
            raise ValueError("a reply with blocks has its tool calls as blocks, not as tool_calls")
        if not bodies and not self.tool_calls and self.error is None and self.fault is None:
            raise ValueError("a reply needs one of text, chunks, blocks, tool_calls, error, fault")

    @property
    def wait(self) -> float:
        """Seconds before the first piece."""
        return self.delay + self.first_token_after

    @property
    def instant(self) -> bool:
        """Whether it can be sent in one go."""
        return self.fault is None and self.tokens_per_second is None and self.wait == 0

    @property
    def draws_ids(self) -> bool:
        """Whether ids must be drawn each time it is played."""
        calls = (block.tool_call or block.server_tool for block in self.ordered_blocks)
        return any(call is not None and not call.id for call in calls)

    @property
    def ordered_blocks(self) -> tuple[BlockSpec, ...]:
        """The reply as blocks, however it was written. `chunks` are one block of text."""
        if self.blocks is not None:
            return self.blocks
        text = self.text if self.chunks is None else "".join(self.chunks)
        head = (BlockSpec(text=text),) if text else ()
        return head + tuple(BlockSpec(tool_call=call) for call in self.tool_calls)

    @property
    def finish_reason(self) -> FinishReason:
        """The reason why the model stops."""
        if self.finish is not None:
            return self.finish
        calls = any(block.tool_call is not None for block in self.ordered_blocks)
        return "tool_calls" if calls else "stop"

    def chunks_for(self, ids: IdSource, *, pieces: bool) -> list[ModelChunk]:
        """The content as chunks, without the finish.

        Args:
            ids: where ids of tool calls come from.
            pieces: whether to cut long texts, as a stream does.
        """
        if self.fault is not None and self.fault.type == "empty":
            return []
        found: list[ModelChunk] = []
        if self.headers or self.model:
            found.append(StartChunk(model=self.model, headers=self.headers))
        index = 0
        for block in self.ordered_blocks:
            made = list(self._block_chunks(index, block, ids, pieces=pieces))
            found.extend(made)
            index = 1 + max((chunk.index for chunk in made), default=index)
        return found

    def _block_chunks(
        self, index: int, block: BlockSpec, ids: IdSource, *, pieces: bool
    ) -> Iterator[TextChunk | ThinkingChunk | ToolCallChunk | OpaqueChunk]:
        if block.text is not None:
            texts = self.chunks if self.chunks is not None else _pieces(block.text, pieces=pieces)
            for text in texts:
                yield TextChunk(index=index, text=text)
            if block.citations:
                data = {"citations": [citation_of(one) for one in block.citations]}
                yield OpaqueChunk(index=index + 1, type="citations", data=data)
        elif block.thinking is not None:
            for text in _pieces(block.thinking, pieces=pieces):
                yield ThinkingChunk(index=index, text=text)
            if block.signature:
                yield ThinkingChunk(index=index, signature=block.signature)
        elif block.tool_call is not None:
            call = block.tool_call
            first, *rest = _pieces(call.raw or _encode(call.arguments).decode(), pieces=pieces)
            yield ToolCallChunk(index=index, id=call.id or ids.draw("call_"), name=call.name, arguments=first)
            for text in rest:
                yield ToolCallChunk(index=index, arguments=text)
        else:
            for place, data in enumerate(_opaque_blocks(block, ids), index):
                yield OpaqueChunk(index=place, type=_type_of(data), data=data)


Answer = Reply | Callable[[ModelRequest], Any]


def _opaque_blocks(block: BlockSpec, ids: IdSource) -> list[dict[str, Any]]:
    """The blocks that go out as the provider's JSON."""
    if block.redacted_thinking is not None:
        return [{"type": "redacted_thinking", "data": block.redacted}]
    tool = block.server_tool
    if tool is None:
        return [block.opaque or {}]
    id = tool.id or ids.draw("srvtoolu_")  # noqa: A001
    return server_tool_blocks(tool.name, tool.arguments, tool.result, tool.error, id)


def _type_of(data: Mapping[str, Any]) -> str:
    """The type of a block as the provider's JSON says it; a field alone, such as `citations`, is its own type."""
    return str(data.get("type", next(iter(data)) if len(data) == 1 else "unknown"))


def _pieces(text: str, *, pieces: bool) -> list[str]:
    """Cut a text for streaming: at spaces, where a piece has become long enough."""
    if not pieces or len(text) <= PIECE:
        return [text]
    found, start = [], 0
    while start < len(text):
        space = text.find(" ", start + PIECE)
        end = space + 1 if 0 <= space < start + 3 * PIECE else start + 2 * PIECE
        found.append(text[start:end])
        start = end
    return found


def as_reply(value: Any = None, /, **fields: Any) -> Reply:
    """A reply from what a function or a test gives, with the given fields set.

    Args:
        value: text, a tool call or a list of them, an `ErrorSpec`, an exception, a `Reply`, or the fields of one.
            An exception is an error answer: the provider's own for a `ProviderError`, else a 500 with its words.
        fields: fields of `Reply`.

    Raises:
        ScriptError: for a field that there is not.
        WrongValueError: if a field is wrong.
        WrongTypeError: if it is none of these.
    """
    if isinstance(value, Reply) and not fields:
        return value
    if type(value) is str and not fields:
        return Reply(text=value)
    data = {**_fields_of(value), **fields}
    known = Reply.__struct_fields__
    for name in data:
        if name not in known:
            raise ScriptError(
                f"a reply has no field {name!r}",
                expected="one of " + ", ".join(known),
                hint=did_you_mean(str(name), known),
            )
    try:
        return msgspec.convert(_with_specs(data), Reply)
    except msgspec.ValidationError as error:
        hint = _CALLS if ".tool_calls" in str(error) else ""
        raise WrongValueError("this is not a reply", expected=_WANTED, seen=str(error), hint=hint) from None


_WANTED: Final = "text, a tool call, a Reply, or the fields of one"
_CALLS: Final = "write tool_calls=[{'name': 'search', 'arguments': {'text': 'tea'}}]; `raw` takes a text"


def _fields_of(value: Any) -> dict[str, Any]:
    """The fields that `value` stands for."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, ErrorSpec):
        return {"error": value}
    if isinstance(value, Exception):
        return {"error": _error_of(value)}
    if isinstance(value, ToolCall):
        return {"tool_calls": [value]}
    if isinstance(value, list | tuple) and value and all(isinstance(one, ToolCall) for one in value):
        return {"tool_calls": value}
    if isinstance(value, Reply):
        return {
            name: given
            for name, default in zip(Reply.__struct_fields__, Reply.__struct_defaults__, strict=True)
            if (given := getattr(value, name)) != default
        }
    if isinstance(value, Mapping):
        return dict(value)
    raise WrongTypeError("this is not a reply", expected=_WANTED, seen=in_words(value))


def _error_of(error: Exception) -> ErrorSpec:
    """An exception as what a provider answers: its own answer, else a 500 that names the class."""
    if isinstance(error, ProviderError):
        return ErrorSpec(
            status=error.status,
            type=error.kind,
            message=error.message,
            code=error.code,
            headers=error.headers,
        )
    name = type(error).__name__
    return ErrorSpec(type=name, message=str(error) or name)


def _with_specs(data: dict[str, Any]) -> dict[str, Any]:
    """`data` with tool calls of the message types, and exceptions, in the form that a script has."""
    if isinstance(data.get("error"), Exception):
        data["error"] = _error_of(data["error"])
    if isinstance(data.get("tool_calls"), list | tuple):
        data["tool_calls"] = [_spec(call) for call in data["tool_calls"]]
    if isinstance(data.get("blocks"), list | tuple):
        data["blocks"] = [_spec_block(block) for block in data["blocks"]]
    return data


def _spec(call: Any) -> Any:
    if not isinstance(call, ToolCall):
        return call
    return CallSpec(name=call.name, arguments=call.arguments, id=call.id, raw=call.raw)


def _spec_block(block: Any) -> Any:
    if isinstance(block, Mapping) and "tool_call" in block:
        return {**block, "tool_call": _spec(block["tool_call"])}
    return BlockSpec(tool_call=_spec(block)) if isinstance(block, ToolCall) else block
