"""The command `soundstage eval report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soundstage.cli import say


def report(
    which: Annotated[
        str,
        typer.Argument(metavar="EVAL", help="last, the id of an eval, or a suite's name for its last one."),
    ] = "last",
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write a page, with the pages of all runs beside it.")
    ] = None,
    pack: Annotated[
        Path | None,
        typer.Option(
            "--zip", dir_okay=False, help="Write page, pages of runs, and their files as an archive."
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a table in Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what last-report.json has.")] = False,
    store: Annotated[Path, typer.Option(file_okay=False, help="Where runs are kept.")] = Path(".soundstage"),
) -> None:
    """Show an eval that the store has: pass rates, failures, cost; as text, page, Markdown or JSON.

    The page has a row for each case with its history, and a cell for each run that opens the journal of the run. A case
    whose pass rate has changed over the evals of the store is named, with the eval in which the change began.

    Exit code 2 if the store has no such eval.

    Example: `soundstage eval report last --html report.html`
    """
    import msgspec

    from soundstage.evals._history import case_drift, case_history, stored_report
    from soundstage.evals._packed import pack_report, write_report
    from soundstage.evals._report_text import as_markdown, as_text
    from soundstage.runs import RunStore

    if markdown and as_json:
        raise typer.BadParameter("--markdown and --json are two forms: choose one")
    kept = RunStore(store)
    try:
        found = stored_report(kept, which)
        written = [
            write(found, kept, path)
            for write, path in ((write_report, html), (pack_report, pack))
            if path is not None
        ]
        drifts = {case: case_drift(past) for case, past in case_history(kept, found.suite).items()}
    finally:
        kept.close()
    if as_json:
        say(msgspec.json.format(msgspec.json.encode(found.as_json())).decode())
    elif markdown:
        say(as_markdown(found))
    elif written:
        say("\n".join(map(str, written)))
    else:
        changed = [f"{case.name}: {drifts[case.name]}" for case in found.cases if drifts.get(case.name)]
        say("\n".join([as_text(found), *changed]))
