"""Which files a program in a sandbox sees: all but the user's, and of those the ones that it runs from.

Homes, temporary folders and `/run`, where sockets are, are hidden: an empty folder is there. Put back is what the
program cannot run without, and what it was told about: the program itself and what its first line or its link names,
the interpreters and libraries of the folders in PATH and of our own Python, and what its command line and its variables
name by an absolute path. What is not hidden needs nothing. Looks at files, changes none.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from soundstage.lifecycle import Launch

_HOMES: Final = ("/home", "/root", "/Users")
_SHARED: Final = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108  (they are hidden, not written to)
_PROGRAMS: Final = frozenset({"bin", "sbin", "shims"})
_PARTS: Final = (
    "lib",
    "lib64",
    "libexec",
    "include",
    "pyvenv.cfg",
)  # of an installation, besides its programs
_MARKS: Final = ("pyvenv.cfg", "lib/node_modules", "lib/python3*", "lib/ruby", "lib/libpython*")
_LINE: Final = 256  # bytes of a first line that names an interpreter: execve(2)
_DEEPEST: Final = 40  # links that lead to links: path_resolution(7)


class View:
    """The part of hidden folders that a program still sees.

    Args:
        hide: folders that are covered.

    Example:
        >>> view = View([Path("/home")])
        >>> view.hides(Path("/home/me/.ssh")), view.hides(Path("/usr/bin"))
        (True, False)
    """

    def __init__(self, hide: Iterable[Path]) -> None:
        self.hide = tuple(hide)
        self.links: dict[Path, str] = {}
        self.shown: dict[Path, None] = {}

    def hides(self, path: Path) -> bool:
        """Whether a path is in one of the folders."""
        return any(path.is_relative_to(folder) for folder in self.hide)

    def _opens_too_much(self, path: Path) -> bool:
        return any(folder.is_relative_to(path) for folder in self.hide)

    def show(self, path: Path) -> None:
        """Let a file or folder be seen, by every link on its way. Never all that is hidden, nor what is not there."""
        with contextlib.suppress(OSError, ValueError):
            real = self._followed(path)
            if self.hides(real) and not self._opens_too_much(real) and real.exists():
                self.shown[real] = None

    def _followed(self, path: Path, depth: int = 0) -> Path:
        """The path without links; those that are hidden are kept."""
        at = Path("/")
        for place, part in enumerate(path.parts[1:], 2):
            at = at.parent if part == ".." else at / part
            if at.is_symlink() and depth < _DEEPEST:
                if self.hides(at):
                    self.links[at] = os.fspath(at.readlink())
                rest = path.parts[place:]
                return self._followed((at.parent / at.readlink()).joinpath(*rest), depth + 1)
        return at

    def show_program(self, path: Path, depth: int = 0) -> None:
        """Let a program run: itself and its installation; of a script, its folder and the interpreter too."""
        self.show(path)
        for place in dict.fromkeys((path, Path(os.path.realpath(path)))):
            if "node_modules" in place.parts:
                self.show(Path(*place.parts[: place.parts.index("node_modules") + 1]))
            if place.parent.name in _PROGRAMS:
                self.show_programs(place.parent)
        with contextlib.suppress(OSError):
            with path.open("rb") as file:
                line = file.readline(_LINE).removeprefix(b"#!").split() if file.peek(2)[:2] == b"#!" else []
            if line:
                self.show(Path(os.path.realpath(path)).parent)
            for word in line if depth < _DEEPEST else ():
                if word.startswith(b"/"):
                    self.show_program(Path(os.fsdecode(word)), depth + 1)

    def show_programs(self, folder: Path) -> None:
        """Let the programs of a folder be found, and run if an interpreter's installation is around it."""
        self.show(folder)
        around = folder.parent
        if folder.name in _PROGRAMS and any(next(around.glob(mark), None) for mark in _MARKS):
            for part in _PARTS:
                self.show(around / part)
            with contextlib.suppress(OSError):
                for line in (around / "pyvenv.cfg").read_text().splitlines():
                    if line.startswith("home = "):
                        self.show_programs(Path(line.removeprefix("home = ")))
                        self.show_programs(Path(os.path.realpath(around / "bin/python")).parent)


def hidden_folders() -> list[Path]:
    """Those that a sandbox covers on this machine, without links."""
    user = pwd.getpwuid(os.geteuid()).pw_dir
    named = (*_HOMES, *_SHARED, user, os.environ.get("HOME", ""), tempfile.gettempdir())
    real = (Path(os.path.realpath(name)) for name in named if name)
    return list(dict.fromkeys(path for path in real if path != Path("/") and path.is_dir()))


def view_of(launch: Launch, *, reads: Iterable[Path], writes: Iterable[Path], hide: Iterable[Path]) -> View:
    """Work out the files that a program sees.

    Args:
        launch: what is to be started.
        reads: what it may see besides.
        writes: what it may write to.
        hide: folders that are covered.
    """
    view = View(hide)
    program = shutil.which(launch.argv[0], path=launch.environment.get("PATH", os.defpath))
    for python in (sys.executable, getattr(sys, "_base_executable", sys.executable)):
        view.show_program(Path(python))
    for name in sys.path:
        if name:
            view.show(Path(name).absolute())
    view.show_program(launch.cwd / (program or launch.argv[0]))
    for folder in launch.environment.get("PATH", "").split(os.pathsep):
        view.show_programs(Path(folder))
    _show_named(view, launch)
    for path in (*reads, *writes):
        view.show(path)
    return view


def _show_named(view: View, launch: Launch) -> None:
    """Paths that the command line and the variables name; of the script, which is the first file, all of its folder."""
    script = False
    for path in _paths_of(launch):
        with contextlib.suppress(OSError, ValueError):
            if not script and path.is_file():
                script = True
                view.show_program(path)
                view.show(path.parent)
            view.show(path)
    for value in launch.environment.values():
        for name in value.split(os.pathsep):
            if name.startswith("/"):
                view.show(Path(name))


def _paths_of(launch: Launch) -> Iterator[Path]:
    for word in launch.argv[1:]:
        for name in dict.fromkeys((word, word.partition("=")[2])):
            if "/" in name or name == word:
                yield launch.cwd / name
