"""Suites whose models are recorded on a tape, and tapes on which a suite is replayed. The tapes do the work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from soundstage.clock import SystemClock
from soundstage.errors import ScriptError
from soundstage.evals._making import EvalRunPlan, MadeRun, make_run
from soundstage.evals._read import load_suite
from soundstage.evals._suite import Suite
from soundstage.models import Model
from soundstage.scripts import SourceNode, SourceReport, read_source_file, shown
from soundstage.tapes import (
    Playback,
    RunRecordingModel,
    Surroundings,
    Tape,
    TapedModel,
    Verdict,
    join_tapes,
)


class RecordedSuite(NamedTuple):
    """A suite that was recorded.

    Args:
        tape: all that was asked; on disk if every run could be made.
        runs: a run of each case.
    """

    tape: Tape
    runs: tuple[MadeRun, ...]


class ReplayedSuite(NamedTuple):
    """A suite that was replayed.

    Args:
        suite: its cases.
        runs: a run of each case.
        verdicts: where the runs are not the recorded ones.
    """

    suite: Suite
    runs: tuple[MadeRun, ...]
    verdicts: tuple[Verdict, ...]


async def record_suite(path: Path, live: Callable[[], Model]) -> RecordedSuite:
    """Run each case of a suite once, and keep what its agent and the model said to each other on the suite's tape.

    The tape takes its place when all is over, and not if a run could not be made.

    Args:
        path: the suite; its key `tape` says where to.
        live: makes the model that is recorded.

    Raises:
        EvalConfigError: if the suite cannot be used.
        ScriptError: if it names no tape.
    """
    made: list[RunRecordingModel] = []

    def model() -> Model:
        made.append(RunRecordingModel(live()))
        return made[-1]

    target = tape_of(path)
    if target is None:
        raise ScriptError(
            f"{shown(path)} has no tape to record",
            expected="the key `tape`, a file beside the suite",
            hint="add `tape: session.jsonl`",
        )
    suite = load_suite(path, model=model)
    runs = [await make_run(suite, EvalRunPlan(case, 1)) for case in suite.cases]
    tape = join_tapes((one.tape for one in made), name=shown(target))
    if tape.exchanges and all(run.record is not None for run in runs):
        if target.exists():  # masks are reviewed by people, so they are kept
            tape.head = msgspec.structs.replace(tape.head, masks=Tape.load(target).head.masks)
        target.parent.mkdir(parents=True, exist_ok=True)
        tape.save(target)
    return RecordedSuite(tape, tuple(runs))


async def replay_suite(path: Path, tape: Tape, *, relaxed: bool) -> ReplayedSuite:
    """Run each case of a suite once, in order, on one playing of a tape.

    Args:
        path: the suite.
        tape: what to play.
        relaxed: go on when a request differs, with the exchange that comes nearest.

    Raises:
        EvalConfigError: if the suite cannot be used.
    """
    playback = Playback(tape, here=Surroundings.here(SystemClock().wall()), relaxed=relaxed)
    suite = load_suite(path, model=lambda: TapedModel(tape, playback=playback), replay=True)
    runs = [await make_run(suite, EvalRunPlan(case, 1)) for case in suite.cases]
    playback.finish()
    return ReplayedSuite(suite, tuple(runs), tuple(playback.verdicts))


def tape_of(suite: Path) -> Path | None:
    """The tape that a suite in a file names, whether it is there or not."""
    node = _read(suite)
    named = node.fields.get("tape") if node is not None else None
    return suite.parent / str(named.node.value) if named is not None else None


def suite_beside(tape: Path) -> Path:
    """The suite in the folder of a tape that names it.

    Raises:
        ScriptError: if there is none, or there are several.
    """
    beside = sorted(path for ending in ("yaml", "yml", "json") for path in tape.parent.glob(f"*.{ending}"))
    found = [path for path in beside if (named := tape_of(path)) is not None and named.name == tape.name]
    if len(found) != 1:
        raise ScriptError(
            f"no suite says who is to be replayed on {shown(tape)}",
            expected=f"one suite in the same folder with `tape: {tape.name}`",
            seen=", ".join(map(shown, found)) or "none",
            hint="soundstage eval record --name NAME --task TEXT --agent ... writes tape and suite",
        )
    return found[0]


def _read(path: Path) -> SourceNode | None:
    return read_source_file(path, SourceReport(shown(path)))
