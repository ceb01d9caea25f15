"""The one place where calls of sockets and of name look-ups are judged before the system is asked.

How it works. Python raises an audit event (PEP 578) in the thread that is about to connect, to send to an address or
to look a name up. Our hook sees each of them, whoever calls, through whichever reference, and an exception in it
is the refusal. Two things it does not see in time, and those are wrapped besides: `connect((name, port))` of a
socket looks the name up before it raises its event, and uvloop, which raises none (`_uvloop`). Hook and wrappers
cannot be taken away again. The first run adds them; while no run lasts they do nothing.

Who judges. Each run has an `EgressWatch`. It judges its own tasks, which carry it in their context; what comes
from a thread without one (a thread pool, a thread that is older than the run) is judged by the run that began last.
On virtual time everything is refused, in the threads of that run, and its watch hears of it.

What we do on a test's behalf, such as asking a live model, happens inside of `permitted`. Event loops look names up in
threads that have no context, so the names that are being asked for are let through there, by name; the connection
itself is made in the context.

A watch runs inside of calls of the system, in any thread, so it must not raise and not wait; what it calls itself
is not judged again.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final, Protocol

from soundstage.errors import EgressRefused
from soundstage.guard import _uvloop
from soundstage.guard._addresses import is_address
from soundstage.guard._attempts import FORWARD, READERS, EgressAttempt


class EgressWatch(Protocol):
    """The judge of attempts for one run."""

    def permits(self, attempt: EgressAttempt) -> bool:
        """Whether a host may be reached."""

    def refused(self, attempt: EgressAttempt) -> None:
        """Keep that somebody was refused."""

    def for_the_test(self, attempt: EgressAttempt) -> None:
        """We reach a host on the test's behalf."""

    def child_starts(self) -> None:
        """A program is about to be started."""


_lock: Final = threading.Lock()
_thread: Final = threading.local()
_mine: ContextVar[EgressWatch | None] = ContextVar("soundstage_watch", default=None)
_free: ContextVar[bool] = ContextVar("soundstage_permitted", default=False)
_asked_for: Final[Counter[str]] = Counter()
_watches: tuple[EgressWatch, ...] = ()
_installed = False
_CHILDREN: Final = frozenset({"subprocess.Popen", "os.system", "os.posix_spawn"})


def begin(watch: EgressWatch) -> None:
    """From now on, what this process tries is judged."""
    global _watches  # noqa: PLW0603  (one guard for the process)
    _install()
    with _lock:
        _watches = (*_watches, watch)
    _mine.set(watch)


def end(watch: EgressWatch) -> None:
    """This run judges no more. Harmless when repeated."""
    global _watches  # noqa: PLW0603
    with _lock:
        _watches = tuple(one for one in _watches if one is not watch)
    if _mine.get() is watch:
        _mine.set(_watches[-1] if _watches else None)


@contextlib.contextmanager
def permitted(hosts: Iterable[str]) -> Iterator[None]:
    """Let this task reach hosts in the block, for us. Hosts are the names that it looks up."""
    names = [host.lower() for host in hosts]
    with _lock:
        _asked_for.update(names)
    token = _free.set(True)
    try:
        yield
    finally:
        _free.reset(token)
        with _lock:
            _asked_for.subtract(names)


@contextlib.contextmanager
def on_virtual_time(refuse: Callable[[str, tuple[Any, ...]], None]) -> Iterator[None]:
    """Everything that this thread asks of the network goes to `refuse`, which raises, while the block lasts."""
    _install()
    before = getattr(_thread, "refuse", None)
    _thread.refuse = refuse
    try:
        yield
    finally:
        _thread.refuse = before


def report(attempt: EgressAttempt) -> None:
    """Tell the run of a try that was refused elsewhere."""
    watch = _watch()
    if watch is not None:
        watch.refused(attempt)


def _watch() -> EgressWatch | None:
    watches = _watches
    mine = _mine.get()
    return mine if mine in watches else watches[-1] if watches else None


def _install() -> None:
    global _installed  # noqa: PLW0603
    with _lock:
        if _installed:
            return
        _installed = True
        sys.addaudithook(_audit)
        for name in ("connect", "connect_ex", "sendto", "sendmsg"):
            setattr(socket.socket, name, _looks_first(name, getattr(socket.socket, name)))
        _uvloop.install(_judge)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    reader = READERS.get(event)
    if reader is None:
        if event in _CHILDREN and _watches:
            _child_starts()
        return
    refuse = getattr(_thread, "refuse", None)
    if (refuse is None and not _watches) or getattr(_thread, "judging", False):
        return
    if event.startswith("socket.send") and args[-1] is None:
        return  # to the other end of a connection, which was not opened here
    attempt = reader(args)
    if refuse is not None:
        if attempt is not None:
            unjudged(report, attempt)
        refuse(event, args)
    elif attempt is not None and not (event in FORWARD and is_address(attempt.host)):
        _judge(attempt)


def _judge(attempt: EgressAttempt | None) -> None:
    """Return if a host may be reached.

    Raises:
        EgressRefused: if it may not.
    """
    watch = _watch()
    if attempt is None or watch is None or getattr(_thread, "judging", False):
        return
    if _free.get():
        unjudged(watch.for_the_test, attempt)
        return
    if attempt.method == "dns" and _asked_for[attempt.host.lower()] > 0:
        return
    if not unjudged(watch.permits, attempt):
        unjudged(watch.refused, attempt)
        raise EgressRefused(attempt.host, attempt.port)


def _child_starts() -> None:
    watch = _watch()
    if watch is not None and not getattr(_thread, "judging", False):
        unjudged(watch.child_starts)


def unjudged(judgement: Callable[..., Any], *args: Any) -> Any:
    """Call something; the sockets that it uses itself are not judged."""
    before = getattr(_thread, "judging", False)
    _thread.judging = True
    try:
        return judgement(*args)
    finally:
        _thread.judging = before


def _looks_first(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A method of sockets that is judged before it looks a name up."""

    event = "socket.connect" if name == "connect_ex" else f"socket.{name}"

    def method(self: Any, *args: Any) -> Any:
        address = args[3] if name == "sendmsg" and len(args) > 3 else args[-1] if args else None
        try:
            if _names_a_host(address):
                _audit(event, (self, address))
            return original(self, *args)
        except EgressRefused as error:
            if name != "connect_ex":
                raise
            return error.errno

    method.__name__ = method.__qualname__ = name
    return method


def _names_a_host(address: Any) -> bool:
    """Whether the system would look up what is in an address."""
    named = isinstance(address, tuple) and len(address) > 1 and isinstance(address[0], str)
    return named and not is_address(address[0])
