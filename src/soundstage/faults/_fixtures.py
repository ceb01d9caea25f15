"""The mark and the fixture of pytest. This file imports pytest alone, because it is loaded in every run."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from soundstage.faults import FaultSweeper
    from soundstage.host import Setup
    from soundstage.models import Model

MARK: Final = "faults"
OPTION: Final = "--soundstage-fault"
MARKER: Final = (
    "faults(kinds=(), seed=0, allow=('survived', 'gave up'), within=3600): how the fixture `faults` sweeps: kinds of "
    f"faults, seed of what is drawn, verdicts that pass, virtual seconds of a run; {OPTION}=CASE runs one case alone."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that runs one case of a sweep again."""
    parser.getgroup("soundstage").addoption(
        OPTION, metavar="CASE", default="", help="Run this one case of the sweeps, e.g. 2:cut-tool."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a mark that nothing would come of."""
    for item in items:
        if item.get_closest_marker(MARK) is not None and MARK not in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(
                f"{item.nodeid} has the mark `faults`, and does not ask for the fixture `faults`: "
                "write def test_x(script, faults): ... faults(agent)"
            )


@pytest.fixture
def faults(stage: Setup, model: Model, request: pytest.FixtureRequest) -> FaultSweeper:  # noqa: ARG001
    """Sweeps an agent in process over this test's script, with faults: `faults(agent)`; see the mark `faults`."""
    from soundstage.faults import FaultSweeper

    item: Any = request.node
    if inspect.iscoroutinefunction(item.obj):
        raise pytest.UsageError(
            f"{item.nodeid}: a sweep has an event loop for each run: write def {item.name}(...)"
        )
    mark = item.get_closest_marker(MARK)
    only = request.config.getoption(OPTION)
    return FaultSweeper(stage.script, item.nodeid, only, dict(mark.kwargs) if mark is not None else {})
