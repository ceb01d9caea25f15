"""The plugin, in runs of pytest of their own.

They are processes of their own: a run inside this one would throw away the modules that it has imported, and the
next test would get second copies of them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from soundstage.pytest_plugin._sections import page_name
from soundstage.wings import wings

INI = "[pytest]\nfilterwarnings = error\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n"


@pytest.fixture
def inner(pytester):
    """Runs a test file in a pytest of its own."""
    pytester.makeini(INI)

    def go(text, *options):
        pytester.makepyfile(text)
        return pytester.runpytest_subprocess(*options)

    return go


def test_whoever_installs_the_package_has_the_plugin_without_naming_it(inner, monkeypatch):
    for name in ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_PLUGINS"):
        monkeypatch.delenv(name)
    inner("def test_it(script, journal): pass").assert_outcomes(passed=1)


def test_a_passing_test_with_an_sdk_needs_nothing_but_the_fixtures(inner):
    result = inner("""
        import openai

        def test_it(script, model_server):
            script.on(user="hello").reply("hi")
            client = openai.OpenAI(base_url=model_server.openai_url, api_key="k")
            answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
            assert answer.choices[0].message.content == "hi"
    """)
    result.assert_outcomes(passed=1)


def test_an_async_test_in_process_runs_on_virtual_time_without_another_plugin(inner):
    result = inner("""
        import asyncio

        async def test_it(journal):
            await asyncio.sleep(86_400)
            assert journal.clock.now() == 86_400
    """)
    result.assert_outcomes(passed=1)


def test_a_failing_test_shows_its_trace_and_its_unused_rules(inner):
    result = inner("""
        from soundstage.messages import ModelRequest, user
        from soundstage.models import complete

        async def test_it(script, model):
            script.on(user="hello").reply("hi there")
            script.on(user="never").reply("x")
            await complete(model, ModelRequest(model="m", messages=(user("hello"),)))
            assert False, "on purpose"
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*soundstage trace*", "*'hi there'*", "*soundstage unused rules*", "*never*"]
    )


def test_an_unused_rule_of_a_strict_script_fails_the_test_and_a_mark_allows_it(inner):
    result = inner("""
        import pytest

        def test_strict(script):
            script.on(user="never").reply("x")

        @pytest.mark.soundstage(strict=False)
        def test_loose(script):
            script.on(user="never").reply("x")
    """)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*never used*"])


