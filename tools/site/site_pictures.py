"""Pictures of the pages that Soundstage writes: the quick start is run, and a browser photographs what comes of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
FILE: Final = re.compile(r"cat > (?P<name>[\w.]+) <<'END'\n(?P<text>.*?)^END$", re.DOTALL | re.MULTILINE)
MARK: Final = re.compile(r"<!-- picture: (?P<name>[\w-]+): (?P<alt>[^>]+) -->")
BROKEN: Final = (": 4 C", ": 5 C")  # the app of the quick start, changed
SIZE: Final = {"width": 1100, "height": 700}


def pictures_in(text: str) -> set[str]:
    """The names of the pictures that a page asks for: `<!-- picture: passed: the page of a test -->`."""
    return {found["name"] for found in MARK.finditer(text)}


def with_pictures(text: str, place: str) -> str:
    """The page with its pictures, each a link to itself in full size."""
    up = "../" * place.count("/")
    return MARK.sub(
        lambda one: f"[![{one['alt']}]({up}pictures/{one['name']}.png)]({up}pictures/{one['name']}.png)", text
    )


def take(names: set[str]) -> dict[str, bytes]:
    """The pictures as PNG files, by name.

    Raises:
        RuntimeError: if there is no browser, or a page does not come about.
    """
    from playwright.sync_api import sync_playwright

    browser_path = os.environ.get("SOUNDSTAGE_CHROMIUM") or shutil.which("chromium")
    if not browser_path:
        raise RuntimeError(
            "the pictures of the site need chromium, and none is on the path; next step: install it "
            "(apt-get install chromium), or name one in SOUNDSTAGE_CHROMIUM"
        )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        try:
            pages = _pages(Path(folder))
            return {name: _shot(browser, pages[name]) for name in sorted(names)}
        finally:
            browser.close()


def _shot(browser: Any, path: Path) -> bytes:
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    page.goto(path.as_uri())
    taken: bytes = page.screenshot()
    page.close()
    return taken


def _pages(folder: Path) -> dict[str, Path]:
    """The pages that are photographed: a green test, the same test on an app that has changed, an eval."""
    text = (ROOT / "docs" / "quick-start.md").read_text()
    files = {found["name"]: found["text"] for found in FILE.finditer(text)}
    broken = {name: code.replace(*BROKEN) for name, code in files.items()}
    passed, failed = _session(folder / "passed", files), _session(folder / "failed", broken)
    return {
        "session": passed / "index.html",
        "passed": next(passed.glob("test_*.html")),
        "failed": next(failed.glob("test_*.html")),
        "eval": _eval(folder),
    }


def _session(folder: Path, files: dict[str, str]) -> Path:
    """Run a folder's tests, in their own process, and return the folder of their pages."""
    folder.mkdir()
    for name, code in files.items():
        (folder / name).write_text(code)
    _run(folder, "pytest", "-q", "--soundstage-html", "pages", "--soundstage-html-for", "all")
    return folder / "pages"


def _eval(folder: Path) -> Path:
    suite, store = "examples/evals/routing/routing.eval.yaml", folder / "store"
    _run(ROOT, "soundstage.cli", "eval", "run", suite, "--repeat", "5", "--store", str(store))
    _run(
        ROOT,
        "soundstage.cli",
        "eval",
        "report",
        "last",
        "--html",
        str(folder / "eval.html"),
        "--store",
        str(store),
    )
    return folder / "eval.html"


def _run(folder: Path, *words: str) -> None:
    """Run a module of Python; that tests fail (code 1) is meant, all else is not."""
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode > 1:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
