"""A scenario is run once with the real CLI, and what came of it is written, if it is whole."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.claude_code import ClaudeCode, find_cli
from soundstage.errors import ExpectationError, ScriptError
from soundstage.guard import real_environment
from soundstage.journal import Journal, ModelFailed, Redactor
from soundstage.lifecycle import ScratchFolder, Supervisor, git_call, run_git
from soundstage.models import Model, PlacedModel, Script, ScriptedModel
from soundstage.scenarios._checks import require_whole
from soundstage.scenarios._errors import RecordingIncompleteError
from soundstage.scenarios._folder import (
    RECORDED,
    WORKSPACE_FILE,
    RecordingMetadata,
    ScenarioRecording,
    hash_of_files,
    pretty,
    read_metadata,
    write_recording,
)
from soundstage.scenarios._frames import FileEffect, HookFile, RecordedFrame, encode_frames
from soundstage.scenarios._normal import same_content
from soundstage.scenarios._places import NORMALISED, IdNumbers, RunFolders
from soundstage.scenarios._recorder import FrameRecorder, file_data, require_cli
from soundstage.scenarios._result import figures_of, result_of
from soundstage.scenarios._scenario import Scenario
from soundstage.scenarios._seam import default_transport, sdk_version
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace

WITHIN: Final = 120.0
_BLAMED: Final = frozenset({"no_match", "script", "harness", "replay_mismatch"})
_LEFT_OUT: Final = shutil.ignore_patterns(
    ".git", ".venv", "node_modules", "__pycache__", "*.pyc", ".soundstage"
)


class _Recorded(NamedTuple):
    """The remains of a run."""

    recorder: FrameRecorder
    places: RunFolders
    begin: tuple[FileEffect, ...]
    git: dict[str, Any]


def record_scenario(
    scenario: Scenario, root: Path, *, workspace: Path | None = None, within: float = WITHIN
) -> tuple[ScenarioRecording, bool]:
    """Run a scenario with the real CLI and write the recording. Returns it, and whether it is another than before.

    A recording that is the same, but for times and ids, is left as it is.

    Args:
        scenario: what is run.
        root: the folder of scenarios; the recording goes to `recorded/NAME` in it.
        workspace: a folder whose files take the place of `setup_workspace`; it is copied, without what git and tools
            keep there.
        within: seconds for the run.

    Raises:
        RecordingIncompleteError: if the run has not all that a recording needs; nothing is written then.
        ExpectationError: if `assert_results` does not hold; likewise.
    """
    problems = list(type(scenario).problems())
    if problems:
        raise ScriptError("the scenario cannot be recorded", seen="\n".join(problems))
    done = asyncio.run(_run(scenario, workspace, within))
    metadata, files = _packed(scenario, done)
    with ScratchFolder() as scratch:  # it is read as any recording before it is put in its place
        made = ScenarioRecording(write_recording(scratch.path, metadata, files), metadata)
        require_whole(made, scenario.requires)
        result = result_of(made)
        held = scenario.check_results(result)
        if not held:
            raise ExpectationError(held.message, expected=held.expected, seen=held.seen, hint=held.hint)
        files["assertions.json"] = pretty(figures_of(made, result))
        place = root / RECORDED
        before = place / scenario.name
        written = write_recording(scratch.path, metadata, files)
        if before.is_dir() and same_content(before, written):
            return ScenarioRecording(before, read_metadata(before)), False
    folder = write_recording(place, metadata, files)
    return ScenarioRecording(folder, read_metadata(folder)), True


async def _run(scenario: Scenario, folder: Path | None, within: float) -> _Recorded:
    journal = Journal(redactor=Redactor.from_environment(real_environment()))
    workspace = Workspace(journal)
    await workspace.start()
    try:
        if folder is None:
            scenario.setup_workspace(workspace)
        else:
            shutil.copytree(folder, workspace.root, ignore=_LEFT_OUT, dirs_exist_ok=True)
        model = _model(scenario.script(workspace.root))
        placed = model if isinstance(model, PlacedModel) else None
        server = ModelServer(model, journal)
        environment = {**(placed.variables if placed else {}), "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1"}
        claude = ClaudeCode(journal, server, workspace, opens=False, environment=environment)
        supervisor = Supervisor((server, claude), clock=journal.clock)
        await supervisor.start()
        if placed is not None:
            placed.work_in(workspace.root, claude.home)
        try:
            begin = packed_files(workspace)
            git = git_state(workspace.root)
            with ScratchFolder() as scratch:
                recorder = FrameRecorder(workspace, find_cli(), claude.environment(), scratch.path)
                with default_transport(recorder.transport()):
                    async with asyncio.timeout(within):
                        await scenario.program(scenario.build_prompt(), workspace.root)
            home = claude.home
            _require_answers(scenario, journal)
        finally:
            await supervisor.stop()
        return _Recorded(recorder, RunFolders(str(workspace.root), str(home), str(home.parent)), begin, git)
    finally:
        await workspace.stop()


def _model(made: Script | Model) -> Model:
    if not isinstance(made, Script):
        return made
    made.strict = True
    return ScriptedModel(made)


def _require_answers(scenario: Scenario, journal: Journal) -> None:
    """Refuse a run in which the model had no answer: the CLI would tell that as an error of the provider."""
    failed = [one for one in journal.events(ModelFailed) if one.reason in _BLAMED]
    if failed:
        raise RecordingIncompleteError(
            f"the model of {scenario.name!r} had no answer; nothing was written",
            expected="an answer to every request",
            seen=failed[0].message,
            hint="add a rule to its script",
        )


def packed_files(workspace: Workspace) -> tuple[FileEffect, ...]:
    """All files of a workspace."""
    return tuple(FileEffect.of(path, file_data(workspace.root, path)) for path in workspace.files())


def git_state(root: Path) -> dict[str, Any]:
    """Branch, commit and changed files of a repository; empty without one."""
    if not (root / ".git").is_dir():
        return {}

    def said(*arguments: str) -> str:
        with git_call(root, *arguments) as call:
            return run_git(call, cwd=root).stdout.decode("utf-8", "replace").strip()

    return {
        "branch": said("rev-parse", "--abbrev-ref", "HEAD"),
        "commit": said("rev-parse", "HEAD"),
        "dirty": said("status", "--porcelain").splitlines(),
    }


def _packed(scenario: Scenario, done: _Recorded) -> tuple[RecordingMetadata, dict[str, bytes]]:
    """The files of the recording, without folders, ids and secrets of this machine."""
    recorder = done.recorder
    ids = IdNumbers()
    for line in recorder.lines:
        ids.learn(line or {})

    def clean(value: Any) -> Any:
        return ids.put_in(done.places.take_out(value))

    lines = [clean(line) for line in recorder.lines]
    frames = [_clean_frame(frame, line, clean) for frame, line in zip(recorder.frames, lines, strict=True)]
    files = {f"hooks/{name}.json": pretty(hook) for name, hook in _hook_files(frames, lines).items()}
    files["frames.jsonl"] = encode_frames(frames)
    files["input.json"] = pretty(_input(scenario, done, frames))
    files["output.json"] = pretty(_output(frames))
    files["assertions.json"] = b"{}\n"
    if done.begin:
        files[WORKSPACE_FILE] = pretty(done.begin)
    redactor = Redactor.from_environment(real_environment())
    init = next((line for line in lines if line and line.get("subtype") == "init"), None)
    metadata = RecordingMetadata(
        name=scenario.name,
        version=scenario.version,
        sdk=sdk_version(),
        cli=require_cli(init) if init else "",
        workspace=hash_of_files(done.begin),
        normalised=NORMALISED,
    )
    return metadata, {name: redactor.json(data) for name, data in files.items()}


def _clean_frame(frame: RecordedFrame, line: Any, clean: Any) -> RecordedFrame:
    import msgspec

    files = tuple(
        msgspec.structs.replace(one, text=clean(one.text)) if one.text is not None else one
        for one in frame.files
    )
    return msgspec.structs.replace(frame, line=None if frame.hook else line, files=files)


def _hook_files(frames: list[RecordedFrame], lines: list[dict[str, Any] | None]) -> dict[str, HookFile]:
    asked = {frame.hook: line for frame, line in zip(frames, lines, strict=True) if frame.kind == "ask"}
    answers = {frame.hook: line for frame, line in zip(frames, lines, strict=True) if frame.kind == "answer"}
    return {name: HookFile(question=line or {}, answer=answers.get(name)) for name, line in asked.items()}


def _input(scenario: Scenario, done: _Recorded, frames: list[RecordedFrame]) -> dict[str, Any]:
    """The inputs: the sheet, the files, and each session with its options and prompts."""
    sessions = [
        {
            "options": frame.line,
            "initialize": _sent(frames, frame.session, "control_request"),
            "prompts": _sent(frames, frame.session, "user"),
        }
        for frame in frames
        if frame.kind == "open"
    ]
    return {
        "sheet": scenario.sheet,
        "prompt": scenario.build_prompt(),
        "files": {one.path: hashlib.sha256(one.data or b"").hexdigest() for one in done.begin},
        "git": done.git,
        "sessions": sessions,
    }


def _sent(frames: list[RecordedFrame], session: int, kind: str) -> list[Any]:
    name = "message" if kind == "user" else "request"
    return [
        frame.line.get(name)
        for frame in frames
        if frame.kind == "send" and frame.session == session and frame.line and frame.line.get("type") == kind
    ]


_RESULT: Final = (
    *("subtype", "is_error", "result", "num_turns", "stop_reason", "terminal_reason", "total_cost_usd"),
    *("usage", "permission_denials", "errors"),
)


def _output(frames: list[RecordedFrame]) -> Mapping[str, Any]:
    """The outputs: each result, and the files at the end."""
    results = [
        frame.line
        for frame in frames
        if frame.kind == "say" and frame.line and frame.line.get("type") == "result"
    ]
    files = {one.path: one for frame in frames for one in frame.files}
    return {
        "results": [{name: line[name] for name in _RESULT if name in line} for line in results],
        "files": {
            path: hashlib.sha256(one.data).hexdigest() if one.data is not None else None
            for path, one in sorted(files.items())
        },
    }
