"""Edits of a context, by themselves: what they free, what a model reads afterwards, what an answer tells of them."""

from __future__ import annotations

import itertools

import pytest

from soundstage.clock import IdSource
from soundstage.messages import (
    FinishChunk,
    Message,
    ModelRequest,
    Opaque,
    OpaqueChunk,
    Text,
    TextChunk,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from soundstage.models._compacted import pause_for, with_edits
from soundstage.models._context import (
    ClearThinking,
    ClearToolUses,
    ThinkingTurnCount,
    TokenThreshold,
    ToolUseCount,
    asked_tokens,
    compaction,
    context,
    edited_context,
    summary_in,
)

COMPACT = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
LONG = "tea " * 50_000


def message(role, *parts):
    return Message(role=role, parts=tuple(Text(text=p) if isinstance(p, str) else p for p in parts))


def asking(*messages, edits=(COMPACT,)):
    settings = {"context_management": {"edits": list(edits)}}
    return ModelRequest(model="m", messages=messages, settings=settings, format="anthropic")


def summary(text):
    return Opaque(type="compaction", data={"type": "compaction", "content": text})


def test_a_model_reads_what_stands_behind_the_latest_summary_and_all_of_the_system():
    system, later = message("system", "Be kind."), message("user", "more")
    messages = (
        system,
        message("user", "old"),
        message("assistant", summary("first")),
        message("user", "older"),
        message("assistant", "before", summary("second"), "behind"),
        later,
        message("assistant", "last"),
    )
    assert context(messages) == (system, message("assistant", "second", "behind"), later, messages[-1])
    assert context(messages[:2]) == messages[:2]


@pytest.mark.parametrize(
    ("keep", "freed"),
    [
        (1, {"cleared_thinking_turns": 2, "cleared_input_tokens": 8}),
        (2, {"cleared_thinking_turns": 1, "cleared_input_tokens": 5}),
        (3, {}),
    ],
)
def test_thinking_is_cleared_by_turns_of_the_user(keep, freed):
    def thinks(text):
        return message("assistant", Thinking(text=text))

    result = message("user", ToolResult(call_id="c1", text="a result is no turn"))
    messages = [message("user", "a"), thinks("t" * 10), result, thinks("t" * 10)]
    messages += [message("user", "b"), thinks("t" * 12), message("user", "c"), thinks("t" * 40)]
    assert ClearThinking(keep=ThinkingTurnCount(value=keep)).freed(messages, 0) == freed
    assert ClearThinking(keep="all").freed(messages, 0) == {}


def test_results_are_cleared_above_the_trigger_if_it_is_worth_it():
    calls = [
        message("assistant", ToolCall(id=f"c{n}", name=name)) for n, name in enumerate(["a", "b", "a", "a"])
    ]
    results = [message("user", ToolResult(call_id=f"c{n}", text="r" * 40)) for n in range(4)]
    messages = [*itertools.chain(*zip(calls, results, strict=True))]

    def freed(tokens=0, **options):
        return ClearToolUses(**{"trigger": ToolUseCount(value=3), **options}).freed(messages, tokens)

    assert freed() == {"cleared_tool_uses": 1, "cleared_input_tokens": 10}
    assert freed(keep=ToolUseCount(value=1)) == {"cleared_tool_uses": 3, "cleared_input_tokens": 30}
    assert freed(keep=ToolUseCount(value=1), exclude_tools=["b"])["cleared_tool_uses"] == 2
    assert freed(trigger=ToolUseCount(value=4)) == {}
    assert freed(100, trigger=TokenThreshold(value=100)) == {}
    assert freed(101, trigger=TokenThreshold(value=100))["cleared_tool_uses"] == 1
    assert freed(clear_at_least=TokenThreshold(value=11)) == {}
    assert freed(clear_at_least=TokenThreshold(value=10)) != {}


def test_a_summary_names_how_much_there_was_and_the_first_and_the_last_words_of_the_user():
    one = edited_context(asking(message("user", LONG)))
    assert (one.before, one.pause) == (50_000, False)
    assert one.summary.startswith("Soundstage has compacted 1 message. The user began with")
    assert "asked last" not in one.summary
    two = edited_context(asking(message("user", "tea?"), message("assistant", LONG), message("user", "more")))
    assert two.summary == (
        "Soundstage has compacted 3 messages. The user began with 'tea?'. The user asked last for 'more'."
    )
    assert two.tokens == -(-len(two.summary) // 4)
    alone = edited_context(asking(message("assistant", LONG)))
    assert alone.summary == "Soundstage has compacted 1 message."
    assert edited_context(asking(message("user", LONG[:-8]))).summary == ""


def test_a_summary_of_responses_is_sealed_and_one_of_others_stands_for_itself():
    request = ModelRequest(model="m", messages=(), format="openai-responses")
    block = compaction(request, "the summary", "cmp_1")
    assert "summary" not in block["encrypted_content"]
    assert (block["id"], block["type"], summary_in(block)) == ("cmp_1", "compaction", "the summary")
    assert summary_in({"encrypted_content": "b3RoZXI="}) == "b3RoZXI="
    assert summary_in({"encrypted_content": "no base64"}) == "no base64"
    assert [summary_in(given) for given in (None, {}, {"content": None, "encrypted_content": "x"})] == [
        "",
        "",
        "",
    ]


def test_a_compaction_comes_before_the_reply_and_its_usage_beside_that_of_the_answer():
    request = asking(message("user", LONG))
    usage = Usage(input_tokens=7, output_tokens=2)
    found = with_edits(request, [TextChunk(index=0, text="Yes.")], FinishChunk(usage=usage), IdSource(1))
    made = edited_context(request)
    assert [type(chunk) for chunk in found] == [OpaqueChunk, TextChunk, OpaqueChunk, FinishChunk]
    assert found[0].data == {"type": "compaction", "content": made.summary}
    assert [chunk.index for chunk in found[:-1]] == [0, 1, 2]
    (compacted, answered) = found[2].data["iterations"]
    assert (compacted["type"], compacted["input_tokens"], compacted["output_tokens"]) == (
        "compaction",
        50_000,
        made.tokens,
    )
    assert (answered["type"], answered["input_tokens"], answered["output_tokens"]) == ("message", 7, 2)


def test_a_pause_is_answered_with_the_compaction_alone():
    request = asking(message("user", LONG), edits=[{**COMPACT, "pause_after_compaction": True}])
    reply = pause_for(request, IdSource(1))
    assert (reply.finish, reply.usage) == ("pause", Usage())
    assert [block.opaque["type"] for block in reply.blocks] == ["compaction"]
    made = with_edits(
        request,
        [OpaqueChunk(index=0, type="compaction", data=reply.blocks[0].opaque)],
        FinishChunk(),
        IdSource(1),
    )
    assert [step["type"] for step in made[1].data["iterations"]] == ["compaction"]
    assert pause_for(asking(message("user", LONG)), IdSource(1)) is None
    assert pause_for(asking(message("user", LONG), edits=[]), IdSource(1)) is None
    assert asked_tokens(request) == edited_context(request).tokens
