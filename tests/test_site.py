"""The site of the documents: it builds without a warning, no link in it is dead, and search finds every public name."""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright import sync_api

from test_exports import packages

ROOT = Path(__file__).resolve().parent.parent
PNG = b"\x89PNG\r\n"

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore:'audioop' is deprecated:DeprecationWarning"),  # imported by discord.py
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once for all workers of a session."""
    chromium()
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    place, told = shared / "site", shared / "site.log"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            done = subprocess.run(
                [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", place],
                cwd=ROOT,
                env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
                capture_output=True,
                text=True,
                timeout=250,
                check=False,
            )
            told.write_text(f"{done.stdout}{done.stderr}\nended with {done.returncode}")
    assert told.read_text().endswith("ended with 0"), told.read_text()
    return place


def chromium():
    path = os.environ.get("SOUNDSTAGE_CHROMIUM") or shutil.which("chromium")
    if not path:
        pytest.skip("no chromium on the path, and SOUNDSTAGE_CHROMIUM does not name one")
    return path


class Page(HTMLParser):
    """The addresses that a page names, those that it loads, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        loads = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
        if given.get(loads.get(tag)) and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.add(given[loads[tag]])


def pages_of(site):
    return {path.relative_to(site).as_posix(): Page(path.read_text()) for path in site.rglob("*.html")}


def dead_links(pages, site):
    """Links and loads of the pages that lead nowhere inside of the site."""
    for name, page in pages.items():
        for target in page.links | page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = os.path.normpath(Path(name).parent / unquote(parts.path)) if parts.path else name
            anchors = pages[path].anchors if path in pages else ()
            if not (site / path).is_file() or (
                path in pages and unquote(parts.fragment or "") not in {"", *anchors}
            ):
                yield f"{name}: {target}"


def test_no_link_of_the_site_is_dead_and_no_page_loads_anything_from_elsewhere(site):
    pages = pages_of(site)
    assert len(pages) > 100
    assert sum(len(page.links) for page in pages.values()) > 5000
    assert list(dead_links(pages, site)) == []
    assert {target for page in pages.values() for target in page.loads if urlsplit(target).netloc} == set()


def test_a_dead_link_and_a_dead_anchor_would_be_found(tmp_path):
    for name, text in {
        "a.html": '<a id="x" href="b.html#y">',
        "b.html": '<a href="c.html"><a href="a.html#x">',
    }.items():
        (tmp_path / name).write_text(text)
    assert sorted(dead_links(pages_of(tmp_path), tmp_path)) == ["a.html: b.html#y", "b.html: c.html"]


def index_of(site):
    return json.loads((site / "search" / "search_index.json").read_text())["docs"]


def test_the_search_index_has_every_public_name_with_its_place(site):
    index = index_of(site)
    titles = {(entry["location"].partition("#")[0], entry["title"]) for entry in index}
    texts = {}
    for entry in index:
        page = entry["location"].partition("#")[0]
        texts[page] = texts.get(page, "") + entry["text"]
    count, missing = 0, []
    for module in ("soundstage", *(name for name, _ in packages())):
        page = f"reference/api/{module}.html"
        for name in getattr(importlib.import_module(module), "__all__", ()):
            count += 1
            listed = re.search(rf">{re.escape(name)}<", texts.get(page, ""))  # described where it is at home
            if name != "__version__" and (page, name) not in titles and not listed:
                missing.append(f"{module}.{name}")
    assert missing == []
    assert count > 1000


def test_a_browser_finds_a_name_by_the_search_of_the_page_from_disk_and_asks_nobody(site):
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            page = browser.new_page()
            asked = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto((site / "index.html").as_uri())
            for word, place in {
                "assert_tool_calls": "soundstage.trace.html",
                "no rule answers": "troubleshooting.html",
                "soundstage doctor": "doctor.html",
            }.items():
                page.click("[data-md-component=search-query]")
                page.keyboard.press("Control+A")
                page.keyboard.type(word)
                page.wait_for_selector(f".md-search-result__link[href*='{place}']", timeout=60_000)
        finally:
            browser.close()
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []


def test_every_command_and_option_is_in_the_reference(site):
    import typer

    from soundstage import cli

    cli._add_wings("")
    waiting = [(("soundstage",), typer.main.get_command(cli.app))]
    seen = 0
    while waiting:
        words, command = waiting.pop()
        waiting += [((*words, name), part) for name, part in getattr(command, "commands", {}).items()]
        place = site / "reference" / "commands" / (f"{words[1]}.html" if len(words) > 1 else "index.html")
        text = place.read_text()
        if len(words) > 1:
            section = text.partition(f'id="{"-".join(words)}"')[2]
            assert section, words
            section = re.split(r"<h[1-6] ", section)[0]
            assert getattr(command, "commands", None) or re.search(r"Exit codes?", section), words
        for option in (one for param in command.params for one in param.opts if one.startswith("--")):
            assert re.search(rf"<code>[^<]*{option}\b", text if len(words) == 1 else section), (words, option)
            seen += 1
    assert seen > 100


def test_the_pictures_are_there_and_small(site):
    pictures = {path.name: path.read_bytes() for path in (site / "pictures").iterdir()}
    assert {"passed.png", "failed.png"} <= set(pictures)
    for name, picture in pictures.items():
        assert picture.startswith(PNG), name
        assert 10_000 < len(picture) < 400_000, name


def test_agents_find_every_guide_in_the_list_and_every_public_name_in_the_whole(site):
    listed, whole = (site / "llms.txt").read_text(), (site / "llms-full.txt").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert f"({path.stem}.html)" in listed, path.name
        assert path.read_text().splitlines()[0] in whole, path.name
    for target in re.findall(r"\]\(([^)]+)\)", listed):
        assert (site / target).is_file(), target
    for module in ("soundstage.trace", "soundstage.errors", "soundstage.testing"):
        for name in importlib.import_module(module).__all__:
            assert f"- `{name}" in whole, f"{module}.{name}"
