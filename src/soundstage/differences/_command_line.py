"""The command `soundstage diff`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from soundstage.cli import FAILED, say


def diff(
    a: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The journal or the tape of a run.")],
    b: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="That of the other.")],
    html: Annotated[Path | None, typer.Option(help="Write a page with both runs, too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    mask: Annotated[
        list[str] | None, typer.Option(help="Text or /regex/ that is not compared; repeatable.")
    ] = None,
) -> None:
    """Compare two runs: the first step at which they part, why, and what followed from it.

    Steps are aligned by caller and content. Times, ids, folders of runs and ports are not compared. Exit code 0 if the
    runs are the same, 1 if they differ, 2 for bad input.

    Example: `soundstage diff good.jsonl bad.jsonl --html diff.html`
    """
    from soundstage.differences import diff_runs

    masks: dict[str | re.Pattern[str], str] = dict.fromkeys(mask or (), "<masked>")
    report = diff_runs(a, b, html=html, as_json=as_json, mask=masks)
    say(report.text)
    if not report.same:
        raise typer.Exit(FAILED)
