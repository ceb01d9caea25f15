"""The folder of one recording: its files, their checksum, and how it comes to be there at once or not at all.

    NAME/metadata.json     versions, hash of the workspace, what was normalised, checksum
    NAME/input.json        options, prompts, files and git state at the begin
    NAME/workspace.json    the files of the workspace, packed (only if there are some)
    NAME/frames.jsonl      all that SDK and CLI sent each other, in order, with times; hooks by their names
    NAME/hooks/001-PreToolUse.json
    NAME/output.json       results, changed files, commits
    NAME/assertions.json   the figures that a replay has to come to

A recording is written into a folder beside its place, whose name begins with a point, and renamed. One that was there
before is renamed first, and is found under that name until the new one is in its place: whoever is killed between
leaves one of both, whole.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.errors import FileError, SoundstageError, did_you_mean
from soundstage.lifecycle import remove_tree
from soundstage.scenarios._errors import (
    FixtureDriftError,
    FixtureError,
    ScenarioNotFoundError,
    ScenarioVersionError,
)
from soundstage.scenarios._frames import FileEffect, HookFile, RecordedFrame, decode_frames

FORMAT: Final = 1
METADATA: Final = "metadata.json"
NEEDED: Final = (METADATA, "input.json", "frames.jsonl", "output.json", "assertions.json")
WORKSPACE_FILE: Final = "workspace.json"
_NEW: Final = ".new-"
_OLD: Final = ".old-"
RECORDED: Final = "recorded"
MANUAL: Final = "manual"


class RecordingMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a recording.

    Args:
        name: of the scenario.
        version: of the scenario's definition.
        sdk: version of claude-agent-sdk.
        cli: version of Claude Code.
        workspace: sha256 over the files at the begin.
        normalised: what was taken out of its texts, or is not compared.
        note: of a copy that was edited by hand, what was edited and why; empty otherwise.
        copied_from: the recording that it is a copy of.
        checksum: sha256 over all files, and over this one without it.
        format: of the folder.
    """

    name: str
    version: int
    sdk: str
    cli: str
    workspace: str
    normalised: tuple[str, ...]
    note: str = ""
    copied_from: str = ""
    checksum: str = ""
    format: int = FORMAT


class ScenarioRecording:
    """A recording on disk; its frames and hooks are read when they are needed.

    Args:
        folder: where it is.
        metadata: what is known of it.
    """

    def __init__(self, folder: Path, metadata: RecordingMetadata) -> None:
        self.folder = folder
        self.metadata = metadata

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self.metadata.name

    @cached_property
    def frames(self) -> tuple[RecordedFrame, ...]:
        """All frames, in order. Of a copy edited by hand, those of hooks whose files are gone are left out."""
        found = decode_frames(_bytes(self.folder / "frames.jsonl"), str(self.folder / "frames.jsonl"))
        if not self.metadata.note:
            return found
        return tuple(one for one in found if not one.hook or self._hook_path(one.hook).is_file())

    def hook(self, name: str) -> HookFile:
        """One hook, read from its file.

        Raises:
            FixtureError: if it is not there, or no hook.
        """
        path = self._hook_path(name)
        found: HookFile = _decoded(_bytes(path), HookFile, path)
        return found

    def line_of(self, frame: RecordedFrame) -> dict[str, Any]:
        """The JSON line of a frame; that of a hook is in its file."""
        if frame.hook:
            found = self.hook(frame.hook)
            return (found.question if frame.kind == "ask" else found.answer) or {}
        return frame.line or {}

    def _hook_path(self, name: str) -> Path:
        return self.folder / "hooks" / f"{name}.json"

    @property
    def hooks(self) -> tuple[str, ...]:
        """The names of all hooks, in order."""
        return tuple(sorted(path.stem for path in (self.folder / "hooks").glob("*.json")))

    def matchers(self, session: int, event: str = "PostToolUse") -> tuple[str, ...]:
        """The matchers of the hooks that the program has registered for an event; an empty one fits all."""
        sent = (
            frame.line or {} for frame in self.frames if frame.kind == "send" and frame.session == session
        )
        asked = (line.get("request") or {} for line in sent if line.get("type") == "control_request")
        hooks = next((one.get("hooks") or {} for one in asked if one.get("subtype") == "initialize"), {})
        return tuple(str(one.get("matcher") or "") for one in hooks.get(event) or ())

    @property
    def sessions(self) -> tuple[int, ...]:
        """The numbers of its sessions."""
        return tuple(dict.fromkeys(frame.session for frame in self.frames))

    @cached_property
    def workspace(self) -> tuple[FileEffect, ...]:
        """The files at the begin."""
        path = self.folder / WORKSPACE_FILE
        return _decoded(_bytes(path), tuple[FileEffect, ...], path) if path.is_file() else ()

    def json(self, name: str) -> Any:
        """The content of `input`, `output` or `assertions`."""
        path = self.folder / f"{name}.json"
        return _decoded(_bytes(path), Any, path)


def hash_of_files(files: Iterable[FileEffect]) -> str:
    """The sha256 over paths and contents, whatever their order."""
    lines = sorted((one.path, hashlib.sha256(one.data or b"").hexdigest()) for one in files)
    return hashlib.sha256(msgspec.json.encode(lines)).hexdigest()


def checksum_of(folder: Path, metadata: RecordingMetadata) -> str:
    """The checksum that the metadata of a folder should have."""
    digest = hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(metadata, checksum="")))
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != METADATA):
        name = path.relative_to(folder).as_posix()
        digest.update(f"\n{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}".encode())
    return digest.hexdigest()


