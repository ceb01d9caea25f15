"""The harness as a fixture: one that runs already, in runs of pytest of their own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from soundstage.claude_code import bundled_cli
from soundstage.claude_code._harness_client import address_of
from soundstage.errors import ScriptError

pytest.importorskip("mcp", reason="needs the MCP SDK")
INI = "[pytest]\nfilterwarnings = error\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n"
PLUGINS = Path(__file__).parents[2] / "examples/plugins"
TOKEN = "the-token-of-the-test"
MADE = """
    def test_it(harness_client):
        assert len(harness_client.list_tools()) == 34
        wanted = {"project_type": "cli", "language": "python", "output_path": "made"}
        made = harness_client.call_tool("create_test_project", wanted)
        assert made["status"] == "success", made
        kept = harness_client.call_tool("capture_test_artifacts", {"test_name": "made"})
        assert kept["status"] == "success", kept
"""


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A real harness on loopback: its address, and where its projects go."""
    folder = tmp_path_factory.mktemp("running")
    argv = [sys.executable, "-m", "soundstage.mcp.server", "--http", "--port", "0"]
    environment = {**os.environ, "SOUNDSTAGE_MCP_TOKEN": TOKEN, "SOUNDSTAGE_PROJECTS": str(folder)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment) as process:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix("serving ").strip(), folder
        process.terminate()


@pytest.fixture
def inner(pytester, monkeypatch):
    """Runs a test file in a pytest of its own, with a token."""
    pytester.makeini(INI)

    def go(text, *options, token=TOKEN):
        monkeypatch.setenv("SOUNDSTAGE_MCP_TOKEN", token)
        pytester.makepyfile(text)
        return pytester.runpytest_subprocess(*options)

    return go


def test_the_client_uses_the_harness_that_runs_already_and_leaves_it_running(harness, inner):
    url, folder = harness
    kept = len(list(folder.glob(".soundstage/artifacts/made_*")))
    for count in (1, 2):
        inner(MADE, f"--soundstage-harness={url}").assert_outcomes(passed=1)
        assert not (folder / "made").exists()  # it goes with the test
        assert len(list(folder.glob(".soundstage/artifacts/made_*"))) == kept + count


def test_the_suite_may_say_where_the_harness_is_and_the_path_may_be_left_out(harness, inner, monkeypatch):
    monkeypatch.setenv("HARNESS", harness[0].removesuffix("/mcp"))
    text = """
    import os, pytest

    @pytest.fixture(scope="session")
    def harness_url():
        return os.environ["HARNESS"]
"""
    kept = len(list(harness[1].glob(".soundstage/artifacts/made_*")))
    inner(text + MADE).assert_outcomes(passed=1)
    assert len(list(harness[1].glob(".soundstage/artifacts/made_*"))) == kept + 1


@pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
def test_nothing_of_a_test_is_there_for_the_next_one_whatever_became_of_it(inner, pytester):
    shutil.copytree(PLUGINS, pytester.path / "plugins")
    text = """
    import json, pathlib, pytest
    USED = {"project_type": "cli", "language": "python", "output_path": "used"}
    HOOK = {"hook_name": "agent-loop/PreToolUse", "payload": {"tool_name": "Bash", "tool_input": {"command": "ls"}}}

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(harness_client, number):
        def call(name, **arguments):
            answer = harness_client.call_tool(name, arguments)
            assert answer["status"] in ("success", True), answer
            return answer

        assert call("list_plugins")["plugins"] == []
        call("create_test_project", **USED)  # refused where there is one
        call("install_plugin", plugin_name="agent-loop", marketplace_path="plugins")
        call("mock_mcp_tool_response", tool_name="mcp__mock__search", mock_response={"found": number})
        server = call("start_mcp_server", server_name="s", server_config={"command": "cat"})["server_id"]
        call("trigger_hook", **HOOK)
        assert call("get_hook_execution_log", hook_name="agent-loop/PreToolUse")["total"] == 1
        session = call("start_conversation")["session_id"]
        call("send_prompt", prompt=f"prompt {number}", session_id=session)
        kept = call("capture_test_artifacts", test_name="t", artifact_types=["logs", "session_state"])
        said = "".join(pathlib.Path(path).read_text() for path in kept["artifact_paths"])
        assert "prompt 2" not in said if number == 1 else "prompt 1" not in said
        seen = pathlib.Path("SEEN")
        if number == 1:
            seen.write_text(json.dumps([session, server]))
            raise ValueError("it fails")
        for tool, key, old in zip(("get_agent_mode", "stop_mcp_server"), ("session_id", "server_id"),
                                  json.loads(seen.read_text())):
            assert "there is no such" in harness_client.call_tool(tool, {key: old})["error"]
    """
    result = inner(text)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*ValueError: it fails*"])


def test_the_client_can_use_services_that_each_test_has_for_itself(harness, inner, monkeypatch):
    monkeypatch.setenv("HARNESS", harness[0])
    text = """
    import os, pytest
    from soundstage.pytest_plugin import services_scope
    made = []

    @pytest.fixture(scope=services_scope)
    def docker_environment():
        made.append(1)
        return os.environ["HARNESS"]

    @pytest.fixture(scope=services_scope)
    def harness_url(docker_environment):
        return docker_environment

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(harness_client, number):
        assert len(made) == number
        assert len(harness_client.list_tools()) == 34
"""
    inner(text, "--soundstage-services=test").assert_outcomes(passed=2)


@pytest.mark.parametrize(("token", "seen"), [("", "none"), ("not-this-one", "another one")])
def test_a_harness_that_does_not_let_us_in_is_an_error_that_names_the_token(harness, inner, token, seen):
    result = inner("def test_it(harness_client): pass", f"--soundstage-harness={harness[0]}", token=token)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*the harness does not let us in*", "*$SOUNDSTAGE_MCP_TOKEN*", f"*seen: {seen}"]
    )
    assert TOKEN not in str(result.stdout)


def test_where_no_harness_answers_the_error_says_where_it_was_looked_for(inner):
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        result = inner("def test_it(harness_client): pass", f"--soundstage-harness={url}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*no harness answers*", f"*soundstage mcp --http` at {url}", "*--soundstage-harness*"]
    )


def test_what_is_no_harness_is_told_with_its_status(harness, inner):
    url = harness[0].replace("/mcp", "/elsewhere")
    result = inner("def test_it(harness_client): pass", f"--soundstage-harness={url}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no harness answers*", "*seen: HTTP 404*"])


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("http://127.0.0.1:3000", "http://127.0.0.1:3000/mcp"),
        ("http://127.0.0.1:3000/", "http://127.0.0.1:3000/mcp"),
        ("https://far.example/harness/mcp/", "https://far.example/harness/mcp"),
    ],
)
def test_an_address_without_a_path_is_that_of_the_protocol(url, meant):
    assert address_of(url) == meant


@pytest.mark.parametrize("url", ["127.0.0.1:3000", "localhost", "stdio://x", "http://"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ScriptError, match="no such address"):
        address_of(url)
