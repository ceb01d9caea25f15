"""A new project of one of nine kinds."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from soundstage.claude_code.projects._names import Names, names_of
from soundstage.claude_code.projects._render import rendered
from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.lifecycle import write_beneath

PROJECT_TYPES: Final = ("web-app", "cli", "library")
LANGUAGES: Final = ("python", "javascript", "go")
MARKER: Final = ".soundstage-project.json"
"""Says that a folder was generated, so that it may be removed; git ignores it, and it is not listed."""

SHOWN: Final = 20
_TESTS: Final = {
    "python": (sys.executable, "-m", "pytest", "-q"),
    "javascript": ("node", "--test"),
    "go": ("go", "test", "./..."),
}


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project that has been generated.

    Args:
        path: its folder, without links in it.
        type: `web-app`, `cli` or `library`.
        language: `python`, `javascript` or `go`.
        name: as people write it.
        package: the name by which its code is imported.
        files: its files below `path`, sorted.
    """

    path: Path
    type: str
    language: str
    name: str
    package: str
    files: tuple[str, ...]

    @property
    def test_command(self) -> tuple[str, ...]:
        """The command of its tests, for its folder: pytest of this interpreter, `node --test`, or `go test ./...`."""
        return _TESTS[self.language]


def create_project(
    type: str,  # noqa: A002  (the word of the requirement, and of the command line)
    language: str,
    folder: Path | str,
    name: str | None = None,
    *,
    root: Path | None = None,
) -> Project:
    """Generate a project.

    Args:
        type: `web-app` (a server on a port of its own choosing), `cli` or `library`.
        language: `python`, `javascript` or `go`.
        folder: where; it must not exist, or be empty. Relative to `root`, else to the current folder.
        name: as people write it; made of the folder's name unless given.
        root: a folder that the project must be in.

    Raises:
        ScriptError: for an unknown type or language, a name that cannot be used, a folder that has something in it
            or is outside of `root`.
        EnvironmentProblem: if the folder cannot be written.

    Example:
        ::

            project = create_project("cli", "python", tmp_path / "calc", "Calculator App")
            subprocess.run(project.test_command, cwd=project.path, check=True)
    """
    _known("type", type, PROJECT_TYPES)
    _known("language", language, LANGUAGES)
    target = _target(Path(folder), root)
    names = names_of(name, target)
    values = {"name": names.display, "slug": names.slug, "package": names.package, "module": names.module}
    values |= {"go_package": names.module if type == "library" else "main", "marker": MARKER}
    files = rendered(language, type, values)
    project = Project(
        path=target,
        type=type,
        language=language,
        name=names.display,
        package=names.module if language == "go" else names.package,
        files=tuple(files),
    )
    _write(target, {**files, MARKER: _marker(project, names)})
    return project


def _known(what: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise ScriptError(
            f"unknown {what} of project", expected="one of " + ", ".join(known), seen=repr(value)
        )


def _target(folder: Path, root: Path | None) -> Path:
    try:
        inside = root.resolve() if root is not None else None
        target = ((inside or Path.cwd()) / folder).resolve()
        occupied = target.exists() and (not target.is_dir() or any(target.iterdir()))
    except (
        ValueError,
        OSError,
        RuntimeError,
    ) as error:  # a NUL, too long, not ours to look into, a loop of links
        raise ScriptError(f"{str(folder)!r} is no folder for a project", seen=str(error)) from None
    if inside is not None and (not target.is_relative_to(inside) or target == inside):
        raise ScriptError(
            "the project would be outside of the folder for projects",
            expected=f"a path below {inside}",
            seen=str(target),
            hint="give a path relative to it",
        )
    if occupied:
        raise ScriptError(
            "there is something where the project should go",
            expected="a folder that does not exist, or is empty",
            seen=str(target),
            hint="choose another folder, or remove this one",
        )
    return target


def _write(target: Path, files: dict[str, str]) -> None:
    existed = target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            write_beneath(target, path, text.encode())
    except OSError as error:
        if not existed:
            shutil.rmtree(target, ignore_errors=True)  # half a project is none
        raise EnvironmentProblem(
            "the project cannot be written",
            seen=f"{error.filename or target}: {error.strerror}",
            hint="choose a folder that you may write to",
        ) from None


def _marker(project: Project, names: Names) -> str:
    facts = {"type": project.type, "language": project.language, "name": names.display}
    return msgspec.json.format(msgspec.json.encode(facts)).decode() + "\n"


def project_text(project: Project) -> str:
    """Return the text about a new project for the command line: its folder, its first files, how its tests run.

    At most 20 files are listed.
    """
    listed = [f"  {path}" for path in project.files[:SHOWN]]
    more = len(project.files) - len(listed)
    command = " ".join(("python" if word == sys.executable else word) for word in project.test_command)
    return "\n".join(
        [
            f"{project.name}: {project.type} in {project.language}, {len(project.files)} files in {project.path}",
            *listed,
            *([f"  and {more} more"] if more > 0 else []),
            f"its tests: cd {project.path} && {command}",
        ]
    )