def find_recording(root: Path, name: str) -> Path | None:
    """The folder of a recording below `root`: recorded, or edited by hand."""
    for place in (RECORDED, MANUAL):
        for found in (root / place / name, root / place / f"{_OLD}{name}"):
            if name and (found / METADATA).is_file():
                return found
    return None


def recording_names(root: Path) -> tuple[str, ...]:
    """The names of all recordings below `root`, sorted."""
    found = {
        path.parent.name.removeprefix(_OLD)
        for place in (RECORDED, MANUAL)
        for path in (root / place).glob(f"*/{METADATA}")
        if not path.parent.name.startswith(_NEW)
    }
    return tuple(sorted(found))


def load_recording(root: Path, name: str) -> ScenarioRecording:
    """Open a recording, if it is whole and nobody has changed it.

    Args:
        root: the folder of scenarios, as the setting `scenarios` has it.
        name: of the scenario.

    Raises:
        ScenarioNotFoundError: if there is none; the message has the command that records it.
        FixtureError: if a file is missing.
        FixtureDriftError: if a file is not what it was.
        ScenarioVersionError: if it is of a newer format.
    """
    folder = find_recording(root, name)
    if folder is None:
        known = recording_names(root)
        raise ScenarioNotFoundError(
            f"there is no recording of {name!r} in {root}",
            expected=", ".join(known) or "a recording",
            seen=did_you_mean(name, known),
            hint=f"soundstage scenario record {name} --scenarios {root}",
        )
    metadata = read_metadata(folder)
    for missing in (one for one in NEEDED if not (folder / one).is_file()):
        raise FixtureError(
            f"the recording {name!r} has no {missing}",
            expected=", ".join(NEEDED),
            hint=f"soundstage scenario record {name}",
        )
    made = ScenarioRecording(folder, metadata)
    _refuse_drift(made)
    return made


def read_metadata(folder: Path) -> RecordingMetadata:
    """The metadata of a folder.

    Raises:
        FixtureError: if there is none, or it cannot be read.
        ScenarioVersionError: if it is of a newer format.
    """
    path = folder / METADATA
    data = _bytes(path)
    number = _decoded(data, dict[str, Any], path).get("format")
    if isinstance(number, int) and number > FORMAT:
        raise ScenarioVersionError(
            f"{folder} is of format {number}",
            expected=f"format {FORMAT} or below",
            hint="use the version of Soundstage that wrote it, or record it again",
        )
    found: RecordingMetadata = _decoded(data, RecordingMetadata, path)
    return found


def _refuse_drift(recording: ScenarioRecording) -> None:
    name, metadata = recording.name, recording.metadata
    if not metadata.note:
        used = {frame.hook for frame in recording.frames if frame.hook}
        for missing in sorted(used - set(recording.hooks)):
            raise FixtureError(
                f"the recording {name!r} has no hooks/{missing}.json",
                expected="a file for each hook of frames.jsonl",
                hint=f"soundstage scenario record {name}; to leave a hook out, edit a copy: "
                f"soundstage scenario copy {name} NEW",
            )
    found = checksum_of(recording.folder, metadata)
    if found != metadata.checksum:
        raise FixtureDriftError(
            f"the recording {name!r} is not what was recorded",
            expected=f"checksum {metadata.checksum[:16]}..., as {METADATA} says",
            seen=f"checksum {found[:16]}...",
            hint=f"soundstage scenario seal {name}, if you have edited a copy"
            if metadata.note
            else f"restore its files, or: soundstage scenario record {name}",
        )


def seal(folder: Path, metadata: RecordingMetadata) -> RecordingMetadata:
    """Write the metadata with the checksum of what is in the folder."""
    sealed = msgspec.structs.replace(metadata, checksum=checksum_of(folder, metadata))
    (folder / METADATA).write_bytes(pretty(sealed))
    return sealed


def write_recording(place: Path, metadata: RecordingMetadata, files: Mapping[str, bytes]) -> Path:
    """Write a recording: all of it, or nothing.

    Args:
        place: the folder that gets it: `recorded` or `manual`.
        metadata: the checksum is put in.
        files: their contents by their paths below the recording.

    Raises:
        FileError: if the system does not let us.
    """
    target, new, old = (place / f"{lead}{metadata.name}" for lead in ("", _NEW, _OLD))
    try:
        place.mkdir(parents=True, exist_ok=True)
        remove_tree(new)
        for name, data in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(data)
        seal(new, metadata)
        _put(target, new, old)
    except SoundstageError:
        raise
    except OSError as error:
        raise FileError(
            f"the recording {metadata.name!r} cannot be written",
            seen=f"{error.filename or target}: {error.strerror or error}",
            hint="choose a folder on a local disk that you may write to",
        ) from error
    return target


def _put(target: Path, new: Path, old: Path) -> None:
    """Rename the new folder to its place; whatever was there is found as `old` until then."""
    if target.exists():
        remove_tree(old)
        os.rename(target, old)  # noqa: PTH104  (beside each other, on purpose)
    os.rename(new, target)  # noqa: PTH104
    remove_tree(old)


def pretty(value: Any) -> bytes:
    """A value as JSON for people."""
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic")) + b"\n"


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FixtureError(
            f"{path} cannot be read",
            seen=error.strerror or str(error),
            hint="restore it, or record the scenario again",
        ) from None


def _decoded(data: bytes, type_: Any, path: Path) -> Any:
    try:
        return msgspec.json.decode(data, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FixtureError(
            f"{path} is not as it was written", seen=str(error), hint="restore it, or record it again"
        ) from None
