"""Fixture files of aimock become rules, and what cannot is a problem."""

from __future__ import annotations

import json

import pytest

from soundstage.clock import run, running_clock
from soundstage.errors import ConnectionCut, ProviderError, ScriptLoadError
from soundstage.messages import TextChunk, Thinking, ToolCall, Usage, assistant, call, tool, user
from soundstage.models import CallSpec, Script, ScriptedModel, script_problems


def script_of(*fixtures):
    return Script.from_data({"fixtures": list(fixtures)}, source="f")


def model_of(*fixtures):
    return ScriptedModel(script_of(*fixtures))


def on(match, response="ok", **more):
    return {
        "match": match,
        "response": {"content": response} if isinstance(response, str) else response,
        **more,
    }


def problems_of(*fixtures):
    with pytest.raises(ScriptLoadError) as caught:
        script_of(*fixtures)
    return [str(problem) for problem in caught.value.problems]


def test_the_first_fixture_that_matches_answers_and_no_match_is_a_404(ask):
    model = model_of(on({"userMessage": "hello"}, "first"), on({"userMessage": "hello"}, "second"))
    assert ask(model, "well, hello!").text == "first"
    with pytest.raises(ProviderError) as caught:
        ask(model, "bye")
    assert (caught.value.status, caught.value.code) == (404, "no_fixture_match")


WEATHER = (assistant("", call("get_weather", id="call_1")), tool("call_1", "72 degrees"))


@pytest.mark.parametrize(
    ("match", "given", "fields", "expected"),
    [
        ({"userMessage": "a.c"}, ["abc"], {}, False),
        ({"userMessage": "/a.c/i"}, ["ABC"], {}, True),
        ({"systemMessage": "Bob"}, ["x"], {"prompt": "You are Bob"}, True),
        ({"systemMessage": ["Bob", "hiking"]}, ["x"], {"prompt": "Bob likes hiking"}, True),
        ({"systemMessage": ["Bob", "hiking"]}, ["x"], {"prompt": "Bob"}, False),
        ({"systemMessage": []}, ["x"], {}, True),
        ({"model": "gpt-4o"}, ["x"], {"model": "gpt-4o"}, True),
        ({"model": "gpt-4o"}, ["x"], {"model": "gpt-4o-2024-08-06"}, True),
        ({"model": "gpt-4o"}, ["x"], {"model": "gpt-4o-mini"}, False),
        ({"model": "/mini$/"}, ["x"], {"model": "gpt-4o-mini"}, True),
        ({"toolName": "read"}, ["x"], {"tools": ("read", "write")}, True),
        ({"toolName": "read"}, ["x"], {"tools": ("read_file",)}, False),
        ({"toolCallId": "call_1"}, ["x", *WEATHER], {}, True),
        ({"toolCallId": "call_1"}, ["x"], {}, False),
        ({"toolCallId": "call_2"}, ["x", *WEATHER], {}, False),
        ({"toolResultContains": "72"}, ["x", *WEATHER], {}, True),
        ({"toolResultContains": "73"}, ["x", *WEATHER], {}, False),
        ({"hasToolResult": True}, ["x", *WEATHER], {}, True),
        ({"hasToolResult": True, "toolResultContains": "72"}, ["x", *WEATHER], {}, True),
        ({"hasToolResult": False}, ["x", *WEATHER], {}, False),
        ({"hasToolResult": False}, ["x"], {}, True),
        ({"hasToolResult": False}, ["x", *WEATHER, assistant("warm"), user("and now?")], {}, True),
        ({"turnIndex": 0}, ["x"], {}, True),
        ({"turnIndex": 1}, ["x", *WEATHER], {}, True),
        ({"turnIndex": 1}, ["x"], {}, False),
        ({"context": "adk"}, ["x"], {"headers": {"x-aimock-context": "adk"}}, True),
        ({"context": "adk"}, ["x"], {}, False),
        ({"endpoint": "chat"}, ["x"], {}, True),
        ({}, [None], {}, True),
    ],
)
def test_a_match_means_what_it_means_there(ask, match, given, fields, expected):
    model = model_of(on(match), on({}, "no"))
    assert (ask(model, *given, **fields).text == "ok") is expected