def test_an_async_fixture_in_a_sync_test_is_an_error_that_says_what_to_write(inner):
    result = inner("""
        def test_it(console):
            pass
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*async def test_it*"])


def test_an_app_in_process_is_started_and_stopped_and_its_failure_fails_the_test(inner):
    result = inner("""
        async def test_good(console, run_app):
            async def app(world):
                while (line := await world.console.read_line()) is not None:
                    world.console.write_line(line.upper())
            await run_app(app)
            await console.send("hello")
            await console.expect("HELLO")

        async def test_bad(console, run_app, journal):
            async def app(world):
                raise RuntimeError("the app is broken")
            await run_app(app)
            await journal.clock.sleep(1)
    """)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the app is broken*"])


def test_a_deadlock_is_reported_and_does_not_hang(inner):
    result = inner("""
        import asyncio

        async def test_it(journal):
            await asyncio.Event().wait()
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*every task waits*"])


def test_a_script_file_can_be_the_start(inner, pytester):
    pytester.makefile(".yaml", greeting="version: 1\nrules:\n  - {when: {user: hello}, reply: hi}\n")
    result = inner("""
        import pytest
        from soundstage.messages import ModelRequest, user
        from soundstage.models import complete

        @pytest.mark.soundstage(script="greeting.yaml", seed=4)
        async def test_it(model):
            answer = await complete(model, ModelRequest(model="m", messages=(user("hello"),)))
            assert answer.text == "hi"
    """)
    result.assert_outcomes(passed=1)


def test_an_unknown_option_of_the_mark_is_an_error(inner):
    result = inner("""
        import pytest

        @pytest.mark.soundstage(stricct=True)
        def test_it(script):
            pass
    """)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no option 'stricct'*"])


def test_the_page_of_a_failed_test_is_written_on_request(inner, pytester):
    result = inner(
        """
        def test_it(journal):
            from soundstage.journal import Noted
            journal.append(Noted(text="something"), source="test")
            assert False
        """,
        "--soundstage-html",
        "pages",
    )
    result.assert_outcomes(failed=1)
    [page] = [page for page in (pytester.path / "pages").glob("*.html") if page.name != "index.html"]
    assert "<!doctype html>" in page.read_text().lower()


def test_a_report_never_ends_a_run_and_holds_no_secret(inner, pytester):
    (pytester.path / "pages").write_text("a file where the folder should be")
    result = inner(
        """
        import os
        import pytest

        @pytest.mark.parametrize("name", ["漢" * 100, "x"])
        def test_it(journal, name, monkeypatch):
            from soundstage.journal import Noted
            journal.append(Noted(text="something"), source="test")
            monkeypatch.setenv("LATE_TOKEN", "correct-horse-9")
            print("captured: correct-horse-9")
            raise ValueError("no entry with correct-horse-9")
        """,
        "--soundstage-html",
        "pages",
        "--junitxml",
        "junit.xml",
    )
    result.assert_outcomes(failed=2)
    said = result.stdout.str()
    assert "the page pages" in said
    assert "cannot be written" in said
    assert "no entry with [redacted]" in said
    assert "captured: [redacted]" in said
    outside = said.replace('monkeypatch.setenv("LATE_TOKEN", "correct-horse-9")', "")
    assert "INTERNALERROR" not in said
    for text in (outside, (pytester.path / "junit.xml").read_text()):
        assert "entry with correct-horse" not in text
        assert "captured: correct-horse" not in text


def test_pages_of_tests_never_share_a_name_and_fit_into_any_file_system():
    names = [
        "t.py::test[a/b]",
        "t.py::test[a_b]",
        "t.py::test[" + "漢" * 100 + "]",
        "t.py::test[" + "漢" * 101 + "]",
    ]
    pages = [page_name(name, name) for name in names]
    assert len(set(pages)) == len(names)
    assert all(len(page.encode()) <= 200 for page in pages)
    assert page_name(names[0], names[0]) == pages[0]


def test_a_program_runs_against_the_scripted_model_and_cannot_leave(inner):
    result = inner("""
        import sys
        PROGRAM = '''
        import openai
        print(openai.OpenAI().chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hello"}]).choices[0].message.content)
        '''
        LEAVES = "import urllib.request; urllib.request.urlopen('http://example.com/')"

        async def test_inside(script, command):
            script.on(user="hello").reply("hi")
            import textwrap
            program = await command([sys.executable, "-c", textwrap.dedent(PROGRAM)])
            await program.expect("hi", within=30)
            assert await program.wait(within=30) == 0

        async def test_leaves(command):
            program = await command([sys.executable, "-c", LEAVES])
            assert await program.wait(None, within=30) != 0
    """)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*example.com:80*"])


def test_the_idle_plugin_loads_nothing_of_the_package_but_its_options_and_the_fixtures_of_wings(tmp_path):
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    code = (
        "import sys, pytest\n"
        f"pytest.main(['-q', '-p', 'no:cacheprovider', '--rootdir', {str(tmp_path)!r}, {str(tmp_path)!r}])\n"
        "print(sorted(name for name in sys.modules if name.startswith('soundstage') or name == 'msgspec'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = {
        name for wing in wings() for module in wing.fixtures for name in (module, module.rpartition(".")[0])
    }
    assert done.stdout.splitlines()[-1] == str(
        sorted(
            wanted
            | {"soundstage.errors", "soundstage.wings"}
            | {
                "soundstage",
                "soundstage.pytest_plugin",
                "soundstage.pytest_plugin._asynchronous",
                "soundstage.pytest_plugin._budget",
                "soundstage.pytest_plugin._clean",
                "soundstage.containers._fixtures",
                "soundstage.pytest_plugin._hooks",
                "soundstage.pytest_plugin._pages",
                "soundstage.pytest_plugin._schedules",
                "soundstage.pytest_plugin._source",
                "soundstage.pytest_plugin._validates",
            }
        )
    )
