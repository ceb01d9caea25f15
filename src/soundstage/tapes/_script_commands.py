"""The commands `tape to-script` and `script to-tape`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soundstage.cli import BAD_INPUT, level, say, warn

TapeFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="The tape, a file of JSON lines.")
]

script_app = typer.Typer(name="script", help="What can be done with scripts.", no_args_is_help=True)


def to_script(
    tape: TapeFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The script to write; printed unless given.")
    ] = None,
) -> None:
    """Make a script of a tape: a rule for each recorded call, with the few conditions that tell the calls apart.

    What a script cannot say is listed on standard error. Exit code 2 if nothing of the tape can be scripted.

    Example: `soundstage tape to-script weather.tape -o weather.yaml`
    """
    from soundstage.tapes._tape import Tape
    from soundstage.tapes._to_script import script_of_tape

    recorded = Tape.load(tape)
    draft = script_of_tape(recorded.exchanges)
    for problem in draft.problems:
        warn(problem)
    if recorded.mcp_lines:
        warn(f"a script is of models: the lines of {', '.join(recorded.mcp_servers)} are left out")
    if not draft.rules:
        warn(f"{tape} has no call of a model")
        raise typer.Exit(BAD_INPUT)
    if output is None:
        say(draft.as_yaml().rstrip())
    else:
        output.write_text(draft.as_yaml(), encoding="utf-8")
        say(
            f"{output}: {len(draft.rules)} rule(s) of {sum(len(rule.numbers) for rule in draft.rules)} call(s)"
        )


@script_app.callback()
def _script() -> None:
    """Do things with scripts."""


@script_app.command("to-tape")
def to_tape(
    script: Annotated[
        Path, typer.Argument(exists=True, help="Script: YAML, JSON, a folder of these, or Python.")
    ],
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, behind `--`.")],
    tape: Annotated[Path, typer.Option("--tape", help="The tape to write.", dir_okay=False)],
    isolation: Annotated[
        str | None,
        typer.Option(help="How far the program is kept apart; as far as can be had unless given."),
    ] = None,
) -> None:
    """Run a program on a script, without network and without keys, and keep the run on a tape.

    Exit code: the program's; 1 if it asked nothing.

    Example: `soundstage script to-tape weather.yaml --tape weather.tape -- python agent.py "weather in Paris"`
    """
    from soundstage.tapes._run import RunOptions, run_with_tape

    outcome = run_with_tape(
        RunOptions(
            tape,
            tuple(command),
            mode="all",
            script=script,
            isolation=level(isolation) if isolation is not None else None,
        )
    )
    for problem in outcome.problems:
        warn(problem)
    warn(f"recorded {outcome.recorded} exchange(s) into {tape}")
    raise typer.Exit(outcome.code or int(bool(outcome.problems) or not outcome.recorded))