def test_a_catch_all_serves_for_ever_and_hides_what_follows(ask):
    script = script_of(on({}, "always"), on({"userMessage": "x"}, "never"))
    model = ScriptedModel(script)
    assert [ask(model, "x").text for _ in range(3)] == ["always"] * 3
    assert ["can never fire" in problem.message for problem in script.problems()] == [True]


def test_a_sequence_goes_by_its_index_and_then_falls_through(ask):
    model = model_of(
        on({"userMessage": "joke", "sequenceIndex": 1}, "second"),
        on({"userMessage": "plan", "sequenceIndex": 0}, "other group"),
        on({"userMessage": "joke", "sequenceIndex": 0}, "first"),
        on({"userMessage": "joke"}, "rest"),
    )
    assert [ask(model, "joke").text for _ in range(4)] == ["first", "second", "rest", "rest"]
    assert ask(model, "plan").text == "other group"


def test_an_index_that_can_never_be_reached_is_a_problem():
    assert problems_of(on({"userMessage": "a", "sequenceIndex": 1})) == [
        (
            "f: fixtures[0].match.sequenceIndex: can never be reached: this match needs exactly one fixture with "
            "sequenceIndex 0"
        )
    ]
    twice = [on({"userMessage": "a", "sequenceIndex": 0})] * 2
    assert "sequenceIndex 1" in problems_of(*twice)[0]


@pytest.mark.parametrize(
    ("response", "parts"),
    [
        ({"content": {"a": [1, "ü"]}}, ['{"a":[1,"ü"]}']),
        ({"toolCalls": [{"name": "x", "arguments": {"a": 1}}]}, [("x", {"a": 1}, "")]),
        ({"toolCalls": [{"name": "x", "arguments": '{"a": 1}'}]}, [("x", {"a": 1}, "")]),
        ({"toolCalls": [{"name": "x", "arguments": "no json"}]}, [("x", {}, "no json")]),
        ({"content": "t", "toolCalls": [{"name": "x"}]}, ["t", ("x", {}, "")]),
        (
            {
                "blocks": [{"type": "toolCall", "name": "x"}, {"type": "text", "text": "t"}],
                "content": "ignored",
            },
            [("x", {}, ""), "t"],
        ),
        (
            {"reasoning": "hm", "reasoningSignature": "s", "content": "t"},
            [Thinking(text="hm", signature="s"), "t"],
        ),
    ],
)
def test_a_response_has_the_same_parts_in_the_same_order(ask, response, parts):
    found = ask(model_of(on({}, response)), tools=("x",)).parts
    assert [
        (part.name, part.arguments, part.raw)
        if isinstance(part, ToolCall)
        else getattr(part, "text", part)
        if not isinstance(part, Thinking)
        else part
        for part in found
    ] == parts


def test_overrides_of_a_response_are_kept(ask):
    response = {
        "content": "t",
        "finishReason": "max_tokens",
        "model": "gpt-9",
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }
    reply = ask(model_of(on({}, response)))
    assert (reply.finish, reply.model) == ("length", "gpt-9")
    assert reply.usage == Usage(input_tokens=7, output_tokens=3)
    calls = script_of(on({}, {"toolCalls": [{"name": "x", "id": "call_7"}]})).rules[0].reply.tool_calls
    assert calls == (CallSpec(name="x", id="call_7"),)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"error": {"message": "m"}}, (500, "", "", {})),
        ({"error": {"message": "m", "type": "t", "code": "c"}, "status": 404}, (404, "t", "c", {})),
        ({"error": {"message": "m"}, "status": 429}, (429, "", "", {"retry-after": "1"})),
        ({"error": {"message": "m"}, "status": 429, "retryAfter": 30}, (429, "", "", {"retry-after": "30"})),
    ],
)
def test_errors_have_status_type_code_and_retry_after(ask, response, expected):
    with pytest.raises(ProviderError) as caught:
        ask(model_of(on({}, response)))
    error = caught.value
    assert (error.status, error.kind, error.code, error.headers) == expected


