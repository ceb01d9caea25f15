"""Fixtures for tests with the real Claude Code CLI, and for tests of its plugins.

This file imports pytest and our plugin alone, because it is loaded in every run; the work is done by `_warm`,
`_factories` and `_harness_client`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

import pytest

from soundstage.pytest_plugin import services_scope

if TYPE_CHECKING:
    from pathlib import Path

    from soundstage.claude_code import ClaudeCode
    from soundstage.claude_code._factories import PluginFactory, ProjectFactory
    from soundstage.claude_code._harness_client import HarnessClient
    from soundstage.claude_code._warm import WarmPool, WarmSession
    from soundstage.host import Setup
    from soundstage.journal import Journal

MARKER: Final = (
    "claude_code(**options): for `claude_code` and `test_session`, e.g. permission_mode='acceptEdits'."
)
HARNESS: Final = "--soundstage-harness"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of these fixtures."""
    parser.getgroup("soundstage").addoption(
        HARNESS,
        metavar="URL",
        default="",
        help="Let `harness_client` use the harness that runs there; its token is in $SOUNDSTAGE_MCP_TOKEN.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def claude_code(stage: Setup, request: pytest.FixtureRequest) -> ClaudeCode:
    """The real Claude Code CLI in the workspace, answered by the script: `await claude_code.prompt(..)`."""
    from soundstage.claude_code import ClaudeCode
    from soundstage.claude_code._warm import skip_without

    mark = request.node.get_closest_marker("claude_code")
    options = {"isolation": stage.isolation, **(mark.kwargs if mark else {})}
    if options["isolation"] != "process":
        skip_without(options["isolation"])

    def session(journal: Journal) -> ClaudeCode:
        workspace = stage.workspace()
        server, proxy = stage.server().anthropic_url, stage.proxy()
        return ClaudeCode(journal, server, workspace, ids=stage.ids, proxy=proxy, **options)

    return stage.add(session)


@pytest.fixture(scope="session")
def claude_code_pool() -> Generator[WarmPool, None, None]:
    """The processes of Claude Code that stay warm between tests; `test_session` takes them from here."""
    from soundstage.claude_code._warm import WarmPool

    pool = WarmPool()
    yield pool
    pool.close()


@pytest.fixture
def test_session(
    stage: Setup, claude_code_pool: WarmPool, request: pytest.FixtureRequest
) -> Generator[WarmSession, None, None]:
    """A new conversation with the real CLI, in a process that stays warm: `test_session.run_command(..)`."""
    from soundstage.claude_code._warm import begin_session

    session = begin_session(request.node, stage, claude_code_pool)
    yield session
    session.end()


@pytest.fixture
def plugin_installed(test_session: WarmSession) -> Generator[PluginFactory, None, None]:
    """Installs plugins for this test: `plugin_installed("agent-loop", marketplace=FOLDER)`; all go afterwards."""
    from soundstage.claude_code._factories import PluginFactory

    factory = PluginFactory(test_session)
    yield factory
    factory.uninstall_all()


@pytest.fixture
def test_project(tmp_path: Path) -> Generator[ProjectFactory, None, None]:
    """Generates projects for this test: `test_project("cli", "python", "Calculator App")`; all go afterwards."""
    from soundstage.claude_code._factories import ProjectFactory

    factory = ProjectFactory(tmp_path)
    yield factory
    factory.remove_all()


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
    from soundstage.claude_code._harness_client import HarnessClient, running_harness, started_harness

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
