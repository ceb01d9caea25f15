"""The command `soundstage faults`."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path
from typing import Annotated, Final

import typer

from soundstage.cli import FAILED, LEVELS, level, say, warn

ALLOWED: Final = "survived,gave up"
WITHIN: Final = 60.0
MAX_WAIT: Final = 1.0
CUTS: Final = "8"
CASE: Final = "CASE"  # stands for a case


def faults(
    source: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            metavar="SCRIPT_OR_TAPE",
            help="Script: YAML, JSON, or a Python file that defines `script`; or a tape.",
        ),
    ],
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, after `--`.")],
    only: Annotated[str, typer.Option(metavar="CASE", help="Run this case alone, e.g. 2:cut-tool.")] = "",
    kinds: Annotated[str, typer.Option(help="Kinds of faults, with commas between; all unless given.")] = "",
    seed: Annotated[int, typer.Option(help="Of what is drawn: where a reply is cut.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 2,
    allow: Annotated[str, typer.Option(help="Verdicts that are no findings.")] = ALLOWED,
    within: Annotated[
        float, typer.Option(help="Seconds without a request after which a run hangs.")
    ] = WITHIN,
    max_wait: Annotated[
        float, typer.Option(help="Seconds for `retry-after`: the app really waits.")
    ] = MAX_WAIT,
    cuts: Annotated[str, typer.Option(help="Places at which one stream is cut: a number, or all.")] = CUTS,
    folder: Annotated[
        Path, typer.Option(exists=True, file_okay=False, help="Where it works; each run gets a copy.")
    ] = Path(),
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A variable of yours that it gets; repeatable.")
    ] = None,
    isolation: Annotated[str, typer.Option(help=LEVELS)] = "process",
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Run a program on a script or a tape, once for each model call and each kind of fault, and say how it takes them.

    A good run comes first. The table has a row for each faulty one: survived, gave up, wrong result, hung, crashed.
    Progress goes to standard error. Exit codes: 0 nothing to mend, 1 something to mend, 2 wrong usage, or the good run
    failed.

    Example: `soundstage faults script.yaml -- python agent.py "What is the weather?"`
    """
    from soundstage.faults._cases import Terms
    from soundstage.faults._kinds import kinds_named
    from soundstage.faults._outcome import VERDICTS
    from soundstage.faults._program import ProgramSettings
    from soundstage.faults._source import source_in
    from soundstage.faults._sweep import SweepOptions, sweep_program

    allowed = tuple(verdict for verdict in VERDICTS if verdict in _listed(allow))
    if len(allowed) < len(_listed(allow)):
        raise typer.BadParameter(f"--allow takes of: {', '.join(VERDICTS)}; got {allow!r}")
    given = [
        *_pair("--kinds", kinds, ""),
        *_pair("--allow", allow, ALLOWED),
        *_pair("--within", within, WITHIN),
        *_pair("--max-wait", max_wait, MAX_WAIT),
        *_pair("--cuts", cuts, CUTS),
        *_pair("--folder", folder, Path()),
        *_pair("--isolation", isolation, "process"),
        *(word for name in env or () for word in ("--env", name)),
    ]
    again = ["soundstage", "faults", str(source), "--seed", str(seed), *given, "--only", CASE, "--", *command]
    options = SweepOptions(
        kinds_named(_listed(kinds)),
        Terms(max_wait, wire=True, patience=within / 2, cuts=_number(cuts)),
        seed,
        only,
        jobs,
        allowed,
        again=shlex.join(again),
    )
    settings = ProgramSettings(
        command, folder.resolve(), within, allow=tuple(env or ()), isolation=level(isolation)
    )
    swept = asyncio.run(sweep_program(source_in(source), settings, options, warn))
    say(json.dumps(swept.as_json(), indent=2) if as_json else str(swept))
    if swept.findings:
        raise typer.Exit(FAILED)


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _pair(name: str, value: object, default: object) -> list[str]:
    """An option as it was given; nothing if it is the default."""
    return [] if value == default else [name, str(value)]


def _number(cuts: str) -> int | None:
    if cuts == "all":
        return None
    if not cuts.isdecimal():
        raise typer.BadParameter(f"--cuts takes a number, or all; got {cuts!r}")
    return int(cuts)
