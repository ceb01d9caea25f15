"""Calls by which a Python program gets what differs from run to run, with the line of code that made them.

How it works. The interpreter tells a profiler of each call (`sys.setprofile`). Those of a clock, of a source of random
numbers, of names of temporary files and of the process are kept: what was called, from which line, when, and what it
returned where the interpreter says so: it does for functions in Python, not for those in C. No function is replaced,
so names that were imported before are seen too.

Order of a set is nobody's call, and is not seen. This file imports the standard library alone: a program that is
watched from outside loads it by its path (`_watched_program`), and writes each call into a file.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple, Self

FILE: Final = "SOUNDSTAGE_WATCHED_CALLS"
"""The variable with the file that a watched program writes into."""
MOST: Final = 5000  # calls that are kept
_IN_C: Final = {
    "time": dict.fromkeys(
        (
            "time",
            "time_ns",
            "localtime",
            "gmtime",
            "ctime",
            "asctime",
            "strftime",
            "monotonic",
            "perf_counter",
        ),
        "clock",
    ),
    "posix": {"urandom": "random", "getpid": "process", "getppid": "process"},
    "nt": {"urandom": "random", "getpid": "process"},
    "_random": dict.fromkeys(("random", "getrandbits"), "random"),
    "_socket": {"gethostname": "process"},
}
_OF_CLASSES: Final = {"now": "clock", "utcnow": "clock", "today": "clock"}
_OF_RANDOM: Final = dict.fromkeys(("random", "getrandbits"), "random")
_IN_PYTHON: Final = {
    "random.py": dict.fromkeys(
        (
            "randint",
            "randrange",
            "choice",
            "choices",
            "sample",
            "uniform",
            "randbytes",
            "gauss",
            "triangular",
        ),
        "random",
    ),
    "uuid.py": dict.fromkeys(("uuid1", "uuid4"), "random"),
    "secrets.py": dict.fromkeys(("token_hex", "token_urlsafe", "token_bytes", "randbelow"), "random"),
    "tempfile.py": dict.fromkeys(("mkdtemp", "mkstemp", "mktemp"), "temporary path"),
}
_PYTHON_NAMES: Final = frozenset(name for names in _IN_PYTHON.values() for name in names)
_C_NAMES: Final = frozenset(
    {*(name for names in _IN_C.values() for name in names), *_OF_CLASSES, *_OF_RANDOM}
)
_OURS: Final = str(Path(__file__).resolve().parent.parent) + os.sep
_STDLIB: Final = tuple(
    {os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")}
    | {sysconfig.get_path("stdlib") + os.sep}
)
_PACKAGES: Final = ("site-packages", "dist-packages")


class WatchedCall(NamedTuple):
    """One call.

    Args:
        kind: `clock`, `random`, `process`, `temporary path`.
        what: the function.
        line: file and line of the code that called it, and the function that it is in.
        at: seconds since 1970.
        value: what it returned, as text; empty if it is not known.
        library: whether that code is an installed package.
    """

    kind: str
    what: str
    line: str
    at: float
    value: str = ""
    library: bool = False


class CallWatch:
    """Keeps such calls while it is entered, of this thread and of threads that begin meanwhile.

    Args:
        keep: gets each call; they are collected in `calls` unless given.

    Example:
        >>> import uuid
        >>> with CallWatch() as watch:
        ...     made = uuid.uuid4()
        >>> [(call.what, call.value == str(made)) for call in watch.calls if call.what == "uuid4"]
        [('uuid4', True)]
    """

    def __init__(self, keep: Callable[[WatchedCall], None] | None = None) -> None:
        self.calls: list[WatchedCall] = []
        self._keep = keep if keep is not None else self.calls.append
        self._count = 0
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = sys.getprofile()
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)
        threading.setprofile(self._before)

    def _see(self, frame: FrameType, event: str, about: Any) -> None:
        if event == "c_call":
            name = getattr(about, "__name__", "")
            kind = _kind_in_c(name, about) if name in _C_NAMES else ""
            if kind and not (kind == "process" and _standard(frame)):  # tempfile asks for it, too
                self._note(kind, name, frame, _value_in_c(name))
        elif event == "return" and frame.f_code.co_name in _PYTHON_NAMES and about is not None:
            name = frame.f_code.co_name
            kind = _IN_PYTHON.get(frame.f_code.co_filename.rpartition(os.sep)[2], {}).get(name, "")
            if kind and frame.f_back is not None:
                self._note(kind, name, frame.f_back, _as_text(about))

    def _note(self, kind: str, what: str, frame: FrameType, value: str) -> None:
        found = _outside(frame)
        if found is None or self._count >= MOST:
            return
        self._count += 1
        name = found.f_code.co_filename
        line = f"{_short(name)}:{found.f_lineno} in {found.f_code.co_name}"
        library = any(part in name for part in _PACKAGES)
        self._keep(WatchedCall(kind, what, line, time.time(), value, library))


def _kind_in_c(name: str, function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type):
        dated = owner.__module__ == "datetime" or any(base.__module__ == "datetime" for base in owner.__mro__)
        return _OF_CLASSES.get(name, "") if dated else ""
    module = getattr(function, "__module__", None)
    if module is None and type(owner).__module__ == "random":
        return _OF_RANDOM.get(name, "")
    return _IN_C.get(module or "", {}).get(name, "")


def _value_in_c(name: str) -> str:
    return {"getpid": str(os.getpid()), "getppid": str(os.getppid())}.get(name, "")


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):  # of mkstemp
        return str(value[-1])
    return str(value)


def _outside(frame: FrameType | None) -> FrameType | None:
    """The nearest frame of code that is not the standard library's; none, if it is ours."""
    while frame is not None:
        if not _standard(frame):
            return frame if not frame.f_code.co_filename.startswith(_OURS) else None
        frame = frame.f_back
    return None


def _standard(frame: FrameType) -> bool:
    """Whether its code is the standard library's."""
    name = frame.f_code.co_filename
    return name.startswith("<frozen") or (
        name.startswith(_STDLIB) and not any(part in name for part in _PACKAGES)
    )


def _short(name: str) -> str:
    """A file as it is called from the working folder, if it is below it."""
    return name.removeprefix(f"{Path.cwd()}{os.sep}")


def watch_this_program() -> None:
    """Write each call of this program into the file that the variable names, from now on."""
    path = os.environ.get(FILE)
    if not path:
        return
    to = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)

    def keep(call: WatchedCall) -> None:
        os.write(to, json.dumps(call).encode() + b"\n")

    CallWatch(keep).__enter__()


def read_calls(path: Path) -> list[WatchedCall]:
    """The calls that a program has written."""
    try:
        with path.open(encoding="utf-8") as file:
            return [WatchedCall(*json.loads(line)) for line in file if line.endswith("\n")]
    except OSError:
        return []
