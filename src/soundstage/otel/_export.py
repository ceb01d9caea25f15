"""A run of ours as spans of the GenAI conventions.

The trace becomes a tree: `invoke_workflow` for the run, within it an `invoke_agent` for each run of an agent,
within that a `chat` for each step and an `execute_tool` for each tool that was carried out. Ids are drawn from
the run's id and the positions of its events, so that exporting twice gives the same spans. Events of one moment
keep their order: each is as many nanoseconds late as its position says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.journal import Journal, Record, RunStarted
from soundstage.messages import Message, ModelRequest, Text
from soundstage.otel import _names as names
from soundstage.otel._content import (
    json_of,
    written_answer,
    written_definitions,
    written_messages,
    written_part,
)
from soundstage.otel._meaning import UNFINISHED
from soundstage.trace import AgentRun, Step, ToolUse, Trace, build_trace

BATCH: Final = 512
NANO: Final = 1_000_000_000
SERVICE: Final = "soundstage"
_SETTINGS: Final = {ours: name for name, ours in names.SETTINGS.items()}
_KINDS: Final = {"chat": SpanKind.CLIENT}


def export_spans(run: Journal | Sequence[Record], exporter: SpanExporter, *, service: str = SERVICE) -> int:
    """Send a run to an exporter, as spans of the GenAI conventions; returns how many.

    Args:
        run: a journal, or its records.
        exporter: any exporter of the OpenTelemetry SDK; it is flushed, and not shut down.
        service: the `service.name` of the spans.

    Raises:
        ScriptError: if the run has no records.
        EnvironmentProblem: if the exporter says that it failed.

    Example:
        ::

            export_spans(read_journal(Path("journal.jsonl")), ConsoleSpanExporter())
    """
    records = run.read() if isinstance(run, Journal) else run
    if not records:
        raise ScriptError("there is nothing to export: the run has no records")
    spans = spans_of_run(records, service=service)
    for start in range(0, len(spans), BATCH):
        if exporter.export(spans[start : start + BATCH]) is not SpanExportResult.SUCCESS:
            raise EnvironmentProblem(
                f"{type(exporter).__name__} could not deliver {len(spans)} spans",
                seen=f"{start} were delivered before",
                hint="see what the exporter has logged; is the collector running, and the address right?",
            )
    exporter.force_flush()
    return len(spans)


def spans_of_run(records: Sequence[Record], *, service: str = SERVICE) -> list[ReadableSpan]:
    """The spans of a run, parents before their children."""
    return list(_Spans(build_trace(records), service).all())


class _Spans:
    """Makes the spans of one trace."""

    def __init__(self, trace: Trace, service: str) -> None:
        self._trace = trace
        self._run = trace.records[0].run
        self._zero = _unix_zero(trace.records)
        self._resource = Resource({"service.name": service})
        self._scope = InstrumentationScope("soundstage")
        self._trace_id = int.from_bytes(self._digest("trace")[:16]) or 1

    def all(self) -> Iterator[ReadableSpan]:
        root = self._context("run", 0)
        yield self._root(root)
        inside: dict[int, SpanContext] = {}
        agents: dict[tuple[str, str], SpanContext] = {}
        for run in self._trace.runs:
            around = agents.get((run.conversation, run.parent), root) if run.parent else root
            context = agents[run.conversation, run.agent] = self._context("agent", run.position)
            inside.update({step.position: context for step in run.steps})
            yield self._agent(run, context, around)
        asked: dict[int, SpanContext] = {}
        for step in self._trace.steps:
            around = inside.get(step.position, root)
            asked.update({use.asked_at: around for use in step.tools})
            yield self._step(step, around)
        for number, use in enumerate(self._trace.tools):
            if use.result is not None or use.asked_at not in asked:
                yield self._tool(use, asked.get(use.asked_at, root), number)

    def _digest(self, what: str) -> bytes:
        return hashlib.sha256(f"{self._run}:{what}".encode()).digest()

    def _context(self, what: str, position: int) -> SpanContext:
        identity = int.from_bytes(self._digest(f"{what}:{position}")[:8]) or 1
        return SpanContext(self._trace_id, identity, is_remote=False, trace_flags=TraceFlags(1))

    def _at(self, seconds: float | None, position: int | None, otherwise: int = 0) -> int:
        if seconds is None:
            return otherwise
        return self._zero + round(seconds * NANO) + (position or 0)

    def _conversation(self, conversation: str) -> str:
        return conversation or self._run

    def _span(
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        times: tuple[int, int],
        attributes: dict[str, Any],
        error: str | None = None,
    ) -> ReadableSpan:
        status = Status(StatusCode.ERROR, error) if error is not None else Status(StatusCode.UNSET)
        operation = str(attributes[names.OPERATION])
        return ReadableSpan(
            name=f"{operation} {name}".strip(),
            context=context,
            parent=parent,
            resource=self._resource,
            attributes={key: value for key, value in attributes.items() if value not in ("", None)},
            kind=_KINDS.get(operation, SpanKind.INTERNAL),
            instrumentation_scope=self._scope,
            status=status,
            start_time=times[0],
            end_time=max(times),
        )

    def _root(self, context: SpanContext) -> ReadableSpan:
        records = self._trace.records
        name = next((record.event.name for record in records if isinstance(record.event, RunStarted)), "")
        times = [self._at(record.time, record.position) for record in records]
        attributes = {names.OPERATION: "invoke_workflow", names.WORKFLOW: name or self._run}
        return self._span(name, context, None, (min(times), max(times)), attributes)

    def _agent(self, run: AgentRun, context: SpanContext, around: SpanContext) -> ReadableSpan:
        last = run.steps[-1]
        began = self._at(run.started, run.position)
        ended = self._at(run.ended, last.answered_at or last.position, began)
        outcome = run.finished.outcome if run.finished is not None else "success"
        failed = outcome != "success"
        said = run.finished.text if run.finished is not None else ""
        attributes = {
            names.OPERATION: "invoke_agent",
            names.AGENT: run.agent,
            names.CONVERSATION: self._conversation(run.conversation),
            names.PHASE: run.phase,
            names.OUTPUT: written_answer([Text(text=said)], "stop") if said and not failed else "",
            names.ERROR: outcome if failed else "",
        }
        return self._span(run.agent, context, around, (began, ended), attributes, said if failed else None)

    def _step(self, step: Step, around: SpanContext) -> ReadableSpan:
        began = self._at(step.started, step.position)
        attributes = {
            names.OPERATION: "chat",
            names.AGENT: step.agent,
            names.CONVERSATION: self._conversation(step.conversation),
            names.PROVIDER: step.request.format or SERVICE,
            names.PHASE: step.phase,
            names.PURPOSE: step.purpose if step.purpose != "main" else "",
            **_asked(step.request),
            **_answered(step),
        }
        error = step.failure.message if step.failure is not None else None
        ended = self._at(step.ended, step.answered_at, began)
        context = self._context("step", step.position)
        return self._span(step.request.model, context, around, (began, ended), attributes, error)

    def _tool(self, use: ToolUse, around: SpanContext, number: int) -> ReadableSpan:
        began = self._at(use.started, use.asked_at)
        attributes = {
            names.OPERATION: "execute_tool",
            names.TOOL: use.name,
            names.TOOL_TYPE: "function",
            names.CALL_ID: use.call_id,
            names.CALL_ARGUMENTS: use.raw or json_of(use.arguments),
            names.AGENT: use.agent,
            names.CONVERSATION: self._conversation(use.conversation),
            names.ERROR: "tool_error" if use.is_error else "",
        }
        if use.result is not None:
            attributes[names.CALL_RESULT] = use.result
        ended = self._at(use.ended, use.returned_at, began)
        context = self._context("tool", number)
        error = use.result if use.is_error else None
        return self._span(use.name, context, around, (began, ended), attributes, error)


def _asked(request: ModelRequest) -> dict[str, Any]:
    """The attributes of a request."""
    system: list[Message] = [message for message in request.messages if message.role == "system"]
    others = [message for message in request.messages if message.role != "system"]
    settings = {_SETTINGS[name]: value for name, value in request.settings.items() if name in _SETTINGS}
    instructions = [written_part(part) for message in system for part in message.parts]
    return {
        names.REQUEST_MODEL: request.model,
        names.INSTRUCTIONS: json_of(instructions) if instructions else "",
        names.INPUT: written_messages(others) if others else "",
        names.DEFINITIONS: written_definitions(request.tools) if request.tools else "",
        **{name: value for name, value in settings.items() if isinstance(value, str | int | float)},
    }


def _answered(step: Step) -> dict[str, Any]:
    """The attributes of what came of a request."""
    if step.failure is not None:
        failure = step.failure
        return {
            names.ERROR: failure.kind or (str(failure.status) if failure.status else failure.reason),
            names.FAILURE: failure.reason,
            "http.response.status_code": failure.status or "",
        }
    if step.response is None:
        return {names.FAILURE: UNFINISHED}
    response, usage = step.response, step.usage
    return {
        names.RESPONSE_MODEL: response.model,
        names.FINISH_REASONS: (response.finish,),
        names.OUTPUT: written_answer(response.parts, response.finish),
        names.INPUT_TOKENS: usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        names.OUTPUT_TOKENS: usage.output_tokens,
        names.CACHE_READ: usage.cache_read_tokens or "",
        names.CACHE_WRITE: usage.cache_write_tokens or "",
    }


def _unix_zero(records: Sequence[Record]) -> int:
    """Nanoseconds of Unix time at time 0 of the journal; the epoch if the run does not say it."""
    wall = next((record.event.wall for record in records if isinstance(record.event, RunStarted)), "")
    try:
        at = datetime.fromisoformat(wall)
    except ValueError:
        return 0
    return round(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1_000_000) * 1000
