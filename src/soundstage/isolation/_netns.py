"""A network of its own for a program: the servers of its run are in it, and nothing else.

How it works. A short-lived program makes the namespaces (`_netns_setup.py`) and sends us descriptors: of the
namespaces, which the launcher enters before it starts a program; of a listening socket for each server of the
run, which the server then serves like its own; and of the interface to which everything else is routed. What
comes out of that one is a packet from a program that wants to leave. We say so in the journal, with the name that
was asked for or the address, and refuse at once (`_netns_packets.py`). No packet is ever passed on.

What it guards. Every process inside, however it was started and whatever variables it ignores, has no other
network. Files are shared, so a Unix socket that lies in the file system (of a container engine, of a desktop)
can be reached by those who may open it.

Nothing is left behind: the namespaces are held by our descriptors and by the programs inside, and by nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.errors import EnvironmentProblem, HarnessError
from soundstage.isolation._netns_outside import Outside
from soundstage.journal import Journal
from soundstage.lifecycle import Launch
from soundstage.net import Listener, listeners_of

SETUP: Final = Path(__file__).with_name("_netns_setup.py")
WITHIN: Final = 10.0  # seconds for making the namespaces
NAME_SERVER: Final = (
    "192.0.2.53"  # reserved for documentation (RFC 5737): nobody's, so it is asked through us
)
_MESSAGE: Final = 65536
_MOST_DESCRIPTORS: Final = 250  # of one message: unix(7)
_HINTS: Final = {
    "unshare": "allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)",
    "ids": "allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0)",
    "mount": "allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0)",
    "loopback": "allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0)",
    "tun": "load the driver (modprobe tun); a container needs the device /dev/net/tun",
    "sandbox": "a sandbox needs Linux 5.12 or later, and file systems that can be mounted in user namespaces",
    "listen": "the program has taken the address of a server for itself",
}


class Made(NamedTuple):
    """The answer of the program that makes namespaces."""

    answer: dict[str, Any]
    descriptors: list[int]


class Namespace:
    """The network of one program, or of several that belong together.

    Args:
        journal: where `EgressTried` events go; the servers that share it are reached inside.
        folder: a folder for the files that say how names are looked up.
        name: how the journal calls it.
    """

    def __init__(self, journal: Journal, folder: Path, *, name: str = "egress") -> None:
        self._journal = journal
        self._folder = folder
        self._name = name
        self._handles: tuple[int, ...] = ()
        self._servers: RunServers | None = None

    async def open(self) -> None:
        """Make it, with all servers of the run in it.

        Raises:
            EnvironmentProblem: if the system does not let us.
        """
        servers = RunServers(self._journal, self._name)
        self._handles = await servers.open(files=self._write_files())
        self._servers = servers

    async def enter(self, launch: Launch) -> Launch:
        """Let a program be launched in here. Servers that have started meanwhile can be reached then, too.

        Raises:
            EnvironmentProblem: if a program inside has taken the address of one.
        """
        await self._admit()
        return launch._replace(handles=self._handles)

    async def _admit(self, view: Mapping[str, Any] | None = None) -> tuple[int, ...]:
        """Let servers be reached; descriptors of what is made for one program with this view, if it is to have one."""
        return () if self._servers is None else await self._servers.admit(self._handles, view)

    async def leave(self, launch: Launch) -> None:
        """A program has ended; the next one may come."""

    def _write_files(self) -> dict[str, str]:
        """Which file is to be replaced by which: names are looked up in ours alone, and then asked for."""
        self._folder.mkdir()
        for name, text in name_files().items():
            (self._folder / name).write_text(text)
        return {place: str(self._folder / Path(place).name) for place in replaced_files()}

    def read(self) -> None:
        """Put on record what programs have tried so far."""
        if self._servers is not None:
            self._servers.read()

    async def close(self) -> None:
        """Let go of it; the system removes it when the last program inside has ended. Harmless when repeated."""
        if self._servers is not None:
            self._servers.close()
            self._servers = None
        for handle in self._handles:
            os.close(handle)
        self._handles = ()


def replaced_files() -> list[str]:
    """Where a program finds ours instead of the machine's."""
    return [f"/etc/{name}" for name in name_files()]


