"""The paths that clients name: which folders they may lead to, and the one place where that is checked.

Every argument of a tool that is a path has one of the types below. The harness turns the client's text into it while it
reads the arguments, so a tool never sees a path that was not checked; a test refuses tools with other texts for paths.

How it is checked. Links are resolved first, `..` with them; what is left has to be below a root. That a link is put in
between afterwards is closed where we write (`lifecycle._beneath`: no part of the way may be a link) and here: a folder
inside of the project of an open conversation is refused, because its program could exchange it. The project's own
folder it cannot exchange at the levels `sandbox` and `container`, which let it write below that folder alone.

This keeps what the harness does by itself inside of its folders. What programs do that a client starts (an agent's
Bash, an MCP server, hooks) is kept by the isolation level.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from soundstage.errors import ScriptError
from soundstage.lifecycle import read_beneath

DEFAULTS: Final = Path(".soundstage")
SCRIPTS: Final = (".yaml", ".yml", ".json")


class CheckedPath:
    """A path that a client has named, and that has been checked.

    Attributes:
        path: the full path, without links.
        missing: whether it may be one that is not there yet.
        projects_only: whether it has to be below the folder for projects; else below a folder for plugins will do.
        schema: what clients are told.
    """

    missing: ClassVar = False
    projects_only: ClassVar = True
    schema: ClassVar[dict[str, Any]] = {"type": "string", "minLength": 1}

    def __init__(self, path: Path) -> None:
        self.path = path


class ProjectFolder(CheckedPath):
    """A folder of a project: tools write to it, agents work in it."""


class NewFolder(CheckedPath):
    """A folder for a project, which may not be there yet."""

    missing = True


class PluginFolder(CheckedPath):
    """A folder with a plugin, plugins or a marketplace. It is read."""

    projects_only = False


class ScriptFile(CheckedPath):
    """A script file in YAML or JSON. Those in Python are code: it would run in the harness."""

    projects_only = False


class Places:
    """The folders to which clients may lead us.

    Args:
        projects: gives the folder for projects; raises if it is not there.
        plugins: folders with plugins, marketplaces and script files.
        worked_in: gives the projects of open conversations.
    """

    def __init__(
        self,
        projects: Callable[[], Path],
        plugins: Sequence[Path],
        worked_in: Callable[[], Iterable[Path]],
    ) -> None:
        self._projects = projects
        self._plugins = plugins
        self._worked_in = worked_in

    def resolve(self, kind: type[Any], text: Any) -> Any:
        """The path that a client names. Fits `dec_hook` of msgspec.

        Args:
            kind: one of the types above.
            text: what the client says. Relative paths are below the folder for projects, or below the first
                folder for plugins that has them.

        Raises:
            ScriptError: if it is no path, leads out of the folders, or is not there.
        """
        if not (isinstance(kind, type) and issubclass(kind, CheckedPath)):
            raise NotImplementedError
        if not isinstance(text, str):
            raise TypeError(f"Expected `str`, got `{type(text).__name__}`")
        roots = [self._projects().resolve()]
        if not kind.projects_only:
            roots = [*(path.resolve() for path in self._plugins), *roots]
        try:
            found = _found(text, roots)
            there = found.is_file() if kind is ScriptFile else found.is_dir()
        except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, a loop of links
            raise ScriptError("this is no path", seen=f"{text!r}: {error}") from None
        _inside(kind, text, found, roots)
        if not kind.missing and not there:
            raise _nothing(kind, found)
        self._at_rest(kind, found)
        return kind(found)

    def _at_rest(self, kind: type[CheckedPath], found: Path) -> None:
        for project in self._worked_in() if kind.projects_only else ():
            if project in found.parents:
                raise ScriptError(
                    "this folder is inside of the project of an open conversation",
                    expected=f"the project itself, {project}, or another one",
                    seen=str(found),
                    hint="end_conversation first",
                )


def _found(text: str, roots: Sequence[Path]) -> Path:
    if not text.strip():
        raise ValueError("it is empty")
    places = [(root / text).resolve() for root in roots]
    return next((place for place in places if os.path.lexists(place)), places[0])


def _inside(kind: type[CheckedPath], text: str, found: Path, roots: Sequence[Path]) -> None:
    """Refuse what is not below a root. A folder for plugins may be a plugin itself; that for projects is no project."""
    if any(root in found.parents or (found == root and not kind.projects_only) for root in roots):
        return
    raise ScriptError(
        "the harness does not go there",
        expected="a path below " + " or ".join(map(str, roots)),
        seen=f"{text!r}, which is {found}",
        hint="give a relative path"
        if kind.projects_only
        else "start the server with --plugins FOLDER (or SOUNDSTAGE_PLUGINS)",
    )


def _nothing(kind: type[CheckedPath], found: Path) -> ScriptError:
    return ScriptError(
        "there is no such file" if kind is ScriptFile else "there is no such folder",
        expected="a path to one; relative ones are below the harness's folders",
        seen=str(found),
        hint="create_test_project makes a project" if kind.projects_only else "",
    )


def script_text(given: str, check: Callable[[type[Any], Any], Any]) -> str:
    """The text of a script: what a client gives, or what is in the file that it names.

    Raises:
        ScriptError: for a file of another kind than YAML and JSON, or one that cannot be read.
    """
    if "\n" in given or not given.endswith((*SCRIPTS, ".py")):
        return given
    file: ScriptFile = check(ScriptFile, given)
    if file.path.suffix not in SCRIPTS:
        raise ScriptError(
            "a client's script is no Python",
            expected="a file in YAML or JSON: " + ", ".join(SCRIPTS),
            seen=str(file.path),
            hint="Python would run in the harness itself, outside of every isolation",
        )
    try:
        return read_beneath(file.path.parent, file.path.name).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError("the script cannot be read", seen=f"{file.path}: {error}") from None


def plugin_roots(given: Sequence[Path], cwd: Path) -> tuple[Path, ...]:
    """The folders for plugins: those that are given, else the one in which the server was started.

    Not a folder with the user's home in it (or that itself): it would be no boundary.
    """
    if given:
        return tuple(path.absolute() for path in given)
    return () if Path.home().resolve().is_relative_to(cwd.resolve()) else (cwd,)


def root_folder(name: str, chosen: Path | None) -> Path:
    """A folder of ours: one that was chosen must be there, the usual one is made.

    Raises:
        ScriptError: if a chosen one is not there.
    """
    if chosen is None:
        folder = Path.cwd() / DEFAULTS / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if not chosen.is_dir():
        raise ScriptError(
            f"the folder for {name} is not there",
            expected="a folder",
            seen=str(chosen.absolute()),
            hint=f"make it, or start the server with another one: --{name} or SOUNDSTAGE_{name.upper()}",
        )
    return chosen.absolute()
