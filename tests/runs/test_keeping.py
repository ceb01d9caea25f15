"""`pytest --soundstage-runs` keeps the run of each test, with its outcome, and never ends a session."""

from __future__ import annotations

import pytest

import soundstage.runs._index  # noqa: F401  (pytester forgets inner imports, and SQLAlchemy takes no second one)
from soundstage.runs import RunStore

TESTS = """
import pytest
from soundstage import HostBuilder
from soundstage.journal import Noted

def test_passes(journal, record_property):
    record_property("branch", "main")
    journal.append(Noted(text="hello"), source="test")

def test_fails(journal):
    journal.append(Noted(text="before"), source="test")
    assert 1 + 1 == 3

@pytest.fixture
def breaks(journal):
    yield
    raise KeyError("late")

def test_breaks_at_its_end(journal, breaks):
    journal.append(Noted(text="something"), source="test")

async def test_asks(script, model):
    from soundstage.messages import ModelRequest, user
    script.on(user="hello").reply("hi")
    async for _ in model.stream(ModelRequest(model="m", messages=(user("hello"),))):
        pass

async def echo(world):
    while (line := await world.console.read_line()) is not None:
        world.console.write_line(line)

async def test_makes_two_runs():
    for text in ("a", "b"):
        async with HostBuilder().with_app(echo).build() as host:
            await host.console.send(text)
            await host.console.expect(text)

def test_without_a_run():
    pass
"""


@pytest.fixture
def kept(pytester):
    """Runs pytest on the tests, and gives what it said and the store."""
    pytester.makepyfile(test_it=TESTS)
    pytester.makeini("[pytest]\naddopts = -p no:randomly -p no:cacheprovider\n")

    def run(*options):
        result = pytester.runpytest_inprocess(*options)
        return result, RunStore(pytester.path / ".soundstage")

    return run


def outcomes(store):
    return sorted((run.test.removeprefix("test_it.py::test_"), run.outcome) for run in store.list())


def test_every_test_with_a_run_is_kept_with_its_outcome_journal_and_figures(kept):
    result, store = kept("--soundstage-runs", "-")
    result.stdout.fnmatch_lines(["*soundstage runs: 6 kept; soundstage runs list"])
    assert outcomes(store) == [
        ("asks", "passed"),
        ("breaks_at_its_end", "error"),
        ("fails", "failed"),
        ("makes_two_runs", "passed"),
        ("makes_two_runs", "passed"),
        ("passes", "passed"),
    ]
    (failed,) = store.list(outcome="failed")
    opened = store.open(failed.id)
    assert "assert (1 + 1) == 3" in opened.files["failure.txt"].text()
    assert [record.event.text for record in opened.journal() if hasattr(record.event, "text")] == ["before"]
    (passed,) = store.list(labels={"branch": "main"})
    assert (passed.test, passed.driver, passed.tokens) == ("test_it.py::test_passes", "pytest", None)
    assert not store.open(passed.id).files
    (asked,) = store.list(test="test_it.py::test_asks")
    assert asked.tokens > 0
    names = sorted(run.name for run in store.list(test="test_it.py::test_makes_two_runs"))
    assert names == ["run 1 of the last 2", "run 2 of the last 2"]


@pytest.mark.full
def test_only_those_that_failed_are_kept_where_that_is_asked_for(kept):
    _, store = kept("--soundstage-runs", ".soundstage", "--soundstage-runs-for", "failed")
    assert outcomes(store) == [("breaks_at_its_end", "error"), ("fails", "failed")]


@pytest.mark.full
def test_without_the_option_nothing_is_kept_and_nothing_said(kept, pytester):
    result, store = kept()
    assert "soundstage runs" not in result.stdout.str()
    assert not store.root.exists()


@pytest.mark.full
def test_a_store_that_cannot_be_written_is_told_and_changes_no_outcome(kept, pytester):
    (pytester.path / "file").write_text("in the way")
    result, _ = kept("--soundstage-runs", "file/store")
    result.assert_outcomes(passed=5, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*soundstage runs: 0 kept*", "*not kept: the store*cannot keep a run*"])
