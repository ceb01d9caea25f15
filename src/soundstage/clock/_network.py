"""The network, refused while a loop on virtual time runs.

The loop itself refuses what asyncio would do. A library that blocks (a synchronous SDK, urllib) goes past the loop,
straight to the system; an audit hook (PEP 578) sees that all the same. The first run on virtual time adds the hook.
It cannot be taken away again, and does nothing in threads that are not part of such a run.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeVar

from soundstage.errors import NetworkForbiddenError

T = TypeVar("T")

# https://docs.python.org/3/library/audit_events.html
_CALLS: Final = {
    "socket.bind": "listen on a port",
    "socket.connect": "open a connection",
    "socket.getaddrinfo": "look up a host",
    "socket.gethostbyaddr": "look up an address",
    "socket.gethostbyname": "look up a host",
    "socket.getnameinfo": "look up an address",
    "socket.sendmsg": "send a message to an address",
    "socket.sendto": "send a message to an address",
}
_thread = threading.local()
_adding = threading.Lock()
_added: list[bool] = []


def forbid(name: str, doing: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> NoReturn:
    """Refuse a call with what it was to do.

    Raises:
        NetworkForbiddenError: always.
    """
    shown = [repr(value) for value in args if isinstance(value, str | bytes | int | tuple)]
    shown += [f"{key}={value!r}" for key, value in kwargs.items() if isinstance(value, str | int)]
    raise NetworkForbiddenError(
        f"this run is on virtual time and tried to {doing}",
        expected="an app that talks to its model and its worlds in process",
        seen=f"{name}({', '.join(shown)})",
        hint="pass the model to the app, or run the test on the machine's time: clock=SystemClock()",
    )


@contextlib.contextmanager
def no_network() -> Iterator[None]:
    """Refuse the network in this thread, for as long as the block lasts."""
    with _adding:
        if not _added:
            sys.addaudithook(_audit)
            _added.append(True)
    before = getattr(_thread, "refuses", False)
    _thread.refuses = True
    try:
        yield
    finally:
        _thread.refuses = before


def without_network(job: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Do a job of a run that may be in another thread."""
    with no_network():
        return job(*args, **kwargs)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    doing = _CALLS.get(event)
    if doing is None or not getattr(_thread, "refuses", False):
        return
    if event.startswith("socket.send") and args[-1] is None:
        return  # to the other end of a connection, which was not opened here
    forbid(event, doing, args, {})
