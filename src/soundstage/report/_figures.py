"""The numbers of a section, for the head of its page and for the table in the terminal. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple

from soundstage.journal import RunFinished, RunStarted
from soundstage.report._section import Section, SectionVerdict
from soundstage.trace import Trace, build_trace


class Figure(NamedTuple):
    """One number: `key` names it for style sheets, `note` says what the number alone does not."""

    key: str
    label: str
    value: str
    note: str = ""
    bad: bool = False


class SectionHead(NamedTuple):
    """The head of a section: title, outcome, date and figures."""

    title: str
    outcome: str
    reason: str
    date: str
    name: str
    note: str
    failure: str
    unused: str
    verdict: SectionVerdict | None
    figures: tuple[Figure, ...]
    trace: Trace


def summarise(section: Section) -> SectionHead:
    """The summary of a section. The section's own outcome goes before that of `RunFinished`."""
    trace = build_trace(section.records)
    started = next((r.event for r in section.records if isinstance(r.event, RunStarted)), RunStarted())
    finished = next((r.event for r in reversed(section.records) if isinstance(r.event, RunFinished)), None)
    return SectionHead(
        title=section.title,
        outcome=section.outcome or (finished.outcome if finished else ""),
        reason=finished.reason if finished else "",
        date=_date(started.wall),
        name=started.name if started.name != section.title else "",
        note=section.note,
        failure=section.failure,
        unused=section.unused,
        verdict=section.verdict,
        figures=figures_of(trace),
        trace=trace,
    )


def figures_of(trace: Trace) -> tuple[Figure, ...]:
    """Duration, requests, tool calls, tokens, cost, failures, hosts: always all of them, in this order."""
    side = len(trace.steps) - len(trace.main_steps)
    failed_tools = sum(use.is_error for use in trace.tools)
    usage = trace.usage
    cached = usage.cache_read_tokens
    asked = usage.total_tokens - usage.output_tokens
    failures = Counter(failure.what for failure in trace.failures)
    cost = trace.cost()
    hosts = list(dict.fromkeys(f"{tried.host}:{tried.port}" for tried in trace.egress))
    return (
        Figure("duration", "Duration", duration_text(trace.duration)),
        Figure("requests", "Model requests", f"{len(trace.steps):,}", f"{side} on the side" if side else ""),
        Figure("tools", "Tool calls", f"{len(trace.tools):,}", _count(failed_tools, "error")),
        Figure("tokens-in", "Tokens in", f"{asked:,}", f"{cached:,} from a cache" if cached else ""),
        Figure("tokens-out", "Tokens out", f"{usage.output_tokens:,}"),
        Figure(
            "cost",
            "Cost",
            "unknown" if cost.amount is None else f"${cost.amount:.4f}",
            cost.reason
            or (_count(cost.uncounted, "reply without token counts", "replies without token counts")),
        ),
        Figure(
            "failures",
            "Failures",
            f"{len(trace.failures):,}",
            ", ".join(f"{number} {what}" for what, number in failures.items()),
            bool(failures),
        ),
        Figure(
            "hosts",
            "Outside hosts",
            f"{len(hosts)} tried" if hosts else "none",
            ", ".join(hosts) if hosts else "no attempt to reach one",
            bool(hosts),
        ),
    )


def _count(number: int, one: str, many: str = "") -> str:
    """`2 errors`; nothing for none."""
    return f"{number:,} {one if number == 1 else many or one + 's'}" if number else ""


def duration_text(seconds: float) -> str:
    """A duration with the unit that suits it: `230 ms`, `1.25 s`, `2 m 05 s`, `1 h 02 m`."""
    if seconds < 1e-6:
        return "0 s"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{round(seconds * 1e3, 1 if seconds < 0.01 else 0):g} ms"
    if seconds < 60:
        return f"{round(seconds, 2):g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours = minutes // 60
    large, small = (f"{hours} h", f" {minutes % 60:02} m") if hours else (f"{minutes} m", f" {rest:02} s")
    return large if small.startswith(" 00") else large + small


def _date(wall: str) -> str:
    try:
        moment = datetime.fromisoformat(wall)
    except ValueError:
        return wall
    return (
        f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment.tzinfo else f"{moment:%Y-%m-%d %H:%M:%S}"
    )
