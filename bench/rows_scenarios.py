"""A recorded session of the Claude Agent SDK, replayed, against the run that it is recorded from.

The program is the same in both: a client with hooks, one prompt, a file read and a file edited. The run is that with
the real CLI and a scripted model, from the opening of the session to its last line, as the recording has it; what it
costs to start servers, to check and to write is left out. The replay is measured from the outside, with its workspace
put there and its journal written.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from _load import BenchError
from _pairs import interleave, median, ratio
from _settings import Settings
from _table import Row, millis

NAME = "scenarios"
ROOT = Path(__file__).resolve().parent.parent / "examples" / "scenarios"
SCENARIO = "simple-file-edit"
WHAT, AGAINST = (
    "a recorded session of the Agent SDK, replayed",
    "the run with the real CLI that it is recorded from",
)
TARGET = 20.0


def rows(settings: Settings) -> Iterator[Row]:
    """The row of this file."""
    from soundstage.claude_code import find_cli
    from soundstage.errors import EnvironmentProblem

    try:
        find_cli()
    except EnvironmentProblem as problem:
        yield Row(WHAT, AGAINST, problem.summary, target=TARGET)
        return
    turns = {"replay": _replayed, "run": _recorded}
    settings.tell("warming up")
    interleave(turns, 1)
    times = interleave(turns, settings.scaled(9, least=3), settings.tell)
    figures = f"{millis(median(times['replay']))} : {millis(median(times['run']))}"
    yield Row(WHAT, AGAINST, figures, ratio(times["run"], times["replay"]), TARGET)


def _recorded() -> float:
    """Seconds of a session with the real CLI, recorded."""
    from soundstage.scenarios import record_scenario
    from soundstage.scenarios._definitions import definition

    with tempfile.TemporaryDirectory() as folder:
        made, _ = record_scenario(definition(ROOT, SCENARIO), Path(folder))
        return made.frames[-1].at


def _replayed() -> float:
    """Seconds of its replay."""
    from soundstage.scenarios import ScenarioReplay, load_recording
    from soundstage.scenarios._definitions import definition

    program = definition(ROOT, SCENARIO)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with ScenarioReplay(load_recording(ROOT, SCENARIO), Path(folder)) as replay:
            asyncio.run(program.program(program.build_prompt(), replay.workspace))
        elapsed = time.perf_counter() - start
        if [tool.name for tool in replay.result.tools] != ["Read", "Edit"]:
            raise BenchError(f"the replay is not the run: {replay.result}")
    return elapsed
