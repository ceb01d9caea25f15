"""Conversations in a file: one JSON document with a version, replaced as a whole.

The new document is written beside the old one and takes its place in one step, so whatever kills the process,
the file is the old document or the new one. What cannot be read is never overwritten.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from soundstage.agents.teams._conversation import TeamConversation
from soundstage.agents.teams._errors import StateFileError
from soundstage.journal import Redactor

VERSION: Final = 1
FILE: Final = "conversations.json"


class _Head(msgspec.Struct):
    version: int


class _State(msgspec.Struct):
    version: int
    conversations: tuple[TeamConversation, ...]


def write_state(folder: Path, conversations: Iterable[TeamConversation], redactor: Redactor) -> Path:
    """Write the file, without secrets. Returns its path.

    Raises:
        StateFileError: if the file that is there cannot be read, or the new one cannot be written.
    """
    path = folder / FILE
    if path.exists():
        read_state(folder)
    data = redactor.json(msgspec.json.encode(_State(version=VERSION, conversations=tuple(conversations))))
    beside = path.with_name(f".{FILE}.{os.getpid()}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise StateFileError(
            f"the conversations cannot be saved in {path}",
            seen=error.strerror or str(error),
            hint="choose a folder that you may write to",
        ) from None
    return path


def read_state(folder: Path) -> tuple[TeamConversation, ...]:
    """The conversations in the file.

    Raises:
        StateFileError: if there is none, it is cut off, or a newer version has written it.
    """
    path = folder / FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StateFileError(
            f"there are no saved conversations in {folder}",
            expected=f"a file {FILE} that `save` has written",
            seen=error.strerror or str(error),
        ) from None
    try:
        version = msgspec.json.decode(data, type=_Head).version
        if version > VERSION:
            raise _refused(path, f"version {version}", "use the version of Soundstage that wrote it")
        return msgspec.json.decode(data, type=_State).conversations
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "take the file from a backup, or move it away to begin without it"
        raise _refused(path, str(error), hint) from None


def _refused(path: Path, seen: str, hint: str) -> StateFileError:
    return StateFileError(
        f"{path} cannot be read; it stays as it is",
        expected=f"saved conversations of version {VERSION} or below, whole",
        seen=seen,
        hint=hint,
    )
