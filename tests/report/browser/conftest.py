"""Pages in a real browser: headless Chromium, closed after every file of tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from soundstage.journal import Noted, Record, encode_record
from soundstage.report import GridCell, GridRow, RunGrid, Section, write_grid, write_page

sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--disable-quic",
    "--disable-sync",
)
MANY = 10_000
LARGE = 1234567890123456789  # does not fit into a browser's number


@pytest.fixture(scope="session")
def pages(
    tmp_path_factory: pytest.TempPathFactory,
    team: list[Record],
    failing: list[Record],
    hostile: list[Record],
    many: Callable[[int], list[Record]],
) -> dict[str, str]:
    """Addresses of pages, by name. Written before a browser runs: the journals need an event loop."""
    folder = tmp_path_factory.mktemp("pages")
    data = {"id": LARGE, "empty": {}, "list": [], "real": 1.50, "deep": [{"a": None}]}
    event = Noted(text='say "hi"\n', data=data)
    precise = Record(position=1, time=0.1, run="r", source="s", cause=None, event=event)
    sections = {
        "team": [Section("Settings team", team, note="A note.")],
        "several": [Section("Team", team), Section("Failing", failing)],
        "hostile": [Section("<b>hostile</b>", hostile, note="<i>note</i>", outcome="<u>odd</u>")],
        "many": [Section("Many", many(MANY))],
        "precise": [Section("Precise", [precise])],
        "empty": [Section("Empty", [])],
    }
    paths = {name: write_page(folder / f"{name}.html", found) for name, found in sections.items()}
    paths["grid"] = write_grid(folder / "grid.html", grid())
    return {name: path.as_uri() for name, path in paths.items()}


def grid() -> RunGrid:
    """200 cases with 25 runs each; every tenth case fails, and its first cell opens the page `team`."""
    rows = []
    for number in range(200):
        failed = number % 10 == 0
        outcome, hint = ("failed", "failed: it <b>rained</b>") if failed else ("passed", "")
        cells = [GridCell(str(run), outcome, hint, "team.html") for run in range(1, 26)]
        notes = ["it rained"] if failed else []
        rows.append(GridRow(f"case {number}", outcome, ("25",), cells, notes, [("yesterday", "20/25")]))
    return RunGrid("Eval weather", ["eval 4f1c"], ("passed",), rows)


@pytest.fixture
def lines(team: list[Record]) -> list[str]:
    """The journal file behind the page `team`."""
    return [encode_record(record).decode() for record in team]


@pytest.fixture(scope="module")
def browser(pages: dict[str, str]) -> Iterator[Any]:
    path = os.environ.get("SOUNDSTAGE_CHROMIUM") or shutil.which("chromium")
    if not path or not Path(path).exists():
        pytest.skip("no chromium on the path, and SOUNDSTAGE_CHROMIUM does not name one")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield running
        finally:
            running.close()


@pytest.fixture
def visit(browser: Any, pages: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Open a page; at the end of the test it must have asked for nothing, and its console must be empty."""
    contexts: list[Any] = []
    problems: list[str] = []
    requests: list[str] = []

    def open_page(name: str, fragment: str = "", **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url.partition("#")[0]))
        page.goto(pages[name] + fragment)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
    assert set(requests) <= set(pages.values())
