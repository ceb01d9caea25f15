"""Artifacts of a test for people: logs, pictures of the terminal, the state of sessions, diffs.

Everything is taken from where it is true: the journal, the screens in it, the transcripts of the CLI, git. What is not
there is not made up: it is listed in `missing`, with the reason. Every text passes the journal's redactor before it
reaches the disk; pictures are kept as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.claude_code.projects._collect import (
    CollectedFiles,
    Sources,
    git_diffs,
    logs,
    screenshots,
    session_state,
)
from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.journal import Journal
from soundstage.terminal import Screen

DEFAULT_TYPES: Final = ("logs", "screenshots")
LONGEST: Final = 80  # characters of a test's name that a folder takes
_COLLECTORS: Final[Mapping[str, Callable[[Sources], CollectedFiles]]] = {
    "logs": logs,
    "screenshots": screenshots,
    "session_state": session_state,
    "git_diffs": git_diffs,
}
ARTIFACT_TYPES: Final = tuple(_COLLECTORS)


class Artifacts(msgspec.Struct, frozen=True, kw_only=True):
    """The captured artifacts.

    Args:
        path: the folder, `<test>_<YYYYmmdd_HHMMSS>`.
        files: its files, relative to it, sorted.
        missing: kinds of which there was nothing, each with the reason.
    """

    path: Path
    files: tuple[str, ...]
    missing: Mapping[str, str]


def capture_artifacts(
    test_name: str,
    folder: Path | str,
    types: Iterable[str] = DEFAULT_TYPES,
    *,
    journal: Journal,
    after: int = 0,
    project: Path | None = None,
    screens: Mapping[str, Screen] | None = None,
    transcripts: Mapping[str, bytes] | None = None,
    state: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> Artifacts:
    """Put what a test leaves behind into a folder of its own.

    Args:
        test_name: signs that mean something in a path are replaced.
        folder: where the folder goes; it is made.
        types: of `logs` (`journal.jsonl`, `model.log`), `screenshots` (terminals as SVG, pictures of tools),
            `session_state` (JSON), `git_diffs`.
        journal: the run's.
        after: the position of the journal behind which the test began.
        project: for `git_diffs`.
        screens: more screens than those in the journal, by name.
        transcripts: files of the CLI that belong to the sessions, by name.
        state: more about the sessions than the journal knows; anything that JSON can hold.
        now: when; the journal's clock says it unless given.

    Raises:
        ScriptError: for an unknown type, no type at all, or an empty name.
        EnvironmentProblem: if it cannot be written.

    Example:
        ::

            kept = capture_artifacts("test_fix", "artifacts", ["logs", "git_diffs"], journal=journal, project=path)
            assert "logs/journal.jsonl" in kept.files
    """
    wanted = _wanted(types)
    moment = now if now is not None else journal.clock.wall()
    sources = Sources(
        journal=journal,
        after=after,
        project=project,
        screens=screens or {},
        transcripts=transcripts or {},
        state=state or {},
    )
    found = {kind: _COLLECTORS[kind](sources) for kind in wanted}
    texts = {f"{kind}/{name}": text for kind, part in found.items() for name, text in part.files.items()}
    target = Path(folder).resolve() / f"{_safe(test_name)}_{moment:%Y%m%d_%H%M%S}"
    try:
        target = _new(target)
        for path, text in texts.items():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(_clean(journal, path, text))
    except OSError as error:
        raise EnvironmentProblem(
            "the artifacts cannot be written",
            seen=f"{error.filename or target}: {error.strerror}",
            hint="choose a folder that you may write to",
        ) from None
    return Artifacts(
        path=target,
        files=tuple(sorted(texts)),
        missing={kind: part.missing for kind, part in found.items() if part.missing},
    )


def _wanted(types: Iterable[str]) -> tuple[str, ...]:
    wanted = (types,) if isinstance(types, str) else tuple(dict.fromkeys(types))
    unknown = [kind for kind in wanted if kind not in _COLLECTORS]
    if unknown or not wanted:
        raise ScriptError(
            "unknown type of artifact" if unknown else "no type of artifact is wanted",
            expected="some of " + ", ".join(ARTIFACT_TYPES),
            seen=", ".join(map(repr, unknown)) or "an empty list",
        )
    return wanted


def _safe(test_name: str) -> str:
    name = re.sub(r"[^\w.-]+", "_", test_name).strip("._-")[:LONGEST]
    if not name:
        raise ScriptError(
            "artifacts need the name of a test", expected="letters or digits", seen=repr(test_name)
        )
    return name


def _new(target: Path) -> Path:
    """The folder, made; with a number behind its name if two tests of one name end in one second."""
    target.parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        candidate = target if number == 1 else target.with_name(f"{target.name}_{number}")
        try:
            candidate.mkdir()
        except FileExistsError:
            number += 1
        else:
            return candidate


def _clean(journal: Journal, path: str, text: str | bytes) -> bytes:
    if isinstance(text, bytes):  # a picture
        return text
    if path.endswith((".json", ".jsonl")):
        return b"".join(journal.redactor.json(line) for line in text.encode().splitlines(keepends=True))
    return journal.redactor.text(text).encode("utf-8", "surrogateescape")
