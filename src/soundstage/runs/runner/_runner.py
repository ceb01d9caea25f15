"""The runner: configuration, budget and store around one run, and the errors that it raises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal, Protocol, get_args
from weakref import WeakSet

import msgspec

from soundstage.clock import Clock
from soundstage.config import Settings
from soundstage.errors import InvalidStateError, SoundstageError, WrongValueError
from soundstage.journal import Journal
from soundstage.runs._record import new_run_id
from soundstage.runs._store import RunStore
from soundstage.runs.result import RunResult, build_result, closed_result
from soundstage.runs.runner._budget import Budget, projected_cost
from soundstage.runs.runner._config import RunConfig, run_config
from soundstage.runs.runner._errors import CostBudgetExceededError, RunAbortedError, StorageError
from soundstage.runs.runner._keep import keep_result, record_of
from soundstage.runs.runner._prompt import Prompt, prompt_for_target
from soundstage.runs.runner._retry import Retry
from soundstage.runs.runner._targets import AgentTarget, FunctionPeer, name_of, peer_of, require_no_start
from soundstage.runs.runner._underway import RunPlan, RunUnderway
from soundstage.runs.runner._watching import Watcher
from soundstage.trace import PRICES, Prices, over_budget
from soundstage.worlds import Workspace

OnAbort = Literal["raise", "return"]
CostProjection = Callable[[str, str, Prices], float]
"""US dollars that a run costs at least, by its prompt (empty if it comes in pieces), its model, and prices."""
_BUSY: Final[WeakSet[Journal]] = WeakSet()  # journals with a run under way


class Runs(Protocol):
    """Makes runs: an `AgentRunner`, or a stand-in for one."""

    async def run(self, prompt: Prompt, **overrides: Any) -> RunResult:
        """Give a prompt to an agent and return what the run has come to."""
        ...


class AgentRunner:
    """Runs a target on a prompt, watched and within a budget, and keeps what the run has come to.

    A target is a driver (`ClaudeCode` or a session of it, a `Command`, a `Terminal`), an async function in process,
    or a function of the `RunConfig` that makes one of them, anew for each attempt. A target that does not run yet is
    started, and stopped afterwards. One that runs is left running, unless the run is aborted.

    Everything in the journal between begin and end of a run belongs to it, so a journal has one run at a time.

    A run costs at least what its prompt costs once, at four characters a token by the price of the configured model.
    With a budget of dollars, one that is above it is refused before anything is started; see `project`.

    Args:
        target: what is driven.
        journal: where the target's events go; those of a run are its result.
        clock: for times, limits and waits; that of the journal unless given.
        store: keeps each run when it is over, under the id of its result.
        workspace: whose changes are files and commits of the result. Each run records them at its end.
        config: `model`, `timeout`, `session_timeout`, `options`; see `RunConfig`.
        settings: files and environment, as `load_settings` reads them: `run_model`, `run_timeout`.
        budget: what a run may take.
        prices: by model.
        project: tells what a run costs at least, before it begins; `projected_cost` unless given.
        watchers: see each event, one after the other, in this order; each may stop the run.
        retry: how often the target is tried.
        on_abort: whether a run that was ended before its time raises `RunAbortedError`, or returns its partial result.
        ignore_storage_errors: whether a store that cannot keep a run makes a warning of the result, no error.
        test: id of the test, for the store.
        labels: for the store.

    Attributes:
        last: the result of the last run, also of one that has raised or was cancelled.

    Raises:
        WrongTypeError: if the target is none.

    Example:
        ::

            runner = AgentRunner(
                lambda config: ClaudeCode(journal, server, workspace, **config.start),
                journal=journal,
                store=RunStore(),
                workspace=workspace,
                budget=Budget(cost=0.50, turns=20),
            )
            result = await runner.run("fix the bug", model="claude-opus-5-5")
            assert result.status == "complete", result.reasons
    """

    def __init__(
        self,
        target: AgentTarget,
        *,
        journal: Journal,
        clock: Clock | None = None,
        store: RunStore | None = None,
        workspace: Workspace | None = None,
        config: Mapping[str, Any] | None = None,
        settings: Settings | None = None,
        budget: Budget | None = None,
        prices: Prices = PRICES,
        project: CostProjection = projected_cost,
        watchers: Sequence[Watcher] = (),
        retry: Retry | None = None,
        on_abort: OnAbort = "raise",
        ignore_storage_errors: bool = False,
        test: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> None:
        if on_abort not in get_args(OnAbort):
            raise WrongValueError(
                "on_abort says what an aborted run does", expected="'raise' or 'return'", seen=repr(on_abort)
            )
        self._peer = peer_of(target)
        self._target = target
        self._journal = journal
        self._clock = clock if clock is not None else journal.clock
        self._store = store
        self._workspace = workspace
        self._config = dict(config or {})
        self._settings = settings
        self._budget = budget or Budget()
        self._prices = prices
        self._project = project
        self._watchers = tuple(watchers)
        self._retry = retry or Retry()
        self._on_abort = on_abort
        self._ignore_storage_errors = ignore_storage_errors
        self._test = test
        self._labels = labels
        self.last: RunResult | None = None

    def configuration(self, **overrides: Any) -> RunConfig:
        """The configuration that a run with these overrides has; each value knows its source.

        Raises:
            ConfigError: for an unknown key, a value of the wrong type, or an option for the start of a target that has
                been made already; the message has its path.
        """
        config = run_config(self._settings, self._config, overrides)
        if self._peer is not None and not isinstance(self._peer, FunctionPeer):
            require_no_start(self._target, config)
        return config

    async def run(self, prompt: Prompt, **overrides: Any) -> RunResult:
        """Run the target on a prompt.

        Pieces of a prompt go out as the target takes them: to a program as lines, to a terminal as typed text, to a
        function as they are. A session of a driver takes whole prompts: it gets them joined. A prompt in pieces is not
        sent twice, so there is no other attempt once a piece has been taken.

        Args:
            prompt: a text, or an async iterable of its pieces.
            **overrides: of the configuration; they win over everything else.

        Raises:
            RunAbortedError: if the run was ended before its time: `timeout`, `session-timeout`, `budget`, `watcher`.
                What there is of it is its `partial_result`.
            CostBudgetExceededError: if it costs more than its budget, or would.
            PricingError: if dollars are limited, and a model has no price.
            StorageError: if the store cannot keep the run.
            ConfigError: as `configuration`.
            InvalidStateError: while another run of this journal is under way.
            Exception: the error of the last attempt; it has a `partial_result`, too.
        """
        config = self.configuration(**overrides)
        plan = RunPlan(
            new_run_id(),
            self._target,
            self._peer,
            prompt_for_target(prompt),
            config,
            self._journal,
            self._clock,
            self._budget,
            self._prices,
            self._watchers,
            self._retry,
            self._workspace,
        )
        with _alone_on(self._journal):
            started = self._clock.wall()
            underway = RunUnderway(plan)
            self._project_cost(underway, prompt if isinstance(prompt, str) else "", config)
            await underway.drive()
            result = _result(underway, plan)
        storage_error: StorageError | None = None
        if self._store is not None:
            ended = max(self._clock.wall(), started)
            record = record_of(
                result,
                started=started,
                ended=ended,
                driver=name_of(self._target),
                test=self._test,
                labels=self._labels,
            )
            try:
                keep_result(self._store, record, result, self._journal)
            except StorageError as error:
                storage_error = error
                result = msgspec.structs.replace(result, warnings=(*result.warnings, str(error)))
        self.last = result
        return self._given_back(underway, result, None if self._ignore_storage_errors else storage_error)

    def _project_cost(self, underway: RunUnderway, prompt: str, config: RunConfig) -> None:
        """Stop a run that has not begun, if it would cost more than it may."""
        limit = self._budget.cost
        if limit is None:
            return
        try:
            projected = self._project(prompt, config.model, self._prices)
            if over_budget(projected, limit):
                underway.stop_for_budget(CostBudgetExceededError(limit, projected))
        except SoundstageError as error:
            underway.stop_for_budget(error)

    def _given_back(
        self, underway: RunUnderway, result: RunResult, storage_error: StorageError | None
    ) -> RunResult:
        """The result, or the error of the run: a cancellation before an abort, before one of target or store."""
        stopped, error = underway.stopped, underway.error
        if isinstance(error, asyncio.CancelledError):
            raise _carrying(error, result)
        if stopped is not None:
            aborted = stopped.error
            if aborted is None or isinstance(aborted, TimeoutError) or stopped.reason == "watcher":
                aborted = RunAbortedError(stopped.reason, stopped.detail)
                aborted.__cause__ = stopped.error
            if isinstance(aborted, RunAbortedError) and self._on_abort == "return":
                return result
            raise _carrying(aborted, result)
        if error is not None:
            raise _carrying(error, result)
        if storage_error is not None:
            raise _carrying(storage_error, result)
        return result


@contextmanager
def _alone_on(journal: Journal) -> Any:
    if journal in _BUSY:
        raise InvalidStateError(
            "another run of this journal is under way",
            expected="one run at a time: all that comes to the journal meanwhile belongs to it",
            hint="await the first run, or give this one a Journal of its own",
        )
    _BUSY.add(journal)
    try:
        yield
    finally:
        _BUSY.discard(journal)


def _result(underway: RunUnderway, plan: RunPlan) -> RunResult:
    """The result of a run that is over. What target and runner know of it goes to the journal first."""
    journal, closed = plan.journal, underway.closing()
    written = underway.note(closed)
    result = build_result(journal.read(underway.begun), objects=journal.contents)
    if not written:  # the journal takes no more, so the result alone can tell
        result = closed_result(result, msgspec.structs.replace(closed, warnings=tuple(underway.warnings)))
    if underway.stopped is not None:
        result = msgspec.structs.replace(result, status="partial", abort=underway.stopped.reason)
    return result


def _carrying(error: BaseException, result: RunResult) -> BaseException:
    """An error that has the result of its run."""
    with suppress(AttributeError):  # a class with slots; `AgentRunner.last` has it all the same
        error.partial_result = result  # type: ignore[attr-defined]
    if isinstance(error, RunAbortedError):
        error.run = result.id
    return error
