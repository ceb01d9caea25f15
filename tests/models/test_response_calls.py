"""Calls of the built-in tools of Responses, by themselves: an item that is written is read as it was meant."""

from __future__ import annotations

import pytest

from soundstage.messages import ToolCall, ToolResult
from soundstage.models.response_calls import (
    beside_call,
    built_in_item,
    built_in_output,
    is_call,
    read_call,
    read_output,
)

ARGUMENTS = {
    "shell": {"commands": ["ls"]},
    "local_shell": {"command": ["ls"]},
    "apply_patch": {"type": "delete_file", "path": "a.py"},
    "computer": {"actions": [{"type": "wait"}]},
    "computer_use_preview": {"type": "wait"},
    "tool_search": {"query": "add"},
}


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_a_call_that_is_written_is_read_as_it_was_meant(tool):
    item = built_in_item(tool, "item_1", "call_1", ARGUMENTS[tool], "completed")
    assert read_call(item) == ToolCall(id="call_1", name=tool, arguments=ARGUMENTS[tool])
    assert is_call(item)
    assert beside_call(item) == {}
    without = {name: value for name, value in item.items() if name != "call_id"}
    assert read_call(without).id == "item_1"


def test_what_stands_beside_a_call_is_kept():
    item = built_in_item("computer_use_preview", "i", "c", {"type": "wait"}, "completed")
    assert beside_call({**item, "pending_safety_checks": [{"id": "s"}]}) == {
        "pending_safety_checks": [{"id": "s"}]
    }


def test_an_item_without_halves_is_complete():
    assert built_in_item("apply_patch", "i", "c", {}, "incomplete")["status"] == "completed"
    assert built_in_item("shell", "i", "c", {}, "incomplete")["status"] == "incomplete"


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [
        ({"type": "exit", "exit_code": 0}, False),
        ({"type": "exit", "exit_code": 3}, True),
        ({"type": "timeout"}, True),
        (None, False),
    ],
)
def test_the_output_of_a_shell_is_what_its_commands_wrote_and_how_they_ended(outcome, failed):
    output = [
        {"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "c", "outcome": outcome},
    ]
    item = {"type": "shell_call_output", "call_id": "c1", "output": output}
    read = read_output(item)
    assert read == ToolResult(call_id="c1", text="a\nb\nc", is_error=failed, extra=tuple(output))
    assert built_in_output("shell", read) == item


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("tool", ["shell", "local_shell", "apply_patch"])
def test_a_result_of_text_is_read_as_it_was_written(tool, failed):
    result = ToolResult(call_id="c1", text="done", is_error=failed)
    item = built_in_output(tool, result)
    kind = {
        "shell": "shell_call_output",
        "local_shell": "local_shell_call_output",
        "apply_patch": "apply_patch_call_output",
    }
    assert (item["type"], item["call_id"]) == (kind[tool], "c1")
    read = read_output(item)
    assert (read.call_id, read.text, read.is_error) == ("c1", "done", failed)


def test_found_tools_and_pictures_come_back_as_they_were():
    found = {
        "type": "tool_search_output",
        "call_id": "c1",
        "execution": "client",
        "status": "completed",
        "tools": [{"name": "add"}],
    }
    read = read_output(found)
    assert read.text == '[{"name":"add"}]'
    assert built_in_output("tool_search", read) == found
    assert built_in_output("tool_search", ToolResult(call_id="c1", text=""))["tools"] == []
    picture = {"type": "computer_screenshot", "image_url": "data:,"}
    shot = read_output(
        {"type": "computer_call_output", "call_id": "c2", "status": "incomplete", "output": picture}
    )
    assert (shot.text, shot.is_error, shot.extra) == ("incomplete", True, (picture,))
    assert built_in_output("computer", shot) == {
        "type": "computer_call_output",
        "call_id": "c2",
        "output": picture,
    }
