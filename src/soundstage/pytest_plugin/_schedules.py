"""`@pytest.mark.schedules(50)`: one test, under that many orders of its ready tasks.

Each schedule is an item of its own (`test_x[schedule-17]`), with a stage of its own, so they run in parallel and
the seed that fails can be run alone. When one has failed, those of the same test that come after it are skipped:
they would most likely say the same again.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import Any, Final

import pytest

MARK: Final = "schedules"
FIXTURE: Final = "soundstage_schedule"
OPTION: Final = "--soundstage-schedule"
MARKER: Final = (
    "schedules(count, first=0): run the test under `count` orders of its ready tasks, drawn from the seeds "
    f"first, first + 1...; {OPTION}=SEED runs that seed alone."
)


def seeds(mark: pytest.Mark, chosen: int | None) -> list[int]:
    """The seeds that a mark asks for, or the one of the command line.

    Raises:
        ScriptError: if the mark is not one.
    """
    if chosen is not None:
        return [chosen]
    count, first = (*mark.args, *(None,) * (1 - len(mark.args)))[0], mark.kwargs.get("first", 0)
    count = mark.kwargs.get("count", count)
    whole = type(count) is int and type(first) is int and count > 0 and first >= 0
    if not whole or len(mark.args) > 1 or set(mark.kwargs) - {"count", "first"}:
        from soundstage.errors import ScriptError

        raise ScriptError(
            "the mark `schedules` takes the number of schedules",
            expected="@pytest.mark.schedules(50), or schedules(50, first=1000)",
            seen=f"args {mark.args!r}, options {mark.kwargs!r}",
        )
    return list(range(first, first + count))


class Schedules:
    """Makes the items, skips those that have nothing to add, and says how to run one again."""

    def __init__(self) -> None:
        self._failed: dict[str, int] = {}  # test without its schedule -> the first seed that failed

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        mark = metafunc.definition.get_closest_marker(MARK)
        if mark is None:
            return
        chosen = seeds(mark, metafunc.config.getoption(OPTION))
        metafunc.fixturenames.append(FIXTURE)
        metafunc.parametrize(FIXTURE, chosen, ids=[f"schedule-{seed}" for seed in chosen], indirect=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        seed = schedule_of(item)
        if seed is None:
            return (yield)
        from soundstage.clock import scheduled

        with scheduled(seed):
            return (yield)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        asynchronous = schedule_of(item) is not None and inspect.iscoroutinefunction(
            getattr(item, "obj", None)
        )
        if asynchronous and "stage" not in (names := getattr(item, "fixturenames", [])):
            names.append("stage")
        failed = self._failed.get(_test(item)) if schedule_of(item) is not None else None
        if failed is not None:
            pytest.skip(f"schedule {failed} has failed already")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        seed = schedule_of(item)
        if seed is not None and report.failed:
            self._failed.setdefault(_test(item), seed)
            text = f"It failed under schedule {seed}. The same again: pytest '{item.nodeid}'"
            report.sections.append(("soundstage schedule", text))
        return report


def schedule_of(item: pytest.Item) -> int | None:
    """The seed under which an item runs, if it has one."""
    callspec: Any = getattr(item, "callspec", None)
    seed: int | None = None if callspec is None else callspec.params.get(FIXTURE)
    return seed


def _test(item: pytest.Item) -> str:
    return item.nodeid.replace(f"schedule-{schedule_of(item)}", "")
