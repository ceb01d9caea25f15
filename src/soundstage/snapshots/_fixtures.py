"""Snapshots of prompts: where a test's snapshots are, which were checked, and which are left over.

A test's snapshots are beside its file: `__snapshots__/<test file>/<test>.<name>.txt`. Two tests never share a
file: classes are part of the name, and a parametrised test's id is, with a checksum where it has letters that
files should not have.

Where tests run in several processes, each report carries what its test has done, and the process that prints
the summary puts it together. Left over is what nobody has checked in a file all of whose tests have run and
passed; a run of a selection, or one that failed, says nothing about what is left over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from soundstage.pytest_plugin import name_of_test

FOLDER: Final = "__snapshots__"
UPDATE: Final = "--soundstage-update"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,78}[A-Za-z0-9_-]|[A-Za-z0-9_]")
_SELECTED: Final = ("lf", "failedfirst", "stepwise", "keyword", "markexpr", "deselect")
_CHECKED: Final = "soundstage_snapshots"  # attributes of reports; they cross from process to process
_PARTIAL: Final = "soundstage_partial"


class PromptSnapshots:
    """The snapshots of one test; calling it asserts one.

    Example:
        >>> def test_prompt(prompt_snapshot):
        ...     prompt_snapshot("You are terse.")
    """

    def __init__(self, item: pytest.Item) -> None:
        self._base = item.path.parent / FOLDER / item.path.stem
        self._test = name_of_test(item)
        self._update: bool = item.config.getoption(UPDATE)
        self._calls = 0
        self.checked: dict[str, str] = {}  # path -> what was done

    def __call__(self, shown: Any, name: str = "", *, replace: Any = None) -> None:
        """Check a prompt against its snapshot; `--soundstage-update` writes it.

        Args:
            shown: a text, a request, a message or messages; see `soundstage.snapshots.snapshot_text`.
            name: tells the snapshots of one test apart; the second one without a name is called 2.
            replace: what changes from run to run -> what to write instead.

        Raises:
            ExpectationError: if there is no such snapshot, or the text has changed.
            ScriptError: for a name that is no name for a file, or that this test has used.
        """
        __tracebackhide__ = True
        from soundstage.snapshots import assert_snapshot

        path = self._path(name)
        self.checked[str(path)] = "seen"
        how = f"pytest {UPDATE}"
        self.checked[str(path)] = assert_snapshot(path, shown, update=self._update, replace=replace, how=how)

    def _path(self, name: str) -> Path:
        from soundstage.errors import ScriptError

        self._calls += 1
        if not isinstance(name, str) or (name and not _NAME.fullmatch(name)):
            raise ScriptError(
                "this is no name for a snapshot",
                expected="1 to 80 letters, digits, spaces or _-., not beginning or ending with a dot or a space",
                seen=repr(name),
            )
        name = name or (str(self._calls) if self._calls > 1 else "")
        path = self._base / f"{self._test}{'.' if name else ''}{name}.txt"
        if str(path).casefold() in map(str.casefold, self.checked):
            raise ScriptError(
                f"this test has two snapshots called {name or self._test!r}",
                hint="give each a name of its own: prompt_snapshot(text, 'first')",
            )
        return path


class SnapshotBook:
    """The outcomes of snapshots in this run: one record per process, the one with a terminal reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests = pytest.StashKey[PromptSnapshots]()
        self._deselected: set[Path] = set()
        self._checked: dict[str, str] = {}
        self._files: dict[Path, bool] = {}  # file -> whether all its tests have run and passed

    def of(self, item: pytest.Item) -> PromptSnapshots:
        """The snapshots of a test that begins."""
        made = PromptSnapshots(item)
        item.stash[self._tests] = made
        return made

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Files of which not all tests run have no leftovers."""
        self._deselected.update(item.path for item in items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[Any]:
        """Let the report carry what the test has done."""
        report = yield
        test = item.stash.get(self._tests, None)
        if test is not None:
            setattr(report, _CHECKED, dict(test.checked))
        if item.path in self._deselected:
            setattr(report, _PARTIAL, True)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what the reports say."""
        self._checked.update(getattr(report, _CHECKED, {}))
        path = self._config.rootpath / report.nodeid.partition("::")[0]
        whole = report.passed and not hasattr(report, _PARTIAL)
        self._files[path] = self._files.get(path, True) and whole

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        """Say what was written and what is left over."""
        done = Counter(self._checked.values())
        for state in ("created", "updated"):
            if done[state]:
                terminalreporter.write_line(f"soundstage: {done[state]} snapshot(s) {state}")
        left = self._left_over() if exitstatus == 0 and not self._selected() else []
        if left:
            terminalreporter.section("soundstage: snapshots that no test checks", yellow=True)
            for path in left:
                terminalreporter.write_line(str(path.relative_to(self._config.rootpath)))
            terminalreporter.write_line("next step: delete them, or bring back the tests that checked them")

    def _selected(self) -> bool:
        """Whether the command line has chosen some of the tests."""
        option = self._config.option
        return any(getattr(option, name, None) for name in _SELECTED) or any(
            "::" in argument for argument in self._config.args
        )

    def _left_over(self) -> list[Path]:
        """Snapshots of tests and of test files that are gone."""
        left: set[Path] = set()
        for folder in {path.parent / FOLDER for path in self._files if (path.parent / FOLDER).is_dir()}:
            for child in folder.iterdir():
                file = folder.parent / f"{child.name}.py"
                if self._files.get(file, not file.exists()):
                    left.update(path for path in child.glob("*.txt") if str(path) not in self._checked)
        return sorted(left)


BOOK: Final = pytest.StashKey[SnapshotBook]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that writes snapshots."""
    parser.getgroup("soundstage").addoption(
        UPDATE,
        action="store_true",
        default=False,
        help="Write the snapshots of `prompt_snapshot` that are missing or have changed.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register what keeps count of snapshots."""
    config.stash[BOOK] = SnapshotBook(config)
    config.pluginmanager.register(config.stash[BOOK], "soundstage-snapshots")


@pytest.fixture
def prompt_snapshot(request: pytest.FixtureRequest) -> PromptSnapshots:
    """Checks a prompt, messages or a request against a file: `prompt_snapshot(text, name="planner")`."""
    return request.config.stash[BOOK].of(request.node)