def timed(model, request):
    async def main():
        return [(round(running_clock().now(), 3), it) async for it in model.stream(request)]

    return run(main())


def test_latency_is_the_pause_before_every_chunk(request_of):
    chunks = timed(model_of(on({}, "abcdefghij", latency=100, chunkSize=4)), request_of(stream=True))
    assert [(time, chunk.text) for time, chunk in chunks[:-1]] == [(0.1, "abcd"), (0.2, "efgh"), (0.3, "ij")]
    chunks = timed(model_of(on({}, "x" * 30, latency=100)), request_of(stream=True))
    assert [len(chunk.text) for _, chunk in chunks[:-1]] == [20, 10]


def test_a_profile_has_a_first_pause_and_a_speed(request_of):
    profile = {"ttft": 200, "tps": 40}
    chunks = timed(
        model_of(on({}, "abcdefgh", chunkSize=4, streamingProfile=profile)), request_of(stream=True)
    )
    assert [time for time, _ in chunks[:-1]] == [0.2, 0.225]


def test_a_truncated_answer_is_cut_behind_the_first_chunk_that_holds_the_role(request_of):
    model, got = model_of(on({}, "abcdefgh", chunkSize=2, truncateAfterChunks=3)), []

    async def main():
        with pytest.raises(ConnectionCut):
            async for chunk in model.stream(request_of(stream=True)):
                got.append(chunk)

    run(main())
    assert got == [TextChunk(index=0, text="ab"), TextChunk(index=0, text="cd")]


@pytest.mark.parametrize(
    ("fixture", "expected"),
    [
        (on({"inputText": "a"}), "f: fixtures[0].match.inputText: is not scripted"),
        (on({"predicate": "x"}), "f: fixtures[0].match.predicate: cannot be written in a file"),
        (on({"responseFormat": "json_object"}), "f: fixtures[0].match.responseFormat: is no condition here"),
        (
            on({"endpoint": "image"}),
            "f: fixtures[0].match.endpoint: expected one of chat, got the text 'image'",
        ),
        (
            on({"userMesage": "a"}),
            "f: fixtures[0].match.userMesage: unknown key; did you mean 'userMessage'?",
        ),
        (on({"userMessage": ""}), "expected a text that is not empty"),
        (on({"userMessage": "/(/"}), "f: fixtures[0].match.userMessage: /(/ is not a regular expression"),
        (on({"turnIndex": -1}), "expected a whole number of at least 0"),
        (on({"hasToolResult": False, "toolResultContains": "x"}), "excluded and asked for at once"),
        (on({}, {"embedding": [0.1]}), "f: fixtures[0].response.embedding: is not scripted"),
        (on({}, {"image": {}}), "is not scripted"),
        (on({}, {}), "a response needs one of content, toolCalls, blocks, error"),
        (on({}, {"content": ""}), "expected a text that is not empty"),
        (on({}, {"content": "a", "error": {"message": "m"}}), "either content or error"),
        (on({}, {"content": "a", "status": 429}), "status and retryAfter go with an error"),
        (on({}, {"content": "a", "id": "x"}), "f: fixtures[0].response.id: is not supported"),
        (on({}, {"content": "a", "finishReason": "ended"}), "expected one of"),
        (
            on({}, {"error": {"message": "m", "param": "p"}}),
            "f: fixtures[0].response.error.param: is not supported",
        ),
        (on({}, {"blocks": [{"type": "text"}]}), "a block of type text needs `text`"),
        (
            on({}, {"blocks": [{"type": "toolCall", "name": "x", "text": "y"}]}),
            "a block of type toolCall has no `text`",
        ),
        (on({}, chaos={"dropRate": 0.1}), "f: fixtures[0].chaos: is random"),
        (on({}, streamingProfile={"jitter": 0.1}), "f: fixtures[0].streamingProfile.jitter: is random"),
        (on({}, disconnectAfterMs=5), "f: fixtures[0].disconnectAfterMs: is not supported"),
        (on({}, recordedTimings={}), "f: fixtures[0].recordedTimings: belongs on a tape"),
        (
            on({}, {"blocks": [{"type": "text", "text": "a"}]}, chunkSize=3),
            "fixtures[0].chunkSize: is not supported with blocks",
        ),
        ({"match": {}}, "f: fixtures[0]: `response` is missing"),
    ],
)
def test_what_a_script_cannot_do_is_a_problem_and_never_ignored(fixture, expected):
    assert any(expected in problem for problem in problems_of(fixture))


