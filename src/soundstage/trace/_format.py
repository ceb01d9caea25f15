"""The trace as text to read, and the part of it around one event.

The text has one entry for each thing that happened, in the order of the journal: steps under the heading of
their run, and between them messages, routes, phases, files, failures, and what apps and worlds append events
of their own for. An entry is written only when it is shown, so the part around one event costs no more than what
it shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.errors import ScriptError
from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    Committed,
    DaemonChanged,
    EgressTried,
    Event,
    FactMissed,
    FileChanged,
    FlowEnded,
    HookFired,
    HostReached,
    MessageReceived,
    MessageSent,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
    Notified,
    PhaseChanged,
    ProcessExited,
    ProcessStarted,
    Record,
    RequestRefused,
    RequestServed,
    Routed,
    RunAborted,
    RunFinished,
    RunStarted,
    ScreenChanged,
    TodosChanged,
    ToolCalled,
    ToolReturned,
    UnknownEvent,
    UsageReported,
    one_line,
    patch_size,
)
from soundstage.match import Repeat, preview, repeats
from soundstage.trace._cost import PRICES, cost_of
from soundstage.trace._routes import routes_of
from soundstage.trace._types import AgentRun, Step, ToolUse, TraceFields, shown

NARROWEST: Final = 40
_AROUND: Final = 2  # entries before and after the one that matters
_POSITION: Final = re.compile(r"^ *@\d+")
_COUNTED: Final = re.compile(r"^ *\d+ tokens in, ")
_COLOURS: Final = {"head": "1", "tool": "36", "wrong": "31", "world": "32", "flow": "35", "quiet": "2"}


class _Line(NamedTuple):
    """A line and what kind it is; the kinds are the keys of `_COLOURS`, and plain."""

    text: str
    kind: str = ""


class _Entry(NamedTuple):
    """Something that happened: where in the journal, and in which run (its number) if in any."""

    position: int
    what: Step | ToolUse | Record
    run: int | None = None


def format_trace(
    trace: TraceFields,
    *,
    width: int = 100,
    colour: bool = False,
    fold: bool = True,
    mark: int | None = None,
) -> str:
    """The trace as text: numbered runs, their steps and tools, what worlds and routers did, and a summary.

    Every step shows its position in the journal after an `@`. The same trace gives the same text.

    Args:
        trace: what to show.
        width: characters of a line, at least 40; longer texts are shortened.
        colour: whether to colour it for a terminal.
        fold: whether rounds of a loop that look alike are shown once, with their number.
        mark: position of an event whose line gets a `>`.

    Raises:
        ScriptError: if `width` is too small.
    """
    if width < NARROWEST:
        raise ScriptError(f"{width} characters are too few", expected=f"a width of at least {NARROWEST}")
    lines = [*_written(trace, _entries(trace), width, fold=fold, mark=mark), *_summary(trace)]
    return "\n".join(_finished(line, width, colour=colour) for line in lines)


def excerpt(trace: TraceFields, position: int | None, *, width: int = 100) -> str:
    """The part of the text around the event at `position`, marked with `>`; the end, if it is not given."""
    entries = _entries(trace)
    if not entries:
        return "(nothing happened)"
    upto = [number for number, entry in enumerate(entries) if position is None or entry.position <= position]
    place = upto[-1] if upto else 0
    first = max(place - _AROUND - (_AROUND if position is None else 0), 0)
    window = entries[first : place + _AROUND + 1]
    marked = entries[place] if position is not None else None
    lines = []
    for entry, written in _by_entry(trace, window, width - 2):
        sign = "> " if entry is marked else "  "
        lines += [sign + _finished(line, width - 2) for line in written]
    return "\n".join(lines)


def _entries(trace: TraceFields) -> list[_Entry]:
    steps = {step.position: step for step in trace.steps}
    runs = {step.position: number for number, run in enumerate(trace.runs) for step in run.steps}
    asked = {id(use) for step in trace.steps for use in step.tools}
    loose = {use.asked_at: use for use in trace.tools if id(use) not in asked}
    routes = dict(routes_of(trace))
    found = []
    for record in trace.records:
        place = record.position
        if place in steps:
            found.append(_Entry(place, steps[place], runs.get(place)))
        elif place in loose:
            found.append(_Entry(place, loose[place]))
        elif place in routes or _matters(record.event):
            found.append(
                _Entry(place, msgspec.structs.replace(record, event=routes.get(place, record.event)))
            )
    return found


def _written(
    trace: TraceFields, entries: Sequence[_Entry], width: int, *, fold: bool, mark: int | None
) -> Iterator[_Line]:
    upto = [entry.position for entry in entries if mark is not None and entry.position <= mark]
    marked = upto[-1] if upto else 0
    written = [
        (
            entry.position,
            [_Line(f"> {line.text}", line.kind) for line in lines] if entry.position == marked else lines,
        )
        for entry, lines in _by_entry(trace, entries, width)
    ]
    parts = (
        repeats([_look(lines) for _, lines in written])
        if fold
        else [Repeat(place, 1, 1) for place in range(len(written))]
    )
    for start, length, times in parts:
        for _, lines in written[start : start + length]:
            yield from lines
        if times > 1:
            last = written[start + length * times - 1][0]
            yield _Line(f"   ... the same {times - 1} times more, until @{last}", "quiet")


def _look(lines: Sequence[_Line]) -> tuple[str, ...]:
    """The key by which two entries look alike: all but positions, tokens and seconds."""
    return tuple(_POSITION.sub("@", line.text) for line in lines if not _COUNTED.match(line.text))


def _by_entry(
    trace: TraceFields, entries: Sequence[_Entry], width: int
) -> Iterator[tuple[_Entry, list[_Line]]]:
    """Each entry with its lines; a run's heading goes before its first step, and where it goes on."""
    current: int | None = None
    for entry in entries:
        lines: list[_Line] = []
        if entry.run is not None and entry.run != current:
            current = entry.run
            run = trace.runs[current]
            lines.append(_heading(current, run, goes_on=entry.position != run.position))
        if isinstance(entry.what, Step):
            lines += _step(entry.what, width)
        elif isinstance(entry.what, ToolUse):
            lines.append(_tool(entry.what, "", width))
        else:
            lines.append(_WRITERS.get(type(entry.what.event), _any)(entry.what.event, width))
        yield entry, lines


