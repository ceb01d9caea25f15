"""Built-in tools and namespaces of Responses: a scripted call is the provider's item, and its result is read.

The official SDK asks, reads the items, and sends them back with their results, as apps do.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import AsyncOpenAI
from openai.types.responses import (
    ResponseApplyPatchToolCall,
    ResponseComputerToolCall,
    ResponseCustomToolCall,
    ResponseFunctionShellToolCall,
    ResponseFunctionToolCall,
    ResponseToolSearchCall,
)
from openai.types.responses.response_output_item import LocalShellCall

from soundstage.journal import ModelRequested
from soundstage.messages import ToolResult
from soundstage.models import Script
from soundstage.wire._openai_responses import OpenAIResponses
from support.wires import Served, run, serving

ADD = {"type": "function", "name": "add", "parameters": {"type": "object", "required": ["a"]}}
NAMESPACE = {"type": "namespace", "name": "mcp__calc", "description": "Counts.", "tools": [ADD]}
PATCH = {"type": "update_file", "path": "a.py", "diff": "@@\n-1\n+2\n"}
CLICK = {"type": "click", "x": 1, "y": 2, "button": "left"}
SHOT = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="}
WRITTEN = [{"stdout": "a.py", "stderr": "careful", "outcome": {"type": "exit", "exit_code": 2}}]

CASES: dict[
    str, tuple[dict[str, Any], str, dict[str, Any], type, dict[str, Any], dict[str, Any], dict[str, Any]]
] = {
    # tool, name in the script, arguments, class of the item, its fields, the app's result, what is read of it
    "shell": (
        {"type": "shell"},
        "shell",
        {"commands": ["ls"], "timeout_ms": 500},
        ResponseFunctionShellToolCall,
        {"action.commands": ["ls"], "action.timeout_ms": 500, "type": "shell_call"},
        {"type": "shell_call_output", "output": WRITTEN},
        {"text": "a.py\ncareful", "is_error": True, "extra": tuple(WRITTEN)},
    ),
    "local_shell": (
        {"type": "local_shell"},
        "local_shell",
        {"command": ["bash", "-lc", "ls"]},
        LocalShellCall,
        {"action.command": ["bash", "-lc", "ls"], "action.type": "exec", "action.env": {}},
        {"type": "local_shell_call_output", "output": '{"output":"a.py"}'},
        {"text": '{"output":"a.py"}'},
    ),
    "apply_patch": (
        {"type": "apply_patch"},
        "apply_patch",
        PATCH,
        ResponseApplyPatchToolCall,
        {"operation.path": "a.py", "operation.diff": PATCH["diff"], "operation.type": "update_file"},
        {"type": "apply_patch_call_output", "status": "failed", "output": "no such line"},
        {"text": "no such line", "is_error": True},
    ),
    "computer": (
        {"type": "computer_use_preview", "display_width": 9, "display_height": 9, "environment": "browser"},
        "computer_use_preview",
        CLICK,
        ResponseComputerToolCall,
        {"action.x": 1, "action.button": "left", "pending_safety_checks": []},
        {"type": "computer_call_output", "output": SHOT},
        {"extra": (SHOT,)},
    ),
    "tool search": (
        {"type": "tool_search", "execution": "client"},
        "tool_search",
        {"query": "sums"},
        ResponseToolSearchCall,
        {"arguments": {"query": "sums"}, "execution": "client"},
        {"type": "tool_search_output", "execution": "client", "status": "completed", "tools": []},
        {"text": "[]", "extra": ([],)},
    ),
    "custom": (
        {"type": "custom", "name": "note"},
        "note",
        {},
        ResponseCustomToolCall,
        {"name": "note", "type": "custom_tool_call"},
        {"type": "custom_tool_call_output", "output": "noted"},
        {"text": "noted"},
    ),
    "namespace": (
        NAMESPACE,
        "mcp__calc__add",
        {"a": 2},
        ResponseFunctionToolCall,
        {"name": "add", "namespace": "mcp__calc", "arguments": '{"a":2}'},
        {"type": "function_call_output", "output": "4"},
        {"text": "4"},
    ),
}


def at(item: Any, path: str) -> Any:
    for name in path.split("."):
        item = getattr(item, name)
    return item


def asking(served: Served) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=served.server.openai_url, api_key="k", max_retries=0)


async def answered(client: AsyncOpenAI, stream: bool, **asked: Any) -> Any:
    if not stream:
        return await client.responses.create(model="gpt-5", **asked)
    async with client.responses.stream(model="gpt-5", **asked) as events:
        kinds = [event.type async for event in events]
        assert kinds.index("response.output_item.added") < kinds.index("response.output_item.done")
        return await events.get_final_response()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("case", CASES)
def test_a_call_is_the_item_of_its_tool_and_its_result_comes_back(case, stream):
    tool, name, arguments, kind, fields, output, result = CASES[case]
    script = Script(strict=True)
    script.on(user="go", times=1).reply(tool_calls=[{"name": name, "arguments": arguments}])
    script.on(after_tool=name).reply("done")

    async def main():
        async with serving(script) as served, asking(served) as client:
            given = {"role": "user", "content": "go"}
            first = await answered(client, stream, input=[given], tools=[tool])
            (item,) = first.output
            assert type(item) is kind or issubclass(type(item), kind)
            assert {path: at(item, path) for path in fields} == fields
            answer = {**output, "call_id": item.call_id}
            if case == "local_shell":  # its result names the call by `id`, in the SDK's own type
                answer["id"] = answer.pop("call_id")
            history = [given, item.model_dump(exclude_none=True), answer]
            last = await answered(client, False, input=history, tools=[tool])
            assert last.output_text == "done"
            again = await client.responses.create(
                model="gpt-5", previous_response_id=first.id, input=[answer], tools=[tool]
            )
            assert again.output_text == "done"
            asked = served.events(ModelRequested)[1].request
            (call,) = asked.messages[1].parts
            assert call.name == name
            assert call.arguments == arguments
            assert asked.tool_results == (ToolResult(**{"call_id": item.call_id, "text": "", **result}),)

    run(main())


@pytest.mark.parametrize(
    ("tool", "call", "words"),
    [
        ({"type": "shell"}, {"name": "shell", "arguments": {"command": "ls"}}, "break its schema"),
        (
            {"type": "local_shell"},
            {"name": "local_shell", "arguments": {"command": "ls"}},
            "break its schema",
        ),
        (
            {"type": "apply_patch"},
            {"name": "apply_patch", "arguments": {"type": "update_file"}},
            "break its schema",
        ),
        (NAMESPACE, {"name": "mcp__calc__add", "arguments": {}}, "break its schema"),
        (NAMESPACE, {"name": "add", "arguments": {"a": 1}}, "does not offer"),
        ({"type": "web_search"}, {"name": "web_search"}, "which the provider runs itself"),
        (
            {"type": "code_interpreter", "container": "c"},
            {"name": "code_interpreter"},
            "which the provider runs",
        ),
        (
            {"type": "shell", "environment": {"type": "container_auto"}},
            {"name": "shell", "arguments": {"commands": ["ls"]}},
            "which the provider runs itself",
        ),
        ({"type": "tool_search"}, {"name": "tool_search"}, "which the provider runs itself"),
    ],
    ids=str,
)
def test_a_call_that_no_provider_would_send_is_an_error_of_the_script(tool, call, words):
    script = Script(strict=True)
    script.on(user="go").reply(tool_calls=[call])

    async def main():
        async with serving(script) as served:
            asked = {"model": "gpt-5", "input": "go", "tools": [tool]}
            answer = await served.http.post("/v1/responses", json=asked)
            assert answer.status_code == 400
            assert words in answer.json()["error"]["message"]

    run(main())


def test_the_tools_that_a_search_has_found_are_on_offer():
    found = {"type": "tool_search_output", "execution": "client", "call_id": "c", "tools": [NAMESPACE]}
    call = {"type": "tool_search_call", "execution": "client", "call_id": "c", "arguments": {}, "id": "t"}
    body = {"model": "m", "input": [{"role": "user", "content": "go"}, call, found]}
    request = OpenAIResponses().decode(json.dumps(body).encode(), {})
    assert [(tool.name, tool.namespace) for tool in request.tools] == [("mcp__calc__add", "mcp__calc")]


def test_what_is_no_object_has_no_place_in_a_built_in_item_and_stays_readable():
    script = Script(strict=True)
    script.on(user="go").reply(tool_calls=[{"name": "shell", "raw": "{broken"}])

    async def main():
        async with serving(script) as served, asking(served) as client:
            (item,) = (await answered(client, False, input="go", tools=[{"type": "shell"}])).output
            assert (item.type, item.name, item.arguments) == ("function_call", "shell", "{broken")

    run(main())
