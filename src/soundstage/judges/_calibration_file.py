"""The file with the calibrations of a rubric, beside it: written by `calibrate`, read by whoever is to decide."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from soundstage.judges._calibration import Calibration
from soundstage.judges._errors import CalibrationError
from soundstage.judges._rubric import Rubric
from soundstage.scripts import shown

VERSION: Final = 1


class CalibrationFile(msgspec.Struct, frozen=True, kw_only=True):
    """The calibrations of one rubric, one for each model."""

    calibrations: tuple[Calibration, ...]
    version: int = VERSION


def calibration_path(rubric: Path) -> Path:
    """The file beside a rubric: `repair.yaml` has `repair.calibration.json`."""
    return rubric.with_name(f"{rubric.stem}.calibration.json")


def read_calibrations(rubric: Path) -> tuple[Calibration, ...]:
    """The calibrations of a rubric; none without a file.

    Raises:
        CalibrationError: if the file cannot be read.
    """
    path = calibration_path(rubric)
    if not path.exists():
        return ()
    try:
        found = msgspec.json.decode(path.read_bytes(), type=CalibrationFile)
    except (OSError, ValueError) as error:
        raise CalibrationError(
            f"{shown(path)} cannot be read",
            seen=str(error),
            hint=f"mend it, or delete it and calibrate anew: {command_of(rubric)}",
        ) from None
    if found.version != VERSION:
        raise CalibrationError(
            f"{shown(path)} is of another version",
            expected=str(VERSION),
            seen=str(found.version),
            hint=f"mend it, or delete it and calibrate anew: {command_of(rubric)}",
        )
    return found.calibrations


def write_calibration(rubric: Path, calibration: Calibration) -> Path:
    """Put a calibration into the file beside a rubric, in the place of an earlier one of the same model."""
    kept = [one for one in read_calibrations(rubric) if one.judge != calibration.judge]
    whole = CalibrationFile(calibrations=tuple(sorted([*kept, calibration], key=lambda one: one.judge)))
    path = calibration_path(rubric)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n")
    return path


def fitting_calibration(rubric: Rubric, judge: str, fingerprint: str) -> Calibration:
    """The calibration of a judge that may decide.

    Args:
        rubric: read from a file.
        judge: the model.
        fingerprint: of rubric, prompt and model.

    Raises:
        CalibrationError: if there is none that fits, or it found the judge too weak.
    """
    if rubric.path is None:
        raise CalibrationError(
            f"the judge of {rubric.name!r} may not decide: its rubric is in no file",
            hint="write the rubric into a file, load_rubric(FILE), and: soundstage judge calibrate FILE GOLD.jsonl",
        )
    again = command_of(rubric.path)
    known = read_calibrations(rubric.path)
    found = next((one for one in known if one.fingerprint == fingerprint), None)
    if found is None:
        same = [one.judge for one in known if one.judge == judge]
        others = ", ".join(one.judge for one in known)
        seen = f"one of {others}" if others else f"no {shown(calibration_path(rubric.path))}"
        raise CalibrationError(
            f"the judge of {rubric.name!r} may not decide: it has not been calibrated",
            expected=f"a calibration of {judge} with this rubric and this prompt",
            seen="one from before rubric or prompt were changed" if same else seen,
            hint=again,
        )
    if found.problems:
        raise CalibrationError(
            f"the judge of {rubric.name!r} may not decide: it is below its threshold",
            expected="agreement with people within the bounds of its calibration",
            seen="\n".join(found.problems),
            hint=f"make the rubric clearer or take another model, and: {again}",
        )
    return found


def command_of(rubric: Path) -> str:
    """The command that calibrates a rubric."""
    return f"soundstage judge calibrate {shown(rubric)} GOLD.jsonl"
