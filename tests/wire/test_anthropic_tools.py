"""Tools that come and go within a conversation, as Anthropic has them: what a request offers at its end."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest

from soundstage.errors import RequestRejected
from soundstage.live._request_anthropic import encode
from soundstage.messages import ModelRequest
from soundstage.models import Script
from soundstage.wire._anthropic import AnthropicMessages
from soundstage.wire._anthropic_decode import count
from support.wires import run, serving

SCHEMA = {"type": "object", "properties": {}}
CODEC = AnthropicMessages()


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": SCHEMA, **more}


def add(name: str) -> dict[str, Any]:
    return {"type": "tool_addition", "tool": {"type": "tool_reference", "name": name}}


def define(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool(name, **more)}}


def remove(name: str) -> dict[str, Any]:
    return {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}}


def body(*blocks: dict[str, Any], tools: Any = (), role: str = "system", **more: Any) -> bytes:
    """A request with these blocks between two words of the user."""
    talk = [{"role": "user", "content": "hi"}, {"role": role, "content": list(blocks)}]
    talk += [{"role": "user", "content": "on"}]
    return json.dumps(
        {"model": "m", "max_tokens": 9, "messages": talk, "tools": list(tools), **more}
    ).encode()


def decoded(*blocks: dict[str, Any], **more: Any) -> ModelRequest:
    return CODEC.decode(body(*blocks, **more), {})


def offered(*blocks: dict[str, Any], **more: Any) -> list[str]:
    return [one.name for one in decoded(*blocks, **more).tools]


def refusal(*blocks: dict[str, Any], **more: Any) -> str:
    with pytest.raises(RequestRejected) as caught:
        decoded(*blocks, **more)
    assert caught.value.status == 400
    return caught.value.message


AB = [tool("a"), tool("b")]


@pytest.mark.parametrize(
    ("blocks", "names"),
    [
        ([], ["a", "b"]),
        ([remove("a")], ["b"]),
        ([remove("a"), add("a")], ["b", "a"]),
        ([add("a")], ["a", "b"]),
        ([define("c")], ["a", "b", "c"]),
        ([define("c"), remove("c")], ["a", "b"]),
        ([define("c"), remove("c"), add("c")], ["a", "b", "c"]),
        ([remove("a"), remove("a"), remove("b")], []),
    ],
)
@pytest.mark.parametrize("role", ["system", "user"])
def test_a_request_offers_what_is_left_after_its_last_message(blocks, names, role):
    assert offered({"type": "text", "text": "now"}, *blocks, tools=AB, role=role) == names


def test_a_definition_replaces_the_tool_of_its_name_and_its_kind_may_be_any_of_tools():
    (a, b, web) = decoded(
        define("a", description="newer"),
        {
            "type": "tool_addition",
            "tool": {
                "type": "tool_definition",
                "definition": {"type": "web_search_20250305", "name": "web_search"},
            },
        },
        tools=AB,
    ).tools
    assert (a.name, a.description, b.description) == ("a", "newer", "")
    assert (web.name, web.type) == ("web_search", "web_search_20250305")


def test_changes_that_a_compaction_block_sums_up_count_too():
    compaction = {"type": "compaction", "content": "so far", "tool_changes": [remove("a"), define("c")]}
    assert offered(compaction, remove("b"), role="assistant", tools=AB) == ["c"]


def test_tokens_are_counted_where_the_only_tools_come_within_the_conversation():
    given = json.loads(body(define("c")))
    del given["tools"]
    assert count(json.dumps(given).encode(), "anthropic").tokens > 0


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (add("soon"), "messages.1.content.0.tool_addition.tool.tool_reference.name: there is no tool 'soon'"),
        (
            remove("soon"),
            "messages.1.content.0.tool_removal.tool.tool_reference.name: there is no tool 'soon'",
        ),
        ({"type": "tool_addition"}, "messages.1.content.0.tool_addition.tool: Field required"),
        ({"type": "tool_removal", "tool": "a"}, "messages.1.content.0.tool_removal.tool: Input should be"),
        (
            {"type": "tool_removal", "tool": {"name": "a"}},
            "messages.1.content.0.tool_removal.tool.type: Field",
        ),
        (
            {"type": "tool_removal", "tool": define("a")["tool"]},
            "messages.1.content.0.tool_removal.tool.type: Input should be 'tool_reference'",
        ),
        (
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": "c"}}},
            "tool_addition.tool.tool_definition.definition.custom.input_schema: Field required",
        ),
        (
            {"type": "tool_removal", "tool": {"type": "mcp_toolset_reference", "server_name": "s"}},
            "'messages.1.content.0.tool_removal.tool.mcp_toolset_reference.server_name'",
        ),
        (
            {"type": "compaction", "tool_changes": [{"type": "text"}]},
            "messages.1.content.0.compaction.tool_changes.0.type: Input should be",
        ),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_by_its_place(block, words):
    assert words in refusal(block, tools=AB)


def test_changes_where_nobody_looks_for_them_are_refused():
    assert "`tool_addition` blocks can only be" in refusal(tools=AB, system=[add("a")])
    use = {"type": "tool_use", "id": "c1", "name": "a", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [remove("a")]}
    talk = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    given = json.dumps({"model": "m", "max_tokens": 9, "messages": talk, "tools": AB}).encode()
    with pytest.raises(
        RequestRejected, match="`tool_removal` blocks can only be in the content of a message"
    ):
        CODEC.decode(given, {})


def test_a_live_model_is_offered_the_tools_that_are_left_and_told_of_no_change():
    asked = encode(decoded({"type": "text", "text": "now"}, remove("a"), define("c"), tools=AB), "m")
    assert [one["name"] for one in asked["tools"]] == ["b", "c"]
    assert asked["messages"][1]["content"] == [{"type": "text", "text": "now"}]


def test_the_official_client_adds_and_removes_tools_and_the_script_sees_what_is_on_offer():
    script = Script()
    script.on(tool="a").reply("a is on offer")
    script.on(tool="c").reply("c is on offer")

    async def main():
        async with serving(script) as served:
            client = anthropic.AsyncAnthropic(
                base_url=served.server.anthropic_url, api_key="test", max_retries=0
            )
            for blocks, said in (([], "a is on offer"), ([remove("a"), define("c")], "c is on offer")):
                answer = await client.beta.messages.create(
                    model="m",
                    max_tokens=9,
                    tools=AB,
                    messages=[
                        {"role": "user", "content": "hi"},
                        {"role": "system", "content": [{"type": "text", "text": "now"}, *blocks]},
                    ],
                    betas=["inline-tools-2026-09-15"],
                )
                assert answer.content[0].text == said
            with pytest.raises(anthropic.BadRequestError, match="there is no tool 'gone'"):
                await client.beta.messages.create(
                    model="m",
                    max_tokens=9,
                    messages=[
                        {"role": "user", "content": "hi"},
                        {"role": "system", "content": [remove("gone")]},
                    ],
                )
            await client.close()

    run(main())
