"""The commands `soundstage judge ...`."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Annotated

import typer

from soundstage.cli import FAILED, say, warn

judge_app = typer.Typer(
    help="Judges: models that judge runs by a rubric. Calibrate one before it decides.", no_args_is_help=True
)


@judge_app.callback()
def _group() -> None:
    """Judges: models that judge runs by a rubric. Calibrate one before it decides."""


RubricFile = Annotated[
    Path, typer.Argument(metavar="RUBRIC", exists=True, dir_okay=False, help="The rubric: YAML or JSON.")
]


@judge_app.command()
def calibrate(
    rubric: RubricFile,
    gold: Annotated[
        Path,
        typer.Argument(
            metavar="GOLD", exists=True, dir_okay=False, help="Transcripts with labels of people: JSON Lines."
        ),
    ],
    script: Annotated[str | None, typer.Option(help="A script judges: rules with `purpose: judge`.")] = None,
    tape: Annotated[str | None, typer.Option(help="A tape judges.")] = None,
    live: Annotated[
        str | None, typer.Option(help="A live model judges. [default: the one that the rubric names]")
    ] = None,
    base_url: Annotated[str, typer.Option(help="Where the live model is, unless at its provider.")] = "",
    agreement: Annotated[
        float, typer.Option(min=0, max=1, help="Least lower end of the interval of the agreement.")
    ] = 0.7,
    kappa: Annotated[float, typer.Option(min=0, max=1, help="Least agreement beyond chance.")] = 0.4,
    bias: Annotated[float, typer.Option(min=0, max=1, help="Largest bias by order, and by length.")] = 0.2,
) -> None:
    """Measure how far a judge agrees with people, and write that beside the rubric.

    Each transcript is judged twice, with the criteria in both orders. The file beside the rubric belongs into git: it
    lets this judge decide, with this rubric, this prompt and this model.

    Exit codes: 0 the judge may decide, 1 it is too weak, 2 wrong usage, a rubric or labels that cannot be used.

    Example: `soundstage judge calibrate repair.yaml gold.jsonl --live openai/gpt-4.1`
    """
    from soundstage.judges import (
        CalibrationFloors,
        JudgeSource,
        calibration_path,
        judges_of,
        load_gold,
        load_rubric,
        read_calibrations,
        write_calibration,
    )
    from soundstage.judges import calibrate as measure

    source = JudgeSource(script=script, tape=tape, live=live, base_url=base_url)
    made = judges_of(load_rubric(rubric), source, Path(), beside=f"in the current folder, {Path.cwd()}")
    judge, labels = made(), load_gold(gold)
    floors = CalibrationFloors(agreement=agreement, kappa=kappa, bias=bias)
    read_calibrations(rubric)  # a file that cannot be read is told before any token is spent
    done = asyncio.run(
        measure(
            judge,
            labels,
            floors=floors,
            on_label=lambda run, one: warn(
                f"{run.name}: people {'pass' if one.passed else 'fail'}, judge {one.outcome}"
            ),
        )
    )
    found = done.calibration
    write_calibration(rubric, found)
    say(str(found))
    known = [cost for cost in done.costs if cost is not None]
    cost = f"${math.fsum(known):.4f}" if len(known) == len(done.costs) else "cost unknown"
    say(f"{done.usage.total_tokens} tokens, {cost}; written: {calibration_path(rubric)}")
    if found.problems:
        raise typer.Exit(FAILED)


@judge_app.command()
def show(rubric: RubricFile) -> None:
    """Show the calibrations of a rubric, and whether each lets its judge decide.

    Example: `soundstage judge show repair.yaml`
    """
    from soundstage.judges import calibration_path, load_rubric, read_calibrations

    load_rubric(rubric)
    found = read_calibrations(rubric)
    say("\n\n".join(map(str, found)) if found else f"no {calibration_path(rubric)}")


@judge_app.command()
def schema() -> None:
    """Print the JSON Schema of rubrics, for editors.

    Example: `soundstage judge schema > rubric.schema.json`
    """
    import msgspec

    from soundstage.judges import rubric_schema

    say(msgspec.json.format(msgspec.json.encode(rubric_schema())).decode())
