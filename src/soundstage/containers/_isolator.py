"""Programs of a sandbox, each in a container of its own, with the servers of the run on loopback in it.

How it works. A container gets no network from the engine. It is started with a shell that waits at a gate (a FIFO)
and then becomes the program. Meanwhile the harness enters the container's network by the process id that the engine
tells, and opens there what it opens in a network of its own (`isolation/_netns.py`): a socket for each server of the
run, at the same address as outside, and the way out that is put on record and refused. Then the launcher
starts the bridge (`_bridge.py`), which opens the gate.

Folders are mounted at the same paths as outside: the sandbox's and the one that the program works in to be written,
others that are named to be read. Gate and names are in a folder of ours, of which each container may read its own part:
what programs can write to, we do not write to, because a link there would lead us. The image brings the rest. What the
program changes there goes with the container.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.containers._engine import LABEL, Engine, forgiving, own_labels
from soundstage.errors import EnvironmentProblem, InvalidStateError
from soundstage.isolation import RunServers, name_files
from soundstage.journal import Journal
from soundstage.lifecycle import MACHINE_ONLY, Launch, ScratchFolder

BRIDGE: Final = Path(__file__).with_name("_bridge.py")
NAMES: Final = "resolv.conf"
GATE: Final = 'read -r word <"$1"; [ "$word" = silent ] && stty -echo 2>/dev/null; shift; exec "$@"'


class _Running(NamedTuple):
    """A container, and what we hold of it."""

    container: Any
    servers: RunServers
    gate: int


def bridge_to(engine: Engine, container: Any, *, gate: str = "", terminal: bool = False) -> tuple[str, ...]:
    """The command that stands for a container, for the launcher."""
    job = {"socket": engine.socket, "container": container.id, "gate": gate, "terminal": terminal}
    return (sys.executable, "-I", "-S", str(BRIDGE), json.dumps(job))


class ContainerIsolator:
    """Runs each program of a sandbox in a container.

    Args:
        journal: where tries to leave go; the servers that share it are reached inside.
        image: what the program finds besides the folders.
        folder: the sandbox's folder.
        reads: files and folders that programs may read; more may be added later.
        writes: those that it may write.
        name: how the journal calls it.
    """

    def __init__(
        self,
        journal: Journal,
        image: str,
        folder: Path,
        *,
        reads: Sequence[Path] = (),
        writes: Iterable[Path] = (),
        name: str = "egress",
    ) -> None:
        self._journal = journal
        self._image = image
        self._folder = folder
        self._reads = reads
        self._writes = (folder, *writes)
        self._name = name
        self._label = f"{LABEL}.isolator={folder.name}"
        self._engine: Engine | None = None
        self._running: dict[tuple[str, ...], _Running] = {}
        self._count = 0
        self._own: ScratchFolder | None = None

    async def open(self) -> None:
        """Find the engine and the image.

        Raises:
            EnvironmentProblem: if there is no engine, no image, or its containers cannot be entered from here.
        """
        self._engine = engine = await Engine.connect()
        engine.socket  # noqa: B018  (it has to be on this machine)
        await engine.call(lambda: engine.client.images.get(self._image))
        self._own = ScratchFolder("isolator")

    async def enter(self, launch: Launch) -> Launch:
        """Start a container for a program; what is to be launched is the bridge to it."""
        engine = self._connected()
        path = self._new_gate()
        gate = os.open(path, os.O_RDWR)  # keeps what is written to it until the container reads
        servers = RunServers(self._journal, self._name)
        try:
            container = await engine.call(lambda: self._start(engine, launch, path))
            await self._furnish(servers, container.attrs["State"]["Pid"])
        except BaseException:
            servers.close()
            os.close(gate)
            raise
        argv = bridge_to(engine, container, gate=str(path), terminal=launch.terminal)
        bridge = Launch(argv, Path("/"), {}, terminal=launch.terminal)
        self._running[argv] = _Running(container, servers, gate)
        return bridge

    def _new_gate(self) -> Path:
        """A gate for one container, with the file that says where names are looked up beside it."""
        self._count += 1
        assert self._own is not None  # it is open
        folder = self._own.path / str(self._count)
        folder.mkdir()
        (folder / NAMES).write_text(name_files()[NAMES])
        os.mkfifo(folder / "gate")
        return folder / "gate"

    def _connected(self) -> Engine:
        if self._engine is None:
            raise InvalidStateError("the sandbox is not open", hint="start the driver first")
        return self._engine

    def _start(self, engine: Engine, launch: Launch, gate: Path) -> Any:
        """Blocks: a container in which the program waits at the gate."""
        ours = {name for name in MACHINE_ONLY if launch.environment.get(name) == os.environ.get(name)}
        container = engine.client.containers.create(
            self._image,
            [*("soundstage", str(gate)), *launch.argv],
            entrypoint=["/bin/sh", "-c", GATE],
            environment={name: value for name, value in launch.environment.items() if name not in ours},
            working_dir=str(launch.cwd),
            volumes=self._mounts(launch.cwd, gate.parent),
            user=engine.user or None,
            stdin_open=True,
            tty=launch.terminal,
            network_mode="none",
            init=True,  # signals end a program that has no handler for them, which process 1 would not be by
            security_opt=["no-new-privileges"],
            labels={**own_labels(), **dict([self._label.split("=", 1)])},
        )
        try:
            container.start()
            container.reload()
        except BaseException:
            forgiving(partial(container.remove, force=True, v=True))
            raise
        return container

    def _mounts(self, cwd: Path, own: Path) -> dict[str, dict[str, str]]:
        mounts = {str(path): {"bind": str(path), "mode": "ro"} for path in (*self._reads, own)}
        mounts |= {str(path): {"bind": str(path), "mode": "rw"} for path in (*self._writes, cwd)}
        return mounts | {str(own / NAMES): {"bind": f"/etc/{NAMES}", "mode": "ro"}}

    async def _furnish(self, servers: RunServers, pid: int) -> None:
        """Open the servers' sockets and the way out in the network of a container."""
        handles: list[int] = []
        try:
            for kind in ("user", "net"):
                place = f"/proc/{pid}/ns/{kind}"
                if os.readlink(place) != os.readlink(f"/proc/self/ns/{kind}"):  # noqa: PTH115
                    handles.append(os.open(place, os.O_RDONLY))
            await servers.open(handles)
        except OSError as error:
            raise EnvironmentProblem(
                "the network of a container cannot be entered from here",
                expected="an engine on this machine, whose containers this user may enter: as root, or rootless Podman",
                seen=f"{error.filename}: {error.strerror}",
                hint="run the tests as root, or with rootless Podman; or use isolation='netns'",
            ) from None
        finally:
            for handle in handles:
                os.close(handle)

    async def leave(self, launch: Launch) -> None:
        """Remove the container of a program that is over."""
        running = self._running.pop(launch.argv, None)
        if running is not None:
            running.servers.close()
            os.close(running.gate)
            remove = partial(running.container.remove, force=True, v=True)
            await self._connected().call(partial(forgiving, remove))

    def read(self) -> None:
        """Put on record what programs have tried so far."""
        for running in self._running.values():
            running.servers.read()

    async def close(self) -> None:
        """Remove all containers. Harmless when repeated."""
        engine, self._engine = self._engine, None
        for running in self._running.values():
            running.servers.close()
            os.close(running.gate)
        self._running.clear()
        own, self._own = self._own, None
        try:
            if engine is not None:
                try:
                    await engine.call(lambda: engine.remove_labelled(self._label))
                finally:
                    engine.close()
        finally:
            if own is not None:
                own.close()
