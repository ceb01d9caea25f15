"""Recordings of other tools become tapes: the same requests and answers; what cannot be read is named by its line."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
import yaml
from typer.testing import CliRunner

from soundstage.errors import ConfigError
from soundstage.messages import ToolCall
from soundstage.tapes import Tape
from soundstage.tapes._import_formats import READERS
from soundstage.tapes._importing import imported
from soundstage.tapes._tape_commands import app

CHAT = "https://api.openai.com/v1/chat/completions"
ASKED = {"model": "gpt-5", "messages": [{"role": "user", "content": "weather in Paris"}]}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Paris"}'}}
ANSWER = {
    "model": "gpt-5",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "sunny"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}
EVENTS = [
    {"type": "message_start", "message": {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "sunny"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]
CLAUDE = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS)


def interaction(uri, asked, answer, *, status=200, headers=None):
    return {
        "request": {
            "method": "POST",
            "uri": uri,
            "body": asked,
            "headers": {"content-type": ["application/json"]},
        },
        "response": {
            "status": {"code": status, "message": "OK"},
            "headers": headers or {"Content-Type": ["application/json"]},
            "body": {"string": answer},
        },
    }


def cassette(*interactions):
    return yaml.dump({"interactions": list(interactions), "version": 1})


def read(kind, text):
    return imported(READERS[kind](text))


def lines(*found):
    return "\n".join(map(json.dumps, found))


def test_a_cassette_with_text_binary_and_packed_bodies_is_imported():
    asked = json.dumps(ASKED)
    packed = gzip.compress(json.dumps(ANSWER).encode())
    claude = {"model": "claude-sonnet-4-5", "max_tokens": 9, "stream": True, "messages": ASKED["messages"]}
    found = read(
        "vcrpy",
        cassette(
            interaction(CHAT, asked, json.dumps(ANSWER)),
            interaction(CHAT, asked.encode(), packed, headers={"Content-Encoding": ["gzip"]}),
            interaction("https://api.anthropic.com/v1/messages", json.dumps(claude), CLAUDE),
        ),
    )
    assert found.problems == ()
    assert [one.response.text for one in found.exchanges] == ["sunny"] * 3
    assert [one.request.last_user_text for one in found.exchanges] == ["weather in Paris"] * 3
    assert [one.http.to for one in found.exchanges] == ["openai", "openai", "anthropic"]
    assert found.exchanges[1].frames.body == json.dumps(ANSWER).encode()


def test_an_error_in_a_cassette_is_the_failure_of_its_exchange():
    error = json.dumps({"error": {"message": "slow down", "type": "rate_limit"}})
    (one,) = read("vcrpy", cassette(interaction(CHAT, json.dumps(ASKED), error, status=429))).exchanges
    assert (one.failure.status, one.failure.message) == (429, "slow down")


def test_what_is_no_request_to_a_model_is_named_by_its_line():
    text = cassette(
        interaction("https://example.com/", "", "hello"),
        interaction(CHAT, "{broken", "{}"),
        interaction(CHAT, json.dumps(ASKED), json.dumps(ANSWER)),
    )
    found = read("vcrpy", text)
    assert len(found.exchanges) == 1
    starts = [number for number, line in enumerate(text.splitlines(), 1) if line.startswith("- request")]
    assert [problem.partition(":")[0] for problem in found.problems] == [f"line {n}" for n in starts[:2]]
    assert "example.com/" in found.problems[0]


def test_an_http_archive_is_imported():
    entry = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "time": 120.5,
        "request": {"method": "POST", "url": CHAT, "headers": [], "postData": {"text": json.dumps(ASKED)}},
        "response": {
            "status": 200,
            "headers": [{"name": "content-encoding", "value": "br"}],
            "content": {"text": base64.b64encode(json.dumps(ANSWER).encode()).decode(), "encoding": "base64"},
        },
    }
    found = read("har", json.dumps({"log": {"entries": [entry, {"request": {}}]}}))
    (one,) = found.exchanges
    assert (one.response.text, one.latency_ms, one.timestamp) == ("sunny", 120.5, "2026-01-01T00:00:00Z")
    assert found.problems[0].startswith("entry 2: ")


def test_lines_of_fine_tuning_are_imported_with_their_calls():
    good = {
        "messages": [
            *ASKED["messages"],
            {"role": "assistant", "content": None, "tool_calls": [CALL], "weight": 1},
        ]
    }
    found = read("openai", lines(good, ASKED, ["no"]))
    (one,) = found.exchanges
    assert one.response.parts == (ToolCall(id="c1", name="look", arguments={"city": "Paris"}),)
    assert [problem.partition(":")[0] for problem in found.problems] == ["line 2", "line 3"]


def test_input_and_output_of_a_batch_belong_together_by_their_id():
    found = read(
        "openai",
        lines(
            {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": ASKED},
            {"custom_id": "b", "method": "POST", "url": "/v1/chat/completions", "body": ASKED},
            {"custom_id": "a", "response": {"status_code": 200, "body": ANSWER}, "error": None},
            {"custom_id": "c", "response": {"status_code": 200, "body": ANSWER}, "error": None},
        ),
    )
    assert [one.response.text for one in found.exchanges] == ["sunny"]
    assert [problem.partition(":")[0] for problem in found.problems] == ["line 4", "line 2"]


def test_runs_of_langsmith_are_imported_in_both_of_its_forms():
    wrapped = {"run_type": "llm", "inputs": ASKED, "outputs": ANSWER}
    human = {
        "lc": 1,
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "weather in Paris"},
    }
    reply = {
        "lc": 1,
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {"content": "", "tool_calls": [{"id": "c1", "name": "look", "args": {"city": "Paris"}}]},
    }
    chain = {
        "run_type": "llm",
        "inputs": {"messages": [[human]]},
        "outputs": {"generations": [[{"message": reply}]]},
        "extra": {"invocation_params": {"model": "gpt-5"}},
    }
    broken = {"run_type": "llm", "inputs": ASKED, "outputs": None, "error": "timeout"}
    found = read("langsmith", lines(wrapped, {"run_type": "chain"}, chain, broken))
    first, second = found.exchanges
    assert (first.response.text, first.request.model) == ("sunny", "gpt-5")
    assert (second.request.last_user_text, second.response.tool_calls[0].arguments) == (
        "weather in Paris",
        {"city": "Paris"},
    )
    assert found.problems == ("line 4: the run has no output: timeout",)


@pytest.mark.parametrize(("kind", "text"), [("vcrpy", "a: 1"), ("vcrpy", "{"), ("har", "{}"), ("har", "no")])
def test_a_file_of_another_kind_is_refused(kind, text):
    with pytest.raises(ConfigError, match="cannot be imported"):
        read(kind, text)


def test_the_command_writes_a_tape_that_can_be_loaded(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(cassette(interaction(CHAT, json.dumps(ASKED), json.dumps(ANSWER))))
    done = CliRunner().invoke(app, ["import", "vcrpy", str(file), "-o", str(tmp_path / "c.tape")])
    assert done.exit_code == 0, done.output
    (one,) = Tape.load(tmp_path / "c.tape").exchanges
    assert (one.request.last_user_text, one.response.text) == ("weather in Paris", "sunny")
    unknown = CliRunner().invoke(app, ["import", "betamax", str(file), "-o", str(tmp_path / "c.tape")])
    assert unknown.exit_code == 2
