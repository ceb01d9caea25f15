"""Fixtures for what runs beside the tests: the services of a compose file, and a harness over MCP.

This file imports pytest alone, because it is loaded in every run; `_services` and `_claude_harness` do the work.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from soundstage.pytest_plugin._claude_harness import HarnessClient
    from soundstage.pytest_plugin._services import DockerEnvironment

SERVICES: Final = "--soundstage-services"
HARNESS: Final = "--soundstage-harness"
FIXTURE: Final = "docker_environment"
FILE: Final = "docker_compose_file"
MARKER: Final = "docker: uses `docker_environment`; it is there by itself, for `-m 'not docker'`."


def add_options(group: pytest.OptionGroup) -> None:
    """The options of these fixtures."""
    group.addoption(
        SERVICES,
        choices=("suite", "test"),
        default="suite",
        help="Start the services of `docker_environment` once for all tests, or anew for each.",
    )
    group.addoption(
        HARNESS,
        metavar="URL",
        default="",
        help="Let `harness_client` use the harness that runs there; its token is in $SOUNDSTAGE_MCP_TOKEN.",
    )


def services_scope(
    fixture_name: str,  # noqa: ARG001  (pytest passes both by name)
    config: pytest.Config,
) -> Literal["session", "function"]:
    """The scope of fixtures that use `docker_environment`: `@pytest.fixture(scope=services_scope)`."""
    return "session" if config.getoption(SERVICES) == "suite" else "function"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that need an engine."""
    if FIXTURE in getattr(item, "fixturenames", ()):
        item.add_marker("docker")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the services have said to the report of a failed test."""
    report = yield
    services: Any = getattr(item, "funcargs", {}).get(FIXTURE)
    if report.failed and hasattr(services, "report"):  # a fixture of this name may be somebody else's
        report.sections.append(("soundstage services", services.report()))
    return report


@pytest.fixture(scope="session")
def docker_compose_file(request: pytest.FixtureRequest) -> Path:
    """The compose file of `docker_environment`: beside its tests, or in `tests/`. Override it for another."""
    from soundstage.pytest_plugin._services import find_compose_file

    users = [item.path.parent for item in request.session.items if FILE in getattr(item, "fixturenames", ())]
    return find_compose_file(users, request.config.rootpath / "tests")


@pytest.fixture(scope="session")
def docker_compose_environment() -> Mapping[str, str]:
    """The variables that the compose file may use: those of the test run. Override it for others."""
    import os

    return dict(os.environ)


@pytest.fixture(scope=services_scope)
def docker_environment(
    docker_compose_file: Path | str, docker_compose_environment: Mapping[str, str]
) -> Generator[DockerEnvironment, None, None]:
    """The services of `docker_compose_file`, healthy: `.port("web", 8080)`, `.run("web", "ls")`; gone afterwards."""
    from soundstage.pytest_plugin._services import open_services

    with open_services(docker_compose_file, docker_compose_environment) as services:
        yield services


@pytest.fixture(scope=services_scope)
def harness_url(request: pytest.FixtureRequest) -> str:
    """Where a harness runs that `harness_client` is to use: `--soundstage-harness`. Empty: one is started."""
    return str(request.config.getoption(HARNESS))


@pytest.fixture(scope=services_scope)
def harness_connection(
    harness_url: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[HarnessClient, None, None]:
    """The connection that tests with `harness_client` share, one after the other."""
    pytest.importorskip("mcp", reason="needs the MCP SDK: pip install 'soundstage[mcp]'")
    from soundstage.pytest_plugin._claude_harness import HarnessClient, running_harness, started_harness

    plugins = (request.config.rootpath, tmp_path_factory.getbasetemp())
    harness = (
        running_harness(harness_url)
        if harness_url
        else started_harness(tmp_path_factory.mktemp("harness"), plugins)
    )
    with HarnessClient(harness) as client:
        yield client


@pytest.fixture
def harness_client(harness_connection: HarnessClient) -> Generator[HarnessClient, None, None]:
    """An MCP client of the harness: `harness_client.call_tool("create_test_project", {...})`.

    Plugins may lie in the root folder of the test run or in `tmp_path`. Afterwards the harness is as it was: no
    conversation, plugin, project, stub or server is left. Artifacts stay.
    """
    yield harness_connection
    harness_connection.reset()
