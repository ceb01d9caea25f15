"""The real Claude Code CLI on a tape: both of its fixtures, recorded from a provider's stand-in, replayed elsewhere."""

from __future__ import annotations

import re

import pytest

from soundstage.claude_code import bundled_cli
from soundstage.models import CallSpec, Reply, Script
from soundstage.tapes import Tape
from support.taping import KEY

pytestmark = pytest.mark.skipif(bundled_cli() is None, reason="needs soundstage[claude]")
QUESTION = "What is in note.txt?"
TESTS = """
import pytest
from soundstage.trace import assert_tool_calls

pytestmark = [pytest.mark.tape, pytest.mark.claude_code(allowed_tools=("Read",))]

async def test_session_of_a_test(claude_code, workspace, trace):
    workspace.write("note.txt", "buy milk")
    turn = await claude_code.prompt("What is in note.txt?")
    assert turn.text == "The note says: buy milk."
    assert_tool_calls(trace(), "Read")

def test_warm_session(test_session, trace):
    test_session.workspace.write("note.txt", "buy milk")
    turn = test_session.prompt("What is in note.txt?")
    assert turn.text == "The note says: buy milk."
    assert_tool_calls(trace(), "Read")
"""


def read_note(request):
    """A call of the CLI's own tool, with the full path that it wants: each run works in another folder."""
    folder = re.search(r"working directory: (/\S+)", request.system_text)[1]
    return Reply(tool_calls=(CallSpec(name="Read", arguments={"file_path": f"{folder}/note.txt"}),))


@pytest.fixture
def upstream_script():
    script = Script()
    script.on(tool_result="buy milk").reply("The note says: buy milk.")
    script.on(user=QUESTION).reply(read_note)
    script.otherwise("ok")
    return script


def test_a_session_is_recorded_and_replayed_in_other_folders_without_a_provider(
    inner, pytester, upstream, monkeypatch, tmp_path
):
    inner(TESTS).assert_outcomes(passed=2)
    tapes = sorted((pytester.path / "__tapes__" / "test_it").glob("*.tape"))
    assert [tape.stem for tape in tapes] == ["test_session_of_a_test", "test_warm_session"]
    for tape in tapes:
        assert QUESTION in [one.request.last_user_text for one in Tape.load(tape).exchanges]
        assert KEY not in tape.read_text()
    upstream["close"]()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    inner("").assert_outcomes(passed=2)
