"""The command `fork`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from soundstage.cli import FAILED, level, warn

if TYPE_CHECKING:
    from soundstage.tapes._change import Change
    from soundstage.tapes._fork_run import ForkOutcome
    from soundstage.tapes._tape import Tape

RealServers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SERVER",
        help="NAME=COMMAND, NAME=URL, or the path of an .mcp.json: MCP servers asked for what the tape has not; "
        "repeatable.",
    ),
]


def fork(
    tape: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="The tape, a file of JSON lines.")
    ],
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, behind `--`.")],
    at: Annotated[
        int, typer.Option(help="The step: a model call, from 1, as `soundstage show` counts them.")
    ],
    change: Annotated[
        str,
        typer.Option(
            "--set",
            metavar="PATH=TEXT",
            help="What is another there: llm.system+=, llm.system=, tool.NAME.result= or llm.reply=.",
        ),
    ] = "",
    edit: Annotated[  # noqa: FBT002
        bool, typer.Option("--edit", help="Open the step in VISUAL or EDITOR instead, and change one thing.")
    ] = False,
    script: Annotated[
        Path | None, typer.Option(exists=True, help="A script that goes on, or a folder of them.")
    ] = None,
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=URL",
            help="The provider that goes on, asked with the program's key: openai=URL, anthropic=URL, gemini=URL.",
        ),
    ] = None,
    mcp: RealServers = None,
    output: Annotated[
        Path | None, typer.Option("--out", help="The tape of the branch. [FILE.fork-1.tape]", dir_okay=False)
    ] = None,
    isolation: Annotated[
        str | None,
        typer.Option(
            help="How far the program is kept apart where a script goes on; as far as can be had unless given."
        ),
    ] = None,
    journal: Annotated[Path | None, typer.Option(help="Write the journal of the run to this file.")] = None,
) -> None:
    """Run a program along its tape, change one thing at a step, and go on with a script or the live model.

    Steps before it are played. `llm.system` and `tool.NAME.result` change what the model is given, in that request and
    in all later ones that carry the original; `llm.reply` is what the program gets. The branch is a tape.
    Exit code: the program's; 1 if it was not the recorded one, or did not come to the step.

    Example: `soundstage fork weather.tape --at 2 --set tool.weather.result=snow --script on.yaml -- python agent.py`
    """
    from soundstage.tapes._fork_run import ForkOptions, branch_path, run_fork
    from soundstage.tapes._mcp_stand_ins import entries_of
    from soundstage.tapes._run import upstreams_of
    from soundstage.tapes._tape import Tape

    if bool(change) == edit:
        raise typer.BadParameter("a fork has one change: --set PATH=TEXT, or --edit")
    branch = output if output is not None else branch_path(tape)
    if branch.resolve() == tape.resolve():
        raise typer.BadParameter(f"--out is the tape itself: {tape}; name another file")
    recorded = Tape.load(tape)
    made, said = _edited(recorded, at) if edit else (change, change)
    outcome = run_fork(
        ForkOptions(
            recorded,
            at,
            made,
            tuple(command),
            branch,
            said=said,
            script=script,
            upstreams=upstreams_of(upstream or ()),
            mcp=entries_of(mcp or ()),
            isolation=level(isolation) if isolation is not None else None,
            journal=journal,
        )
    )
    raise typer.Exit(_ended(outcome, tape, at, branch, said))


def _edited(tape: Tape, at: int) -> tuple[Change, str]:
    from soundstage.tapes._change import step_of
    from soundstage.tapes._fork_edit import edited_change

    found = edited_change(step_of(tape.exchanges, at, tape.name), at, tape.name, os.environ)
    if found is None:
        raise typer.BadParameter("nothing was changed in the editor, so nothing was run")
    return found


def _ended(outcome: ForkOutcome, tape: Path, at: int, branch: Path, said: str) -> int:
    """Tell how it ended; the exit code."""
    step = f"step {at} of {tape}"
    if outcome.verdict is not None:
        typer.echo(outcome.verdict.text(), err=True)
    for problem in outcome.problems:
        warn(problem)
    for host in outcome.tried:
        warn(f"the program tried to reach {host}: refused")
    if not outcome.left:
        warn(f"the program did not come to {step}")
        return FAILED
    count = (
        f"{outcome.changed} of {outcome.given}" if not said.startswith("llm.reply") else str(outcome.given)
    )
    what = "with the change" if not said.startswith("llm.reply") else "after it"
    warn(f"left the tape at {step}: {said}")
    warn(
        f"{branch}: {outcome.played} exchange(s) of the tape, then {outcome.made}; {count} request(s) {what}"
    )
    warn(f"compare: soundstage diff {tape} {branch}")
    return FAILED if outcome.verdict is not None or outcome.problems else outcome.code
