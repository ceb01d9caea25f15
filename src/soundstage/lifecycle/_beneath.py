"""Files below a folder in which somebody else may write: opened without following a link.

The folders are those of programs under test: homes, workspaces, generated projects. We run as the user, and at the
levels `sandbox` and `container` we may read and write much that such a program may not. A link that it leaves where we
read or write would lend it our rights: `../../.ssh/id_rsa` as a transcript that we keep, a folder of the user's as the
place for a sample file. A pipe would stop us for ever.

How it works. Checking a path and using it afterwards is no protection, since a link may be put in between. So each part
of the path is opened in the folder that was opened before it, and none of them may be a link (O_NOFOLLOW in open(2));
the last one has to be a regular file. The root is not looked at: it is ours, or the caller has looked.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe opens at once, and is refused


def read_beneath(root: Path, path: PurePath | str) -> bytes:
    """The content of a regular file below `root`.

    Args:
        root: a folder; links on the way to it count.
        path: relative to it; no link on the way from there, nor at its end.

    Raises:
        OSError: if it is not there, or a link or something else than a file is met.
    """
    with _parent(root, path) as (folder, name), _opened(folder, name, os.O_RDONLY) as handle:
        with open(handle, "rb", closefd=False) as file:
            return file.read()


def write_beneath(root: Path, path: PurePath | str, data: bytes) -> None:
    """Write a regular file below `root`, with the folders that it needs. Arguments and errors as of `read_beneath`."""
    with _parent(root, path, make=True) as (folder, name):
        with _opened(folder, name, os.O_WRONLY | os.O_CREAT) as handle:
            os.ftruncate(handle, 0)
            with open(handle, "wb", closefd=False) as file:
                file.write(data)


def files_beneath(root: Path, path: PurePath | str) -> list[PurePath]:
    """The regular files below a folder below `root`, relative to `root`, sorted. None if there is no such folder."""
    found: list[PurePath] = []
    with contextlib.suppress(OSError), _parent(root, PurePath(path) / "any") as (top, _):
        for below, _, names, folder in os.fwalk(dir_fd=top):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                        found.append(PurePath(path, below, name))
    return sorted(found)


@contextmanager
def _parent(root: Path, path: PurePath | str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder of a path, opened, and the last part of the path."""
    parts = PurePath(path).parts
    if not parts or os.sep in parts[0] or ".." in parts:
        raise OSError(errno.EXDEV, "it is not below the folder", str(path))
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
            below = os.open(part, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle, parts[-1]
    finally:
        os.close(handle)


@contextmanager
def _opened(folder: int, name: str, flags: int) -> Iterator[int]:
    handle = os.open(name, flags | _FILE, 0o666, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", name)
        yield handle
    finally:
        os.close(handle)
