"""The command `soundstage eval run`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from soundstage.cli import BAD_INPUT, FAILED, say, warn
from soundstage.evals._command_compare import baseline_for, holds_baseline

if TYPE_CHECKING:
    from soundstage.evals import EvalReport, ScoredRun, Suite
    from soundstage.runs import RunStore

STORE: Final = ".soundstage"


def run(
    suite: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The suite: YAML or JSON.")],
    case: Annotated[
        list[str] | None, typer.Option("--case", metavar="NAME", help="This case alone; repeatable.")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, help="Runs of each case. [default: as the suite says]")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 4,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the last eval of this suite; repeat no run that it has."),
    ] = False,
    store: Annotated[
        Path, typer.Option(file_okay=False, help="Where runs are kept, and last-report.json is written.")
    ] = Path(STORE),
    baseline: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False, exists=True, help="Fail if it is significantly worse than this baseline."
        ),
    ] = None,
    junit: Annotated[Path | None, typer.Option(dir_okay=False, help="Write JUnit XML, too.")] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write a table in Markdown, too, e.g. for a step summary."),
    ] = None,
) -> None:
    """Run a suite: every case as often as it says; print pass rates with their intervals.

    Each run is kept in the store, one by one. Ctrl-C keeps those that are over; `--resume` goes on after it, and after
    any other end.

    Exit codes: 0 every case passed, 1 a case is below its pass rate or all is worse than the baseline, 2 wrong usage, a
    suite that cannot be used, or runs that could not be made, 130 after Ctrl-C.

    Example: `soundstage eval run suite.yaml --repeat 20 --markdown summary.md`
    """
    import msgspec

    from soundstage.evals import kept_report, load_suite, run_suite
    from soundstage.runs import RunStore

    chosen, kept = load_suite(suite), RunStore(store)
    if repeat is not None:
        cases = [msgspec.structs.replace(one, repeat=None) for one in chosen.cases]
        chosen = msgspec.structs.replace(chosen, repeat=repeat, cases=cases)
    wanted = baseline_for(chosen, baseline)
    told = _Progress(chosen, case or ())
    try:
        report = asyncio.run(
            run_suite(
                chosen, store=kept, only=case or (), resume=resume, concurrency=concurrency, on_run=told.tell
            )
        )
    except KeyboardInterrupt:
        warn(f"interrupted; {told.done} runs are kept: soundstage eval run {suite} --resume")
        if told.done:
            _write(kept_report(chosen, kept, only=case or ()), kept, junit, markdown)
        raise typer.Exit(130) from None
    finally:
        kept.close()
    _write(report, kept, junit, markdown)
    if report.errors:
        raise typer.Exit(BAD_INPUT)
    if not (holds_baseline(report, wanted) and report.passed):
        raise typer.Exit(FAILED)


class _Progress:
    """A line on standard error for each run that is kept."""

    def __init__(self, suite: Suite, only: list[str] | tuple[()]) -> None:
        self.planned = sum(suite.runs_of(case) for case in suite.cases if not only or case.name in only)
        self.done = 0

    def tell(self, run: ScoredRun) -> None:
        """Tell of one run."""
        self.done += run.outcome != "error"
        reason = f": {run.reason}" if run.reason else ""
        warn(
            f"[{self.done}/{self.planned}] {run.case} run {run.number}: {run.outcome}{reason}".splitlines()[0]
        )


def _write(report: EvalReport, store: RunStore, junit: Path | None, markdown: Path | None) -> None:
    """Print the report, and write its files."""
    import msgspec

    from soundstage.evals._baseline import LAST_FILE
    from soundstage.evals._report_text import as_junit, as_markdown, as_text

    folder = store.root / "evals"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LAST_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(report.as_json())) + b"\n")
    for path, form in ((junit, as_junit), (markdown, as_markdown)):
        if path is not None:
            path.write_text(form(report), encoding="utf-8")
    say(as_text(report))
