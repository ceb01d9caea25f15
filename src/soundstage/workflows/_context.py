"""The context of a workflow: its agents, and all that they have come to so far."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from soundstage.errors import InvalidStateError, ScriptError, WrongValueError
from soundstage.journal import Journal
from soundstage.runs import new_run_id
from soundstage.runs.result import FileEntry, RunResult, build_result
from soundstage.workflows._errors import NoRunError, StageOverlapError
from soundstage.workflows._reporters import Reported, Reporter, tell
from soundstage.workflows._result import StageResult
from soundstage.worlds import Workspace

if TYPE_CHECKING:
    from soundstage.judges import Judgment, Rubric
    from soundstage.models import Model
    from soundstage.runs import Runs, Watcher


Fields = Mapping[str, Any]
Fixture = Fields | Callable[["WorkflowContext"], Fields | Awaitable[Fields]]


class WorkflowContext:
    """One test's agents, and what all stages and runs have come to. A view of the journal from here on.

    Args:
        journal: everything that happens goes there, whatever the agent.
        target: the agent of prompts that name no other: a driver, a session, a coroutine function, an `AgentRunner`.
        title: of the test; errors carry it.
        reporters: are told each result.
        workspace: the folder in which the agents work: what they change is recorded at the end of each run and stage.
        runner: makes the runner of a target; `AgentRunner` unless given.
        judge_model: makes the model of judges; the live model that a rubric names unless given.
        **options: those of `AgentRunner`, for all runners that are made here: `config`, `budget`, `retry`, `store`...

    Attributes:
        id: no other context has it.
        stages: the results of the stages that are over.
        iteration: of the stage that repeats, from 1; 0 in others.

    Example:
        ::

            context = WorkflowContext(journal, agent, budget=Budget(cost=0.10))
            await context.run_agent("Write hello.py")
            assert [file.path for file in context.files] == ["hello.py"]
    """

    def __init__(
        self,
        journal: Journal,
        target: Any = None,
        *,
        title: str = "",
        reporters: Sequence[Reporter] = (),
        workspace: Workspace | None = None,
        runner: Callable[..., Runs] | None = None,
        judge_model: Callable[[], Model] | None = None,
        **options: Any,
    ) -> None:
        self.id = new_run_id()
        self.journal = journal
        self.target = target
        self.title = title
        self.reporters = tuple(reporters)
        self.workspace = workspace
        self.stages: tuple[StageResult, ...] = ()
        self.iteration = 0
        self.judge_model = judge_model
        self.options = options
        self._begun = len(journal)
        self._make = runner
        self._runners: dict[int, tuple[Any, Runs]] = {}  # by target, which is kept alive with its runner
        self._runs: list[RunResult] = []
        self._watchers: list[Watcher] = []
        self._fields: dict[str, Any] = {}
        self._under_way: dict[str, str] = {}
        self._seen: tuple[int, RunResult] = (-1, RunResult())
        self._disposed = False

    # Before the first run.

    def configure(self, **options: Any) -> None:
        """Change options of the runners; `config` is merged, key by key.

        Raises:
            InvalidStateError: if a runner has been made already.
        """
        if self._runners:
            raise InvalidStateError(
                "options come too late: an agent has run", hint="configure before run_agent"
            )
        config = {**self.options.get("config", {}), **options.get("config", {})}
        self.options = {**self.options, **options} | ({"config": config} if config else {})

    async def take(self, *fixtures: Fixture) -> None:
        """Add fields that tests of yours share; each is an attribute. A later field replaces an earlier one.

        Args:
            *fixtures: names with values, or functions of the context that return them, coroutine functions too.

        Raises:
            WrongValueError: for the name of something that every context has.
        """
        for fixture in fixtures:
            given = fixture(self) if callable(fixture) else fixture
            fields = await given if inspect.isawaitable(given) else given
            own = next((name for name in fields if hasattr(type(self), name) or name in vars(self)), None)
            if own is not None:
                raise WrongValueError(
                    f"every context has {own!r} already", hint="give the field another name"
                )
            self._fields.update(fields)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", {})
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise AttributeError(f"this context has no {name!r}; fields of fixtures: {known}")
        return fields[name]

    # Runs.

    async def run_agent(self, prompt: Any, *, target: Any = None, **overrides: Any) -> RunResult:
        """Run an agent once, and keep the result.

        Args:
            prompt: a text or chunks.
            target: another agent than the context's.
            **overrides: as `AgentRunner.run` takes them.

        Raises:
            StageOverlapError: if another run of this context is under way.
            RunAbortedError: if the run is aborted; its partial result is kept here, too.
        """
        runner = self.runner(target)
        with self.only_one("run", repr(prompt)):
            try:
                result = await runner.run(prompt, **overrides)
            except GeneratorExit:
                raise
            except BaseException as error:
                partial = getattr(error, "partial_result", None)
                if isinstance(partial, RunResult):
                    await self._keep(partial)
                raise
            await self._keep(result)
        return result

    async def judge(
        self, rubric: Rubric, run: RunResult | None = None, *, model: Model | None = None, **options: Any
    ) -> Judgment:
        """Have a model judge a run by a rubric. Its verdict, its tokens and its cost are in the journal.

        Args:
            rubric: what is judged.
            run: the result of a run; the last one of this context unless given.
            model: who judges; that of the context unless given.
            **options: of `soundstage.judges.Judge.judge`, such as `attachments` and `throw_on_fail`; and `verdict`.

        Raises:
            NoRunError: if nothing has run yet.
            JudgmentFailedError: if the model gives no verdict; and with `throw_on_fail` if the run does not pass.
            CalibrationError: with `throw_on_fail`, if the judge has not been calibrated.
        """
        from soundstage.judges import Judge

        if run is None:
            if not self._runs:
                raise NoRunError("there is no run to judge yet", hint="await context.run_agent(...) first")
            run = self._runs[-1]
        if model is None and self.judge_model is not None:
            model = self.judge_model()
        kind = {"verdict": options.pop("verdict")} if "verdict" in options else {}
        return await Judge(rubric, model, **kind).judge(run, journal=self.journal, **options)

    def record_changes(self) -> None:
        """Record what has changed in the workspace, if there is one."""
        if self.workspace is not None:
            self.workspace.record_changes()

    async def _keep(self, result: RunResult) -> None:
        self.record_changes()
        self._runs.append(result)
        await self.report(result)

    def runner(self, target: Any = None) -> Runs:
        """The runner of a target, made once; of the context's, unless given. One that has `run` runs itself."""
        self._require_open()
        agent = self.target if target is None else target
        if agent is None:
            raise ScriptError(
                "no agent is named", hint="Stage(..., target=AGENT), or a context with one: target=AGENT"
            )
        if id(agent) not in self._runners:
            own = inspect.iscoroutinefunction(getattr(agent, "run", None))
            made = agent if own else self._made(agent)
            self._runners[id(agent)] = (agent, made)
        return self._runners[id(agent)][1]

    def _made(self, agent: Any) -> Runs:
        from soundstage.runs import AgentRunner

        make: Callable[..., Runs] = self._make or AgentRunner
        ours: dict[str, Any] = {"journal": self.journal, "watchers": (self._watch,), "test": self.title}
        if self._make is None and self.workspace is not None:
            ours["workspace"] = self.workspace
        return make(agent, **(ours | self.options))

    def watch(self, watcher: Watcher) -> None:
        """Have a watcher see every event of the runs from now on; watchers are awaited one after the other.

        One that raises, or returns `{"abort": True}`, aborts the run; the next ones do not see that event.
        """
        self._require_open()
        self._watchers.append(watcher)

    async def _watch(self, event: Any) -> Any:
        for watcher in tuple(self._watchers):
            wanted = await watcher(event)
            if isinstance(wanted, dict) and wanted.get("abort") is True:
                return wanted
        return None

    # All that there is so far.

    @property
    def result(self) -> RunResult:
        """Everything since this context began, as one result."""
        length = len(self.journal)
        if self._seen[0] != length:
            self._seen = (length, build_result(self.journal.read(self._begun), objects=self.journal.contents))
        return self._seen[1]

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """The results of all runs, in order, those that were aborted too."""
        return tuple(self._runs)

    def get_run(self, index: int) -> RunResult:
        """The result of a run; negative from the end.

        Raises:
            IndexError: if there is none.
        """
        try:
            return self._runs[index]
        except IndexError:
            raise IndexError(f"no run {index}: this context has {len(self._runs)}") from None

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """The files that were changed, one entry for each path."""
        return self.result.files

    @property
    def output(self) -> str:
        """The answer of the last run; empty before the first."""
        return self._runs[-1].output if self._runs else ""

    def add(self, stage: StageResult) -> None:
        """Keep the result of a stage."""
        self.stages = (*self.stages, stage)

    async def report(self, result: Reported) -> None:
        """Tell the reporters."""
        await tell(self.reporters, result, self.journal)

    # One thing at a time, and the end.

    @contextmanager
    def only_one(self, kind: str, name: str) -> Iterator[None]:
        """Let nothing else of this kind begin meanwhile.

        Raises:
            StageOverlapError: if something of this kind is under way.
        """
        self._require_open()
        if kind in self._under_way:
            raise StageOverlapError(
                f"the {kind} {name} begins while {self._under_way[kind]} is under way",
                expected="one after the other: views of a run are parts of the journal",
                hint="await the first one, or give each its own WorkflowContext",
            )
        self._under_way[kind] = name
        try:
            yield
        finally:
            del self._under_way[kind]

    def _require_open(self) -> None:
        if self._disposed:
            raise InvalidStateError("this context has been disposed", hint="make one for each test")

    def dispose(self) -> None:
        """Empty it: runs, stages, fields; no watcher is called any more. Harmless when repeated."""
        self._disposed = True
        self._watchers.clear()
        self._runs.clear()
        self._runners.clear()
        self._fields.clear()
        self.stages = ()
        self._begun = len(self.journal)
        self._seen = (-1, RunResult())
