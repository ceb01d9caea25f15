"""Secrets: wherever one comes by, and however it is written, it is on no tape."""

from __future__ import annotations

import base64
import json
import urllib.parse

import httpx
import pytest

from soundstage.journal import Journal, Redactor
from soundstage.messages import call
from soundstage.models import BlockSpec, ErrorSpec, Reply, Script
from soundstage.net import HttpServer
from soundstage.tapes import Tape, TapeServer
from support.taping import provider, recording, replaying, with_sockets

SECRET = "Zq7-hunter2-Xy9-canary-31415"

ENCODINGS = {
    "plain": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "unicode": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "html": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
}


def forms():
    """All ways to write the secret, and its parts that nothing else has."""
    return [encode(SECRET) for encode in ENCODINGS.values()] + ["hunter2", SECRET[:14], SECRET[-12:]]


def all_of(path):
    """Everything that a tape holds: its lines, and its frames unpacked."""
    tape = Tape.load(path)
    frames = [one.frames.body.decode("utf-8", "replace") for one in tape.exchanges if one.frames is not None]
    return "\n".join([path.read_text(), *frames])


def assert_clean(path):
    held = all_of(path)
    assert [form for form in forms() if form in held] == []


def script_saying(text):
    script = Script()
    script.on(user="say it").reply(Reply(text=f"It is {text}, you see."))
    script.on(user="cut it").reply(Reply(chunks=[f"It is {text[:9]}", text[9:17], f"{text[17:]}, you see."]))
    script.on(user="think it").reply(Reply(blocks=(BlockSpec(thinking=f"so {text}"), BlockSpec(text="done"))))
    script.on(user="call it").reply(call("save", {"key": text}), check_calls=False)
    script.on(user="fail it").reply(Reply(error=ErrorSpec(status=400, message=f"bad {text}")))
    script.on(user="head it").reply(Reply(text="ok", headers={"x-note": text}))
    script.default = Reply(text="ok")
    return script


def question(place, text):
    """A request with the secret in a place: system prompt, message, tool result, schema; or one that gets it."""
    messages = [{"role": "user", "content": place}]
    extra = {}
    if place == "in the system prompt":
        messages.insert(0, {"role": "system", "content": f"Know {text}."})
    elif place == "in the message":
        messages[0]["content"] = f"{place}: {text}"
    elif place == "in a tool result":
        asked = {
            "id": "c1",
            "type": "function",
            "function": {"name": "f", "arguments": json.dumps({"a": text})},
        }
        messages += [{"role": "assistant", "tool_calls": [asked]}]
        messages += [{"role": "tool", "tool_call_id": "c1", "content": f"found {text}"}]
    elif place == "in a schema":
        function = {
            "name": "f",
            "description": f"uses {text}",
            "parameters": {"type": "object", "properties": {}},
        }
        extra = {"tools": [{"type": "function", "function": function}]}
    return {"model": "m", "messages": messages, **extra}


ASKED = ["in the system prompt", "in the message", "in a tool result", "in a schema"]
ANSWERED = ["say it", "cut it", "think it", "call it", "fail it", "head it"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@with_sockets
async def test_a_secret_is_on_no_tape_wherever_it_comes_by(tmp_path, encoding, stream):
    path, text = tmp_path / "t.tape", ENCODINGS[encoding](SECRET)
    answers = {}
    async with provider(script_saying(text)) as upstream, httpx.AsyncClient(trust_env=False) as client:
        async with recording(path, upstream, Redactor([SECRET])) as server:
            for place in (*ASKED, *ANSWERED):
                body = {**question(place, text), "stream": stream}
                headers = {"authorization": f"Bearer {SECRET}", "x-other": SECRET}
                url = f"{server.url}/openai/v1/chat/completions?key={urllib.parse.quote(SECRET)}"
                answer = await client.post(url, json=body, headers=headers)
                answers[place] = (answer.status_code, len(answer.content))
    assert_clean(path)
    assert len(Tape.load(path).exchanges) == len(ASKED) + len(ANSWERED)
    assert {place: status for place, (status, _) in answers.items() if status != 200} == {"fail it": 400}
    assert any("exchange" in told for told in server.tape.redacted)
    assert server.tape.problems == []


@with_sockets
async def test_what_was_redacted_can_still_be_replayed_by_a_program_that_has_the_secret(tmp_path):
    path = tmp_path / "t.tape"
    body = question("in the message", SECRET)
    async with provider(script_saying(SECRET)) as upstream, httpx.AsyncClient(trust_env=False) as client:
        async with recording(path, upstream, Redactor([SECRET])) as server:
            await client.post(f"{server.url}/openai/v1/chat/completions", json=body)
        async with replaying(path, redactor=Redactor([SECRET])) as server:
            again = await client.post(f"{server.url}/openai/v1/chat/completions", json=body)
    assert again.status_code == 200, again.text
    assert server.playback.finish() is None


@with_sockets
async def test_an_answer_that_would_break_is_not_kept_and_told(tmp_path):
    """A number that is a secret: what stands for it is no number in JSON."""

    async def handler(request, exchange):
        await exchange.reply(200, {"content-type": "application/json"}, b'{"n": 1234567e89}')

    path = tmp_path / "t.tape"
    upstream = HttpServer(handler, Journal())
    await upstream.start()
    tape = Tape.create(path, redactor=Redactor(["1234567e89"]))
    server = TapeServer(tape, Journal(), upstreams={"openai": upstream.url})
    await server.start()
    async with httpx.AsyncClient(trust_env=False) as client:
        await client.get(f"{server.url}/openai/v1/things")
    await server.stop()
    await upstream.stop()
    (problem,) = tape.problems
    assert problem.startswith("exchange 1, /things: a secret in the answer cannot be taken out")
    assert "1234567e89" not in all_of(path)
