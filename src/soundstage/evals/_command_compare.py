"""The commands `soundstage eval compare` and `soundstage eval baseline`, and the gate of `eval run --baseline`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from soundstage.cli import FAILED, say

if TYPE_CHECKING:
    from soundstage.evals import EvalBaseline, EvalReport, Suite

STORE = Annotated[Path, typer.Option(file_okay=False, help="Where runs are kept.")]
_RESULT = "An eval's id, `last`, a last-report.json, or a baseline file."


def compare(
    old: Annotated[str, typer.Argument(help=f"The earlier result. {_RESULT}")],
    new: Annotated[str, typer.Argument(help="The later result, in the same words.")] = "last",
    lower_is_better: Annotated[
        list[str] | None,
        typer.Option(metavar="EVALUATOR", help="Lower scores of this one are better; repeatable."),
    ] = None,
    error: Annotated[float, typer.Option(help="How often equal results may seem to differ.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    markdown: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write a table in Markdown, too.")
    ] = None,
    store: STORE = Path(".soundstage"),
) -> None:
    """Compare two results of a suite, case by case: did it get worse, and could these runs have shown it?

    Pass rates are compared by an exact test within each case, scores by the differences of the cases, and all are
    corrected together. Cases that are in one result alone, or are no longer what they were, are named and left out.

    Exit codes: 0 nothing is significantly worse, 1 something is, 2 wrong usage, or results that cannot be compared.

    Example: `soundstage eval compare baseline.json last --markdown summary.md`
    """
    import msgspec

    from soundstage.evals import compare_results
    from soundstage.evals._baseline import find_result
    from soundstage.evals._compare_text import as_markdown, as_text
    from soundstage.runs import RunStore

    kept = RunStore(store)
    try:
        before, after = find_result(old, kept), find_result(new, kept)
    finally:
        kept.close()
    found = compare_results(before, after, lower_is_better=lower_is_better or (), error=error)
    if markdown is not None:
        markdown.write_text(as_markdown(found), encoding="utf-8")
    say(msgspec.json.encode(found.as_json()).decode() if as_json else as_text(found))
    if found.worse:
        raise typer.Exit(FAILED)


def baseline(
    file: Annotated[Path, typer.Argument(dir_okay=False, help="The baseline file, to be kept in git.")],
    of: Annotated[str, typer.Option("--of", metavar="RESULT", help=_RESULT)] = "last",
    store: STORE = Path(".soundstage"),
) -> None:
    """Write a result as a baseline: of each case its runs, passes, scores and cost, without times and ids.

    Later evals are compared with it by `soundstage eval run SUITE --baseline FILE`, or `soundstage eval compare FILE`.

    Example: `soundstage eval baseline evals/weather.baseline.json`
    """
    from soundstage.evals._baseline import find_result
    from soundstage.evals._words import counted
    from soundstage.runs import RunStore

    kept = RunStore(store)
    try:
        found = find_result(of, kept)
    finally:
        kept.close()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(found.as_text(), encoding="utf-8")
    say(f"{file}: the suite {found.suite}, {counted(len(found.cases), 'case')}")


def baseline_for(suite: Suite, path: Path | None, *, only: Collection[str] = ()) -> EvalBaseline | None:
    """The baseline that a suite is to be compared with, before anything is run.

    Raises:
        ConfigError: if it cannot be read, is of another suite, or has no case of this one.
    """
    from soundstage.errors import ConfigError
    from soundstage.evals import load_baseline

    if path is None:
        return None
    found = load_baseline(path)
    if found.suite != suite.name:
        raise ConfigError(
            f"{path} is a baseline of another suite",
            expected=f"one of the suite {suite.name}",
            seen=f"one of the suite {found.suite}",
            hint=f"soundstage eval run SUITE, then: soundstage eval baseline {path}",
        )
    kept = {(name, case.fingerprint) for name, case in found.cases.items()}
    run = [case for case in suite.cases if not only or case.name in only or case.base in only]
    if run and not any((case.name, suite.fingerprint_of(case)) in kept for case in run):
        raise ConfigError(
            f"{path} has no case as it is in the suite {suite.name} now",
            expected="at least one case that is to be run, of the same name, input and expectations",
            hint=f"soundstage eval run SUITE, then: soundstage eval baseline {path}",
        )
    return found


def holds_baseline(report: EvalReport, wanted: EvalBaseline | None) -> bool:
    """Whether a report is not significantly worse than a baseline; the comparison is printed."""
    from soundstage.evals import baseline_of, compare_results
    from soundstage.evals._compare_text import as_text

    if wanted is None:
        return True
    found = compare_results(wanted, baseline_of(report))
    say(f"compared with the baseline:\n{as_text(found)}")
    return not found.worse
