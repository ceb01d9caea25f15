"""Shared by the tests of apps: a journal on the running clock, an app on its own, and a console of lines."""

from __future__ import annotations

import asyncio
from collections import deque

import pytest

from soundstage.agents import AppBuilder, StandaloneContext
from soundstage.clock import run, running_clock
from soundstage.journal import Journal
from soundstage.models import JournaledModel, Script, ScriptedModel


class Lines:
    """The least that a console branch needs. It is no relative of any class of ours."""

    def __init__(self, *lines):
        self.coming = deque(lines)
        self.written = []
        self.more = asyncio.Event()
        self.ended = False

    def type(self, line):
        self.coming.append(line)
        self.more.set()

    def end(self):
        self.ended = True
        self.more.set()

    async def read_line(self):
        while not self.coming:
            if self.ended:
                return None
            self.more.clear()
            await self.more.wait()
        return self.coming.popleft()

    def write_line(self, text=""):
        self.written.append(text)


class Around:
    """An app on virtual time, without a host."""

    def __init__(self, configure, *, script=None, lines=(), model=None, end=True):
        self.journal = Journal(clock=running_clock())
        self.console = Lines(*lines)
        self.console.ended = end
        scripted = ScriptedModel(script or Script(strict=True), clock=self.journal.clock)
        self.model = JournaledModel(model or scripted, self.journal)
        self.configure = configure

    @property
    def surroundings(self):
        return StandaloneContext(self.journal, self.journal.clock, self.model, self.console)

    def app(self):
        return AppBuilder().apply(self.configure).build()

    async def run(self):
        await self.app()(self.surroundings)
        return self

    def told(self, kind):
        return [event.text for event in self.journal.events(kind)]


@pytest.fixture
def run_app():
    """Run an app to its end on virtual time; what is around it can be asked afterwards."""

    def run_app(configure, **options):
        async def main():
            return await Around(configure, **options).run()

        return run(main())

    return run_app


@pytest.fixture
def around():
    """Inside a running loop: an app and what is around it."""
    return Around
