"""The mark `validates`: one sentence on what a test guarantees, which its failure repeats.

A mark without a sentence fails the collection of its file, and so does a test without the mark where
`--soundstage-require-validates` asks for it: the file is told with the names of all such tests. This file imports
pytest alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest

REQUIRE: Final = "--soundstage-require-validates"
VALIDATES: Final = "validates"
VALIDATES_MARKER: Final = (
    "validates(sentence): what the test guarantees, in one sentence; its failure says it."
)


def add_options(group: pytest.OptionGroup) -> None:
    """The option of whoever wants a sentence for each test."""
    group.addoption(
        REQUIRE,
        action="store_true",
        default=False,
        help="Fail the collection of tests that have no mark `validates`.",
    )


_WRONG: Final = '`@pytest.mark.validates("...")` takes one sentence that is not empty; it has none on:'
_MISSING: Final = f'{REQUIRE}: write `@pytest.mark.validates("...")`, with what the test guarantees, above:'


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: Sequence[pytest.Item]
) -> None:
    """Fail each file with tests whose mark has no sentence, or which have no mark and need one."""
    required = config.getoption(REQUIRE)
    files: dict[str, dict[str, dict[str, None]]] = {}
    for item in items:
        sentences = [_sentence(mark) for mark in item.iter_markers(VALIDATES)]
        missing = required and not sentences and isinstance(item, pytest.Function)
        if missing or not all(sentences):
            problems = files.setdefault(item.nodeid.partition("::")[0], {})
            problems.setdefault(_MISSING if missing else _WRONG, {})[item.nodeid.partition("[")[0]] = None
    for file, problems in files.items():
        told = "\n".join("\n  ".join((problem, *names)) for problem, names in problems.items())
        session.ihook.pytest_collectreport(report=pytest.CollectReport(file, "failed", told, []))


def _sentence(mark: pytest.Mark) -> str:
    """The sentence of a mark; empty if it is not one text alone."""
    if mark.kwargs or len(mark.args) != 1 or not isinstance(mark.args[0], str):
        return ""
    return mark.args[0].strip()


def say_sentence(item: pytest.Item, report: pytest.TestReport) -> pytest.TestReport:
    """Let the failure of a test end with its sentence, wherever the failure is shown: terminal, junit, page."""
    sentences = [_sentence(mark) for mark in item.iter_markers(VALIDATES)] if report.failed else []
    if not sentences:
        return report
    said = "\n".join(sentences)
    told: Any = report.longrepr
    if hasattr(told, "addsection"):
        told.addsection(VALIDATES, said)
    else:
        report.longrepr = f"{told}\n{VALIDATES}: {said}"
    return report
