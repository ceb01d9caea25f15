"""A failed test shows what happened in its runs, whoever made them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from soundstage.journal import MessageReceived, read_journal

ROOT = Path(__file__).parents[2]
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

STARTED = """
from soundstage import HostBuilder
from soundstage.lifecycle import Daemon

class Broken(Daemon):
    async def _start(self):
        raise OSError("the port is taken")

    async def _stop(self):
        pass

async def test_a_start_fails(start_host):
    await start_host(HostBuilder().with_daemon(lambda host: Broken("broken", host.journal)))

async def test_a_body_fails(start_host):
    await start_host(HostBuilder().with_console())
    assert 1 + 1 == 3

async def test_the_fixtures_ran_an_app_too(start_host, run_app, console):
    async def says(app):
        app.console.write_line("of the fixtures")

    await run_app(says)
    await console.expect("of the fixtures")
    await start_host(HostBuilder().with_daemon(lambda host: Broken("broken", host.journal)))
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


def test_the_snippet_for_ci_keeps_the_pages_and_journals_of_failed_tests(pytester):
    (recipe,) = re.findall(
        r"<!-- recipe: github -->\n```yml\n(.*?)```", (ROOT / "docs/ci.md").read_text(), re.DOTALL
    )
    steps = yaml.safe_load(recipe)["jobs"]["tests"]["steps"]
    (run,) = [step for step in steps if "-m pytest" in step.get("run", "")]
    (keep,) = [step for step in steps if "upload-artifact" in step.get("uses", "")]
    assert keep["if"] == "failure()"
    paths = keep["with"]["path"].split()
    assert not any(path.startswith(".") for path in paths)  # the action leaves such folders out
    folder = pytester.path / paths[-1]
    pytester.makepyfile(TESTS)
    options = shlex.split(run["run"])[3:]
    pytester.runpytest_subprocess("-p", "no:cacheprovider", *options).assert_outcomes(failed=3, passed=1)
    kept = {path.name.split("-")[0].split("_test_")[-1]: path for path in sorted(folder.glob("*.jsonl"))}
    pages = {path.stem for path in folder.glob("*.html")} - {"index"}
    assert all(any(path.stem.startswith(page) for page in pages) for path in folder.glob("*.jsonl"))
    assert len(list(folder.glob("*.jsonl"))) == 4
    said = [
        event.text
        for path in folder.glob("*.jsonl")
        for event in (record.event for record in read_journal(path))
        if isinstance(event, MessageReceived)
    ]
    assert sorted(said) == ["first words", "run 2", "run 3", "run 4"], kept


def test_our_own_ci_keeps_the_pages_of_whatever_fails():
    text = (ROOT / ".ci/run").read_text()
    commands = [line for line in text.splitlines() if " pytest " in line or line.startswith("make test")]
    assert len(commands) == 3
    assert all("--soundstage-html" in line for line in commands), commands


def test_a_run_that_start_host_could_not_start_is_shown_once_without_an_empty_run_of_the_fixtures(pytester):
    pytester.makepyfile(STARTED)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--soundstage-html", "pages")
    result.assert_outcomes(failed=3)
    said = result.stdout.str()
    start, body, both = (
        re.split(rf"_ {name} _+\n", said)[1].partition("\n____")[0].partition("short test summary")[0]
        for name in ("test_a_start_fails", "test_a_body_fails", "test_the_fixtures_ran_an_app_too")
    )
    for shown in (start, body):
        assert "run 1 of" not in shown
        assert shown.count("soundstage trace") <= 1
        assert "the run run" not in shown
    assert "daemon broken failed: OSError: the port is taken" in start.split("soundstage trace")[1]
    assert "of the fixtures" in both.split("run 1 of the last 2: trace")[1]
    assert "daemon broken failed" in both.split("run 2 of the last 2: trace")[1]
    [page] = pytester.path.glob("pages/*test_a_start_fails*.html")
    assert "of the last 2" not in page.read_text()
