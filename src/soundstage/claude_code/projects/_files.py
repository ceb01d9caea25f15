"""Files for a project, from a list that a test or an agent has made. Each of them can fail by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from soundstage.claude_code.projects._repository import folder_of
from soundstage.errors import ScriptError
from soundstage.lifecycle import write_beneath


class FileProblem(NamedTuple):
    """A file that was not written, and why."""

    path: str
    message: str


class FilesWritten(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of writing a list of files.

    Args:
        path: the project.
        written: those that are there now, as they were named, with `/` between folders.
        problems: the others.
    """

    path: Path
    written: tuple[str, ...]
    problems: tuple[FileProblem, ...]


def write_files(project: Path | str, specs: Iterable[Mapping[str, Any]]) -> FilesWritten:
    """Write files into a project, with the folders that they need.

    A file that cannot be written is a problem of its own, and the others are written: a path that leads out of the
    project or into its `.git`, a folder of that name, text that is none.

    Args:
        project: its folder.
        specs: `{"path": "src/app.py", "content": "..."}` for each file; the path is relative to the project.

    Raises:
        ScriptError: if the project is missing, the list is empty, or not one file could be written.

    Example:
        ::

            done = write_files(project.path, [{"path": "src/sums.py", "content": "x = 1\\n"}])
            assert done.written == ("src/sums.py",)
    """
    root = folder_of(project)
    written: list[str] = []
    problems: list[FileProblem] = []
    for number, spec in enumerate(specs, start=1):
        try:
            written.append(_written(root, spec, number))
        except _NotWritten as error:
            problems.append(FileProblem(error.path, str(error)))
    if not written:
        raise ScriptError(
            "no file was written",
            expected="a list of {path, content}, at least one of which can be written",
            seen="\n".join(f"{path}: {message}" for path, message in problems) or "an empty list",
        )
    return FilesWritten(path=root, written=tuple(written), problems=tuple(problems))


class _NotWritten(Exception):  # noqa: N818  (it says what happened)
    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def _written(root: Path, spec: Any, number: int) -> str:
    path, content = _checked(spec, number)
    target = _inside(root, path)
    try:
        write_beneath(root, target.relative_to(root), content.encode())
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text that UTF-8 can hold"
        raise _NotWritten(path, reason or str(error)) from None
    return target.relative_to(root).as_posix()


def _checked(spec: Any, number: int) -> tuple[str, str]:
    if not isinstance(spec, Mapping):
        raise _NotWritten(f"file {number}", f"it should be {{path, content}}, not {type(spec).__name__}")
    path, content = spec.get("path"), spec.get("content")
    if not isinstance(path, str) or not path.strip():
        raise _NotWritten(f"file {number}", "it has no path")
    if not isinstance(content, str):
        raise _NotWritten(path, "its content should be a text")
    unknown = sorted(set(spec) - {"path", "content"})
    if unknown:
        raise _NotWritten(path, f"unknown key {unknown[0]!r}; there are path and content")
    return path, content


def _inside(root: Path, path: str) -> Path:
    try:
        target = (root / path).resolve()
        is_folder = target.is_dir()
    except (ValueError, OSError, RuntimeError) as error:  # a NUL, too long, a loop of links
        raise _NotWritten(path, str(error)) from None
    if not target.is_relative_to(root) or target == root:
        raise _NotWritten(path, "it is outside of the project")
    if ".git" in target.relative_to(root).parts:
        raise _NotWritten(path, "it is in .git, which belongs to git")
    if is_folder:
        raise _NotWritten(path, "there is a folder of that name")
    return target
