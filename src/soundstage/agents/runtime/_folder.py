"""The folder that workspace tools may touch: what is inside, and nothing outside of it."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from soundstage.agents.runtime._errors import ToolError
from soundstage.journal import LARGEST, FileContent

HIDDEN: Final = frozenset(
    {".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"}
)
MOST_FILES: Final = 20_000
_LARGEST: Final = 20 * 1024 * 1024  # bytes; a file over this is no text that a model reads


class Folder:
    """A root, and the paths below it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def at(self, path: str) -> Path:
        """The path below the root that is meant, symbolic links followed.

        Raises:
            ToolError: if it leads out of the folder.
        """
        if "\0" in path:
            raise ToolError("a path cannot hold a zero byte")
        try:
            found = (self.root / path).resolve()
        except (OSError, RuntimeError) as error:
            raise ToolError(f"{path!r} is no path: {error}") from None
        if not found.is_relative_to(self.root):
            raise ToolError(f"{path!r} is outside of the workspace; give a path below it")
        return found

    def name(self, path: Path) -> str:
        """A path as it is shown: relative to the root, with slashes."""
        return path.relative_to(self.root).as_posix()

    def file(self, path: str) -> Path:
        """A regular file that exists."""
        found = self.at(path)
        try:
            mode = found.stat().st_mode
        except OSError:
            raise ToolError(f"there is no file {path!r}; glob shows which there are") from None
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "no regular file"
            raise ToolError(f"{path!r} is {kind}")
        return found

    def folder(self, path: str) -> Path:
        """A folder that exists."""
        found = self.at(path)
        if not found.is_dir():
            raise ToolError(f"there is no folder {path!r}")
        return found

    def read(self, path: str) -> str:
        """A file's text, line ends as they are.

        Raises:
            ToolError: if it is not a text file.
        """
        found = self.file(path)
        if found.stat().st_size > _LARGEST:
            raise ToolError(f"{path!r} has {found.stat().st_size} bytes, more than can be read; grep it")
        try:
            text = found.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise ToolError(f"{path!r} is not a text in UTF-8") from None
        except OSError as error:
            raise ToolError(f"{path!r} cannot be read: {error.strerror}") from None
        if "\0" in text:
            raise ToolError(f"{path!r} is not a text file")
        return text

    def write(self, path: str, text: str) -> tuple[str, FileContent, FileContent]:
        """Write a whole file; its name, and its content before and after."""
        found = self.at(path)
        if ".git" in (part.casefold() for part in found.relative_to(self.root).parts):
            # it names programs that git runs: writing there would be executing
            raise ToolError(f"{path!r} belongs to git and is not written by hand")
        if found == self.root or found.is_dir():
            raise ToolError(f"{path!r} is a folder")
        if found.exists() and not found.is_file():
            raise ToolError(f"{path!r} is no regular file")
        before = content(found)
        data = text.encode("utf-8", "backslashreplace")
        try:
            found.parent.mkdir(parents=True, exist_ok=True)
            found.write_bytes(data)
        except OSError as error:
            raise ToolError(f"{path!r} cannot be written: {error.strerror}") from None
        after = data if len(data) <= LARGEST else hashlib.sha256(data).hexdigest()
        return self.name(found), before, after

    def files(self, below: Path) -> list[Path]:
        """Regular files below a folder in a fixed order, without what tools and caches keep."""
        found: list[Path] = []
        for path in self._walk(below):
            found.append(path)
            if len(found) == MOST_FILES:
                break
        return found

    def _walk(self, below: Path) -> Iterator[Path]:
        for folder, folders, names in os.walk(below):  # links to folders are not followed
            folders[:] = sorted(name for name in folders if name not in HIDDEN)
            for name in sorted(names):
                path = Path(folder, name)
                with contextlib.suppress(OSError):
                    if stat.S_ISREG(path.lstat().st_mode):
                        yield path

    def state(self) -> dict[str, tuple[int, int, int]]:
        """Each file with what changes when it is written; to see what a command has done."""
        found: dict[str, tuple[int, int, int]] = {}
        for path in self.files(self.root):
            with contextlib.suppress(OSError):
                known = path.lstat()
                found[self.name(path)] = (known.st_mtime_ns, known.st_size, known.st_ino)
        return found


def content(path: Path) -> FileContent:
    """The content of a regular file, of a large one its sha256; None if there is none."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size <= LARGEST:
                return file.read()
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def globbed(pattern: str, names: list[str]) -> list[str]:
    """The names that fit a pattern: `*` within one folder, `**` through any number of them.

    >>> globbed("**/*.py", ["a.py", "src/b.py", "src/c.txt"])
    ['a.py', 'src/b.py']
    """
    wanted = re.compile(_expression(pattern.removeprefix("./")))
    return [name for name in names if wanted.fullmatch(name)]


def _expression(pattern: str) -> str:
    parts = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", pattern):
        known = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece)
        if known is None:
            # translate() wraps a set as (?s:[...])\Z; only the set is wanted
            known = fnmatch.translate(piece)[4:-3] if piece.startswith("[") else re.escape(piece)
        parts.append(known)
    return "".join(parts)