def name_files() -> dict[str, str]:
    """The files that say how names are looked up, for a program that is to ask nobody but us."""
    host = socket.gethostname()
    return {
        "resolv.conf": f"nameserver {NAME_SERVER}\noptions timeout:2 attempts:1\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "hosts": f"127.0.0.1 localhost {host}\n::1 localhost ip6-localhost\n",
    }


class RunServers:
    """The servers of the run, opened inside of another network, and the end of the way out of it.

    Args:
        journal: where tries go; the servers that share it are reached inside.
        name: how the journal calls it.
    """

    def __init__(self, journal: Journal, name: str) -> None:
        self._journal = journal
        self._name = name
        self._outside: Outside | None = None
        self._served: dict[Listener, Callable[[], None]] = {}

    async def open(
        self, namespaces: Sequence[int] = (), files: Mapping[str, str] | None = None
    ) -> tuple[int, ...]:
        """Make the way out and the servers' sockets, in these namespaces, or in new ones, which are returned."""
        listeners = listeners_of(self._journal)
        job = {
            "namespaces": namespaces,
            "files": dict(files or {}),
            "interface": True,
            "listen": _places(listeners),
        }
        made = await set_up(job)
        *handles, device = made.descriptors[: made.answer["made"]]
        self._outside = Outside(device, self._journal, self._name)
        await self._serve(listeners, made)
        return tuple(handles)

    async def admit(
        self, namespaces: Sequence[int], view: Mapping[str, Any] | None = None
    ) -> tuple[int, ...]:
        """Open sockets for those servers that have started since. With a view, make namespaces for one program."""
        listeners = [one for one in listeners_of(self._journal) if one not in self._served]
        if not listeners and view is None:
            return ()
        places = _places(listeners)
        made = await set_up({"namespaces": namespaces, "interface": False, "listen": places, "view": view})
        await self._serve(listeners, made)
        return tuple(made.descriptors[: made.answer["made"]])

    async def _serve(self, listeners: Sequence[Listener], made: Made) -> None:
        sockets = [socket.socket(fileno=fd) for fd in made.descriptors[made.answer["made"] :]]
        for listener, sock in zip(listeners, sockets, strict=True):
            sock.setblocking(False)  # noqa: FBT003
            self._served[listener] = await listener.listen_also(sock)

    def read(self) -> None:
        """Put on record what programs have tried so far."""
        if self._outside is not None:
            self._outside.read()

    def close(self) -> None:
        """Close the sockets and the way out. Harmless when repeated."""
        for end in self._served.values():
            end()
        self._served.clear()
        if self._outside is not None:
            self._outside.close()


def _places(listeners: Sequence[Listener]) -> list[tuple[str, int]]:
    return [(listener.host, listener.port) for listener in listeners]


async def set_up(job: Mapping[str, Any]) -> Made:
    """Run the program that makes namespaces, and what it sends."""
    if not sys.platform.startswith("linux"):
        raise _problem(f"this is {sys.platform}", "only Linux has them")
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(SETUP), str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(), *job["namespaces"]),
                env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
            )
        try:
            async with asyncio.timeout(WITHIN):
                return await _answer(ours, job, process)
        except TimeoutError:
            raise HarnessError(f"the namespaces were not made within {WITHIN:g} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _answer(ours: socket.socket, job: Mapping[str, Any], process: asyncio.subprocess.Process) -> Made:
    ours.setblocking(False)  # noqa: FBT003
    ours.sendall(json.dumps(job).encode() + b"\n")
    await _readable(ours)
    data, descriptors, _, _ = socket.recv_fds(ours, _MESSAGE, _MOST_DESCRIPTORS)
    if not data:
        _, errors = await process.communicate()
        raise HarnessError("making the namespaces failed", seen=errors.decode("utf-8", "replace"))
    answer: dict[str, Any] = json.loads(data)
    if "failed" in answer:
        raise _problem(f"{answer['step']}: {answer['failed']}", _HINTS.get(answer["step"], ""))
    return Made(answer, descriptors)


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(sock, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(sock)


def _problem(seen: str, hint: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        "a program cannot have a network of its own here",
        expected="a Linux kernel that lets this user make user and network namespaces, and has TUN devices",
        seen=seen,
        hint=f"{hint}; or use isolation='process'" if hint else "use isolation='process'",
    )
