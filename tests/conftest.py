"""Shared by all tests.

In CI no test may be skipped, because CI installs whatever a test needs. `SOUNDSTAGE_MAY_SKIP` is an expression for
reasons that do not count: what CI has found out that its machine refuses.

A pytest that a test starts has our plugin and no other; what it needs besides, its test names with `-p`.
"""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
import yaml.cyaml  # noqa: F401  (before pytester may unload it: loaded again, it raises errors that nobody catches)
from hypothesis import HealthCheck, settings

from parts import in_full_part

if TYPE_CHECKING:
    from soundstage.containers import InContainer

settings.register_profile("soundstage", deadline=None, derandomize=True)  # the machine is shared; runs repeat
settings.register_profile("fast", settings.get_profile("soundstage"), max_examples=20)
settings.register_profile(
    "fuzz",
    parent=settings.get_profile("soundstage"),
    max_examples=int(os.environ.get("FUZZ_CASES", "5000")),
    derandomize=False,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
settings.load_profile("soundstage")

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session", autouse=True)
def inner_runs_load_our_plugin_alone() -> Iterator[None]:
    """The plugins of all packages that we have take longer to load than an inner run takes.

    A fixture, because workers of xdist inherit what is set before they start, and they do need those plugins.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setenv("PYTEST_PLUGINS", "soundstage.pytest_plugin")
        yield


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive() -> None:
    """A run that a shell has started in the background ignores Ctrl-C, and so would each program that a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what belongs to the full part; `-m "not full"` leaves it out."""
    for item in items:
        if in_full_part(item.nodeid.removeprefix("tests/")):
            item.add_marker("full")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what is there now out of every later collection of garbage: the modules of a dozen SDKs, and all tests."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not os.environ.get("SOUNDSTAGE_NO_SKIPS") or hasattr(session.config, "workerinput"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    refused = os.environ.get("SOUNDSTAGE_MAY_SKIP")
    skipped = [
        report
        for report in (reporter.stats.get("skipped", []) if reporter else [])
        if not refused or not re.search(refused, str(report.longrepr))
    ]
    if skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{len(skipped)} test(s) were skipped that this machine has to run", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def exists() -> Callable[[int], bool]:
    """Whether a process is there; one that has ended and waits to be collected counts too."""
    return _exists


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def image(name: str) -> InContainer:
    """A container of an image that `tools/podman.sh` builds, on a machine that has an engine and the image."""
    from soundstage.containers import InContainer

    chosen = InContainer(name)
    from soundstage.drivers import isolation_problem

    problem = isolation_problem(chosen)
    if problem is not None:
        pytest.skip(str(problem))
    return chosen


@pytest.fixture(scope="session")
def busybox() -> InContainer:
    """A container with a shell and little else."""
    return image("soundstage/busybox")


@pytest.fixture(scope="session")
def debian() -> InContainer:
    """A container with Debian, Python and git."""
    return image("soundstage/debian")


@pytest.fixture(scope="session")
def netns() -> str:
    """The isolation level, on a machine that has it."""
    from soundstage.drivers import isolation_problem

    problem = isolation_problem("netns")
    if problem is not None:
        pytest.skip(str(problem))
    return "netns"


@pytest.fixture(scope="session")
def sandbox() -> str:
    """The isolation level, on a machine that has it."""
    from soundstage.drivers import isolation_problem

    problem = isolation_problem("sandbox")
    if problem is not None:
        pytest.skip(str(problem))
    return "sandbox"
