"""The kind of an error of a tool, by the words that agents and tools use."""

from __future__ import annotations

import pytest

from soundstage.trace import ToolUse

TEXTS = {
    "Exit code 3": "exit-code",
    "exit code 1\nPermission denied": "denied",
    "No such tool available: Fly": "unknown-tool",
    "Unknown tool: fly. The tools are: look": "unknown-tool",
    "PreToolUse:Bash hook error: [guard]: no rm": "blocked",
    "Blocked by a hook: permission denied": "blocked",
    "InputValidationError: Edit failed": "arguments",
    "Permission denied: write requires 'write'": "denied",
    "look did not return within 5 s": "timeout",
    "[Request interrupted by user]": "interrupted",
    "cat: a.txt: No such file or directory": "not-found",
    "something odd": "error",
    "": "error",
}


@pytest.mark.parametrize("text", TEXTS)
def test_an_error_has_the_class_of_its_words(text):
    use = ToolUse(call_id="c", name="t", arguments={}, result=text, is_error=True)
    assert use.error_class == TEXTS[text]


def test_what_is_no_error_has_no_class():
    assert ToolUse(call_id="c", name="t", arguments={}, result="exit code 3").error_class == ""
