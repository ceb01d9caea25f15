"""The hook for whoever keeps the runs of tests: pages, the store, plugins of others."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

if TYPE_CHECKING:
    from soundstage.journal import Journal

ORDER: Final = ("failed", "error", "xfailed", "xpassed", "skipped", "passed")  # the worst first
LONGEST: Final = 80  # characters of a test's id in a file's name
_OUTCOME: pytest.StashKey[str] = pytest.StashKey()


class RunOfTest(Protocol):
    """A run of a test, whoever made it."""

    @property
    def journal(self) -> Journal:
        """Everything that happened in it."""

    @property
    def after(self) -> int:
        """The position of the journal where it begins."""

    @property
    def busy(self) -> bool:
        """Whether something happened in it."""


class PhaseHooks:
    """Hooks of this plugin."""

    @pytest.hookspec
    def pytest_soundstage_phase(
        self,
        item: pytest.Item,
        report: pytest.TestReport,
        runs: Sequence[RunOfTest],
        outcome: str,
        error: BaseException | None,
    ) -> None:
        """A phase of a test is over, and its report has no secrets any more.

        Whatever goes wrong in a hook must not end the session: tell it in the report.

        Args:
            item: the test.
            report: of this phase; `report.when` is `teardown` in the last one.
            runs: the runs of the test.
            outcome: of the test so far, a word of `ORDER`.
            error: what ended this phase; nothing if that was its end.
        """


def outcome_of(report: Any) -> str:
    """How one phase of a test ended."""
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    return "error" if report.failed and report.when != "call" else str(report.outcome)


def tell_phase(
    item: pytest.Item, report: pytest.TestReport, runs: Sequence[RunOfTest], error: BaseException | None
) -> None:
    """Call the hook, with the outcome of the test so far."""
    if report.when == "call" or not report.passed:
        before = item.stash.get(_OUTCOME, "passed")
        item.stash[_OUTCOME] = min(before, outcome_of(report), key=ORDER.index)
    item.ihook.pytest_soundstage_phase(
        item=item, report=report, runs=runs, outcome=item.stash.get(_OUTCOME, "passed"), error=error
    )


def name_of_test(item: pytest.Item) -> str:
    """The test as a part of a file's name: classes, function, the id of its parameters.

    Not the node's id: plugins add to it, xdist the name of a group.
    """
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    function, bracket, parameters = item.name.partition("[")
    name = ".".join([*classes, function])
    if not bracket:
        return name
    whole = parameters.removesuffix("]")
    plain = re.sub(r"[^a-z0-9_.-]", "_", whole)[:LONGEST]
    checksum = "" if plain == whole else f"~{zlib.crc32(whole.encode()):08x}"
    return f"{name}({plain}{checksum})"


def is_watched(item: pytest.Item) -> bool:
    """Whether somebody keeps the runs of tests."""
    return bool(item.ihook.pytest_soundstage_phase.get_hookimpls())
