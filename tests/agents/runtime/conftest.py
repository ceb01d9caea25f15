"""Shared by the tests of the runtime: a team on virtual time, against a scripted model."""

from __future__ import annotations

import pytest

from soundstage.agents.runtime import (
    AgentDefinition,
    AgentLoop,
    AgentRegistry,
    AgentTask,
    ToolExecutor,
    ToolRegistry,
)
from soundstage.clock import SystemClock, run, running_clock
from soundstage.journal import Journal, ToolCalled, ToolReturned
from soundstage.messages import ToolCall
from soundstage.models import Script, ScriptedModel


class Stage:
    """One agent with its tools, and what it did."""

    def __init__(self, script, tools, definition, options):
        self.journal = Journal(clock=running_clock())
        self.model = options.pop("model", None) or ScriptedModel(script, clock=self.journal.clock)
        registry = ToolRegistry(tools)
        needed = {need for one in registry.values() for need in one.permissions}
        fields = {"slug": "worker", "tools": tuple(registry), "permissions": frozenset(needed), **definition}
        self.loop = AgentLoop(
            self.model, AgentRegistry([AgentDefinition(**fields)], registry), journal=self.journal, **options
        )

    async def run(self, prompt="go", **task):
        self.outcome = await self.loop.run(
            AgentTask(**{"id": "t1", "agent": "worker", "prompt": prompt, **task})
        )
        return self.outcome

    def events(self, kind):
        return self.journal.events(kind)


@pytest.fixture
def work():
    """Have an agent do one task on virtual time; the stage can be asked afterwards."""

    def work(script, *tools, prompt="go", task=None, definition=None, **options):
        async def main():
            stage = Stage(script, tools, definition or {}, options)
            await stage.run(prompt, **(task or {}))
            return stage

        return run(main())

    return work


@pytest.fixture
def stage():
    """A team for tests that need the loop while it works; make it inside the event loop."""

    def stage(script, *tools, definition=None, **options):
        return Stage(script, tools, definition or {}, options)

    return stage


class Used:
    """One call of a tool, and what came of it."""

    def __init__(self, journal, result):
        self.journal = journal
        self.result = result
        self.text = result.text
        self.called = journal.events(ToolCalled)
        self.returned = journal.events(ToolReturned)


@pytest.fixture
def use():
    """Run one tool once, without a model."""

    def use(
        tool, arguments=None, *, raw="", name="", agent=None, real=False, within=60.0, tools=(), **options
    ):
        async def main():
            journal = Journal(clock=running_clock())
            registry = ToolRegistry([tool, *tools])
            made = next(iter(registry.values()))
            definition = agent or AgentDefinition(
                slug="worker", tools=(made.name,), permissions=made.permissions
            )
            call = ToolCall(id="c1", name=name or made.name, arguments=arguments or {}, raw=raw)
            task = AgentTask(id="t1", agent="worker", conversation="talk")
            executor = ToolExecutor(registry, journal, **options)
            done = await executor.execute(call, definition, task, within=within, cause=None)
            return Used(journal, done.result)

        return run(main(), clock=SystemClock() if real else None)

    return use


@pytest.fixture
def script():
    """An empty script that fails on what it does not know."""
    return Script(strict=True)
