"""Edits of the context that a request asks for: a compaction at a threshold, and what is cleared."""

from __future__ import annotations

import anthropic
import openai
import pytest

from soundstage.journal import ModelRequested
from soundstage.messages import Usage
from soundstage.models import Reply, Script
from soundstage.models._reply import BlockSpec
from soundstage.wire._signatures import sign
from support.wires import WIRES, error_of, run, serving

LONG = "tea " * 60_000  # 60,000 tokens
COMPACT = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
EDITING = "context-management-2025-06-27"


def anthropic_client(served) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=served.server.anthropic_url, api_key="test", max_retries=0)


def openai_client(served) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=served.server.openai_url, api_key="test", max_retries=0)


def asked(history, *edits, **more):
    """Arguments of a call of Anthropic's SDK."""
    return {
        "model": "m",
        "max_tokens": 99,
        "messages": history,
        "context_management": {"edits": list(edits)},
        "betas": [EDITING],
        **more,
    }


def user(text):
    return {"role": "user", "content": text}


async def answers(client, **given):
    """The answer, whole and streamed."""
    whole = await client.beta.messages.create(**given)
    async with client.beta.messages.stream(**given) as stream:
        return whole, await stream.get_final_message()


def test_anthropic_compacts_at_the_threshold_and_not_below_and_counts_the_summary_that_comes_back():
    script = Script()
    script.on(user="more").reply("Green tea.")
    script.on(user="tea").reply("Yes.")

    async def main():
        async with serving(script) as served, anthropic_client(served) as client:
            below = await client.beta.messages.create(**asked([user(LONG[:199_000])], COMPACT))
            assert [block.type for block in below.content] == ["text"]
            assert below.usage.iterations is None
            for answer in await answers(client, **asked([user(LONG)], COMPACT)):
                block, said = answer.content
                assert (block.type, said.text, answer.stop_reason) == ("compaction", "Yes.", "end_turn")
                assert "compacted 1 message." in block.content
                assert answer.usage.input_tokens == -(-len(block.content) // 4)
            back = [item.model_dump(exclude_none=True) for item in answer.content]
            for history in ([user(LONG)], []):  # the messages before the block may be left out
                history += [{"role": "assistant", "content": back}, user("more")]
                after = await client.beta.messages.create(**asked(history, COMPACT))
                assert [block.type for block in after.content] == ["text"], "the summary counts, not the past"
                assert after.usage.input_tokens == -(-len(block.content + "Yes." + "more") // 4)

    run(main())


def test_anthropic_tells_the_usage_of_the_compaction_apart_from_that_of_the_answer():
    script = Script()
    script.on(user="tea").reply("Yes.", usage=Usage(input_tokens=30, output_tokens=4))

    async def main():
        async with serving(script) as served, anthropic_client(served) as client:
            whole = await client.beta.messages.create(**asked([user(LONG)], COMPACT))
            steps = [(step.type, step.input_tokens, step.output_tokens) for step in whole.usage.iterations]
            summary = -(-len(whole.content[0].content) // 4)
            assert steps == [("compaction", 60_000, summary), ("message", 30, 4)]
            assert (whole.usage.input_tokens, whole.usage.output_tokens) == (30, 4)
            async with client.beta.messages.stream(**asked([user(LONG)], COMPACT)) as stream:
                told = [event.usage.iterations async for event in stream if event.type == "message_delta"]
            assert told == [whole.usage.iterations]

    run(main())


def test_a_pause_after_the_compaction_takes_no_rule_and_the_app_goes_on_with_the_block():
    script = Script()
    script.on(user="tea", times=1).reply("Yes.")

    async def main():
        async with serving(script) as served, anthropic_client(served) as client:
            given = asked([user(LONG)], COMPACT | {"pause_after_compaction": True})
            for paused in await answers(client, **given):
                assert [block.type for block in paused.content] == ["compaction"]
                assert paused.stop_reason == "compaction"
                assert (paused.usage.input_tokens, paused.usage.output_tokens) == (0, 0)
            back = [block.model_dump(exclude_none=True) for block in paused.content]
            given["messages"] = [user(LONG), {"role": "assistant", "content": back}]
            done = await client.beta.messages.create(**given)
            assert (done.content[0].text, done.stop_reason) == ("Yes.", "end_turn")
            assert len(served.events(ModelRequested)) == 3

    run(main())


def test_a_script_may_write_the_summary_itself():
    script = Script()
    script.on(user="tea").reply(
        Reply(blocks=(BlockSpec(opaque={"type": "compaction", "content": "Tea!"}), BlockSpec(text="Yes.")))
    )

    async def main():
        async with serving(script) as served, anthropic_client(served) as client:
            for answer in await answers(client, **asked([user(LONG)], COMPACT)):
                assert [block.type for block in answer.content] == ["compaction", "text"]
                assert answer.content[0].content == "Tea!"
                assert [step.output_tokens for step in answer.usage.iterations] == [1, 1]

    run(main())


def test_responses_compact_at_the_threshold_and_the_item_that_comes_back_stands_for_the_past():
    script = Script()
    script.on(user="more").reply("Green tea.")
    script.on(user="tea").reply("Yes.")
    given = {"model": "m", "context_management": [{"type": "compaction", "compact_threshold": 50_000}]}

    async def main():
        async with serving(script) as served, openai_client(served) as client:
            below = await client.responses.create(**given, input=LONG[:199_000])
            assert [item.type for item in below.output] == ["message"]
            whole = await client.responses.create(**given, input=LONG)
            async with client.responses.stream(**given, input=LONG) as stream:
                streamed = await stream.get_final_response()
            for answer in (whole, streamed):
                assert [item.type for item in answer.output] == ["compaction", "message"]
                assert answer.output[0].id.startswith("cmp_")
                assert answer.usage.input_tokens < 100
            back = [item.model_dump(exclude_none=True) for item in whole.output]
            summary = whole.usage.input_tokens
            chained = await client.responses.create(**given, input="more", previous_response_id=whole.id)
            assert summary <= chained.usage.input_tokens - 2 <= summary + 1  # "Yes." and "more"
            for past in ([user(LONG)], []):
                after = await client.responses.create(**given, input=[*past, *back, user("more")])
                assert [item.type for item in after.output] == ["message"]
                assert (after.output_text, after.usage.input_tokens) == (
                    "Green tea.",
                    chained.usage.input_tokens,
                )

    run(main())


def tool_talk(results):
    """A conversation with a tool's results."""
    history = [user("look")]
    for number, text in enumerate(results):
        call = {"type": "tool_use", "id": f"c{number}", "name": f"tool{number}", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
        history += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return history


@pytest.mark.parametrize(
    ("edit", "cleared"),
    [
        ({}, None),  # the trigger is 100,000 tokens
        ({"trigger": {"type": "input_tokens", "value": 350}}, (1, 100)),
        ({"trigger": {"type": "input_tokens", "value": 401}}, None),
        ({"trigger": {"type": "tool_uses", "value": 3}}, (1, 100)),
        ({"trigger": {"type": "tool_uses", "value": 4}}, None),
        ({"keep": {"type": "tool_uses", "value": 1}}, (3, 300)),
        ({"keep": {"type": "tool_uses", "value": 5}}, None),
        ({"keep": {"type": "tool_uses", "value": 0}, "exclude_tools": ["tool1"]}, (3, 300)),
        ({"clear_at_least": {"type": "input_tokens", "value": 100}}, (1, 100)),
        ({"clear_at_least": {"type": "input_tokens", "value": 101}}, None),
    ],
)
def test_old_results_of_tools_are_cleared_as_the_edit_says_and_counted(edit, cleared):
    script = Script()
    script.on(tool_result="x").reply("done")
    low = {"trigger": {"type": "tool_uses", "value": 1}} if edit else {}
    edit = {"type": "clear_tool_uses_20250919", **low, **edit}

    async def main():
        async with serving(script) as served, anthropic_client(served) as client:
            given = asked(tool_talk(["x" * 400] * 4), edit)
            for answer in await answers(client, **given):
                assert answer.usage.input_tokens == 401 - (cleared[1] if cleared else 0)
                if cleared is None:
                    assert answer.context_management is None
                else:
                    [applied] = answer.context_management.applied_edits
                    assert (applied.cleared_tool_uses, applied.cleared_input_tokens) == cleared
            del given["max_tokens"]
            counted = await client.beta.messages.count_tokens(**given)
            before = counted.context_management.original_input_tokens
            assert before - counted.input_tokens == (cleared[1] if cleared else 0)

    run(main())


@pytest.mark.parametrize(
    ("edit", "cleared"),
    [
        ({}, (2, 20)),
        ({"keep": {"type": "thinking_turns", "value": 2}}, (1, 10)),
        ({"keep": {"type": "thinking_turns", "value": 3}}, None),
        ({"keep": "all"}, None),  # what Claude Code sends
        ({"keep": {"type": "all"}}, None),
    ],
)
def test_thinking_of_old_turns_is_cleared_as_the_edit_says(edit, cleared):
    script = Script()
    script.on(user="last").reply("done")
    history = []
    for number in range(3):
        thought = {"type": "thinking", "thinking": "t" * 20, "signature": sign("t" * 20)}
        history += [
            user(f"question {number}"),
            {
                "role": "assistant",
                "content": [thought, {"type": "tool_use", "id": f"c{number}", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": "."}],
            },
            {"role": "assistant", "content": [thought, {"type": "text", "text": "so"}]},
        ]

    async def main():
        async with serving(script) as served, anthropic_client(served) as client:
            edit_given = {"type": "clear_thinking_20251015", **edit}
            for answer in await answers(client, **asked([*history, user("last")], edit_given)):
                if cleared is None:
                    assert answer.context_management is None
                else:
                    [applied] = answer.context_management.applied_edits
                    assert (applied.cleared_thinking_turns, applied.cleared_input_tokens) == cleared

    run(main())


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("anthropic", [], "context_management: Expected `object`"),
        (
            "anthropic",
            {"edits": [{"type": "soon"}]},
            "context_management.edits[0].type: Invalid value 'soon'",
        ),
        (
            "anthropic",
            {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 49_999}}]},
            ">= 50000",
        ),
        (
            "anthropic",
            {"edits": [{"type": "clear_tool_uses_20250919", "keep": 3}]},
            "edits[0].keep: Expected `object`",
        ),
        ("anthropic", {"edits": [{"type": "clear_thinking_20251015", "keep": "some"}]}, "edits[0].keep: "),
        ("openai-responses", {}, "'context_management': Expected `array`"),
        ("openai-responses", [{"type": "soon"}], "'context_management[0].type': Invalid value 'soon'"),
        ("openai-responses", [{"type": "compaction", "compact_threshold": 999}], ">= 1000"),
    ],
)
def test_edits_that_the_provider_does_not_have_are_refused_in_its_shape(name, given, words):
    wire = WIRES[name]

    async def main():
        async with serving(Script()) as served:
            refused = await served.ask(wire, json={**wire.body("hello", ""), "context_management": given})
            assert (refused.status_code, error_of(wire, refused)[0]) == (400, wire.kinds[400])
            assert words in error_of(wire, refused)[1]
            assert served.events(ModelRequested) == []

    run(main())


def test_a_compaction_block_with_an_empty_summary_is_refused_and_a_failed_one_counts_for_nothing():
    wire = WIRES["anthropic"]
    script = Script()
    script.on(user="go on").reply("hi")

    async def main():
        async with serving(script) as served:

            def body(content):
                block = {"type": "compaction", "content": content}
                past = [user("x" * 40), {"role": "assistant", "content": [block]}, user("go on")]
                return {**wire.body("", ""), "messages": past}

            refused = await served.ask(wire, json=body(""))
            assert "messages.1.content.0.compaction.content: " in error_of(wire, refused)[1]
            failed = await served.ask(wire, json=body(None))
            assert failed.json()["usage"]["input_tokens"] == 12  # 45 characters

    run(main())
