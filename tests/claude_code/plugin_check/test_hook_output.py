"""The meaning of a hook's exit code and output: each that Claude Code would not understand has a name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code.plugin_check._environment import ProgramExit
from soundstage.claude_code.plugin_check._hook_output import faults
from soundstage.claude_code.plugin_check._payloads import PayloadContext, payloads


def rules(event: str, code: int, output: Any = "", complaint: str = "") -> list[str]:
    text = output if isinstance(output, str) else json.dumps(output)
    return [fault.rule for fault in faults(event, ProgramExit(code, text, complaint, 0.1))]


@pytest.mark.parametrize(
    ("code", "complaint", "expected"),
    [
        (0, "", []),
        (2, "no", []),
        (2, "", ["hook-silent"]),
        (0, "deprecated", ["hook-noise"]),
        (1, "", ["hook-fails"]),
        (-9, "", ["hook-fails"]),
        (127, "x: not found", ["hook-fails"]),
    ],
)
def test_exit_codes(code: int, complaint: str, expected: list[str]) -> None:
    assert rules("Stop", code, complaint=complaint) == expected


def test_a_block_with_its_reason_in_the_output_is_not_silent() -> None:
    assert rules("Stop", 2, {"decision": "block", "reason": "tests fail"}) == []


@pytest.mark.parametrize(
    ("code", "again", "expected"), [(2, True, ["hook-endless"]), (2, False, []), (0, True, [])]
)
def test_a_hook_that_never_lets_the_agent_stop_is_found(code: int, again: bool, expected: list[str]) -> None:
    ran = ProgramExit(code, "", "not yet" if code else "", 0.1)
    assert [fault.rule for fault in faults("Stop", ran, again=again)] == expected


@pytest.mark.parametrize(
    ("matcher", "tools"),
    [
        ("Edit, Bash", ["Bash", "Edit"]),
        ("^(?!Bash)", ["Edit", "Write", "Read", "MultiEdit", "NotebookEdit", "Glob"]),
        ("Ba", ["Ba"]),  # no tool that we know: it is run all the same
    ],
)
def test_a_hook_is_run_for_the_tools_that_its_matcher_fits(matcher: str, tools: list[str]) -> None:
    scene = PayloadContext(Path("/p"), Path("/p/f"), Path("/t"), "s")
    assert [payload.data["tool_name"] for payload in payloads("PreToolUse", matcher, scene)] == tools


def deny(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", **fields}}


@pytest.mark.parametrize(
    ("event", "output", "expected"),
    [
        ("Stop", "all is well", []),
        ("Stop", "{}", []),
        ("Stop", {"decision": "block", "reason": "tests fail", "continue": True}, []),
        ("Stop", '{"decision": ', ["hook-output"]),
        ("Stop", 'checking\n{"decision": "block"}', ["hook-output"]),
        ("Stop", 'checking {"decision": "block"}', ["hook-output"]),
        ("Stop", 'checking {"other": "block"} {', []),
        ("Stop", "first\n{braces} of no JSON", []),
        ("SessionEnd", {"hookSpecificOutput": {"hookEventName": "SessionEnd"}}, ["hook-output"]),
        ("Stop", {"decision": None}, ["hook-output"]),
        ("Stop", {"decision": "deny"}, ["hook-output"]),
        ("Stop", {"continue": "no"}, ["hook-output"]),
        ("Stop", {"Decision": "block"}, ["hook-output-keys"]),
        ("PreToolUse", deny(permissionDecisionReason="no"), []),
        ("PreToolUse", deny(permissionDecision="block"), ["hook-output"]),
        ("PreToolUse", deny(reason="no"), ["hook-output-keys"]),
        ("PostToolUse", deny(), ["hook-output"]),
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "deny"}}, ["hook-output"]),
        ("PreToolUse", {"hookSpecificOutput": "deny"}, ["hook-output"]),
    ],
)
def test_output(event: str, output: Any, expected: list[str]) -> None:
    assert rules(event, 0, output) == expected


def test_output_of_a_hook_that_blocks_by_its_exit_code_is_not_read() -> None:
    assert rules("Stop", 2, '{"decision": ', complaint="no") == []
