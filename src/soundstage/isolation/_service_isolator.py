"""Programs of a sandbox in a service that runs already: the service's files, processes and network, its own CLI.

How it works. In the service a process waits on a Unix socket (`_service.py serve`). What is launched here stands for a
program there. Throw-away folders and the ones that programs work in have to be in folders that both share, at the same
paths. The servers of the run are reached in the service on loopback, at the addresses that they have here; where the
service's network leads otherwise is for whoever starts it to say.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from soundstage.errors import EnvironmentProblem, InvalidStateError, ScriptError
from soundstage.isolation._service import LISTEN
from soundstage.journal import Journal
from soundstage.lifecycle import MACHINE_ONLY, Launch
from soundstage.net import Listener, listeners_of

SERVICE: Final = Path(__file__).with_name("_service.py")
WITHIN: Final = 10.0  # seconds for an answer
_MESSAGE: Final = 65536
_MOST_DESCRIPTORS: Final = 250  # of one message: unix(7)


class _Said(NamedTuple):
    """The service's answer: the search path of its programs, and sockets that listen in there."""

    path: str
    descriptors: list[int]


class _SharedServers:
    """The servers of a run that are reached in one service. The isolators of the run share them: so is the network."""

    def __init__(self, place: Path) -> None:
        self.users = 0
        self.path = ""
        self._place = place
        self._served: dict[Listener, Callable[[], None]] = {}
        self._lock = asyncio.Lock()

    async def admit(self, journal: Journal) -> None:
        """Let those servers be reached that have started since."""
        async with self._lock:
            new = [one for one in listeners_of(journal) if one not in self._served]
            said = await asyncio.to_thread(_ask, self._place, [(one.host, one.port) for one in new])
            self.path = said.path
            sockets = [socket.socket(fileno=descriptor) for descriptor in said.descriptors]
            for listener, sock in zip(new, sockets, strict=True):
                sock.setblocking(False)  # noqa: FBT003
                self._served[listener] = await listener.listen_also(sock)

    def close(self) -> None:
        """Let none be reached any more."""
        for end in self._served.values():
            end()
        self._served.clear()


_SHARED: Final[WeakKeyDictionary[Journal, dict[Path, _SharedServers]]] = WeakKeyDictionary()


class ServiceIsolator:
    """Runs the programs of one sandbox in a service.

    Args:
        journal: the servers that share it are reached in the service.
        place: the socket on which the service waits.
    """

    def __init__(self, journal: Journal, place: Path) -> None:
        self._journal = journal
        self._place = place
        self._shared: _SharedServers | None = None

    async def open(self) -> None:
        """Let the servers of the run be reached in the service.

        Raises:
            EnvironmentProblem: if it does not answer, or has taken the address of a server for itself.
        """
        shared = _SHARED.setdefault(self._journal, {}).setdefault(self._place, _SharedServers(self._place))
        await shared.admit(self._journal)
        shared.users += 1
        self._shared = shared

    async def enter(self, launch: Launch) -> Launch:
        """The launch that stands here for a program in the service."""
        if launch.terminal:
            raise ScriptError(
                "a program in a service has no terminal",
                hint="start it as a command, or with another isolation",
            )
        if self._shared is None:
            raise InvalidStateError("the sandbox is not open", hint="start the driver first")
        await self._shared.admit(self._journal)
        ours = {name for name in MACHINE_ONLY if launch.environment.get(name) == os.environ.get(name)}
        kept = {name: value for name, value in launch.environment.items() if name not in ours}
        stands = (sys.executable, "-I", "-S", str(SERVICE), "run", str(self._place), str(launch.cwd))
        return Launch((*stands, *launch.argv), launch.cwd, {"PATH": self._shared.path, **kept})

    async def leave(self, launch: Launch) -> None:
        """A program has ended; the launcher in the service has ended all that it left."""

    def read(self) -> None:
        """Put nothing on record: the network is the service's own."""

    async def close(self) -> None:
        """Let the servers be reached no more when no isolator of the run is left. Harmless when repeated."""
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.users -= 1
            if shared.users == 0:
                shared.close()


def _ask(place: Path, listen: Sequence[tuple[str, int]]) -> _Said:
    """Ask the service for sockets. Blocks."""
    try:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(WITHIN)
            asked.connect(str(place))
            asked.sendall(LISTEN + json.dumps(list(listen)).encode() + b"\n")
            data, descriptors, _, _ = socket.recv_fds(asked, _MESSAGE, _MOST_DESCRIPTORS)
    except OSError as error:
        raise _silent(place, error.strerror or str(error)) from None
    answer = json.loads(data or b"{}")
    if "path" in answer:
        return _Said(answer["path"], descriptors)
    raise _silent(place, answer.get("failed", "it has hung up"))


def _silent(place: Path, seen: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        "no program can be run in the service",
        expected=f"a service that waits at {place} and leaves the addresses of the run's servers alone",
        seen=seen,
        hint=f"in the service: python3 -I -S {SERVICE.name} serve {place}; see docs/isolation.md",
    )
