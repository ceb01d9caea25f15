"""Fixture files of aimock (`@copilotkit/aimock`) as scripts, so that users can switch. Pure.

Source: the package's own types, router and guide for writing fixtures, version 1.x. What differs:

- `turnIndex` counts the model's messages in the request and must fit exactly, as the guide says and as
  `AIMOCK_STRICT_TURN_INDEX=1` has it; the package also serves near misses.
- `sequenceIndex` fixtures of one match serve once each, in the order of their index.
- `chunkSize` cuts text; the arguments of tool calls are cut as in every script.
- A request that nothing matches gets status 404, as there.

What a script cannot do (embeddings, images, audio, random faults) is a problem and never ignored.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from soundstage.errors import MatchError
from soundstage.match import AllOf, Anything, Contains, Equals, Matcher, Regex, Same, matcher
from soundstage.messages import FinishReason, Usage, decode_arguments
from soundstage.models import (
    BlockSpec,
    CallSpec,
    ErrorSpec,
    ParsedRule,
    ParsedScript,
    Reply,
    ReplyFault,
    When,
    tokens_in,
)
from soundstage.scripts import SourceNode, SourceReport, convert_source, in_one_line, where

NO_FIXTURE: Final = Reply(
    error=ErrorSpec(
        status=404, type="invalid_request_error", message="No fixture matched", code="no_fixture_match"
    )
)
CHUNK_SIZE: Final = 20  # the package's default, in characters
_MILLI: Final = 1000.0

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Millis = Annotated[float, msgspec.Meta(ge=0, le=10**12)]
Status = Annotated[int, msgspec.Meta(ge=400, le=599)]
_Finish = Literal["stop", "length", "tool_calls", "content_filter", "end_turn", "tool_use", "max_tokens"]
Words = Annotated[str, msgspec.Meta(min_length=1)]


class _Record(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """Base of what the package reads."""


class _Match(_Record, frozen=True, kw_only=True):
    user_message: Words | None = None
    system_message: Words | list[Words] | None = None
    model: Words | None = None
    tool_name: Words | None = None
    tool_call_id: Words | None = None
    tool_result_contains: Words | None = None
    turn_index: Count | None = None
    has_tool_result: bool | None = None
    sequence_index: Count | None = None
    context: Words | None = None
    endpoint: Literal["chat"] | None = None


class _AimockCall(_Record, frozen=True, kw_only=True):
    name: Words
    arguments: str | dict[str, Any] = "{}"
    id: str = ""


class _Block(_Record, frozen=True, kw_only=True):
    type: Literal["text", "toolCall"]
    text: str | None = None
    name: str | None = None
    arguments: str | dict[str, Any] = "{}"
    id: str = ""

    def __post_init__(self) -> None:
        wanted, other = ("text", "name") if self.type == "text" else ("name", "text")
        if not getattr(self, wanted):
            raise ValueError(f"a block of type {self.type} needs `{wanted}`")
        if getattr(self, other) is not None:
            raise ValueError(f"a block of type {self.type} has no `{other}`")


class _Error(_Record, frozen=True, kw_only=True):
    message: Words
    type: str = ""
    code: str = ""


class _Usage(_Record, frozen=True, kw_only=True, rename=None):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None


class _Response(_Record, frozen=True, kw_only=True):
    content: Words | dict[str, Any] | list[Any] | None = None
    tool_calls: list[_AimockCall] | None = None
    blocks: list[_Block] | None = None
    reasoning: Words | None = None
    reasoning_signature: str = ""
    error: _Error | None = None
    status: Status | None = None
    retry_after: Millis | None = None
    finish_reason: _Finish | None = None
    model: str = ""
    usage: _Usage | None = None

    def __post_init__(self) -> None:
        bodies = [name for name in ("content", "toolCalls", "blocks") if self._given(name)]
        if self.error is not None and bodies:
            raise ValueError(f"a response has either {bodies[0]} or error, not both")
        if self.error is None and not bodies:
            raise ValueError("a response needs one of content, toolCalls, blocks, error")
        if self.error is None and (self.status is not None or self.retry_after is not None):
            raise ValueError("status and retryAfter go with an error")

    def _given(self, name: str) -> bool:
        return bool({"content": self.content, "toolCalls": self.tool_calls, "blocks": self.blocks}[name])


class _Profile(_Record, frozen=True, kw_only=True):
    ttft: Millis = 0.0
    tps: Annotated[float, msgspec.Meta(gt=0)] | None = None


class _Fixture(_Record, frozen=True, kw_only=True):
    match: _Match
    response: _Response
    latency: Millis = 0.0
    chunk_size: Positive | None = None
    truncate_after_chunks: Positive | None = None
    streaming_profile: _Profile | None = None
    metadata: Any = None


class _AimockFile(_Record, frozen=True, kw_only=True):
    fixtures: list[_Fixture]
    comment: str = msgspec.field(default="", name="$comment")
    schema: str = msgspec.field(default="", name="$schema")


_CODE_ONLY = "cannot be written in a file; write a rule in Python with a function as condition"
_RANDOM = "is random, and a script is the same every time; write a rule with `fault` or `error` and `times`"
_ELSEWHERE = "is not scripted: the server answers embeddings itself and has no images, audio or video"
REFUSED: Final[Mapping[str, str]] = {
    "predicate": _CODE_ONLY,
    "inputText": _ELSEWHERE,
    "embedding": _ELSEWHERE,
    "image": _ELSEWHERE,
    "images": _ELSEWHERE,
    "audio": _ELSEWHERE,
    "transcription": _ELSEWHERE,
    "video": _ELSEWHERE,
    "json": _ELSEWHERE,
    "live": _ELSEWHERE,
    "chaos": _RANDOM,
    "jitter": "is random, and a script is the same every time; take it out",
    "responseFormat": "is no condition here; use a condition on what the user or the system prompt says",
    "disconnectAfterMs": "is not supported: a cut comes after a number of chunks, truncateAfterChunks",
    "recordedTimings": "belongs on a tape; record the exchange again, or give streamingProfile",
    "replaySpeed": "belongs to a tape, not to a script",
    "redactedThinking": "is not supported; in a script of ours a block can be `opaque`",
    "webSearches": "is not supported; in a script of ours a block can be `opaque`",
    "id": "is not supported: ids of answers come from the harness and are the same in every run",
    "created": "is not supported: the time of an answer is the run's clock",
    "systemFingerprint": "is not supported",
    "role": "is not supported: a reply is the assistant's",
    "param": "is not supported",
    "metadata": "is not supported",
    "fallthrough": "is not supported: there is no list of models to fall back to",
}

_FINISH: Final[dict[str, FinishReason]] = {
    "stop": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
}


def convert(node: SourceNode, report: SourceReport) -> ParsedScript:
    """The rules that a fixture file stands for; with problems in `report`, nothing."""
    file = convert_source(_AimockFile, node, report, refused=REFUSED)
    if file is None:
        return ParsedScript()
    nodes = node.fields["fixtures"].node.items
    if not nodes:
        report.add(node.fields["fixtures"].line, "fixtures", "there are no fixtures")
    rules = [
        _rule(fixture, item, f"fixtures[{number}]", report)
        for number, (fixture, item) in enumerate(zip(file.fixtures, nodes, strict=True))
    ]
    return ParsedScript(rules=tuple(_in_sequence(file.fixtures, nodes, rules, report)), default=NO_FIXTURE)


def _rule(fixture: _Fixture, node: SourceNode, key: str, report: SourceReport) -> ParsedRule:
    response = fixture.response
    cut = next((name for name in ("chunkSize", "latency") if name in node.fields), "")
    if cut and (response.blocks or response.reasoning):
        report.add(node.fields[cut].line, f"{key}.{cut}", "is not supported with blocks or reasoning")
    when = _when(fixture.match, node.fields["match"].node, f"{key}.match", report)
    times = 1 if fixture.match.sequence_index is not None else None
    return ParsedRule(when=when, reply=_reply(fixture), times=times, where=where(report, node))


def _when(match: _Match, node: SourceNode, key: str, report: SourceReport) -> When:
    """The conditions of a fixture. One without any serves for ever, which a rule without any would not."""
    given = msgspec.to_builtins(match)
    found: dict[str, Any] = {}
    for name, condition, convert_value in _CONDITIONS:
        if name in given and given[name] != []:
            try:
                found[condition] = convert_value(given[name])
            except MatchError as error:
                report.add(node.fields[name].line, f"{key}.{name}", in_one_line(error))
    if match.has_tool_result is False and match.tool_result_contains is not None:
        report.add(node.fields["hasToolResult"].line, key, "a tool result is excluded and asked for at once")
    return When(**found) if found else When(step=Anything())  # type: ignore[arg-type]


def _system(given: str | list[str]) -> Matcher:
    return matcher(given) if isinstance(given, str) else AllOf(*map(Contains, given))


def _model(given: str) -> Matcher:
    """The name, also with a dated version behind it."""
    found = matcher(given)
    return found if isinstance(found, Regex) else Regex(rf"^{re.escape(given)}(?:\Z|-\d)")


_CONDITIONS: Final[tuple[tuple[str, str, Callable[[Any], Any]], ...]] = (
    ("userMessage", "user", matcher),
    ("systemMessage", "system", _system),
    ("model", "model", _model),
    ("toolName", "tool", Same),
    ("toolCallId", "after_tool", Same),
    ("hasToolResult", "tool_result", lambda given: given),
    ("toolResultContains", "tool_result", Contains),
    ("turnIndex", "step", lambda given: given + 1),
    ("context", "header", lambda given: {"x-aimock-context": Equals(given)}),
)


def _reply(fixture: _Fixture) -> Reply:
    response = fixture.response
    if response.error is not None:
        status = response.status or 500
        wait = response.retry_after if response.retry_after is not None or status != 429 else 1.0
        error = response.error
        return Reply(
            error=ErrorSpec(
                status=status, type=error.type, message=error.message, code=error.code, retry_after=wait
            )
        )
    after = fixture.truncate_after_chunks
    return Reply(
        **_body(fixture),
        **_timing(fixture),
        finish=_FINISH[response.finish_reason] if response.finish_reason else None,
        model=response.model,
        usage=_usage(response.usage),
        # their first chunk holds the role and no text
        fault=ReplyFault(type="cut", after=after - 1) if after is not None else None,
    )


def _body(fixture: _Fixture) -> dict[str, Any]:
    response = fixture.response
    calls = tuple(_call(call.name, call.arguments, call.id) for call in response.tool_calls or ())
    text = response.content
    if text is not None and not isinstance(text, str):
        text = msgspec.json.encode(text).decode()
    if response.blocks or response.reasoning:
        return {"blocks": tuple(_blocks(response, text, calls))}
    size = fixture.chunk_size or (CHUNK_SIZE if fixture.latency else None)
    if text is not None and size is not None:
        return {
            "chunks": tuple(text[start : start + size] for start in range(0, len(text), size)),
            "tool_calls": calls,
        }
    return {"text": text, "tool_calls": calls}


def _blocks(response: _Response, text: str | None, calls: tuple[CallSpec, ...]) -> Iterator[BlockSpec]:
    if response.reasoning:
        yield BlockSpec(thinking=response.reasoning, signature=response.reasoning_signature)
    if response.blocks:
        for block in response.blocks:
            if block.type == "text":
                yield BlockSpec(text=block.text)
            else:
                yield BlockSpec(tool_call=_call(block.name or "", block.arguments, block.id))
        return
    if text is not None:
        yield BlockSpec(text=text)
    for call in calls:
        yield BlockSpec(tool_call=call)


def _call(name: str, arguments: str | dict[str, Any], call_id: str) -> CallSpec:
    if isinstance(arguments, dict):
        return CallSpec(name=name, arguments=arguments, id=call_id)
    decoded, raw = decode_arguments(arguments)
    return CallSpec(name=name, arguments=decoded, raw=raw, id=call_id)


def _timing(fixture: _Fixture) -> dict[str, Any]:
    """`latency` is the pause before every chunk; a profile has a first pause and a speed."""
    profile = fixture.streaming_profile
    if profile is not None:
        return {"first_token_after": profile.ttft / _MILLI, "tokens_per_second": profile.tps}
    if not fixture.latency:
        return {}
    pause = fixture.latency / _MILLI
    return {"delay": pause, "tokens_per_second": tokens_in(fixture.chunk_size or CHUNK_SIZE) / pause}


def _usage(given: _Usage | None) -> Usage | None:
    if given is None:
        return None
    asked = given.prompt_tokens if given.prompt_tokens is not None else given.input_tokens
    said = given.completion_tokens if given.completion_tokens is not None else given.output_tokens
    return Usage(input_tokens=asked or 0, output_tokens=said or 0)


def _in_sequence(
    fixtures: list[_Fixture], nodes: list[SourceNode], rules: list[ParsedRule], report: SourceReport
) -> list[ParsedRule]:
    """The rules, those with a `sequenceIndex` in the order of the index within their places."""
    groups: dict[bytes, list[int]] = defaultdict(list)
    for place, fixture in enumerate(fixtures):
        if fixture.match.sequence_index is not None:
            alike = msgspec.structs.replace(fixture.match, sequence_index=None)
            groups[msgspec.json.encode(alike, order="sorted")].append(place)
    found = list(rules)
    for places in groups.values():
        ordered = sorted(places, key=lambda place: fixtures[place].match.sequence_index or 0)
        for index, (place, source) in enumerate(zip(places, ordered, strict=True)):
            found[place] = rules[source]
            if fixtures[source].match.sequence_index != index:
                field = nodes[source].fields["match"].node.fields["sequenceIndex"]
                message = (
                    f"can never be reached: this match needs exactly one fixture with sequenceIndex {index}"
                )
                report.add(field.line, f"fixtures[{source}].match.sequenceIndex", message)
    return found
