"""Builders for tests of your own: a workspace, a runner, a context, reporters, what a judge is to judge.

Each is a record of options. `make()` makes the thing, anew each time; `with_overrides(...)` gives a builder with other
options and leaves the first as it is. What a thing needs is an option, too: nothing is made behind your back.

Example:
    ::

        EDIT = RecordedRunnerBuilder(root=Path("scenarios"), scenario="simple-file-edit")

        async def test_the_edit_is_within_its_budget(journal):
            runner = EDIT.with_overrides(journal=journal, options={"budget": Budget(cost=0.10)}).make()
            assert_complete_hooks(await runner.run("Rename the function"))
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from soundstage.errors import UnknownNameError, WrongValueError, did_you_mean
from soundstage.journal import Journal
from soundstage.judges import Judge, Rubric
from soundstage.models import Script, ScriptedModel
from soundstage.runs import AgentRunner, RunResult
from soundstage.scenarios._folder import load_recording
from soundstage.scenarios._recorded_session import RecordedSession
from soundstage.scenarios._result import result_of
from soundstage.workflows import Reporter, WorkflowContext
from soundstage.worlds import Workspace

__all__ = [
    "ContextBuilder",
    "FixtureBuilder",
    "JudgedRunBuilder",
    "RecordedJudgeBuilder",
    "RecordedRunnerBuilder",
    "RecordedSession",
    "ReporterSpiesBuilder",
    "ReporterSpy",
    "WorkspaceBuilder",
]
JUDGED: Final = ("judge-happy-path", "judge-fail", "judge-malformed-response")


class FixtureBuilder(msgspec.Struct, frozen=True, kw_only=True):
    """Base of builders."""

    def with_overrides(self, **options: Any) -> Self:
        """A builder with these options in the place of its own; options that are tables are merged.

        Raises:
            UnknownNameError: for an option that it does not have.
        """
        for name in options:
            if name not in self.__struct_fields__:
                raise UnknownNameError(
                    f"{type(self).__name__} has no option {name!r}",
                    expected=", ".join(self.__struct_fields__) or "none",
                    hint=did_you_mean(name, self.__struct_fields__),
                )
        merged = {
            name: {**getattr(self, name), **value} if isinstance(value, Mapping) else value
            for name, value in options.items()
        }
        return msgspec.structs.replace(self, **merged)


class WorkspaceBuilder(FixtureBuilder, frozen=True, kw_only=True):
    """Makes a workspace with files, and with a repository that has them if asked for.

    Args:
        journal: where changes go.
        files: by path.
        git: whether it is a repository; the files are its first commit.

    Example:
        ::

            async with WorkspaceBuilder(journal=journal, files={"a.py": "a = 1"}, git=True).make() as workspace:
                assert workspace.commits()
    """

    journal: Journal
    files: dict[str, str] = {}
    git: bool = False

    @asynccontextmanager
    async def make(self) -> AsyncIterator[Workspace]:
        """Start it; it is gone at the end."""
        workspace = Workspace(self.journal)
        await workspace.start()
        try:
            for path, text in self.files.items():
                workspace.write(path, text)
            if self.git:
                workspace.git()
                if self.files:
                    workspace.commit("first version")
            yield workspace
        finally:
            await workspace.stop()


class RecordedRunnerBuilder(FixtureBuilder, frozen=True, kw_only=True):
    """Makes a runner whose agent does what a recorded scenario says: no program, no network.

    Args:
        journal: where the run goes; its clock has the recorded delays.
        root: the folder of scenarios.
        scenario: name of the recording.
        options: of `AgentRunner`.
    """

    journal: Journal | None = None
    root: Path = Path("scenarios")
    scenario: str
    options: dict[str, Any] = {}

    def make(self) -> AgentRunner:
        """A runner for one replay of the recording.

        Raises:
            ScenarioNotFoundError: if there is no such recording.
        """
        journal = self.journal if self.journal is not None else Journal()
        session = RecordedSession(load_recording(self.root, self.scenario), journal)
        return AgentRunner(session, journal=journal, **self.options)


class ContextBuilder(FixtureBuilder, frozen=True, kw_only=True):
    """Makes the context of a workflow.

    Args:
        journal: where its runs go.
        target: the agent of prompts that name no other.
        workspace: in which the agents work.
        reporters: are told each result.
        title: of the test.
        options: of `AgentRunner`: `store`, `watchers`, `budget`, ...
    """

    journal: Journal | None = None
    target: Any = None
    workspace: Workspace | None = None
    reporters: tuple[Reporter, ...] = ()
    title: str = ""
    options: dict[str, Any] = {}

    def make(self) -> WorkflowContext:
        """A fresh context."""
        return WorkflowContext(
            self.journal if self.journal is not None else Journal(),
            self.target,
            title=self.title,
            reporters=self.reporters,
            workspace=self.workspace,
            **self.options,
        )


class ReporterSpy:
    """A reporter that remembers what it was told.

    Attributes:
        told: the results, in order.

    Args:
        error: raised each time, after the result was remembered.
    """

    def __init__(self, error: Exception | None = None) -> None:
        self.told: list[object] = []
        self._error = error

    def report(self, result: object) -> None:
        """Remember a result."""
        self.told.append(result)
        if self._error is not None:
            raise self._error


class ReporterSpiesBuilder(FixtureBuilder, frozen=True, kw_only=True):
    """Makes reporters that remember what they were told.

    Args:
        count: how many, from 1.
        error: what the first of them raises each time; none unless given.
    """

    count: int = 2
    error: Exception | None = None

    def make(self) -> tuple[ReporterSpy, ...]:
        """The spies.

        Raises:
            WrongValueError: for less than one.
        """
        if self.count < 1:
            raise WrongValueError("there is at least one spy", expected="from 1", seen=repr(self.count))
        return (ReporterSpy(self.error), *(ReporterSpy() for _ in range(self.count - 1)))


class JudgedRunBuilder(FixtureBuilder, frozen=True, kw_only=True):
    """Makes the result of the recorded run of a judge; `RecordedJudgeBuilder` makes the judge.

    Args:
        scenario: `judge-happy-path`, `judge-fail` or `judge-malformed-response`.
        root: the folder of scenarios.
    """

    scenario: str = JUDGED[0]
    root: Path = Path("scenarios")

    def make(self) -> RunResult:
        """The result.

        Raises:
            UnknownNameError: for another scenario.
            ScenarioNotFoundError: if it has not been recorded.
        """
        if self.scenario not in JUDGED:
            raise UnknownNameError(
                f"{self.scenario!r} is no scenario of a judge",
                expected=", ".join(JUDGED),
                hint=did_you_mean(self.scenario, JUDGED) or "RecordedRunnerBuilder runs every other one",
            )
        return result_of(load_recording(self.root, self.scenario))


class RecordedJudgeBuilder(FixtureBuilder, frozen=True, kw_only=True):
    """Makes a judge that says what a recorded one has said.

    Args:
        rubric: what is judged.
        scenario: `judge-happy-path`, `judge-fail` or `judge-malformed-response`.
        root: the folder of scenarios.

    Example:
        ::

            judge = RecordedJudgeBuilder(rubric=RUBRIC, root=Path("examples/scenarios")).make()
            assert (await judge.judge(transcript)).passed
    """

    rubric: Rubric
    scenario: str = JUDGED[0]
    root: Path = Path("scenarios")

    def make(self) -> Judge:
        """The judge, with the recorded tokens.

        Raises:
            UnknownNameError: for another scenario.
            ScenarioNotFoundError: if it has not been recorded.
        """
        said = JudgedRunBuilder(scenario=self.scenario, root=self.root).make()
        script = Script()
        script.on(purpose="judge").reply(said.output, usage=said.usage)
        return Judge(self.rubric, ScriptedModel(script))
