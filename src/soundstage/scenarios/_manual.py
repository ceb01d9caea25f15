"""Copies of recordings that are edited by hand, for what the CLI never does: to lose a hook, to send a wrong result."""

from __future__ import annotations

from pathlib import Path

import msgspec

from soundstage.errors import ScriptError, WrongValueError
from soundstage.scenarios._errors import ScenarioNotFoundError
from soundstage.scenarios._folder import (
    MANUAL,
    ScenarioRecording,
    find_recording,
    load_recording,
    pretty,
    read_metadata,
    seal,
    write_recording,
)
from soundstage.scenarios._result import figures_of, result_of


def copy_recording(root: Path, name: str, new: str, note: str) -> Path:
    """Copy a recording to `manual/NEW`.

    Raises:
        WrongValueError: without a note, or if there is such a recording.
    """
    recording = load_recording(root, name)
    if not note.strip():
        raise WrongValueError("a copy needs a note", expected="what is edited, and why")
    if find_recording(root, new) is not None or "/" in new or new.startswith("."):
        raise WrongValueError(
            f"{new!r} cannot be the name of a copy", expected="a name that is free, without /"
        )
    files = {
        path.relative_to(recording.folder).as_posix(): path.read_bytes()
        for path in recording.folder.rglob("*")
        if path.is_file()
    }
    metadata = msgspec.structs.replace(recording.metadata, name=new, note=note, copied_from=name)
    return write_recording(root / MANUAL, metadata, files)


def seal_edited(root: Path, name: str) -> Path:
    """Make figures and checksum of an edited copy anew.

    Raises:
        ScenarioNotFoundError: if there is no recording of that name.
        ScriptError: if it is no copy: what was recorded is recorded again, not edited.
    """
    folder = find_recording(root, name)
    if folder is None:
        raise ScenarioNotFoundError(
            f"there is no copy {name!r}", hint=f"soundstage scenario copy RECORDING {name} --note WHY"
        )
    metadata = read_metadata(folder)
    if not metadata.note:
        raise ScriptError(
            f"{name!r} is a recording, and those are not edited",
            hint=f"edit a copy: soundstage scenario copy {name} NEW --note WHY",
        )
    made = ScenarioRecording(folder, metadata)
    (folder / "assertions.json").write_bytes(pretty(figures_of(made, result_of(made))))
    seal(folder, metadata)
    return folder
