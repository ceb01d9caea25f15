"""Two runs compared: as text for the terminal, as one page with both journals, as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from soundstage.differences._page_view import page_comparison
from soundstage.differences._run_types import RunDiff, StepDiff
from soundstage.differences._runs import compare_runs
from soundstage.differences._text import unified
from soundstage.errors import ScriptError
from soundstage.journal import Record, Redactor, clean_records
from soundstage.report import Section, read_run, text_style, write_page
from soundstage.trace import build_trace

_MOST: Final = 30  # steps that are listed after the first divergence


class DiffReport(NamedTuple):
    """Two runs compared.

    Args:
        text: what to print.
        same: whether nothing differs.
    """

    text: str
    same: bool


def diff_runs(
    a: Path | str,
    b: Path | str,
    *,
    html: Path | str | None = None,
    as_json: bool = False,
    mask: Mapping[str | re.Pattern[str], str] | None = None,
) -> DiffReport:
    """Compare the runs of two files: the first divergence, its cause, what followed from it.

    Args:
        a: a journal, or what the reader of a wing takes, such as a tape: that of a run that was good.
        b: that of the other run.
        html: where to write a page with the divergence and both runs.
        as_json: whether the text is one JSON object.
        mask: what is not compared besides what the files say, and what stands in its place.

    Raises:
        EnvironmentProblem: if a file cannot be read, or the page not be written.
        HarnessError: if no line of a file is a record.
        ScriptError: for a mask that is empty or no expression, and for runs with nothing to compare.
        TapeError: for a tape that cannot be read.
    """
    redactor = Redactor.from_environment()
    files = [read_run(path) for path in (a, b)]
    sides = [list(clean_records(file.records, redactor)) for file in files]
    traces = [build_trace(side) for side in sides]
    if not any(trace.steps or trace.messages or trace.failures or trace.tools for trace in traces):
        raise ScriptError(
            "there is nothing to compare",
            expected="runs with requests to a model, messages or calls of tools",
            seen=" and ".join(
                f"{path}: {len(side)} record(s)" for path, side in zip((a, b), sides, strict=True)
            ),
            hint="`soundstage show FILE` prints what is in a file",
        )
    found = compare_runs(*traces, mask={**files[0].masks, **files[1].masks, **(mask or {})})
    names = _names(Path(a), Path(b))
    page = _page(html, found, names, sides, redactor) if html is not None else ""
    if as_json:
        return DiffReport(_json(found, names), found.same)
    text = render_diff(found, *names, colour=text_style(None, None).colour)
    return DiffReport("\n".join(filter(None, (redactor.text(text), page))), found.same)


def render_diff(found: RunDiff, a: str, b: str, *, colour: bool = False) -> str:
    """The differences of two runs as text.

    Args:
        found: what `compare_runs` gave.
        a: the name of the one run.
        b: that of the other.
        colour: whether to colour it with ANSI escapes, for a terminal.
    """
    first = found.first
    if first is None:
        return f"same: {_count(found.alike, 'step')}"
    lines = [f"divergence: {first.cause}", f"{where_of(first)}; - is A, {a}; + is B, {b}"]
    lines.append(_indented(unified(first.found, colour=colour)))
    if first.reply:
        lines.append(_indented(unified(first.reply, colour=colour)))
    lines += _listed("followed from it", found.followed)
    lines += _listed("differ by themselves too", found.others)
    lines.append(f"{found.alike} of {max(found.steps)} steps are alike")
    return "\n".join(lines)


def where_of(one: StepDiff) -> str:
    """The place of a difference in both runs: lane, step, positions."""
    at = [f"{name} @{position}" for name, position in (("A", one.a), ("B", one.b)) if position]
    step = f", step {one.step}" if one.step else ""
    return f"{one.lane}{step} ({', '.join(at)}{'' if len(at) > 1 else ' only'})"


def _listed(head: str, steps: Sequence[StepDiff]) -> Iterator[str]:
    if steps:
        yield f"{head}: {len(steps)}"
    for one in steps[:_MOST]:
        yield f"  {where_of(one)}: {told(one)}"
    if len(steps) > _MOST:
        yield f"  and {len(steps) - _MOST} more"


def told(one: StepDiff) -> str:
    """The cause of a difference in one line; of one that differs by itself with both sides."""
    return (
        f"{one.cause}{', its reply differs too' if one.reply else ''}" if one.follows else str(one.found[0])
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _names(a: Path, b: Path) -> tuple[str, str]:
    """Names that tell the files apart."""
    return (a.name, b.name) if a.name != b.name else (str(a), str(b))


def _json(found: RunDiff, names: tuple[str, str]) -> str:
    whole = {
        "a": names[0],
        "b": names[1],
        "same": found.same,
        "first": found.first,
        **msgspec.to_builtins(found),
    }
    return msgspec.json.encode(whole).decode()


def _page(
    html: Path | str, found: RunDiff, names: tuple[str, str], sides: list[list[Record]], redactor: Redactor
) -> str:
    sections = [Section(name, records) for name, records in zip(names, sides, strict=True)]
    title = f"Soundstage: {names[0]} and {names[1]}"
    page = write_page(html, sections, title=title, redactor=redactor, diff=page_comparison(found))
    return f"page: {page.resolve()}"
