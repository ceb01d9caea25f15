"""Nothing is left behind by a process that is told to end: SIGTERM, SIGHUP, Ctrl-C as often as somebody likes.

These end Python without its `finally` blocks, or in the middle of them. So while a process holds throw-away folders,
both signals have a handler: it ends what was started in the folders, removes them, and then lets the signal do what it
does by default. What Ctrl-C has interrupted is removed when the interpreter ends (`atexit`).

A signal that somebody handles, or that is ignored (`nohup`), stays theirs. Handlers can be set in the main thread
alone; call `handle_termination` there before you make folders in other threads. A forked child owns no folder here.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
_removers: dict[Path, tuple[int, Callable[[Path], None]]] = {}  # folder -> its owner, and what removes it
_registered: list[int] = []  # processes that remove what is left at their exit


def handle_termination() -> None:
    """Handle the signals that end a process, where nobody does. Harmless when repeated, or in another thread."""
    if os.getpid() not in _registered:
        _registered.append(os.getpid())
        atexit.register(_at_exit)
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            with contextlib.suppress(ValueError):  # not the main thread
                signal.signal(number, _ended)


def termination_requested() -> asyncio.Event:
    """An event that is set when this process is told to end: SIGTERM, Ctrl-C, or a terminal that is closed.

    For servers, which finish what is in flight. A signal that is ignored, as `nohup` has it, stays ignored.
    """
    told = asyncio.Event()
    for number in (*SIGNALS, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN or number is signal.SIGINT:
            asyncio.get_running_loop().add_signal_handler(number, told.set)
    return told


def hold(folder: Path, remove: Callable[[Path], None]) -> None:
    """Remember a folder that has to go with this process.

    Args:
        folder: it.
        remove: ends what was started in it, and removes it.
    """
    _removers[folder] = (os.getpid(), remove)
    handle_termination()


def let_go(folder: Path) -> None:
    """The folder is gone; with the last one the signals are what they were."""
    _removers.pop(folder, None)
    if any(owner == os.getpid() for owner, _ in _removers.values()):
        return
    for number in SIGNALS:
        if signal.getsignal(number) is _ended:
            with contextlib.suppress(ValueError):  # not the main thread
                signal.signal(number, signal.SIG_DFL)


def _ended(number: int, _: FrameType | None) -> None:
    _remove_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _at_exit() -> None:
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a third Ctrl-C comes too late to stop this
    _remove_all()


def _remove_all() -> None:
    for folder, (owner, remove) in list(_removers.items()):
        if owner == os.getpid():
            with contextlib.suppress(Exception):  # each of them is tried; the next start tries again
                remove(folder)
                let_go(folder)
