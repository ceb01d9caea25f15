"""The commands `soundstage scenario ...`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from soundstage.cli import say, warn

scenario = typer.Typer(
    help="Runs of the Claude Agent SDK, recorded once with the real CLI and replayed without it.",
    no_args_is_help=True,
)
Root = Annotated[
    Path | None,
    typer.Option("--scenarios", file_okay=False, help="Their folder. [default: the setting `scenarios`]"),
]
Name = Annotated[str, typer.Argument(help="Of the scenario.")]


@scenario.command()
def record(
    name: Annotated[str, typer.Argument(help="Of the scenario; leave it out with --all.")] = "",
    workspace: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Files to begin with, in the place of those of the definition. They are copied, without .git, "
            "virtual environments and caches.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are defined.")] = False,
    scenarios: Root = None,
    within: Annotated[float, typer.Option(min=1, help="Seconds for each run.")] = 120.0,
) -> None:
    """Run a scenario with the real Claude Code CLI, and keep what SDK and CLI sent each other.

    A scenario is a class in a Python file of the folder of scenarios; it says files, prompt, model and what must come
    of it. Nothing is written unless the run is whole and its checks hold. A recording that would be the same, but for
    times and ids, stays as it is. Exit code 2 for an unknown name.

    Example: `soundstage scenario record simple-file-edit`
    """
    from soundstage.scenarios._definitions import definition, definitions
    from soundstage.scenarios._record import record_scenario

    root = root_of(scenarios)
    if bool(name) == every:
        raise typer.BadParameter("name one scenario, or give --all")
    if every and workspace is not None:
        raise typer.BadParameter("--workspace is for one scenario: leave --all out")
    for one in definitions(root) if every else (name,):
        made, changed = record_scenario(definition(root, one), root, workspace=workspace, within=within)
        frames, hooks = len(made.frames), len(made.hooks)
        say(f"{one}: {'recorded' if changed else 'unchanged'}, {frames} frames, {hooks} hooks")


@scenario.command("list")
def list_scenarios(scenarios: Root = None) -> None:
    """List scenarios: what is asked, and whether there is a recording.

    Example: `soundstage scenario list`
    """
    from soundstage.scenarios._text import table_of_scenarios

    say(table_of_scenarios(root_of(scenarios)))


@scenario.command()
def check(
    name: Annotated[str, typer.Argument(help="Of one scenario; all unless given.")] = "",
    scenarios: Root = None,
) -> None:
    """Check recordings: files, checksum, versions, the figures that they come to, and the checks of their definitions.

    Exit code 1 if a recording is not good.

    Example: `soundstage scenario check`
    """
    from soundstage.scenarios._checks import check_recording
    from soundstage.scenarios._definitions import definitions
    from soundstage.scenarios._folder import recording_names

    root = root_of(scenarios)
    known = definitions(root)
    bad = 0
    for one in (name,) if name else sorted({*known, *recording_names(root)}):
        done = check_recording(root, one, known[one]() if one in known else None)
        bad += bool(done.problems)
        say(f"{one}: {'ok' if not done.problems else 'not good'}")
        for problem in done.problems:
            say("  " + problem.replace("\n", "\n  "))
        for remark in done.remarks:
            warn(f"{one}: {remark}")
    if bad:
        raise typer.Exit(1)


@scenario.command()
def show(name: Name, scenarios: Root = None) -> None:
    """Show a recording: its sheet, its versions, and its trace.

    Example: `soundstage scenario show simple-file-edit`
    """
    from soundstage.scenarios._folder import load_recording
    from soundstage.scenarios._text import facts_of_recording

    say(facts_of_recording(load_recording(root_of(scenarios), name)))


@scenario.command()
def copy(
    name: Name,
    new: Annotated[str, typer.Argument(help="Name of the copy.")],
    note: Annotated[str, typer.Option(help="What you are going to edit, and why.")],
    scenarios: Root = None,
) -> None:
    """Copy a recording to `manual/`, to be edited by hand: for errors that the CLI never makes.

    Remove a file from `hooks/`, and that hook never fires; edit one, and it says something else. Then
    `soundstage scenario seal NEW`.

    Example: `soundstage scenario copy simple-file-edit lost-hook --note "the hook after the edit is lost"`
    """
    from soundstage.scenarios._manual import copy_recording

    say(str(copy_recording(root_of(scenarios), name, new, note)))


@scenario.command("seal")
def seal_copy(name: Name, scenarios: Root = None) -> None:
    """Take an edited copy as it is now: its figures and its checksum are made anew.

    Example: `soundstage scenario seal lost-hook`
    """
    from soundstage.scenarios._manual import seal_edited

    say(str(seal_edited(root_of(scenarios), name)))


def root_of(folder: Path | None) -> Path:
    """The folder that an option names, or that of the settings."""
    from soundstage.config import load_settings

    return folder or Path(load_settings(Path.cwd(), os.environ).scenarios)
