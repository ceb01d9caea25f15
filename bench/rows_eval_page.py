"""The page of an eval with 5,000 results in a real browser: until it is loaded and drawn."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from _pairs import median
from _settings import Settings
from _table import Row
from soundstage.journal import Redactor
from soundstage.report import GridCell, GridRow, RunGrid, write_grid

NAME = "eval page"
CASES, RUNS, LIMIT = 200, 25, 2000.0
WHAT = f"the page of an eval with {CASES * RUNS:,} results"
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    path = os.environ.get("SOUNDSTAGE_CHROMIUM") or shutil.which("chromium")
    if not path:
        yield Row(WHAT, "a limit", "no chromium on the path", None, LIMIT, "at most", "ms")
        return
    with tempfile.TemporaryDirectory() as name:
        page = write_grid(Path(name) / "grid.html", _grid(), redactor=Redactor())
        size = page.stat().st_size
        drawn = median(_opened(path, page.as_uri(), 3 * settings.rounds))
    yield Row(WHAT, "a limit", f"{size / 1e6:.1f} MB, {drawn:.0f} ms", drawn, LIMIT, "at most", "ms")


def _grid() -> RunGrid:
    cells = [
        GridCell(
            str(n + 1),
            "passed" if n % 5 else "failed",
            "" if n % 5 else "failed: it rained",
            f"runs/{n:016x}.html",
        )
        for n in range(RUNS)
    ]
    history = [(f"2026-11-{day:02} 10:00 UTC", "20/25 = 80%") for day in range(10, 0, -1)]
    figures = ("20/25", "80%", "61% to 91%", "75%", "1.20", "830")
    case = [GridRow(f"case {n}", "mixed", figures, cells, ["it rained"], history) for n in range(CASES)]
    return RunGrid(
        "Eval weather", ["eval 4f1c"], ("passed", "rate", "95 %", "required", "seconds", "tokens"), case
    )


def _opened(chromium: str, address: str, times: int) -> list[float]:
    """Milliseconds from the beginning of the navigation to the second frame after the page is loaded."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            taken = []
            for _ in range(times):
                page = browser.new_page()
                page.goto(address)
                taken.append(float(page.evaluate(DRAWN)))
                assert page.locator(".runs a").count() == CASES * RUNS
                page.close()
            return taken
        finally:
            browser.close()
