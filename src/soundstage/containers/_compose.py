"""A compose file as a daemon: all of its services up and healthy, and later nothing of them left.

How it works. What `docker compose up --wait` and `down --volumes` do, by the Docker API, so that it works with either
engine and with no compose tool installed: networks and volumes first, then the services in the order of their
dependencies. Each of those with a health check has to be healthy before the next one starts. If one is late, what is
there is taken down again, and the error says of every service how it was.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from soundstage.containers._compose_file import ComposeFile, Service, is_path, read_compose
from soundstage.containers._container import WITHIN, Container, Mount
from soundstage.containers._engine import Engine, forgiving, own_labels
from soundstage.containers._network import Network
from soundstage.errors import AppError, InvalidStateError
from soundstage.journal import Journal
from soundstage.lifecycle import Daemon, ScratchFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LATE: Final = "the services did not come up"


class Compose(Daemon):
    """The services of a compose file.

    Args:
        file: the compose file; see docs/isolation.md for the keys that it may have.
        journal: where everything goes that services say.
        environment: variables that the file may use; ours unless given.
        within: seconds that each service may take to become healthy.
        build: whether images that are not there are built, if the file says how.
        name: how messages call it; the file's own name unless given.

    Raises:
        ScriptError: if the file is wrong.
        AppError: from `start`, if a service exits or is late; with the state of each.
        EnvironmentProblem: from `start`, if there is no engine, or it refuses.

    Example:
        ::

            compose = Compose(Path("containers/compose.yaml"), journal)
            await compose.start()
            answer = await compose.service("claude-code").run("claude", "--version")
            await compose.stop()
    """

    def __init__(
        self,
        file: Path | str,
        journal: Journal,
        *,
        environment: Mapping[str, str] | None = None,
        within: float = WITHIN,
        build: bool = True,
        name: str = "",
    ) -> None:
        self._path = Path(file).resolve()
        self.file: ComposeFile = read_compose(self._path, os.environ if environment is None else environment)
        super().__init__(name or self.file.name, journal)
        self._within = within
        self._build = build
        self._services: dict[str, Container] = {}
        self._open: AsyncExitStack | None = None

    def service(self, name: str) -> Container:
        """The container of a service.

        Raises:
            InvalidStateError: if there is none of that name, or it has not been started.
        """
        if name not in self._services:
            raise InvalidStateError(
                f"{self.name} has no service {name!r} that runs", expected=", ".join(self._services) or "none"
            )
        return self._services[name]

    def states(self) -> dict[str, str]:
        """Of each service in the file, how it is."""
        return {
            name: str(self._services[name].health) if name in self._services else "not started"
            for name in self.file.order()
        }

    async def _start(self) -> None:
        async with AsyncExitStack() as opened:
            engine = await Engine.connect()
            opened.callback(engine.close)
            networks = await self._start_networks(opened)
            volumes = await self._make_volumes(engine, opened)
            for name in self.file.order():
                await self._start_service(engine, opened, name, networks, volumes)
            self._open = opened.pop_all()

    async def _start_networks(self, opened: AsyncExitStack) -> dict[str, Network]:
        networks = {}
        for name, spec in self.file.networks.items():
            network = Network(self.journal, internal=spec is not None and spec.internal, name=name)
            networks[name] = await opened.enter_async_context(network)
        return networks

    async def _make_volumes(self, engine: Engine, opened: AsyncExitStack) -> dict[str, str]:
        with ScratchFolder() as folder:  # its name is nobody else's
            names = {name: f"{folder.path.name}-{name}" for name in self.file.volumes}
        for name in names.values():
            make = partial(engine.client.volumes.create, name, labels=own_labels())
            volume = await engine.make(make, _remove)
            opened.push_async_callback(engine.call, partial(forgiving, partial(_remove, volume)))
        return names

    async def _start_service(
        self,
        engine: Engine,
        opened: AsyncExitStack,
        name: str,
        networks: Mapping[str, Network],
        volumes: Mapping[str, str],
    ) -> None:
        spec = self.file.services[name]
        await self._have_image(engine, spec)
        container = Container(
            spec.image,
            self.journal,
            command=spec.argv,
            environment=spec.variables,
            mounts=[self._mount(volume, volumes) for volume in spec.volumes],
            networks=[networks[network] for network in spec.networks],
            ports=spec.published,
            health=spec.check,
            user=spec.user,
            workdir=spec.working_dir,
            within=self._within,
            name=name,
        )
        self._services[name] = container
        try:
            await container.start()
        except AppError as error:
            states = "\n".join(f"{one}: {state}" for one, state in self.states().items())
            raise AppError(f"{LATE}: {error.summary}", expected="all of them up", seen=states) from error
        opened.push_async_callback(container.stop)

    async def _have_image(self, engine: Engine, spec: Service) -> None:
        """Build an image that is not there, if the file says how; otherwise the engine will say what is missing."""
        if not self._build or spec.build is None:
            return
        if await engine.call(partial(engine.client.images.list, name=spec.image)):
            return
        work = partial(
            engine.client.images.build,
            path=str(self._path.parent / spec.build.context),
            dockerfile=spec.build.dockerfile,
            buildargs=spec.build.args,
            tag=spec.image,
            rm=True,
            forcerm=True,
        )
        await engine.call(work)

    def _mount(self, volume: str, volumes: Mapping[str, str]) -> Mount:
        source, target, *mode = volume.split(":")
        where: Path | str = (self._path.parent / source).resolve() if is_path(source) else volumes[source]
        return Mount(where, target, write=mode != ["ro"])

    async def _stop(self) -> None:
        if self._open is not None:
            await self._open.aclose()
            self._open = None


def _remove(volume: Any) -> None:
    volume.remove(force=True)


class ComposeStage:
    """One set of services for many tests: started once and shared, or started anew for each.

    Args:
        make: makes the services: `lambda: Compose(file, journal)`.
        strategy: `suite`: they start with the first test and stay; `clean` is called after each test. `test`: each
            test has its own, which costs some seconds, and shares nothing.
        clean: makes shared services as they were: removes projects, plugins, artifacts.

    Example:
        ::

            stage = ComposeStage(lambda: Compose(file, journal), clean=remove_projects)
            async with stage.test() as compose:
                ...
            await stage.close()
    """

    def __init__(
        self,
        make: Callable[[], Compose],
        *,
        strategy: Literal["suite", "test"] = "suite",
        clean: Callable[[Compose], Awaitable[Any]] | None = None,
    ) -> None:
        self._make = make
        self._strategy = strategy
        self._clean = clean
        self._shared: Compose | None = None

    @asynccontextmanager
    async def test(self) -> AsyncIterator[Compose]:
        """The services for one test."""
        if self._strategy == "test":
            compose = self._make()
            await compose.start()
            try:
                yield compose
            finally:
                await compose.stop()
            return
        if self._shared is None:
            compose = self._make()
            await compose.start()
            self._shared = compose
        try:
            yield self._shared
        finally:
            if self._clean is not None:
                await self._clean(self._shared)

    async def close(self) -> None:
        """Stop what is shared. Harmless when repeated."""
        compose, self._shared = self._shared, None
        if compose is not None:
            await compose.stop()
