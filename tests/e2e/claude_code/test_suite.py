"""The suite itself: how many tests it has, and that its fixtures hold what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.claude_code.kit import PLUGINS
from soundstage.claude_code import bundled_cli
from soundstage.errors import InvalidStateError

needs_claude = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
SPLIT = {
    "test_installation.py": 3,
    "test_command_execution.py": 16,
    "test_conversation_flows.py": 9,
    "test_agent_behaviours.py": 9,
    "test_workflows.py": 6,
    "test_integration.py": 3,
}
INI = "[pytest]\nfilterwarnings = error\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n"


def test_the_suite_has_46_tests_in_six_modules():
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-pno:cacheprovider", "-ppytest_timeout"]
        + [str(here / module) for module in SPLIT],
        cwd=here.parents[2],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    listed = [line for line in done.stdout.splitlines() if "::" in line]
    found = {module: sum(f"/{module}::" in line for line in listed) for module in SPLIT}
    assert found == SPLIT, done.stdout + done.stderr
    assert sum(found.values()) == 46
    for line in listed:  # the docstring of a module with several tests names them
        module, name = line.split("::")[0].rpartition("/")[2], line.split("::")[1].partition("[")[0]
        text = (here / module).read_text()
        named = name in text.split('"""')[1]
        assert named or text.count("\ndef test_") == 1, f"{name} is not in the docstring of {module}"


@pytest.fixture
def inner(pytester):
    """Runs a test file in a pytest of its own."""
    pytester.makeini(INI)

    def go(text, *options):
        pytester.makepyfile(text)
        return pytester.runpytest_subprocess(*options)

    return go


@needs_claude
def test_a_process_is_used_by_the_next_test_and_nothing_of_the_last_one_is_left(inner):
    result = inner("""
        import os

        SEEN = []

        def test_first(test_session, script):
            (test_session.root / "left.txt").write_text("left")
            script.queue({"tool_calls": [{"name": "Bash", "arguments": {"command": "ls", "description": "d"}}]}, "ok")
            turn = test_session.prompt("the first secret")
            SEEN.extend([test_session.claude.session, test_session.id, turn.cost_usd])
            assert not test_session.used

        def test_second(test_session, script, journal):
            assert test_session.used
            assert test_session.claude.session is SEEN[0]
            assert test_session.id != SEEN[1]
            assert test_session.name == "test_session_" + test_session.id[:8]
            assert list(test_session.root.iterdir()) == []
            script.queue("ok")
            turn = test_session.prompt("the second")
            said = "".join(message.everything for message in turn.requests[0].messages)
            assert "first secret" not in said and "left.txt" not in said
            assert not any("first secret" in str(record.event) for record in journal.read())
            assert turn.cost_usd == turn.result.total_cost_usd
    """)
    result.assert_outcomes(passed=2)


@needs_claude
def test_a_process_that_a_test_has_changed_or_broken_is_not_used_again(inner):
    result = inner("""
        import pytest

        pytestmark = pytest.mark.claude_code(permission_mode="bypassPermissions")
        HOMES = []

        def test_leaves_a_memory_in_the_home(test_session, script):
            HOMES.append(test_session.claude.home)
            call = {"name": "Bash", "arguments": {"command": "echo x > ~/.claude/CLAUDE.md", "description": "d"}}
            script.queue({"tool_calls": [call]}, "ok")
            test_session.prompt("remember")

        def test_gets_another_process_and_breaks_it(test_session, script):
            assert not HOMES[0].exists()
            HOMES.append(test_session.claude.home)
            script.on(user="go").fault("stall", "x", after=1)
            with pytest.raises(Exception, match="within"):
                test_session.prompt("go", within=6)

        def test_gets_another_one_again(test_session, script):
            assert not HOMES[1].exists()
            script.queue("ok")
            assert test_session.prompt("go").text == "ok"
    """)
    result.assert_outcomes(passed=3)


