"""The events that one span stands for. Pure."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, get_args, get_type_hints

from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    ModelFailed,
    ModelRequested,
    ModelResponded,
)
from soundstage.messages import (
    Caller,
    Message,
    ModelRequest,
    ModelResponse,
    ToolCall,
    Usage,
)
from soundstage.otel import _names as names
from soundstage.otel._content import definitions_of, finish_of, messages_of, parts_of, value_of
from soundstage.otel._spans import Span

REASONS: Final = frozenset(get_args(get_type_hints(ModelFailed)["reason"]))
UNFINISHED: Final = "unfinished"


class SpanScope(NamedTuple):
    """Where a span belongs.

    Args:
        agent: who is at work.
        parent: the agent around this one.
        conversation: in which conversation.
        around: trace and id of the nearest span around it that tells something.
        mark: the same for spans within it.
    """

    agent: str
    parent: str
    conversation: str
    around: tuple[str, str] | None
    mark: tuple[str, str] | None


def agent_name(span: Span) -> str:
    """The agent of an `invoke_agent` span."""
    return (
        span.text(names.AGENT) or span.text(names.AGENT_ID) or span.name.removeprefix("invoke_agent").strip()
    )


def agent_started(span: Span, place: SpanScope) -> AgentStarted:
    """The beginning of an `invoke_agent` span."""
    asked = [message.text for message in messages_of(span.get(names.INPUT)) if message.role == "user"]
    return AgentStarted(
        agent=place.agent,
        conversation=place.conversation,
        parent=place.parent,
        task=asked[-1] if asked else "",
    )


def agent_finished(span: Span, place: SpanScope) -> AgentFinished:
    """The end of an `invoke_agent` span."""
    said = "\n".join(message.text for message in messages_of(span.get(names.OUTPUT), "assistant"))
    why = span.message or span.text(names.ERROR)
    return AgentFinished(
        agent=place.agent,
        conversation=place.conversation,
        outcome=("aborted" if span.text(names.ERROR) == "aborted" else "failure")
        if span.failed
        else "success",
        text=why if span.failed else said,
    )


def model_requested(span: Span, place: SpanScope) -> ModelRequested:
    """The beginning of a model's span."""
    instructions = tuple(parts_of(_instructions(span)))
    system = (Message(role="system", parts=instructions),) if instructions else ()
    given = {ours: span.get(name) for name, ours in names.SETTINGS.items()}
    request = ModelRequest(
        model=span.text(names.REQUEST_MODEL) or span.text(names.RESPONSE_MODEL),
        messages=(*system, *messages_of(span.get(names.INPUT))),
        tools=definitions_of(span.get(names.DEFINITIONS)),
        purpose=span.text(names.PURPOSE) or "main",
        settings={name: value for name, value in given.items() if value is not None},
        caller=Caller(
            agent=place.agent,
            conversation=place.conversation,
            parent=place.parent,
            phase=span.text(names.PHASE),
        ),
    )
    return ModelRequested(request=request, model_kind="otel")


def _instructions(span: Span) -> Any:
    """The system instructions: parts, or a text that may be JSON of parts."""
    value = span.get(names.INSTRUCTIONS)
    if isinstance(value, str) and value.startswith("["):
        return value_of(value)
    return value


def model_ended(span: Span) -> ModelResponded | ModelFailed | None:
    """The end of a model's span; `None` if there was none."""
    if span.text(names.FAILURE) == UNFINISHED:
        return None
    return ModelFailed(**_failure(span)) if span.failed else ModelResponded(response=answer_of(span))


def _failure(span: Span) -> dict[str, Any]:
    kind = span.text(names.ERROR)
    reason = span.text(names.FAILURE)
    return {
        "reason": reason if reason in REASONS else "error",
        "message": span.message or kind or "the span has the status error",
        "status": span.number("http.response.status_code") or (int(kind) if _is_status(kind) else 0),
        "kind": "" if _is_status(kind) else kind,
    }


def _is_status(text: str) -> bool:
    return len(text) == 3 and text.isascii() and text.isdigit()


def answer_of(span: Span) -> ModelResponse:
    """The reply in a model's span."""
    output = span.get(names.OUTPUT)
    parts = tuple(part for message in messages_of(output, "assistant") for part in message.parts)
    return ModelResponse(
        parts=parts,
        finish=finish_of(span.get(names.FINISH_REASONS), output),
        usage=_usage(span),
        model=span.text(names.RESPONSE_MODEL),
        served_by=span.text(names.PROVIDER),
    )


def _usage(span: Span) -> Usage:
    """Token counts. The conventions count cached tokens as input; some instrumentations do not."""
    read, write, total = (
        span.number(name) for name in (names.CACHE_READ, names.CACHE_WRITE, names.INPUT_TOKENS)
    )
    return Usage(
        input_tokens=total - read - write if total >= read + write else total,
        output_tokens=span.number(names.OUTPUT_TOKENS),
        cache_read_tokens=read,
        cache_write_tokens=write,
    )


def calls_in(event: ModelResponded | ModelFailed) -> tuple[ToolCall, ...]:
    """The tool calls of a reply."""
    return event.response.tool_calls if isinstance(event, ModelResponded) else ()
