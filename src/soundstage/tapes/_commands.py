"""The commands `record` and `replay`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from soundstage.cli import level, warn
from soundstage.tapes._mcp_stand_ins import entries_of
from soundstage.tapes._run import MODES, Mode, RunOptions, RunOutcome, as_json, run_with_tape, upstreams_of
from soundstage.tapes._twice import keep_masks, run_again, told

FAILED = 1
TapeFileOption = Annotated[
    Path, typer.Option("--tape", help="The tape, a file of JSON lines.", dir_okay=False)
]
Program = Annotated[list[str], typer.Argument(help="The program and its arguments, behind `--`.")]
Isolated = Annotated[
    str | None,
    typer.Option(
        help="How far the program is kept apart: process, netns, sandbox; netns where it can be had."
    ),
]
JournalOption = Annotated[Path | None, typer.Option(help="Write the journal of the run to this file.")]


def record(
    command: Program,
    tape: TapeFileOption,
    mode: Annotated[
        str,
        typer.Option(
            help="once: record if there is no tape, else replay; new: replay, and record what is not there; "
            "all: record anew; none: replay."
        ),
    ] = "once",
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            help="openai=URL, anthropic=URL, gemini=URL: the base URL, as that SDK takes it; repeatable."
        ),
    ] = None,
    mcp: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=COMMAND, NAME=URL, or the path of an .mcp.json: MCP servers to record; repeatable. The program "
            "finds them by the command soundstage-mcp-NAME on its PATH, or at SOUNDSTAGE_MCP_NAME_URL."
        ),
    ] = None,
    twice: Annotated[
        bool,
        typer.Option(
            "--twice",
            help="Then run it again, on the tape: what differs by nature (times, ids, ports, temporary paths) gets a "
            "mask in the first line of the tape, to be reviewed; what else differs is told.",
        ),
    ] = False,
    journal: JournalOption = None,
) -> None:
    """Run a program, pass its requests on to the real providers, and keep all of it on a tape.

    The program finds us by OPENAI_BASE_URL, ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL. Your own keys are used, and
    never written. Exit code: the program's; 1 if nothing was recorded, or not everything could be.

    With `--twice` the providers are asked once; the second run is a replay, without network and keys. Where there is a
    tape already (mode `once`), it is the first run. Exit code 1 if something differs that has no mask.

    Example: `soundstage record --tape weather.tape -- python agent.py "weather in Paris"`
    """
    if mode not in MODES:
        raise typer.BadParameter(f"{mode!r} is no mode; known: {', '.join(MODES)}")
    if upstream and mode == "none":
        raise typer.BadParameter(
            "--mode none asks no provider: leave --upstream out, or record with another mode"
        )
    if upstream and mode == "once" and tape.exists():
        warn(
            f"--upstream is not used: {tape} is there, and --mode once replays it; --mode all records it anew"
        )
    options = RunOptions(
        tape,
        tuple(command),
        mode=cast(Mode, mode),
        upstreams=upstreams_of(upstream or ()),
        mcp=entries_of(mcp or ()),
        journal=journal,
    )
    if twice and mode in ("once", "none") and tape.exists():
        raise typer.Exit(_again(options))
    outcome = run_with_tape(options)
    if outcome.played or outcome.mcp_played or outcome.verdicts:
        warn(f"played {_counted(outcome.played, outcome.mcp_played)} of {tape}")
    if outcome.recorded or outcome.mcp_recorded:
        warn(f"recorded {_counted(outcome.recorded, outcome.mcp_recorded)} into {tape}")
    for secret in outcome.redacted:
        warn(f"redacted: {secret}")
    some = outcome.recorded or outcome.played or outcome.mcp_recorded or outcome.mcp_played
    code = _ended(outcome, command, nothing=not some)
    if twice and (outcome.recorded or outcome.mcp_recorded) and not outcome.problems:
        code = _again(options) or code
    raise typer.Exit(code)


def replay(
    command: Program,
    tape: TapeFileOption,
    speed: Annotated[
        float | None,
        typer.Option(help="1 keeps the recorded pace, 2 is twice as fast; no delays unless given."),
    ] = None,
    tapes: Annotated[
        str,
        typer.Option(
            help="fail: a request that was not recorded ends with a verdict; warn: the nearest call of its lane "
            "answers, and each difference is listed at the end."
        ),
    ] = "fail",
    tools: Annotated[
        str,
        typer.Option(
            help="closed: the program reaches nothing but the tape; real: its tools reach the network, and only the "
            "models are on the tape."
        ),
    ] = "closed",
    isolation: Isolated = None,
    journal: JournalOption = None,
    as_data: Annotated[
        bool,
        typer.Option("--json", help="Print the outcome as JSON on standard error."),
    ] = False,
) -> None:
    """Run a program on a tape, without network and without keys.

    Its tools run for real: a result that is not the recorded one is a divergence, told with the tool, its arguments and
    both results. With `--tapes warn` the run goes on, and each difference is listed once.

    Exit code: the program's; 1 after a divergence, whose first line on standard error is `divergence: CAUSE: ...`.

    Example: `soundstage replay --tape weather.tape -- python agent.py "weather in Paris"`
    """
    if tapes not in ("fail", "warn"):
        raise typer.BadParameter(f"{tapes!r} is unknown; known: fail, warn")
    if tools not in ("closed", "real"):
        raise typer.BadParameter(f"{tools!r} is unknown; known: closed, real")
    if tools == "real" and isolation is not None:
        raise typer.BadParameter("--tools real keeps nothing apart: leave --isolation out")
    if speed is not None and not speed > 0:
        raise typer.BadParameter("a speed is more than 0; leave it out for no delays")
    outcome = run_with_tape(
        RunOptions(
            tape,
            tuple(command),
            mode="none",
            speed=speed,
            relaxed=tapes == "warn",
            isolation=level(isolation) if isolation is not None else None,
            tools=cast(Literal["closed", "real"], tools),
            journal=journal,
        )
    )
    if as_data:
        typer.echo(as_json(outcome), err=True)
        raise typer.Exit(_code(outcome, warned=tapes == "warn"))
    raise typer.Exit(_ended(outcome, command, warned=tapes == "warn"))


def _again(options: RunOptions) -> int:
    """Run it again, put masks onto the tape, and tell them; the exit code."""
    warn("running it again, on the tape")
    second = run_again(options)
    keep_masks(options, second)
    for line in told(second):
        warn(line)
    count = len(second.learned.masks)
    warn(
        f"{count} mask(s) written into the first line of {options.tape}: review them"
        if count
        else "no mask needed"
    )
    return second.outcome.code if second.steady else FAILED


def _counted(exchanges: int, lines: int) -> str:
    return f"{exchanges} exchange(s)" + (f" and {lines} line(s) of MCP servers" if lines else "")


def _ended(outcome: RunOutcome, command: list[str], *, nothing: bool = False, warned: bool = False) -> int:
    """Tell how it ended; the exit code."""
    colour = sys.stderr.isatty()
    for verdict in outcome.verdicts if warned else outcome.verdicts[:1]:
        typer.echo(verdict.text(colour=colour), err=True)
    for problem in outcome.problems:
        warn(problem)
    for host in outcome.tried:
        warn(f"the program tried to reach {host}: refused")
    if nothing:
        warn(
            f"nothing arrived: {command[0]} asked no provider at the addresses in OPENAI_BASE_URL, "
            "ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL; give it one of them as its base URL"
        )
        return outcome.code or FAILED
    return _code(outcome, warned=warned)


def _code(outcome: RunOutcome, *, warned: bool = False) -> int:
    if outcome.problems or (outcome.verdicts and not warned):
        return FAILED
    return outcome.code
