"""The pytest plugin: fixtures for tests of LLM applications, and failure reports that show the trace.

A test asks for fixtures and gets a closed set: one journal, one script, one run. Nothing is loaded until a test asks
for something, so that the plugin costs next to nothing where it is not used; this file, `_hooks`,
`_schedules`, `_asynchronous`, `_budget`, `_source`, `_validates` and the fixtures of wings import pytest alone, and
everything else is in `_stage`.

How a test runs. The first fixture makes the `RunSetup` of the test: journal, clock, script, model. Fixtures add
daemons to it. A synchronous test gets a server in a thread beside it. An asynchronous test is run by this plugin: on
virtual time if all is in process, else on the machine's; daemons start before its body and stop after it. When the
body has passed, the stage is checked: a strict script must have no rule left over, and no process may have tried to
leave. When anything failed, the report gets the trace and the unused rules.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Literal

import pytest

from soundstage.errors import EnvironmentProblem
from soundstage.pytest_plugin import _asynchronous, _budget, _pages, _validates
from soundstage.pytest_plugin._clean import clean_report
from soundstage.pytest_plugin._hooks import PhaseHooks, RunOfTest, is_watched, name_of_test, tell_phase
from soundstage.pytest_plugin._schedules import MARKER, OPTION, Schedules
from soundstage.pytest_plugin._source import AnswerSource
from soundstage.wings import wings

if TYPE_CHECKING:
    from collections import deque

    from soundstage.drivers import Command
    from soundstage.host import App, Host, HostBuilder
    from soundstage.journal import Journal
    from soundstage.lifecycle import TaskDaemon
    from soundstage.models import Model, Script
    from soundstage.pytest_plugin._stage import RunSetup
    from soundstage.trace import Trace
    from soundstage.wire import ModelEndpoint
    from soundstage.worlds import Console, Workspace

__all__ = ["AnswerSource", "RunOfTest", "name_of_test", "services_scope"]
STAGE = pytest.StashKey["RunSetup"]()
RUNS: pytest.StashKey[deque[Host]] = pytest.StashKey()
SHOWN_RUNS = 3  # of the runs that a test makes with builders
ISOLATION = "--soundstage-isolation"
SERVICES = "--soundstage-services"
LEVELS = ("process", "netns", "sandbox")

MARKERS = (
    (
        "soundstage(strict=True, seed=0, script=None, clock=None, egress='fail', hosts=(), unfinished='fail'): how "
        "the stage of a test is set up. strict: requests without a rule and rules without a request fail the test. "
        "script: a script file. clock: 'virtual' or 'system'. unfinished: 'fail' or 'allow': what happens when the end "
        "cuts off work. egress: 'fail', 'allow' or 'closed': what happens when the app tries to reach "
        "a host outside. hosts: what it may reach."
    ),
)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """The hook of whoever keeps runs."""
    pluginmanager.add_hookspecs(PhaseHooks)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Options, all named --soundstage-...; wings have theirs in their modules of fixtures."""
    _register_wings(pluginmanager)
    group = parser.getgroup("soundstage")
    _pages.add_options(group)
    group.addoption(
        OPTION,
        metavar="SEED",
        type=int,
        default=None,
        help="Run tests that are marked `schedules` under this one schedule.",
    )
    group.addoption(
        ISOLATION,
        choices=(*LEVELS, *(name for wing in wings() for name in wing.levels)),
        default="process",
        help="How far programs are kept apart in tests that do not say it themselves.",
    )
    group.addoption(
        SERVICES,
        choices=("suite", "test"),
        default="suite",
        help="Start what tests share, such as `docker_environment`, once for all tests, or anew for each.",
    )
    _budget.add_options(group)
    _validates.add_options(group)


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known, and register what makes schedules."""
    config.pluginmanager.register(Schedules(), "soundstage-schedules")
    config.pluginmanager.register(_asynchronous, "soundstage-asynchronous")
    config.pluginmanager.register(_validates, "soundstage-validates")
    _budget.register(config)
    _pages.register(config)
    for marker in (*MARKERS, MARKER, _validates.VALIDATES_MARKER):
        config.addinivalue_line("markers", marker)


def _register_wings(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let every wing's fixtures be found."""
    try:
        modules = [module for wing in wings() for module in wing.fixtures]
    except EnvironmentProblem as problem:
        raise pytest.UsageError(str(problem)) from None
    for module in modules:
        pluginmanager.import_plugin(module)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Run asynchronous tests that use a stage; after a body that has passed, check that nothing was forgotten."""
    stage = pyfuncitem.stash.get(STAGE, None)
    if stage is None and "soundstage.host" not in sys.modules:
        return (yield)
    from soundstage.pytest_plugin._awaited import every_call_awaited

    if stage is None:
        with every_call_awaited():
            return (yield)
    body = pyfuncitem.obj
    stage.take_over(pyfuncitem)
    try:
        with every_call_awaited():
            result = yield
    except BaseException as error:
        stage.note_causes(error)
        raise
    finally:
        pyfuncitem.obj = body
    stage.check()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Keep the last runs of a test that makes its own, for its report."""
    if "soundstage.host" not in sys.modules:
        return (yield)
    from soundstage.host import watched_runs

    with watched_runs(SHOWN_RUNS) as runs:
        item.stash[RUNS] = runs
        try:
            return (yield)
        finally:
            runs.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Begin the report of a failed test with the cause; add the trace and the unused rules; write its page."""
    stage, hosts = item.stash.get(STAGE, None), item.stash.get(RUNS, ())
    watched = is_watched(item)
    if (call.excinfo is None and not watched) or "soundstage.host" not in sys.modules:
        report = _validates.say_sentence(item, (yield))
    else:
        from soundstage.pytest_plugin._headline import explain, tidy
        from soundstage.pytest_plugin._runs import runs_of
        from soundstage.pytest_plugin._sections import sections_of

        runs = runs_of(stage, hosts)
        full = call.excinfo is None or item.config.getoption("fulltrace")
        if not full:
            explain(call, item, runs)
        report = _validates.say_sentence(item, (yield))
        if not full and report.failed:
            tidy(report.longrepr)
        _clean(report, stage, hosts)
        if watched:
            tell_phase(item, report, runs, call.excinfo.value if call.excinfo is not None else None)
        if report.failed and call.excinfo is not None:
            report.sections.extend(sections_of(runs, call.excinfo.value))
    _clean(report, stage, hosts)
    return report


def _clean(report: pytest.TestReport, stage: RunSetup | None, hosts: Iterable[Host]) -> None:
    for journal in [*([stage.journal] if stage else []), *(host.journal for host in hosts)]:
        clean_report(report, journal.redactor.text)


def services_scope(
    fixture_name: str,  # noqa: ARG001  (pytest passes both by name)
    config: pytest.Config,
) -> Literal["session", "function"]:
    """The scope of fixtures that tests share, such as `docker_environment`: `@pytest.fixture(scope=services_scope)`."""
    return "session" if config.getoption(SERVICES) == "suite" else "function"


@pytest.fixture
def soundstage_schedule(request: pytest.FixtureRequest) -> int:
    """The seed of the schedule under which this test runs; see the mark `schedules`."""
    seed: int = request.param
    return seed


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Generator[RunSetup, None, None]:
    """The stage of this test: journal, clock, script, model and daemons. Most tests need only its parts."""
    from soundstage.pytest_plugin._stage import RunSetup

    made = RunSetup.for_test(request.node)
    request.node.stash[STAGE] = made
    try:
        made.begin()
        yield made
    finally:
        made.close()


@pytest.fixture
def script(stage: RunSetup) -> Script:
    """The script of the model: `script.on(user="hello").reply("hi")`. Strict, unless the mark says otherwise."""
    return stage.script


@pytest.fixture
def journal(stage: RunSetup) -> Journal:
    """Everything that happens in this test."""
    return stage.journal


@pytest.fixture
def trace(stage: RunSetup) -> Callable[[], Trace]:
    """A function that gives the trace of what has happened so far: `trace()`."""
    from soundstage.pytest_plugin._stage import TraceSoFar

    return TraceSoFar(stage)


@pytest.fixture
def model(stage: RunSetup) -> Model:
    """The scripted model in process, journaled."""
    return stage.model


@pytest.fixture
def model_server(stage: RunSetup) -> ModelEndpoint:
    """The scripted model on a loopback port; default clients of SDKs ask it. `.openai_url`, `.environment()`."""
    return stage.server(asked_for=True)


@pytest.fixture
def console(stage: RunSetup) -> Console:
    """A console in process, for asynchronous tests: `await console.send(..)`, `await console.expect(..)`."""
    return stage.console()


@pytest.fixture
def start_host(stage: RunSetup) -> Callable[[HostBuilder], Awaitable[Host]]:
    """Starts the run of a builder, which ends with the test: `host = await start_host(HostBuilder()...)`."""
    return stage.start_host


@pytest.fixture
def run_app(stage: RunSetup) -> Callable[[App], Awaitable[TaskDaemon]]:
    """Starts an app in process: `await run_app(my_app)`; it gets its side of what the test has."""
    return stage.run_app


@pytest.fixture
def workspace(stage: RunSetup) -> Workspace:
    """A temporary project folder."""
    return stage.workspace()


@pytest.fixture
def command(stage: RunSetup) -> Callable[..., Awaitable[Command]]:
    """Starts any program in a throw-away home, pointed at the scripted model: `await command([...])`."""
    from soundstage.drivers import Command

    return functools.partial(stage.start_program, Command)
