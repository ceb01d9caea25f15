"""The command `soundstage eval run`."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from soundstage.cli import BAD_INPUT, FAILED, say, warn
from soundstage.evals._command_compare import baseline_for, holds_baseline

if TYPE_CHECKING:
    from soundstage.evals import EvalReport
    from soundstage.runs import RunStore

STORE: Final = ".soundstage"
_Where = Annotated[
    str, typer.Option(help="Where runs are made: local, processes (of this machine) or ray (a cluster).")
]
_Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes, or workers of the cluster. [default: processors]")
]
_Address = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="The cluster. [default: one is started here]")
]

_Model = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="PROVIDER/MODEL",
        help="Ask this model for real, in the place of that of the suite, e.g. openai/gpt-4.1.",
    ),
]
_BaseUrl = Annotated[
    str,
    typer.Option(
        "--base-url", metavar="URL", help="Where the provider of --model is, for compatible servers."
    ),
]
_Replay = Annotated[
    bool,
    typer.Option("--replay", help="Answer from the recording of the suite; ask no provider, spend no token."),
]
_MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="USD", help="Start no run that would be beyond so many dollars."),
]
_Concurrency = Annotated[
    int | None, typer.Option(min=1, help="Runs at a time. [default: 4, or 2 for each worker]")
]
_Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with the last eval of this suite; repeat no run that it has."),
]
_Against = Annotated[
    Path | None,
    typer.Option(dir_okay=False, exists=True, help="Fail if it is significantly worse than this baseline."),
]


def run(
    context: typer.Context,
    suite: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The suite: YAML or JSON.")],
    case: Annotated[
        list[str] | None, typer.Option("--case", metavar="NAME", help="This case alone; repeatable.")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, help="Runs of each case. [default: as the suite says]")
    ] = None,
    model: _Model = "",
    base_url: _BaseUrl = "",
    replay: _Replay = False,
    max_cost: _MaxCost = None,
    concurrency: _Concurrency = None,
    executor: _Where = "local",
    workers: _Workers = None,
    ray_address: _Address = "",
    resume: _Resume = False,
    store: Annotated[
        Path, typer.Option(file_okay=False, help="Where runs are kept, and last-report.json is written.")
    ] = Path(STORE),
    baseline: _Against = None,
    junit: Annotated[Path | None, typer.Option(dir_okay=False, help="Write JUnit XML, too.")] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write a table in Markdown, too, e.g. for a step summary."),
    ] = None,
) -> None:
    """Run a suite: every case as often as it says; print pass rates with their intervals.

    Each run is kept in the store, one by one. Ctrl-C keeps those that are over; `--resume` goes on after it, and after
    any other end.

    Exit codes: 0 every case passed, 1 a case is below its pass rate or lacks runs that a budget has left out, or all is
    worse than the baseline, 2 wrong usage, a suite that cannot be used, or no case below its rate, but runs that could
    not be made or graded, 130 after Ctrl-C.

    Example: `soundstage eval run suite.yaml --repeat 20 --markdown summary.md`
    """
    from soundstage.evals import executor_of, kept_report, run_suite
    from soundstage.evals._chosen import chosen_suite, limited_suite
    from soundstage.evals._command_record import import_from_here
    from soundstage.evals._progress import EvalProgress

    import_from_here()
    place = executor_of(executor, workers=workers, address=ray_address)
    chosen = chosen_suite(suite, model=model, base_url=base_url, replay=replay)
    chosen, kept = limited_suite(chosen, repeat=repeat, max_cost=max_cost), _store_at(store)
    wanted = baseline_for(chosen, baseline, only=case or ())
    _make_folders(junit, markdown)
    _tell(chosen.notes)
    told = EvalProgress(budget=chosen.budget.cost)
    try:
        report = asyncio.run(
            run_suite(
                chosen,
                store=kept,
                only=case or (),
                resume=resume,
                concurrency=concurrency,
                executor=place,
                on_begin=told.begin,
                on_run=told.tell,
            )
        )
    except KeyboardInterrupt:
        told.end()
        found = kept_report(chosen, kept, only=case or ()) if told.kept else None
        _tell_interrupted(found, _again(context))
        if found is not None:
            _write(found, kept, junit, markdown)
        raise typer.Exit(130) from None
    finally:
        kept.close()
    told.end()
    _write(report, kept, junit, markdown)
    if not any(one.outcome == "failed" for one in report.cases) and report.errors:
        raise typer.Exit(BAD_INPUT)
    if not (holds_baseline(report, wanted) and report.passed):
        raise typer.Exit(FAILED)


def _tell_interrupted(found: EvalReport | None, again: str) -> None:
    from soundstage.evals._words import counted_are

    count = sum(len(one.runs) for one in found.cases) if found is not None else 0
    warn(f"interrupted; {counted_are(count, 'run')} kept: {again}")


def _tell(notes: tuple[str, ...]) -> None:
    """Say what was left out of a suite when it was read."""
    for note in notes:
        warn(f"left out: {note}")


def _store_at(folder: Path) -> RunStore:
    """The store in a folder, with the index that the settings name."""
    from soundstage.config import load_settings
    from soundstage.runs import store_of

    return store_of(load_settings(Path.cwd(), os.environ), folder)


def _write(report: EvalReport, store: RunStore, junit: Path | None, markdown: Path | None) -> None:
    """Print the report, and write its files."""
    from soundstage.evals._baseline import write_last
    from soundstage.evals._report_text import as_junit, as_markdown, as_text

    write_last(report, store.root)
    say(as_text(report))
    for path, form in ((junit, as_junit), (markdown, as_markdown)):
        if path is not None:
            path.write_text(form(report), encoding="utf-8")


def _make_folders(*files: Path | None) -> None:
    """Make the folders of files that are written when all is over: that is too late to say that it cannot be."""
    from soundstage.errors import FileError

    for path in filter(None, files):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{path} cannot be written", seen=error.strerror or str(error)) from None


def _again(context: typer.Context) -> str:
    """The command as it was given, to go on with; what was not said is not said again."""
    words: list[str] = []
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name == "resume":
            continue
        value, flag = context.params[name], option.opts[0]
        if not flag.startswith("-"):
            words.insert(0, str(value))
        elif value is True:
            words.append(flag)
        else:
            words += [
                part for one in (value if isinstance(value, list) else [value]) for part in (flag, str(one))
            ]
    return shlex.join(["soundstage", "eval", "run", *words, "--resume"])
