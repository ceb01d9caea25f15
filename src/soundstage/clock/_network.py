"""The network, refused while a loop on virtual time runs.

The loop itself refuses what asyncio would do. A library that blocks (a synchronous SDK, urllib) goes past the loop,
straight to the system; the guard of this process (`soundstage.guard`) sees that all the same. It refuses everything in
the threads of a run on virtual time, loopback too. The run, if there is one, hears of each try.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeVar

from soundstage.errors import NetworkForbiddenError
from soundstage.guard import EgressAttempt, on_virtual_time, report

T = TypeVar("T")

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
        hint="pass the model to the app, or run the test on the machine's time: clock=SystemClock(), "
        "in pytest @pytest.mark.soundstage(clock='system')",
    )


def report_try(method: str, host: object, port: object) -> None:
    """Tell the run that somebody tried to reach a host through the loop."""
    report(EgressAttempt(str(host), port if isinstance(port, int) else 0, method))


@contextlib.contextmanager
def no_network() -> Iterator[None]:
    """Refuse the network in this thread, for as long as the block lasts."""
    with on_virtual_time(_refuse):
        yield


def without_network(job: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Do a job of a run that may be in another thread."""
    with no_network():
        return job(*args, **kwargs)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    forbid(event, _CALLS[event], args, {})
