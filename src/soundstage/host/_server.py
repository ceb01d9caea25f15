"""The model server of a run."""

from __future__ import annotations

import os

from soundstage.host._host import Host
from soundstage.models import Model
from soundstage.wire import ModelServer


class ServerOfRun(ModelServer):
    """While it serves, the default clients of this process ask it, and the user's keys are out of reach."""

    def __init__(self, host: Host, model: Model) -> None:
        super().__init__(model, host.journal, ids=host.ids, clock=host.clock)
        self._run = host

    async def _start(self) -> None:
        await super()._start()
        self._run.closed.put(self.stand_ins(os.environ))
