"""A failed test shows what happened in its runs, whoever made them."""

from __future__ import annotations

TESTS = """
import pytest
from soundstage import HostBuilder

async def app(world):
    while (line := await world.console.read_line()) is not None:
        world.console.write_line(f"you said {line}")

def builder():
    return HostBuilder().with_console().with_app(app)

def test_fails_in_its_body():
    async def body(host):
        await host.console.send("first words")
        await host.console.expect("never said", within=1)
    builder().run(body)

def test_fails_after_its_runs():
    async def body(host):
        await host.console.send(f"run {number}")
        await host.console.expect("you said")
    for number in range(5):
        builder().run(body)
    assert 1 + 1 == 3

def test_passes():
    async def body(host):
        await host.console.send("hidden words")
        await host.console.expect("you said")
    builder().run(body)

def test_fails_without_a_run():
    assert 1 + 1 == 4
"""


def test_a_failed_test_shows_the_trace_of_the_runs_that_it_made_with_a_builder(pytester):
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--soundstage-html", "pages")
    result.assert_outcomes(failed=3, passed=1)
    said = result.stdout.str()
    body, after = (
        said.split(f"_ {name} _")[1] for name in ("test_fails_in_its_body", "test_fails_after_its_runs")
    )
    alone = said.split("_ test_fails_without_a_run _")[1]
    assert "soundstage trace" in body
    assert "first words" in body.split("soundstage trace")[1]
    assert [word in after for word in ("run 1'", "run 2'", "run 3'", "run 4'")] == [
        False,
        True,
        True,
        True,
    ], after
    assert "soundstage run 3 of the last 3: trace" in after
    assert "soundstage trace" not in alone
    assert "hidden words" not in said
    pages = sorted(page.name.partition("-")[0] for page in (pytester.path / "pages").glob("*.html"))
    assert [name.rpartition("_test_")[2] for name in pages] == [
        "index.html",
        "fails_after_its_runs",
        "fails_in_its_body",
    ]
