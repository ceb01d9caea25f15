"""Pages of tests and their index: what failed, at which line, with the rules that were not used."""

from __future__ import annotations

import re

INI = "[pytest]\naddopts = -p no:randomly -p no:cacheprovider\n"
TESTS = """
import os

import pytest
from soundstage import HostBuilder

async def echo(world):
    while (line := await world.console.read_line()) is not None:
        world.console.write_line(f"you said {line}")

async def test_fails(script, console, run_app):
    script.on(user="never asked").reply("x")
    await run_app(echo)
    await console.send("hello")
    await console.expect("<b>good bye</b>", within=5)

async def test_passes():
    async with HostBuilder().with_app(echo).build() as host:
        await host.console.send("hello")
        await host.console.expect("you said")

async def test_breaks_at_its_end(run_app, console):
    async def app(world):
        await world.console.read_line()
        raise KeyError("no such city")
    await run_app(app)

@pytest.mark.xfail
async def test_is_expected_to_fail(console):
    await console.send("hello")
    assert False

@pytest.mark.skip
def test_is_skipped(journal): pass

def test_keeps_a_secret(journal, monkeypatch):
    from soundstage.journal import Noted
    journal.append(Noted(text="something"), source="test")
    monkeypatch.setenv("LATE_TOKEN", "correct-horse-9")
    raise ValueError("no entry with " + os.environ["LATE_TOKEN"])

def test_without_a_run():
    assert 1 + 1 == 3
"""


def rows_of(index):
    """Outcome and page, by test."""
    found = re.findall(
        r'<tr class="(\w+)">.*?<th scope="row">(?:<a href="([^"]+)">)?test_it.py::(\w+)', index, re.DOTALL
    )
    return {name: (outcome, page) for outcome, page, name in found}


def test_every_test_is_in_the_index_and_what_had_a_run_has_a_page(pytester):
    pytester.makeini(INI)
    pytester.makepyfile(test_it=TESTS)
    options = ("-p", "xdist", "-n", "1", "--soundstage-html", "pages", "--soundstage-html-for", "all")
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(failed=4, passed=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(["soundstage pages: pages?index.html"])
    folder = pytester.path / "pages"
    index = (folder / "index.html").read_text()
    rows = rows_of(index)
    assert {name: outcome for name, (outcome, _) in rows.items()} == {
        "test_fails": "failed",
        "test_passes": "passed",
        "test_breaks_at_its_end": "failed",
        "test_is_expected_to_fail": "xfailed",
        "test_is_skipped": "skipped",
        "test_keeps_a_secret": "failed",
        "test_without_a_run": "failed",
    }
    with_page = {name for name, (_, page) in rows.items() if page}
    assert with_page == set(rows) - {"test_is_skipped", "test_without_a_run"}
    pages = {name: (folder / page).read_text() for name, (_, page) in rows.items() if page}
    failed = pages["test_fails"]
    assert re.search(r"test_it\.py:\d+: console did not show the expected line within 5 s", failed)
    assert "await console.expect(&#34;&lt;b&gt;good bye&lt;/b&gt;&#34;, within=5)" in failed
    assert "rule 1 [user &#39;never asked&#39;]" in failed
    assert "KeyError: &#39;no such city&#39;" in pages["test_breaks_at_its_end"]
    assert "you said hello" in pages["test_passes"]
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", index)
    assert "<script" not in index
    for text in (index, *pages.values()):
        assert "no entry with correct-horse" not in text


def test_without_being_asked_for_all_only_failures_have_a_page_and_a_folder_that_cannot_be_written_is_told(
    pytester,
):
    pytester.makeini(INI)
    pytester.makepyfile(test_it=TESTS)
    (pytester.path / "a file").write_text("in the way")
    result = pytester.runpytest_subprocess("--soundstage-html", "pages", "-p", "no:xdist")
    assert result.ret == 1
    rows = rows_of((pytester.path / "pages" / "index.html").read_text())
    assert {name for name, (_, page) in rows.items() if page} == {
        "test_fails",
        "test_breaks_at_its_end",
        "test_keeps_a_secret",
    }
    result = pytester.runpytest_subprocess("--soundstage-html", "a file", "-p", "no:xdist")
    said = result.stdout.str()
    assert "INTERNALERROR" not in said
    assert "soundstage pages: not available: the page a file" in said
