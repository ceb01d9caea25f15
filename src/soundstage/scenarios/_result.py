"""A recording as a run: its journal without a program, its result, and the figures that it has to come to."""

from __future__ import annotations

from collections import Counter
from typing import Any

from soundstage.clock import VirtualClock
from soundstage.journal import Journal, RunFinished, RunStarted
from soundstage.runs import RunResult, build_result
from soundstage.scenarios._folder import ScenarioRecording
from soundstage.scenarios._frame_log import FrameLog


def journal_of(recording: ScenarioRecording) -> Journal:
    """The journal that a replay of a recording comes to, at the recorded times, without a program."""
    clock = VirtualClock()
    journal = Journal(clock=clock, run=recording.name)
    journal.append(RunStarted(name=recording.name, wall=clock.wall().isoformat(), seed=0), source="scenario")
    log = FrameLog(journal, recording)
    began = clock.now()
    for frame in recording.frames:
        clock.advance(max(began + frame.at - clock.now(), 0.0))
        log.played(frame, recording.line_of(frame))
    journal.append(RunFinished(), source="scenario")
    return journal


def result_of(recording: ScenarioRecording) -> RunResult:
    """The result of a recorded run, without a program and without the SDK.

    Args:
        recording: of `load_recording`.

    Example:
        ::

            result = result_of(load_recording(Path("scenarios"), "simple-file-edit"))
            assert [file.path for file in result.files] == ["calc.py"]
    """
    journal = journal_of(recording)
    return build_result(tuple(journal.read()), objects=journal.contents)


def figures_of(recording: ScenarioRecording, result: RunResult) -> dict[str, Any]:
    """The figures that a replay of a recording has to come to: `assertions.json`."""
    hooks = Counter(name.partition("-")[2] for name in recording.hooks)
    return {
        "abort": result.abort,
        "output": result.output,
        "files": {one.path: one.change for one in result.files},
        "tools": [one.name for one in result.tools],
        "failed_tools": [one.name for one in result.tools if one.is_error],
        "commits": [one.subject for one in result.commits],
        "todos": {one.text: one.status for one in result.todos},
        "tokens": result.usage.total_tokens,
        "hooks": dict(sorted(hooks.items())),
    }
