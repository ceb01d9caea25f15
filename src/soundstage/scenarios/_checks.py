"""Whether a recording is whole, and whether it still comes to what it should."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import msgspec

from soundstage.claude_code import TESTED_VERSION, UserMessage, decode_line
from soundstage.errors import ScriptError
from soundstage.messages import ToolResult
from soundstage.scenarios._errors import RecordingIncompleteError
from soundstage.scenarios._folder import ScenarioRecording, load_recording
from soundstage.scenarios._result import figures_of, result_of
from soundstage.scenarios._scenario import Scenario


class RecordingCheck(NamedTuple):
    """A recording that was checked.

    Args:
        name: of the scenario.
        problems: what is wrong, each in a line; none if it is good.
        remarks: what is to be known besides.
    """

    name: str
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def require_whole(recording: ScenarioRecording, requires: Iterable[str] = ()) -> None:
    """Refuse a run that has not all that a recording needs.

    Args:
        recording: what was recorded.
        requires: hooks that must have fired.

    Raises:
        RecordingIncompleteError: the message lists all that is missing.
    """
    missing = [*_missing_lines(recording), *_missing_hooks(recording, requires)]
    if missing:
        raise RecordingIncompleteError(
            f"the run of {recording.name!r} is not whole; nothing was written",
            expected="a result for each session, an answer for each question, both hooks of each tool",
            seen="\n".join(missing),
            hint="let the program read to its results, and register the hooks that the scenario requires",
        )


def _missing_lines(recording: ScenarioRecording) -> Iterator[str]:
    if not recording.frames:
        yield "the program has opened no session"
    for session in recording.sessions:
        frames = [frame for frame in recording.frames if frame.session == session]
        lines = [frame.line or {} for frame in frames if frame.kind == "say"]
        if not any(line.get("type") == "result" for line in lines):
            yield f"session {session} has no result"
        answered = {frame.hook for frame in frames if frame.kind == "answer"}
        for frame in frames:
            if frame.kind == "ask" and frame.hook not in answered:
                yield f"hooks/{frame.hook} has no answer"


def _missing_hooks(recording: ScenarioRecording, requires: Iterable[str]) -> Iterator[str]:
    fired = {name.partition("-")[2] for name in recording.hooks}
    yield from (f"no hook {name} has fired" for name in requires if name not in fired)
    before, after = _tools_of(recording, "PreToolUse"), _tools_of(recording, "PostToolUse")
    if "PostToolUse" in requires:
        failed = _failed_tools(recording)
        yield from (
            f"the tool call {call} has no PostToolUse"
            for call in before
            if call not in after and call not in failed
        )


def _failed_tools(recording: ScenarioRecording) -> set[str]:
    """The ids of tool calls that failed or were denied: those have no hook afterwards, or another."""
    lines = [
        decode_line(msgspec.json.encode(frame.line)) for frame in recording.frames if frame.kind == "say"
    ]
    parts = [part for line in lines if isinstance(line, UserMessage) for part in line.parts]
    return {part.call_id for part in parts if isinstance(part, ToolResult) and part.is_error}


def _tools_of(recording: ScenarioRecording, event: str) -> dict[str, None]:
    """The ids of tool calls that a hook was asked about; failures count as done."""
    found: dict[str, None] = {}
    for name in recording.hooks:
        if name.partition("-")[2].startswith(event):
            asked: dict[str, Any] = recording.hook(name).request
            found[str(asked.get("tool_use_id") or (asked.get("input") or {}).get("tool_use_id"))] = None
    return found


def check_recording(root: Path, name: str, scenario: Scenario | None) -> RecordingCheck:
    """Open a recording, read it as a run, and compare it with its figures and its definition.

    Args:
        root: the folder of scenarios.
        name: of the recording.
        scenario: its definition; `None` for a copy that was edited by hand without one.
    """
    try:
        recording = load_recording(root, name)
        problems = list(_differing(recording))
    except ScriptError as error:
        return RecordingCheck(name, (str(error),))
    if scenario is not None:
        problems += _against_definition(recording, scenario)
    elif not recording.metadata.note:
        problems.append(f"no file in {root} defines it any more")
    known = recording.metadata
    remarks = (
        ()
        if known.cli in ("", TESTED_VERSION)
        else (f"recorded with CLI {known.cli}, tested is {TESTED_VERSION}",)
    )
    return RecordingCheck(name, tuple(problems), remarks)


def _differing(recording: ScenarioRecording) -> Iterator[str]:
    wanted, found = recording.json("assertions"), figures_of(recording, result_of(recording))
    for name in sorted({*wanted, *found}):
        if wanted.get(name) != found.get(name):
            yield (
                f"assertions.json, {name}: expected {shorten(repr(wanted.get(name)), 160)}, "
                f"the recording comes to {shorten(repr(found.get(name)), 160)}"
            )


def _against_definition(recording: ScenarioRecording, scenario: Scenario) -> Iterator[str]:
    if recording.metadata.version != scenario.version:
        yield (
            f"recorded of version {recording.metadata.version}, its definition is of version {scenario.version}: "
            f"soundstage scenario record {scenario.name}"
        )
    held = scenario.check_results(result_of(recording))
    if not held:
        yield f"{held.message}: {held.expected} ({held.seen})"
