"""The group of commands `soundstage eval ...`; each command has a module of its own."""

from __future__ import annotations

import typer

from soundstage.cli import say
from soundstage.evals._command_compare import baseline, compare
from soundstage.evals._command_import import imports
from soundstage.evals._command_record import record, replay
from soundstage.evals._command_report import report
from soundstage.evals._command_run import run

evals = typer.Typer(help="Evals: cases that are run repeatedly, scored and counted.", no_args_is_help=True)
evals.add_typer(imports, name="import")


@evals.callback()
def _group() -> None:
    """Evals: cases that are run repeatedly, scored and counted."""


def kinds() -> None:
    """List the kinds of evaluators that a suite can name.

    Example: `soundstage eval kinds`
    """
    from soundstage.evals import KINDS

    width = max(map(len, KINDS))
    for kind in KINDS.values():
        say(f"{kind.name:<{width}}  {kind.doc}")


for command in (run, report, compare, baseline, record, replay, kinds):
    evals.command()(command)
