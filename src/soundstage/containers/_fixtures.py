"""Fixtures for the services of a compose file, which run beside the tests.

This file imports pytest and our plugin alone, because it is loaded in every run; `_services` does the work.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pytest

from soundstage.pytest_plugin import services_scope

if TYPE_CHECKING:
    from pathlib import Path

    from soundstage.containers._services import DockerEnvironment

FIXTURE: Final = "docker_environment"
FILE: Final = "docker_compose_file"
MARKER: Final = "docker: uses `docker_environment`; it is there by itself, for `-m 'not docker'`."


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


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
    from soundstage.containers._services import find_compose_file

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
    from soundstage.containers._services import open_services

    with open_services(docker_compose_file, docker_compose_environment) as services:
        yield services
