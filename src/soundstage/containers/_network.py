"""A network of containers. They find each other by name, and nothing outside unless it is asked for."""

from __future__ import annotations

from functools import partial
from types import TracebackType
from typing import Any, Self

from soundstage.containers._engine import Engine, forgiving, own_labels
from soundstage.errors import InvalidStateError
from soundstage.journal import Journal
from soundstage.lifecycle import Daemon, ScratchFolder


class Network(Daemon):
    """A network for containers of a run; a context manager, too.

    Args:
        journal: where its start and end go.
        internal: whether it leads nowhere else. Ports of containers can only be published if it does not.
        name: how messages call it.

    Raises:
        EnvironmentProblem: from `start`, if there is no engine, or it refuses.
    """

    def __init__(self, journal: Journal, *, internal: bool = True, name: str = "network") -> None:
        super().__init__(name, journal)
        self.internal = internal
        self._engine: Engine | None = None
        self._network: Any = None

    @property
    def id(self) -> str:
        """Its name in the engine."""
        if self._network is None:
            raise InvalidStateError(f"the network {self.name} is not there", hint="start it first")
        return str(self._network.name)

    async def _start(self) -> None:
        self._engine = engine = await Engine.connect()
        try:
            self._network = await engine.make(partial(self._make, engine), lambda made: made.remove())
        except BaseException:
            engine.close()
            raise

    def _make(self, engine: Engine) -> Any:
        with ScratchFolder() as folder:  # its name is nobody else's
            name = f"{folder.path.name}-{self.name}"
        return engine.client.networks.create(
            name, driver="bridge", internal=self.internal, labels=own_labels(), check_duplicate=True
        )

    async def _stop(self) -> None:
        if self._engine is not None:
            try:
                await self._engine.call(partial(forgiving, self._network.remove))
            finally:
                self._engine.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