def _heading(number: int, run: AgentRun, *, goes_on: bool) -> _Line:
    notes = [
        f"[{run.phase}]" if run.phase else "",
        f"from {run.parent}" if run.parent else "",
        f"in {run.conversation}" if run.conversation else "",
        "(goes on)" if goes_on else "",
        f"({run.outcome})" if run.outcome != "success" else "",
    ]
    return _Line(" ".join([f"{number + 1}. {run.agent}", *filter(None, notes)]), "head")


def _step(step: Step, width: int) -> list[_Line]:
    purpose = f" ({step.purpose} by {step.agent})" if step.purpose != "main" else ""
    asked = _asked(step)
    lines = [_Line(f"   @{step.position} {step.model}{purpose}" + (f" <- {asked}" if asked else ""), "quiet")]
    if step.text:
        lines.append(_Line("      " + _quoted(step.text, width - 6)))
    for use in step.tools:
        lines.append(_tool(use, "      ", width))
        if use.raw:
            lines.append(
                _Line(f"      warning: the arguments of {use.name} are no JSON object; read as {{}}", "wrong")
            )
    if step.failure is not None:
        status = f" {step.failure.status}" if step.failure.status else ""
        lines.append(
            _Line(f"      failed: {step.failure.reason}{status}: {_flat(step.failure.message)}", "wrong")
        )
        if step.failure.served_by:
            lines.append(_Line("      " + _by(step.failure.served_by), "quiet"))
    elif step.response is None:
        lines.append(_Line("      no answer by the end", "wrong"))
    else:
        facts = [_tokens(step), _seconds(step.duration or 0.0), _by(step.response.served_by)]
        lines.append(_Line("      " + ", ".join(filter(None, facts)), "quiet"))
    return lines


