"""The mark and the fixture of pytest. This file imports pytest alone, because it is loaded in every run."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import pytest

from soundstage.wings import wings

if TYPE_CHECKING:
    from soundstage.faults import FaultSweeper
    from soundstage.host import Setup
    from soundstage.models import Model

MARK: Final = "faults"
OPTION: Final = "--soundstage-fault"
MARKER: Final = (
    "faults(source=None, kinds=(), seed=0, allow=('survived', 'gave up'), within=3600): how the fixture `faults` "
    "sweeps: a tape or a script in the place of the test's, from the folder of the test file, kinds of "
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
    """Refuse a mark that nothing would come of, and one beside a mark with which something else answers."""
    others = [mark for wing in wings() for mark in wing.sources]
    for item in items:
        if item.get_closest_marker(MARK) is None:
            continue
        other = next((mark for mark in others if item.get_closest_marker(mark) is not None), "")
        if other:
            raise pytest.UsageError(
                f"{item.nodeid} has the marks `faults` and `{other}`: a sweep asks a model of its own for each run; "
                "write @pytest.mark.faults(source='x.tape') alone"
            )
        if MARK not in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(
                f"{item.nodeid} has the mark `faults`, and does not ask for the fixture `faults`: "
                "write def test_x(script, faults): ... faults(agent)"
            )


@pytest.fixture
def faults(stage: Setup, model: Model, request: pytest.FixtureRequest) -> FaultSweeper:  # noqa: ARG001
    """Sweeps an agent in process over this test's script, or a tape: `faults(agent)`; see the mark `faults`."""
    from soundstage.faults import FaultSweeper
    from soundstage.faults._source import source_in

    item: Any = request.node
    if inspect.iscoroutinefunction(item.obj):
        raise pytest.UsageError(
            f"{item.nodeid}: a sweep has an event loop for each run: write def {item.name}(...)"
        )
    mark = item.get_closest_marker(MARK)
    options: dict[str, Any] = dict(mark.kwargs) if mark is not None else {}
    named = options.pop("source", None)
    source = source_in(item.path.parent / named) if named is not None else stage.script
    return FaultSweeper(source, item.nodeid, request.config.getoption(OPTION), options)
