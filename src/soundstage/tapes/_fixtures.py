"""Tapes in pytest: the mark `tape`, its options on the command line, and the list of differences at the end.

This file imports pytest and our plugin alone, because it is loaded in every run; the work is done by `_source`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from soundstage.errors import ScriptError
from soundstage.wings import wings

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage.tapes._mcp_stand_ins import McpStandIns

RECORD: Final = "--soundstage-record"
TAPES: Final = "--soundstage-tapes"
MARKER: Final = (
    "tape(name=None, path=None, mode=None, upstream={}, speed=None, inner=None, mcp={}): the models of the test are "
    "recorded on a tape and replayed from it. name: of the tape, in `__tapes__/<test file>/`; path: of another one, "
    "from the folder of the test. mode: once, new, all, none. upstream: base URLs of providers. speed: 1 keeps the "
    "recorded pace. inner: the model that is recorded in process. mcp: MCP servers to record, by name."
)


class _Listing(Protocol):
    """The tape of a test, as the report sees it."""

    def listed(self) -> list[str]:
        """The differences that its replay went over, as texts."""

    def mcp_servers(self, environment: Mapping[str, str]) -> McpStandIns:
        """Its MCP servers, not started."""


SOURCE: pytest.StashKey[_Listing] = pytest.StashKey()
_LISTED: Final = "soundstage_tapes"  # attribute of reports; it crosses from process to process
_ASKERS: Final = frozenset({"model", "model_server", "command", "terminal"})


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("soundstage")
    group.addoption(
        RECORD,
        choices=("once", "new", "all", "none"),
        default=None,
        help="once: tests with the mark `tape` are recorded if they have no tape, else replayed; new: replayed, and "
        "what is not there is recorded; all: recorded anew; none: replayed. Unless given: the mode of the mark, else "
        "none if the variable CI is set, else once.",
    )
    group.addoption(
        TAPES,
        choices=("fail", "warn"),
        default="fail",
        help="A request that is not on the tape. fail: the test fails with the cause; warn: the nearest recorded call "
        "answers, and all differences are listed at the end of the run.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and register what lists differences."""
    config.addinivalue_line("markers", MARKER)
    config.pluginmanager.register(_DifferenceList(config), "soundstage-tapes")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a test with the mark a model server if it has no model: default clients of SDKs then ask that."""
    mark = item.get_closest_marker("tape")
    if mark is None:
        return
    names: list[str] = getattr(item, "fixturenames", [])
    served = _ASKERS.union(*(wing.real_time for wing in wings()))
    if not served.intersection(names):
        names.append("model_server")
    if "mcp" in mark.kwargs and "mcp_servers" not in names:
        names.append("mcp_servers")


@pytest.fixture
def mcp_servers(request: pytest.FixtureRequest, stage: Setup) -> McpStandIns:
    """The MCP servers of a test with the mark `tape`, recorded or replayed: `.url(name)`, `.stdio_config(name)`."""
    from soundstage.guard import real_environment

    source = request.node.stash.get(SOURCE, None)
    if source is None:
        raise ScriptError(
            "`mcp_servers` are those of a tape",
            expected='@pytest.mark.tape(mcp={"notes": "notes-server --stdio"})',
            seen="a test without the mark",
            hint="a scripted server is the fixture `mcp_server`",
        )
    made: McpStandIns = stage.add_server(lambda _journal: source.mcp_servers(real_environment()))
    return made


class _DifferenceList:
    """The differences that replays of this run went over."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._listed: dict[str, list[str]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the report carry the differences of the test."""
        report = yield
        source = item.stash.get(SOURCE, None)
        if source is not None and call.when == "call":
            setattr(report, _LISTED, source.listed())
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what the reports say."""
        listed = getattr(report, _LISTED, [])
        if listed:
            self._listed[report.nodeid] = listed

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """List the differences."""
        if not self._listed:
            return
        terminalreporter.section("soundstage: replays that differ from their tapes", yellow=True)
        for test, verdicts in sorted(self._listed.items()):
            terminalreporter.write_line(test)
            for verdict in verdicts:
                for line in verdict.splitlines():
                    terminalreporter.write_line(f"  {line}")
        count = sum(map(len, self._listed.values()))
        terminalreporter.write_line(f"{count} difference(s); with {TAPES}=fail they fail their tests")