def _by(served_by: str) -> str:
    """The rule and its conditions, so that an answer of the wrong rule is seen beside what was asked."""
    return f"by {_flat(served_by)}" if served_by else ""


def _asked(step: Step) -> str:
    """The news of a request: tool results, else the last text of the user."""
    results = step.request.tool_results
    if results:
        return ", ".join(f"result {preview(_flat(result.text), 40)}" for result in results)
    said = step.request.last_user_text
    return f"user {preview(_flat(said))}" if said else ""


def _tool(use: ToolUse, indent: str, width: int) -> _Line:
    by = "" if indent else f"{use.agent} "
    asked = f"{indent}{by}-> {use.name}({arguments_of(use)})"
    if use.result is None:
        answer = "no result"
    else:
        answer = ("error " if use.is_error else "") + preview(_flat(use.result), 60)
    room = max(width - len(answer) - 3, NARROWEST // 2)
    asked = asked if len(asked) <= room else asked[: room - 4] + "...)"
    return _Line(f"{asked} = {answer}", "wrong" if use.is_error or use.result is None else "tool")


def arguments_of(use: ToolUse) -> str:
    """The arguments of a call as they are shown: `path="a.py", lines=10`."""
    if use.raw:
        return preview(use.raw)
    return ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in use.arguments.items()
    )


def _tokens(step: Step) -> str:
    usage = step.usage
    return f"{usage.total_tokens - usage.output_tokens} tokens in, {usage.output_tokens} out"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str, width: int) -> str:
    return preview(_flat(text), max(width - 2, 10))


def _seconds(seconds: float) -> str:
    return f"{round(seconds, 3):g} s"


def _message(event: MessageReceived | MessageSent, width: int) -> _Line:
    arrow = ">>" if isinstance(event, MessageReceived) else "<<"
    where = " ".join(filter(None, (event.channel, event.sender)))
    head = f"{arrow} {where}: " if where else f"{arrow} "
    return _Line(head + _quoted(event.text, width - len(head)), "world")


def _routed(event: Routed, _: int) -> _Line:
    agents = ", ".join(map(shown, event.agents)) or "nobody"
    phase = f" [{event.phase}]" if event.phase else ""
    return _Line(f"=> {agents}{phase}" + (f": {_flat(event.reason)}" if event.reason else ""), "flow")


def _phase(event: PhaseChanged, _: int) -> _Line:
    return _Line(f"phase {event.left or '-'} -> {event.entered}", "flow")


def _flow(event: FlowEnded, _: int) -> _Line:
    detail = f": {_flat(event.detail)}" if event.detail else ""
    return _Line(f"flow ended: {event.reason}{detail}", "wrong" if event.reason == "error" else "flow")


def _daemon(event: DaemonChanged, _: int) -> _Line:
    return _Line(f"daemon {event.daemon} failed: {_flat(event.error)}", "wrong")


def _finish(event: AgentFinished, _: int) -> _Line:
    return _Line(f"agent {shown(event.agent)}: {event.outcome} {_flat(event.text)}".rstrip(), "wrong")


def _end(event: RunFinished, _: int) -> _Line:
    return _Line(f"run {event.outcome}: {_flat(event.reason)}".rstrip(": "), "wrong")


def _exit(event: ProcessExited, _: int) -> _Line:
    return _Line(f"program ended with {event.code}", "wrong" if event.code > 0 else "quiet")


def _hook(event: HookFired, _: int) -> _Line:
    facts = ", ".join(filter(None, (event.event, event.outcome, event.call_id)))
    return _Line(f"hook {event.hook}" + (f": {facts}" if facts else ""), "flow")


