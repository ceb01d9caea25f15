"""MCP servers of tests with the mark `tape`: recorded once, and replayed without them."""

from __future__ import annotations

import pytest

from soundstage.tapes import Tape

INI = "[pytest]\naddopts = -p no:randomly -p no:cacheprovider\n"
SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("counter", version="1")

@server.tool()
def bump(by: int) -> str:
    "Count."
    return f"{by} more"

server.run()
"""
TEST = """
import os, shutil, sys, pytest
from mcp import Client

@pytest.mark.tape(mcp={"counter": f"{sys.executable} server.py"})
async def test_bump(mcp_servers):
    assert shutil.which("soundstage-mcp-counter", path=mcp_servers.environment()["PATH"])
    async with Client(mcp_servers.url("counter")) as client:
        answer = await client.call_tool("bump", {"by": int(os.environ.get("BY", "2"))})
        assert answer.content[0].text == os.environ.get("SAID", "2 more")
"""
PLAIN = """
async def test_without_a_mark(mcp_servers): ...
"""

UNUSED = """
import pytest

@pytest.mark.tape(mcp={"far": "http://127.0.0.1:9/mcp"}, mode="once")
def test_nothing(): ...
"""


@pytest.fixture
def inner(pytester, monkeypatch):
    """Runs a test in a pytest of its own."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makeini(INI)
    pytester.makepyfile(server=SERVER)
    pytester.makepyfile(test_it=TEST)
    return pytester.runpytest_subprocess


def test_a_server_is_recorded_once_and_replayed_without_it_and_another_call_fails(
    inner, pytester, monkeypatch
):
    inner().assert_outcomes(passed=1)
    (path,) = (pytester.path / "__tapes__" / "test_it").glob("*.tape")
    assert "tools/call" in [line.method for line in Tape.load(path).mcp_lines]
    (pytester.path / "server.py").unlink()
    inner().assert_outcomes(passed=1)

    monkeypatch.setenv("BY", "7")
    failed = inner()
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(
        ["*divergence: tool call differs: counter, bump, arguments.by: recorded 2, seen 7*"]
    )


def test_the_servers_of_a_test_without_the_mark_are_refused(pytester):
    pytester.makeini(INI)
    pytester.makepyfile(test_it=PLAIN)
    ended = pytester.runpytest_inprocess()
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["*`mcp_servers` are those of a tape*"])


def test_a_server_of_the_mark_that_nothing_arrives_at_fails_the_test(pytester):
    pytester.makeini(INI)
    pytester.makepyfile(test_it=UNUSED)
    ended = pytester.runpytest_inprocess()
    ended.assert_outcomes(failed=1)
    ended.stdout.fnmatch_lines(["*nothing arrived at the MCP server far*"])