def test_files_are_recognised_and_problems_have_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = {"$comment": "x", "fixtures": [on({"userMessage": "a"}, metadata={"any": "thing"})]}
    (tmp_path / "good.json").write_text(json.dumps(good, indent=2))
    assert script_problems("good.json") == []
    assert Script.load("good.json").rules[0].where == "good.json:4"
    bad = {"fixtures": [on({}), on({"inputText": "a"})]}
    (tmp_path / "bad.json").write_text(json.dumps(bad, indent=1))
    assert [problem.line for problem in script_problems("bad.json")] == [11]
    (tmp_path / "none.json").write_text('{"fixtures": []}')
    assert [str(problem) for problem in script_problems("none.json")] == [
        "none.json:1: fixtures: there are no fixtures"
    ]


@pytest.mark.parametrize(
    ("place", "keys"),
    [
        ("match", ("predicate", "inputText", "responseFormat")),
        ("response", ("embedding", "image", "images", "audio", "transcription", "video", "json", "role")),
        ("response", ("id", "created", "systemFingerprint", "redactedThinking", "webSearches", "metadata")),
        ("fixture", ("chaos", "disconnectAfterMs", "recordedTimings", "replaySpeed", "live", "fallthrough")),
    ],
)
def test_a_key_of_theirs_that_we_lack_gets_a_reason_of_its_own(place, keys):
    for key in keys:
        fixture = on({}, {"content": "a"})
        (fixture if place == "fixture" else fixture[place])[key] = 1
        (problem,) = problems_of(fixture)
        assert f"{key}: " in problem
        assert "unknown key" not in problem


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("tool_calls", "tool_calls"),
        ("tool_use", "tool_calls"),
        ("content_filter", "content_filter"),
    ],
)
def test_each_of_their_reasons_for_an_end_is_one_of_ours(ask, theirs, ours):
    assert ask(model_of(on({}, {"content": "t", "finishReason": theirs}))).finish == ours


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 0, "input_tokens": 9, "completion_tokens": 0, "output_tokens": 9}, (0, 0)),
        ({"input_tokens": 4, "output_tokens": 5}, (4, 5)),
        ({"total_tokens": 6}, (0, 0)),
    ],
)
def test_usage_has_the_names_of_either_provider(ask, usage, expected):
    found = ask(model_of(on({}, {"content": "t", "usage": usage}))).usage
    assert (found.input_tokens, found.output_tokens) == expected


def test_a_file_may_carry_a_comment_and_a_schema():
    fixtures = [on({"userMessage": "hi"}, metadata={"any": "thing"})]
    script = Script.from_data({"fixtures": fixtures, "$comment": "ours", "$schema": "x"}, source="f")
    assert len(script.rules) == 1


def test_a_file_without_fixtures_is_a_problem():
    assert problems_of() == ["f: fixtures: there are no fixtures"]


def test_behind_reasoning_come_the_text_and_then_the_calls(ask):
    response = {"reasoning": "hm", "content": "t", "toolCalls": [{"name": "x"}, {"name": "y"}]}
    parts = ask(model_of(on({}, response)), tools=("x", "y")).parts
    assert [getattr(part, "text", None) or part.name for part in parts] == ["hm", "t", "x", "y"]