def _refused(event: RequestRefused, _: int) -> _Line:
    return _Line(f"refused {event.path} with {event.status}: {_flat(event.message)}", "wrong")


def _any(event: Event, width: int) -> _Line:
    """An event of an app or a world, in its own words."""
    if isinstance(event, UnknownEvent):
        return _Line(str(event), "quiet")
    return _Line(f"{type(event).__name__} {one_line(str(event), width)}", "world")


_WRITERS: Final[dict[type, Callable[[Any, int], _Line]]] = {
    MessageReceived: _message,
    MessageSent: _message,
    Routed: _routed,
    PhaseChanged: _phase,
    FlowEnded: _flow,
    FileChanged: lambda event, _: _Line(
        f"file {event.change}: {event.path} {patch_size(event.patch)}".rstrip(), "world"
    ),
    Committed: lambda event, _: _Line(f"commit {_flat(str(event))}", "world"),
    Notified: lambda event, _: _Line(f"notification {_flat(str(event))}", "world"),
    TodosChanged: lambda event, _: _Line(f"to-do list: {_flat(str(event))}", "flow"),
    UsageReported: lambda event, _: _Line(f"reported: {_flat(str(event))}", "quiet"),
    FactMissed: lambda event, _: _Line(f"not recorded: {_flat(str(event))}", "wrong"),
    RunAborted: lambda event, _: _Line(f"run aborted: {_flat(str(event))}", "wrong"),
    EgressTried: lambda event, _: _Line(f"network: {event.host}:{event.port} was tried", "wrong"),
    HostReached: lambda event, _: _Line(f"network: {event.host}:{event.port} was reached", "quiet"),
    Noted: lambda event, width: _Line("note " + _quoted(event.text, width - 5), "quiet"),
    HookFired: _hook,
    DaemonChanged: _daemon,
    AgentFinished: _finish,
    RequestRefused: _refused,
    ProcessStarted: lambda event, _: _Line("program " + _flat(" ".join(event.command)), "quiet"),
    ProcessExited: _exit,
    RunFinished: _end,
}


# Part of a step or a tool call, or not worth a line each.
_WITHOUT_A_LINE: Final = frozenset(
    {
        AgentStarted,
        ModelChunked,
        ModelFailed,
        ModelRequested,
        ModelResponded,
        RequestServed,
        RunStarted,
        ScreenChanged,
        ToolCalled,
        ToolReturned,
    }
)


def _matters(event: Any) -> bool:
    """Whether an event is worth a line: of daemons, agents and runs only what went wrong is."""
    if type(event) not in _WRITERS:
        return type(event) not in _WITHOUT_A_LINE and type(event).routine is not True
    if isinstance(event, DaemonChanged):
        return bool(event.error)
    return getattr(event, "outcome", "") not in ("success", "passed") or isinstance(event, HookFired)


def _summary(trace: TraceFields) -> list[_Line]:
    side = sum(1 for step in trace.steps if step.purpose != "main")
    asked = sum(step.usage.total_tokens - step.usage.output_tokens for step in trace.steps)
    said = sum(step.usage.output_tokens for step in trace.steps)
    lasted = trace.records[-1].time - trace.records[0].time if trace.records else 0.0
    parts = [
        _count(len(trace.steps), "step") + (f" ({side} side)" if side else ""),
        _count(len(trace.tools), "tool call"),
        f"{asked} tokens in, {said} out",
        str(cost_of(trace.steps, PRICES)),
        _seconds(lasted),
    ]
    if trace.failures:
        parts.append(_count(len(trace.failures), "failure"))
    return [_Line("-- " + ", ".join(parts), "wrong" if trace.failures else "head")]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _finished(line: _Line, width: int, *, colour: bool = False) -> str:
    text = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line.text)
    text = text if len(text) <= width else text[: width - 3] + "..."
    return f"\x1b[{_COLOURS[line.kind]}m{text}\x1b[0m" if colour and line.kind else text
