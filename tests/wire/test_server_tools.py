"""Tools that Anthropic runs itself, citations and redacted thinking, read by the provider's own Python client."""

from __future__ import annotations

from typing import Any

import anthropic
import msgspec
import pytest

from soundstage.errors import ScriptError
from soundstage.messages import ModelRequest, ToolDefinition, user
from soundstage.models import BlockSpec, Reply, Script, ScriptedModel, ServerToolSpec, complete
from support.wires import run, serving

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
FETCH = {"type": "web_fetch_20250910", "name": "web_fetch"}
CODE = {"type": "code_execution_20250825", "name": "code_execution"}
FIND = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
TOOLS = [SEARCH, FETCH, CODE, FIND]
ALL = [
    {"thinking": "I look it up."},
    {"redacted_thinking": "nobody reads this"},
    {
        "server_tool": {
            "name": "web_search",
            "arguments": {"query": "tea"},
            "result": [{"url": "https://tea.test", "title": "Tea"}],
        }
    },
    {
        "text": "Tea is a plant.",
        "citations": [{"url": "https://tea.test", "title": "Tea", "cited_text": "a plant"}],
    },
    {
        "server_tool": {
            "name": "web_fetch",
            "arguments": {"url": "https://tea.test"},
            "result": "Tea is grown.",
        }
    },
    {
        "text": "It is grown.",
        "citations": [{"start_char_index": 0, "end_char_index": 3, "cited_text": "Tea"}],
    },
    {"server_tool": {"name": "bash_code_execution", "arguments": {"command": "ls"}, "result": "a.txt"}},
    {
        "server_tool": {
            "name": "text_editor_code_execution",
            "arguments": {"command": "view", "path": "a.txt"},
            "result": "one\ntwo",
        }
    },
    {"server_tool": {"name": "tool_search_tool_bm25", "arguments": {"query": "x"}, "result": ["weather"]}},
    {"server_tool": {"name": "web_search", "arguments": {"query": "more"}, "error": "max_uses_exceeded"}},
    {"text": "That is all."},
]
TYPES = [
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "web_search_tool_result",
    "text",
    "server_tool_use",
    "web_fetch_tool_result",
    "text",
    "server_tool_use",
    "bash_code_execution_tool_result",
    "server_tool_use",
    "text_editor_code_execution_tool_result",
    "server_tool_use",
    "tool_search_tool_result",
    "server_tool_use",
    "web_search_tool_result",
    "text",
]


def client_of(served: Any) -> anthropic.AsyncAnthropic:
    client = anthropic.AsyncAnthropic(base_url=served.server.anthropic_url, api_key="test", max_retries=0)
    client._strict_response_validation = True  # an answer that is not as its types say is an error
    return client


def asked(text: str = "tea?", **fields: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "max_tokens": 999,
        "messages": [{"role": "user", "content": text}],
        "tools": TOOLS,
    } | fields


def script_of(blocks: list[Any]) -> Script:
    script = Script()
    script.on(user="tea").reply(blocks=blocks)
    return script


def test_every_block_is_what_the_sdk_has_a_type_for_and_a_stream_says_the_same():
    async def main():
        async with serving(script_of(ALL)) as served, client_of(served) as client:
            whole = await client.messages.create(**asked())
            async with client.messages.stream(**asked()) as stream:
                names = [event.type async for event in stream]
                streamed = await stream.get_final_message()
        assert [block.type for block in whole.content] == TYPES
        assert names.count("citation") == 2
        for message in (whole, streamed):
            search, found = message.content[2], message.content[3]
            assert (search.name, search.input) == ("web_search", {"query": "tea"})
            assert search.id == found.tool_use_id
            assert search.id.startswith("srvtoolu_")
            assert (found.content[0].url, found.content[0].title) == ("https://tea.test", "Tea")
            assert message.content[4].citations[0].type == "web_search_result_location"
            assert message.content[4].citations[0].cited_text == "a plant"
            assert message.content[6].content.content.source.data == "Tea is grown."
            assert message.content[7].citations[0].type == "char_location"
            assert message.content[9].content.stdout == "a.txt"
            assert message.content[11].content.total_lines == 2
            assert message.content[13].content.tool_references[0].tool_name == "weather"
            assert message.content[15].content.error_code == "max_uses_exceeded"
            used = message.usage.server_tool_use
            assert (used.web_search_requests, used.web_fetch_requests) == (2, 1)
            assert message.stop_reason == "end_turn"
        plain, other = (
            [without_ids(block.model_dump(exclude_none=True)) for block in message.content]
            for message in (whole, streamed)
        )
        assert plain == other

    run(main())


def without_ids(block: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in block.items() if name not in ("id", "tool_use_id", "parsed_output")
    }


