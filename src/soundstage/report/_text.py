"""Traces in the terminal: coloured where somebody looks, plain where a program reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from soundstage.journal import Redactor, UnknownEvent, clean_records
from soundstage.report._page import write_page
from soundstage.report._run_file import read_run
from soundstage.report._section import Section
from soundstage.report._style import standard_console, style_of, text_style
from soundstage.report._table import SummaryRow, table
from soundstage.trace import Trace, build_trace
from soundstage.wings import load_target, wings

if TYPE_CHECKING:
    from rich.console import Console

NARROWEST: Final = 40  # what `Trace.format` needs at least


def render_text(trace: Trace, *, width: int | None = None, colour: bool | None = None) -> str:
    """The trace as text to read.

    Args:
        trace: what to show.
        width: columns, at least 40; unless given, those of the terminal.
        colour: whether to colour it with ANSI escapes. Unless given, only in a terminal, and not where
            `NO_COLOR` is set.
    """
    look = text_style(width, colour)
    return trace.format(width=max(look.width, NARROWEST), colour=look.colour)


def print_trace(trace: Trace, console: Console | None = None) -> None:
    """Print the trace. In a pipe, and where `NO_COLOR` is set, without colours.

    Args:
        trace: what to print.
        console: a console of `rich`; the standard output unless given.
    """
    from rich.text import Text

    chosen = console if console is not None else standard_console()
    look = style_of(chosen)
    text = render_text(trace, width=look.width, colour=look.colour)
    chosen.print(Text.from_ansi(text) if look.colour else Text(text), soft_wrap=True, highlight=False)


def summary_table(rows: Sequence[SummaryRow], *, width: int | None = None, colour: bool | None = None) -> str:
    """Outcome, time, model requests, tool calls, tokens, cost and hosts: one line for each scenario.

    Below the table stand the reasons of unknown costs and the hosts that were tried. Where the terminal is
    too narrow for a table, each scenario is a short list.

    Args:
        rows: one for each scenario.
        width: columns; unless given, those of the terminal.
        colour: whether to colour it. Unless given, only in a terminal, and not where `NO_COLOR` is set.
    """
    look = text_style(width, colour)
    return table(rows, width=look.width, colour=look.colour)


def show_run(file: Path | str, *, html: Path | str | None = None, context: int | None = None) -> str:
    """The trace of a file that tells of a run, as text for the terminal; or write it as a page and say where it is.

    Args:
        file: a journal, or what the reader of a wing takes, such as a tape.
        html: where to write the page; without it there is none.
        context: position of a step, whose context is shown instead: what the model was given there.

    Raises:
        ScriptError: if no step has this position.
        EnvironmentProblem: if the file cannot be read, or the page not be written.
        HarnessError: if no line is a record.
        TapeError: if it is a tape that cannot be read.
    """
    records = read_run(file).records
    redactor = Redactor.from_environment()
    lost = [event for record in records if isinstance(event := record.event, UnknownEvent) and event.problem]
    texts = []
    if html is None or context is not None:
        trace = build_trace(list(clean_records(records, redactor)))
        if context is None:
            texts.append(redactor.text(render_text(trace)))
        else:
            texts.append(redactor.text(_context_of(trace, context)))
    if html is not None:
        name = Path(file).name
        page = write_page(html, [Section(name, records)], title=f"Soundstage: {name}", redactor=redactor)
        texts.append(f"page: {page.resolve()}")
    return "\n".join(texts) + _lost(lost)


def _context_of(trace: Trace, step: int) -> str:
    """The context of a step, by the wing that compares requests."""
    shown = load_target(next(wing.context for wing in wings() if wing.context))
    text: str = shown(trace, step, colour=text_style(None, None).colour)
    return text


def _lost(events: Sequence[UnknownEvent]) -> str:
    """The number of lines that could not be read, and which."""
    if not events:
        return ""
    count = f"{len(events)} line{'s' if len(events) != 1 else ''}"
    return f"\n{count} of the journal could not be read:\n" + "\n".join(
        f"  {event.problem}" for event in events
    )