@needs_claude
def test_a_failed_test_shows_its_own_trace_and_its_unused_rules(inner):
    result = inner("""
        def test_first(test_session, script):
            script.queue("an answer of the first test")
            test_session.prompt("one")

        def test_second(test_session, script):
            script.queue("an answer of the second test", "never said")
            assert test_session.prompt("two").text == "x"
    """)
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert "soundstage trace" in text
    assert "an answer of the second test" in text
    assert "an answer of the first test" not in text
    assert "soundstage unused rules" in text


@needs_claude
def test_a_plugin_that_cannot_be_installed_fails_the_test_and_all_are_uninstalled_afterwards(inner):
    result = inner(f"""
        import pytest
        from soundstage.claude_code import PluginError

        MARKET = {str(PLUGINS)!r}

        @pytest.fixture
        def looks_afterwards(test_session):
            yield
            assert test_session.call(test_session.claude.plugins.list()) == ()
            assert test_session.call(test_session.claude.plugins.marketplaces()) == ()

        def test_it(looks_afterwards, plugin_installed, test_session):
            assert plugin_installed("epti", marketplace=MARKET).status == "loaded"
            assert plugin_installed("agent-loop").status == "loaded"
            assert len(test_session.call(test_session.claude.plugins.list())) == 2

        def test_unknown(looks_afterwards, plugin_installed):
            plugin_installed("no-such-plugin", marketplace=MARKET)
    """)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*PluginError*no-such-plugin*"])


@needs_claude
def test_a_process_that_wants_out_fails_the_test_that_it_belongs_to(inner):
    result = inner("""
        import pytest

        pytestmark = pytest.mark.claude_code(allowed_tools=["Bash"])
        CURL = {"command": "curl -s https://example.com/ || true", "description": "d"}

        def test_wants_out(test_session, script):
            script.queue({"tool_calls": [{"name": "Bash", "arguments": CURL}]}, "ok")
            test_session.prompt("go")

        def test_stays(test_session, script):
            script.queue("ok")
            test_session.prompt("go")
    """)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*example.com:443*"])


def test_generated_projects_are_where_they_should_be_and_go_afterwards(inner):
    result = inner("""
        import pytest

        @pytest.fixture
        def looks_afterwards(tmp_path):
            (tmp_path / "mine").mkdir()
            yield
            assert [path.name for path in tmp_path.iterdir()] == ["mine"]
            assert list((tmp_path / "mine").iterdir()) == []

        def test_it(looks_afterwards, test_project, tmp_path):
            one, two = test_project("cli", "python", "Calculator App"), test_project("library", "go", "Other")
            mine = test_project(folder=tmp_path / "mine")
            assert one.path.parent == two.path.parent == mine.path.parent == tmp_path.resolve()
            assert (one.package, two.language, mine.path.name) == ("calculator_app", "go", "mine")
    """)
    result.assert_outcomes(passed=1)


def test_the_harness_is_called_as_an_agent_calls_it(harness_client, tmp_path):
    assert len(harness_client.list_tools()) == 34
    wanted = {"project_type": "cli", "language": "python", "output_path": "asked-for-twice"}
    made = harness_client.call_tool("create_test_project", wanted)
    assert made["status"] == "success", made
    again = harness_client.call_tool("create_test_project", wanted)
    assert again["status"] == "error"
    assert again["error"]


@needs_claude
def test_an_asynchronous_test_is_told_to_use_the_driver(inner):
    result = inner("""
        async def test_it(test_session):
            pass
    """)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*`test_session` is for synchronous tests*"])


@needs_claude
def test_a_session_that_cannot_see_a_plugin_is_opened_again_unless_the_conversation_has_begun(
    test_session, plugin_installed, script
):
    """As in a container, to which nothing can be added while it runs."""
    test_session.session._unseen = lambda: (PLUGINS,)
    first = test_session.session.pid
    plugin_installed("epti", marketplace=PLUGINS)
    assert test_session.session.pid != first
    assert "epti:implement" in {found.name for found in test_session.call(test_session.session.commands())}
    script.queue("hello")
    assert test_session.prompt("hello").text == "hello"
    test_session.session._unseen = lambda: (PLUGINS,)
    with pytest.raises(InvalidStateError, match="none can be added"):
        plugin_installed("agent-loop")