def test_the_blocks_go_back_and_what_they_say_can_be_matched():
    script = script_of(ALL)
    script.on(user="go on", contains="https://tea.test").reply("seen")

    async def main():
        async with serving(script) as served, client_of(served) as client:
            first = await client.messages.create(**asked())
            history = [
                *asked()["messages"],
                {
                    "role": "assistant",
                    "content": [block.model_dump(exclude_none=True) for block in first.content],
                },
                {"role": "user", "content": "go on"},
            ]
            second = await client.messages.create(**asked(messages=history))
            assert second.content[0].text == "seen"
            history[1]["content"][1]["data"] = "made up"
            with pytest.raises(
                anthropic.BadRequestError, match="Invalid `data` in `redacted_thinking` block"
            ):
                await client.messages.create(**asked(messages=history))

    run(main())


def test_a_result_in_blocks_can_be_matched_by_what_they_say():
    """Results of searches that the app makes itself come as blocks of their own in the result of a tool."""
    script = Script()
    script.on(tool_result="Tea is a plant").reply("seen")
    script.on(user="tea").reply(tool_calls=[{"name": "look", "arguments": {}}])
    look = {"name": "look", "input_schema": {"type": "object"}}
    found = {
        "type": "search_result",
        "source": "https://tea.test",
        "title": "Tea",
        "content": [{"type": "text", "text": "Tea is a plant."}],
        "citations": {"enabled": True},
    }

    async def main():
        async with serving(script) as served, client_of(served) as client:
            first = await client.messages.create(**asked(tools=[look]))
            back = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": [found]}
            history = [
                *asked()["messages"],
                {"role": "assistant", "content": [first.content[0].model_dump(exclude_none=True)]},
                {"role": "user", "content": [back]},
            ]
            assert (await client.messages.create(**asked(tools=[look], messages=history))).content[
                0
            ].text == "seen"

    run(main())


def test_a_call_without_a_result_pauses_the_turn():
    block = {"server_tool": {"name": "web_search", "arguments": {"query": "tea"}, "id": "srvtoolu_1"}}
    script = Script()
    script.on(user="tea", step=1).reply(blocks=[block], finish="pause")
    script.on(user="tea", step=2).reply("done")

    async def main():
        async with serving(script) as served, client_of(served) as client:
            first = await client.messages.create(**asked())
            assert (first.stop_reason, [part.type for part in first.content]) == (
                "pause_turn",
                ["server_tool_use"],
            )
            back = {
                "role": "assistant",
                "content": [part.model_dump(exclude_none=True) for part in first.content],
            }
            second = await client.messages.create(**asked(messages=[*asked()["messages"], back]))
            assert second.content[0].text == "done"

    run(main())


@pytest.mark.parametrize("tools", [[], [CODE], [{"name": "web_search", "input_schema": {"type": "object"}}]])
def test_a_server_tool_that_was_not_offered_is_an_error_of_the_script(tools):
    async def main():
        async with serving(script_of([ALL[2]])) as served, client_of(served) as client:
            with pytest.raises(
                anthropic.BadRequestError, match="'web_search', which this request does not offer"
            ):
                await client.messages.create(**asked(tools=tools))

    run(main())


def test_in_process_it_is_checked_as_well_unless_it_is_deliberate():
    script = Script()
    script.on(user="tea").reply(blocks=[ALL[2]])
    block = BlockSpec(server_tool=ServerToolSpec(name="web_search", result=[{"url": "https://tea.test"}]))
    script.on(user="on purpose").reply(blocks=[block], check_calls=False)
    offered = (ToolDefinition(name="web_search", type="web_search_20250305"),)

    async def main():
        model = ScriptedModel(script)
        with pytest.raises(ScriptError, match="does not offer"):
            await complete(model, ModelRequest(model="m", messages=(user("tea"),)))
        for words, tools in (("tea", offered), ("on purpose", ())):
            answer = await complete(model, ModelRequest(model="m", messages=(user(words),), tools=tools))
            assert [part.type for part in answer.parts] == ["server_tool_use", "web_search_tool_result"]

    run(main())


def test_the_memory_tool_is_a_call_that_the_app_answers():
    script = Script()
    script.on(tool_result="empty").reply("Nothing is remembered.")
    script.on(user="tea").reply(
        tool_calls=[{"name": "memory", "arguments": {"command": "view", "path": "/memories"}}]
    )

    class Memory(anthropic.lib.tools.BetaAsyncAbstractMemoryTool):
        async def view(self, command: Any) -> str:
            return f"{command.path} is empty"

        create = str_replace = insert = delete = rename = clear_all_memory = view

    async def main():
        async with serving(script) as served, client_of(served) as client:
            runner = client.beta.messages.tool_runner(**asked(tools=[Memory()]))
            assert (await runner.until_done()).content[0].text == "Nothing is remembered."

    run(main())


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"thinking": "x", "citations": [{"url": "u"}]}, "citations belong to a text, not to thinking"),
        ({"server_tool": {"name": "web_surf"}}, "web_surf"),
        (
            {"server_tool": {"name": "web_search", "result": [], "error": "x"}},
            "a result or an error, not both",
        ),
        ({"text": "x", "redacted_thinking": "y"}, "exactly one of"),
    ],
)
def test_a_block_that_is_none_is_refused_where_it_is_written(block, words):
    with pytest.raises(msgspec.ValidationError, match=words):
        msgspec.convert({"blocks": [block]}, Reply)
    with pytest.raises(ValueError, match="exactly one of"):
        BlockSpec()
