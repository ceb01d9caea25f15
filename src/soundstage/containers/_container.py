"""A container as a daemon: a service that a run needs, started with it and gone after it.

How it works. The container is made by the engine, and a bridge process below the launcher stands for it, as for any
program in a container: its lines are events as they come, its exit is known, and it is ended when the harness is. What
it is asked is what the engine knows: its health is read from the state that the engine keeps. Asking at intervals is
what a health check is; Docker does it by itself, and Podman does where systemd runs, so there we ask it to.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.clock import time_limit
from soundstage.containers._engine import Engine, forgiving, own_labels
from soundstage.containers._events import HealthChanged
from soundstage.containers._exec import run_in
from soundstage.containers._health import SECOND, Health, HealthCheck, health_of
from soundstage.containers._isolator import bridge_to
from soundstage.containers._network import Network
from soundstage.errors import AppError, EnvironmentProblem, InvalidStateError, WaitTimeout
from soundstage.journal import Journal, MessageSent
from soundstage.lifecycle import GRACE, Daemon, Finished, Process
from soundstage.net import LOOPBACK

WITHIN: Final = 30.0
ASKED_EVERY: Final = 0.5  # seconds, at most, between two looks at the state that the engine keeps


class Mount(NamedTuple):
    """A folder of ours, or a volume of the engine, in a container.

    Args:
        source: a path of ours, or the name of a volume.
        target: where it is inside.
        write: whether it may be written.
    """

    source: Path | str
    target: str
    write: bool = False


class Container(Daemon):
    """A service in a container. It counts as started when it is healthy, if it has a health check.

    Args:
        image: its image; it has to be there: nothing is pulled.
        journal: where its start, lines, health and exit go.
        command: what it runs; what the image says unless given.
        environment: its variables; nothing of ours is passed on.
        mounts: what it sees of ours, read-only unless said otherwise.
        networks: networks that it is on, under its name; none at all unless given.
        ports: which of its ports are reached on which port of loopback here; 0 picks a free one.
        health: how it is asked whether it is well; what the image says unless given.
        user: who it runs as; what the image says unless given.
        workdir: where it runs; what the image says unless given.
        aliases: other names for it on its networks.
        within: seconds that it may take to become healthy.
        grace: seconds that it gets after SIGTERM, when it is stopped.
        name: how messages, the journal and its networks call it.

    Raises:
        EnvironmentProblem: from `start`, if there is no engine, no image, or the engine refuses.
        AppError: from `start`, if it exits, or does not become healthy in time.

    Example:
        ::

            async with Network(journal) as closed:
                web = Container("my-web", journal, networks=[closed], health=HealthCheck(("test", "-e", "/ready")))
                await web.start()
                assert (await web.run("cat", "/etc/hostname")).code == 0
                await web.stop()
    """

    def __init__(
        self,
        image: str,
        journal: Journal,
        *,
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        mounts: Sequence[Mount] = (),
        networks: Sequence[Network] = (),
        ports: Mapping[int, int] | None = None,
        health: HealthCheck | None = None,
        user: str = "",
        workdir: str = "",
        aliases: Sequence[str] = (),
        within: float = WITHIN,
        grace: float = GRACE,
        name: str = "container",
    ) -> None:
        super().__init__(name, journal)
        self.image = image
        self.command = tuple(command)
        self._environment = dict(environment or {})
        self._mounts = tuple(mounts)
        self._networks = tuple(networks)
        self._ports = dict(ports or {})
        self._check = health
        self._user = user
        self._workdir = workdir
        self._aliases = tuple(aliases)
        self._within = within
        self._grace = grace
        self._engine: Engine | None = None
        self._container: Any = None
        self._process: Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._health = Health("none")
        self._changed = asyncio.Event()
        self._stopping = False
        self._started: asyncio.Future[str] | None = None

    # Its life.

    async def _start(self) -> None:
        self._engine = await Engine.connect()
        try:
            await self._begin(self._engine)
        except BaseException:
            await self._stop()
            raise

    async def _begin(self, engine: Engine) -> None:
        engine.socket  # noqa: B018  (it has to be on this machine)
        self._container = await engine.make(partial(self._make, engine), _remove)
        await engine.call(self._container.reload)
        self._started = asyncio.get_running_loop().create_future()
        self._process = Process(
            bridge_to(engine, self._container),
            self.journal,
            source=self.name,
            cwd=Path("/"),
            environment={},
            on_line=self._heard,
            shown=(self.image, *self.command),
        )
        await self._process.start()
        self._process.end_input()
        await self._unless_exited(self._started)
        if problem := self._started.result():
            raise EnvironmentProblem(f"the container {self.name} cannot be started", seen=problem)
        self._watch = asyncio.create_task(self._keep_watch(engine), name=f"{self.name} health")
        await self._become_healthy()

    def _make(self, engine: Engine) -> Any:
        """Blocks: the container, not started yet."""
        names = [self.name, *self._aliases]
        first = self._networks[0] if self._networks else None
        network: dict[str, Any] = {"network_mode": "none"}
        if first is not None:
            endpoint = engine.client.api.create_endpoint_config(aliases=names)
            network = {"network": first.id, "networking_config": {first.id: endpoint}}
        container = engine.client.containers.create(
            self.image,
            list(self.command) or None,
            hostname=self.name,
            environment=self._environment,
            volumes=self._volumes(),
            user=self._user or None,
            working_dir=self._workdir or None,
            ports={f"{inside}/tcp": (LOOPBACK, outside or None) for inside, outside in self._ports.items()},
            healthcheck=self._check.for_engine() if self._check is not None else None,
            **network,
            init=True,
            stdin_open=True,
            labels={**own_labels(), "soundstage.service": self.name},
        )
        try:
            for other in self._networks[1:]:
                engine.client.networks.get(other.id).connect(container, aliases=names)
        except BaseException:
            forgiving(partial(_remove, container))
            raise
        return container

    def _volumes(self) -> dict[str, dict[str, str]]:
        return {
            str(mount.source): {"bind": mount.target, "mode": "rw" if mount.write else "ro"}
            for mount in self._mounts
        }

    async def _stop(self) -> None:
        self._health, self._stopping = self.health, True
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait({self._watch})
        engine, container = self._engine, self._container
        try:
            if self._process is not None and self._process.alive:
                await self._process.terminate(grace=self._grace)
            if engine is not None and container is not None:
                await engine.call(partial(forgiving, partial(_remove, container)))
        finally:
            if engine is not None:
                engine.close()

    def _heard(self, channel: str, line: str) -> None:
        if self._started is not None and not self._started.done():
            self._started.set_result(str(json.loads(line)["problem"]))
            return
        assert self._process is not None
        event = MessageSent(text=line, channel=channel, sender=self.name)
        self.journal.append(event, source=self.name, cause=self._process.started_at)

    async def _unless_exited(self, future: asyncio.Future[Any]) -> None:
        over = asyncio.ensure_future(self._running().wait())
        try:
            await asyncio.wait({future, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
        if not future.done():
            future.cancel()
            raise AppError(f"{self.name} ended before it ran", seen=self._running().describe_exit())

    def _running(self) -> Process:
        if self._process is None:
            raise InvalidStateError(f"{self.name} does not run", hint="start it first")
        return self._process

    # How it is.

    @property
    def id(self) -> str:
        """Its id in the engine."""
        if self._container is None:
            raise InvalidStateError(f"{self.name} does not run", hint="start it first")
        return str(self._container.id)

    @property
    def health(self) -> Health:
        """The last state of health from the engine; after it was stopped: the one before that."""
        if self.exit_code is not None and not self._stopping:
            return self._health._replace(running=False, exit_code=self.exit_code)
        return self._health

    @property
    def exit_code(self) -> int | None:
        """The exit code; `None` while it runs."""
        return self._process.code if self._process is not None and not self._process.alive else None

    async def _keep_watch(self, engine: Engine) -> None:
        """Look at its health at the intervals of its check, and tell when it has changed."""
        while self._running().alive and self._interval:
            found = await engine.call(partial(self._look, engine))
            if found.status != self._health.status and found.status != "none":
                told = HealthChanged(service=self.name, status=found.status, output=found.output)
                self.journal.append(told, source=self.name, cause=self._running().started_at)
            self._health = found
            self._changed.set()
            await asyncio.sleep(self._interval if engine.is_podman else min(self._interval, ASKED_EVERY))

    @property
    def _interval(self) -> float:
        """Seconds between two checks, by us or by the image; 0 if there is none."""
        if self._check is not None:
            return self._check.interval
        found = self._container.attrs["Config"].get("Healthcheck") or {}
        return float(found.get("Interval") or HealthCheck(()).interval * SECOND) / SECOND if found else 0.0

    def _look(self, engine: Engine) -> Health:
        """Blocks: its state, after a check that we ask for where nobody else does."""
        if engine.is_podman:
            address = f"{engine.client.api.base_url}/v4.0.0/libpod/containers/{self.id}/healthcheck"
            engine.client.api._get(address).close()  # noqa: SLF001  (the SDK has no name for it)
        self._container.reload()
        return health_of(self._container.attrs)

    async def _become_healthy(self) -> None:
        if not self._interval:
            return
        try:
            async with asyncio.timeout(self._within):
                while self._health.status in ("starting", "none"):
                    self._changed.clear()
                    await self._unless_exited(asyncio.ensure_future(self._changed.wait()))
        except TimeoutError:
            pass
        if self._health.status != "healthy":
            late = f"{self.name} is not healthy within {self._within:g} s"
            raise AppError(
                f"{self.name} is unhealthy" if self._health.status == "unhealthy" else late,
                expected="a health check that succeeds",
                seen=str(self._health),
                hint="its lines are in the journal",
            )

    # What can be done with it.

    def port(self, inside: int) -> int:
        """The port of loopback here that leads to one of its ports.

        Raises:
            InvalidStateError: if that port is not published.
        """
        found = (self._container.attrs["NetworkSettings"]["Ports"] or {}) if self._container else {}
        places = found.get(f"{inside}/tcp")
        if not places:
            raise InvalidStateError(f"port {inside} of {self.name} is not published", seen=str(sorted(found)))
        return int(places[0]["HostPort"])

    async def run(
        self, *argv: str, within: float = WITHIN, environment: Mapping[str, str] | None = None
    ) -> Finished:
        """Run a command in it, beside what it runs.

        Raises:
            WaitTimeout: if it takes longer than `within` seconds; it goes on until the container ends.
        """
        if self._engine is None:
            raise InvalidStateError(f"{self.name} does not run", hint="start it first")
        work = partial(run_in, self._engine, self.id, argv, environment or {})
        try:
            async with time_limit(within):
                return await self._engine.call(work)
        except TimeoutError:
            raise WaitTimeout(f"{' '.join(argv)} did not end in {self.name} within {within:g} s") from None

    async def wait(self, *, within: float = WITHIN) -> int:
        """Wait until it has exited by itself, and return its exit code.

        Raises:
            WaitTimeout: if it does not exit in time; it runs on.
        """
        try:
            async with time_limit(within):
                return await self._running().wait()
        except TimeoutError:
            raise WaitTimeout(f"{self.name} did not exit within {within:g} s") from None


def _remove(container: Any) -> None:
    container.remove(force=True, v=True)
