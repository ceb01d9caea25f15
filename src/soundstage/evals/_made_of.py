"""The content of the files that a suite consists of besides its own: code of agents and evaluators, workspaces.

A suite is not resumed if one of them has changed: its runs would be those of two suites.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any


def made_of(thing: object) -> bytes:
    """The content that an agent says it is made of; nothing, if it says none."""
    found: bytes = getattr(thing, "made_of", b"")
    return found


def content_of(path: Path | str) -> bytes:
    """The content of a file; nothing, if there is none."""
    return Path(path).read_bytes() if path and Path(path).is_file() else b""


def code_of(function: Callable[..., Any]) -> bytes:
    """The file that defines a function, or the class of an object that can be called; nothing, if there is none."""
    inner = inspect.unwrap(getattr(function, "func", function))
    try:
        return content_of(inspect.getsourcefile(inner if inspect.isroutine(inner) else type(inner)) or "")
    except TypeError:  # of a function in C
        return b""


def user_code_in(evaluate: Callable[..., Any]) -> bytes:
    """The files of the functions of the user's that an evaluator asks, itself or one of its parts."""
    own = b"" if (evaluate.__module__ or "").startswith("soundstage.") else code_of(evaluate)
    return own + b"".join(map(user_code_in, getattr(evaluate, "parts", ())))


def folder_content(folder: Path) -> bytes:
    """A digest of a folder: names, contents, what may be executed, and where links lead."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found.update(f"link {name} {path.readlink()}\0".encode())
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            found.update(f"file {name} {path.stat().st_mode & 0o111} {content}\0".encode())
        else:
            found.update(f"folder {name}\0".encode())
    return found.digest()
