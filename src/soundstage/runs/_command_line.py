"""The commands `soundstage runs ...`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from soundstage.cli import say, warn

if TYPE_CHECKING:
    from soundstage.runs import RunStore

runs = typer.Typer(help="Runs that are kept: list, look, keep, remove, export.", no_args_is_help=True)
Store = Annotated[
    Path | None,
    typer.Option(exists=True, file_okay=False, help="The store. [default: the setting `runs`, .soundstage]"),
]
Id = Annotated[str, typer.Argument(metavar="RUN", help="Its id, or how that begins.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@runs.command("list")
def list_runs(
    store: Store = None,
    test: Annotated[str, typer.Option(help="Id of the test, as pytest writes it.")] = "",
    outcome: Annotated[str, typer.Option(help="passed, failed, error, ...")] = "",
    status: Annotated[str, typer.Option(help="complete, partial or failed.")] = "",
    driver: Annotated[str, typer.Option(help="Who ran them, e.g. pytest.")] = "",
    days: Annotated[float | None, typer.Option(min=0, help="That began in the last so many days.")] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="So many at most, the newest first; 0 for all.")] = 30,
    as_json: Json = False,
) -> None:
    """List runs, the newest first.

    Example: `soundstage runs list --outcome failed --days 30 --test tests/test_shop.py::test_buy`
    """
    import msgspec

    from soundstage.runs._stored import is_kept
    from soundstage.runs._text import table_of_runs

    chosen = store_at(store)
    found = chosen.list(
        test=test,
        driver=driver,
        status=status,
        outcome=outcome,
        labels=dict(_pair(word) for word in label or ()),
        days=days,
        limit=limit,
    )
    for name in chosen.unreadable:
        warn(f"the record in {chosen.root / 'runs' / name} cannot be read; it is not listed")
    if as_json:
        say(msgspec.json.format(msgspec.json.encode(found)).decode())
    elif found:
        kept = frozenset(run.folder for run in found if is_kept(chosen.root / "runs" / run.folder))
        say(table_of_runs(found, kept))
    else:
        say(f"no such run in {chosen.root}")


@runs.command()
def show(run: Id, store: Store = None, as_json: Json = False) -> None:
    """Show a run: what is known of it, its files, and its trace.

    Example: `soundstage runs show 4f1c`
    """
    import msgspec

    from soundstage.report import show_run
    from soundstage.runs._text import facts_of_run

    found = store_at(store).open(run)
    if as_json:
        say(msgspec.json.format(msgspec.json.encode(found.bundle)).decode())
        return
    say(facts_of_run(found))
    if found.bundle.records:
        say("\n" + show_run(found.journal_path))


@runs.command("open")
def open_run(
    run: Id,
    store: Store = None,
    html: Annotated[Path | None, typer.Option(help="Where to write it. [default: RUN.html here]")] = None,
) -> None:
    """Write a run as one self-contained page, and say where it is.

    Example: `soundstage runs open 4f1c --html /tmp/run.html`
    """
    from soundstage.report import show_run

    found = store_at(store).open(run)
    say(show_run(found.journal_path, html=html or Path(f"{found.record.id}.html")))


@runs.command()
def keep(
    run: Id,
    store: Store = None,
    off: Annotated[bool, typer.Option("--off", help="Take the mark away.")] = False,
) -> None:
    """Mark a run to be kept whatever its age: a file `.keep` in its folder.

    Example: `soundstage runs keep 4f1c`
    """
    found = store_at(store).keep(run, kept=not off)
    say(f"{found.record.id}: " + ("no longer marked" if off else "kept whatever its age"))


@runs.command()
def clean(
    store: Store = None,
    older_than: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="[default: the setting `runs_max_age_days`, 30]"),
    ] = None,
    min_free: Annotated[
        float | None,
        typer.Option(min=0, metavar="MB", help="Then the oldest, until so much of the disk is free."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say which runs are too old.")] = False,
) -> None:
    """Remove runs that are too old, and content that no run has. Marked runs stay (`soundstage runs keep`).

    Exit code 2 if somebody else is writing to the store.

    Example: `soundstage runs clean --older-than 7 --dry-run`
    """
    from soundstage.runs import Retention
    from soundstage.runs._text import table_of_runs

    chosen = store_at(store)
    age = chosen.retention.max_age_days if older_than is None else older_than
    floor = chosen.retention.min_free_mb if min_free is None else min_free
    done = chosen.clean(Retention(age, floor), dry_run=dry_run, within=0)
    for name in done.unreadable:
        warn(f"the record in {chosen.root / 'runs' / name} cannot be read, so no content is removed")
    if done.removed:
        say(table_of_runs(done.removed, frozenset()))
    said = f"{len(done.removed)} run(s)"
    say(f"would remove {said}" if dry_run else f"removed {said}, {done.files} file(s), {done.size} bytes")


@runs.command()
def export(
    run: Id,
    file: Annotated[Path, typer.Argument(dir_okay=False, help="The archive, e.g. run.zip.")],
    store: Store = None,
) -> None:
    """Write a run as a zip archive: record, journal, tool calls, files.

    Example: `soundstage runs export 4f1c run.zip`
    """
    from soundstage.runs import export_run

    say(str(export_run(store_at(store).open(run), file)))


def store_at(folder: Path | None) -> RunStore:
    """The store that an option names, or that of the settings."""
    from soundstage.config import load_settings
    from soundstage.runs._store import store_of

    settings = load_settings(Path.cwd(), os.environ)
    return store_of(settings, folder or settings.runs)


def _pair(word: str) -> tuple[str, Any]:
    name, sign, value = word.partition("=")
    if not (name and sign):
        raise typer.BadParameter(f"--label takes NAME=VALUE; got {word!r}")
    return name, value
