"""The command `doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soundstage.cli import FAILED, level, say


def doctor(
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, behind `--`.")],
    script: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A script that answers in the place of the providers."
        ),
    ] = None,
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            help="openai=URL, anthropic=URL, gemini=URL: the base URL, as that SDK takes it; repeatable."
        ),
    ] = None,
    tape: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A tape of the program: its first run is not made."),
    ] = None,
    live: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--live", help="Ask the providers twice, too: does the model answer the same the same?"),
    ] = False,
    isolation: Annotated[
        str | None,
        typer.Option(help="How far the second run is kept apart; as far as can be had unless given."),
    ] = None,
) -> None:
    """Run a program twice, and name each source of nondeterminism: clock, random, order, process, tool, network, model.

    The second run is answered with what the model said in the first, without network and without keys: what its
    requests differ in is the program's own. Each source is told with the request and its part, both texts, the probable
    cause and what to do about it; of programs in Python, with the line of code. Nothing is kept; `record --twice`
    writes a tape with masks. The program's side effects happen twice.

    Exit code: 0 if there is none, 1 if there are some, 2 if the program asks no model or cannot be run.

    Example: `soundstage doctor --script weather.yaml -- python agent.py "weather in Paris"`
    """
    from soundstage.tapes._doctor import DoctorOptions, examine
    from soundstage.tapes._run import upstreams_of

    given = [name for name, value in (("--script", script), ("--tape", tape)) if value is not None]
    if len(given) > 1 or (tape is not None and live):
        raise typer.BadParameter(
            f"{' and '.join(given)} do not go together" if len(given) > 1 else "--live records anew"
        )
    options = DoctorOptions(
        tuple(command),
        upstreams=upstreams_of(upstream or ()),
        script=script,
        tape=tape,
        live=live,
        isolation=level(isolation) if isolation is not None else None,
    )
    found = examine(options)
    for source in found:
        say(str(source))
    say(f"{len(found)} source(s) of nondeterminism" if found else "two runs asked the same")
    if found:
        raise typer.Exit(FAILED)
