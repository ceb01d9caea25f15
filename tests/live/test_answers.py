"""The reader of answers, whatever the format: framing, headers, errors and when they are raised."""

from __future__ import annotations

import json

import pytest

from soundstage.errors import ConnectionCut, ProviderError, ScriptError
from soundstage.live import AnswerReader
from soundstage.messages import FinishChunk, StartChunk, TextChunk
from support.answers import read, sse

WHOLE = {"model": "m", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
HI = [StartChunk(model="m"), TextChunk(index=0, text="Hi"), FinishChunk(model="m")]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(WHOLE).encode(),
        b"\xef\xbb\xbf" + json.dumps(WHOLE).encode(),
        b"\r\n  " + json.dumps(WHOLE).encode() + b"\n",
        sse(WHOLE),
        b": comment\n\n" + sse(WHOLE, "[DONE]"),
        b"[" + json.dumps(WHOLE).encode() + b"]",
    ],
    ids=["whole", "byte order mark", "blanks", "events", "comment first", "array"],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_the_first_byte_tells_how_an_answer_is_framed(data, size):
    assert read("openai-chat", data, range(0, len(data), size)) == HI


def test_headers_that_apps_act_on_are_in_the_first_chunk():
    headers = {"X-RateLimit-Remaining": "9", "Retry-After": "1", "set-cookie": "s", "request-id": "r"}
    first, *_ = read("openai-chat", sse(WHOLE), headers=headers)
    assert first.headers == {"x-ratelimit-remaining": "9", "retry-after": "1", "request-id": "r"}


def test_a_format_that_is_not_known_is_refused_with_those_that_are():
    with pytest.raises(ScriptError, match=r"did you mean 'openai-chat'\?"):
        AnswerReader("openai-chats")


def test_an_error_waits_until_the_chunks_before_it_are_given_and_is_raised_each_time():
    reader = AnswerReader("openai-chat")
    said = {"model": "m", "choices": [{"delta": {"content": "Hi"}}]}
    assert reader.feed(sse(said, {"error": {"message": "busy", "type": "server_error"}})) == HI[:2]
    assert reader.done
    for raises in (lambda: reader.feed(b"more"), reader.end, reader.end):
        with pytest.raises(ProviderError, match="busy"):
            raises()


@pytest.mark.parametrize(
    "data",
    [b"<html>", b"{", b'{"choices": [{"message": 3}]}', b"[1, 2", sse("{"), sse("[]"), sse('"x"')],
    ids=["html", "open object", "other types", "array of numbers", "open event", "list", "text"],
)
def test_what_is_no_answer_of_the_format_is_a_cut(data):
    with pytest.raises(ConnectionCut):
        read("openai-chat", data)


@pytest.mark.parametrize("format_name", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_an_answer_without_a_byte_has_broken_off(format_name):
    with pytest.raises(ConnectionCut, match="broke off"):
        read(format_name, b"")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "status 502"),
        (b"<html>bad gateway</html>", "<html>bad gateway</html>"),
        (b'{"error": "no"}', "no"),
    ],
    ids=["empty", "html", "words"],
)
def test_an_error_status_is_an_error_whatever_is_in_the_answer(body, message):
    with pytest.raises(ProviderError) as caught:
        read("anthropic", body, status=502, headers={"Retry-After": "3"})
    assert (caught.value.status, caught.value.message) == (502, message)
    assert caught.value.headers == {"retry-after": "3"}


def test_nesting_that_no_parser_takes_is_a_cut():
    with pytest.raises(ConnectionCut, match="garbled"):
        read("gemini", b'{"a":' * 200_000)
