"""Errors of the store. A full disk is the machine's affair, wrong calls are the caller's."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from soundstage.errors import EnvironmentProblem, FileError, InvalidStateError, ScriptError

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class SchemaError(ScriptError, ValueError):
    """Raised when the transcript of a tool call is not as its schema says. Also a `ValueError`."""


class RunNotFoundError(ScriptError, LookupError):
    """Raised when a store has no run of an id, or several that begin so. Also a `LookupError`."""


class ContentNotFoundError(EnvironmentProblem, LookupError):
    """Raised when content that a run refers to is not in the store. Also a `LookupError`."""


class DamagedContentError(EnvironmentProblem):
    """Raised when kept content is not what was saved."""


class StreamConsumedError(InvalidStateError):
    """Raised when the content of a file is streamed a second time."""


class StoreBusyError(FileError):
    """Raised when another process holds the lock of a store. Also an `OSError`."""


class DiskFullError(FileError):
    """Raised when there is no space for a run. Also an `OSError`."""


@contextmanager
def told(doing: str, root: Path) -> Iterator[None]:
    """Tell an error of the system in our words.

    Args:
        doing: the end of "the store ... cannot ".
        root: the store.
    """
    try:
        yield
    except EnvironmentProblem:  # told already
        raise
    except OSError as error:
        kind = DiskFullError if error.errno in _FULL else FileError
        raise kind(
            f"the store {root} cannot {doing}",
            expected="space on its disk" if kind is DiskFullError else "",
            seen=": ".join(filter(None, (str(error.filename or ""), error.strerror or str(error)))),
            hint=f"soundstage runs clean --store {root} --older-than 7"
            if kind is DiskFullError
            else "choose a folder on a local disk that you may write to",
        ) from error
