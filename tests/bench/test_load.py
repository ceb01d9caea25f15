"""The load client: what it sends, what it counts, what it refuses."""

import asyncio
import json

import pytest

from _load import BenchError, Target, closed_loop, expect_chat, expect_stream, stream_pieces


def chat(text):
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


def events(*texts, end=True):
    chunks = [{"choices": [{"delta": {"role": "assistant", "content": ""}}]}]
    chunks += [{"choices": [{"delta": {"content": text}}]} for text in texts]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in [*chunks, {"choices": []}]]
    return "".join([*lines, "data: [DONE]\n\n" if end else ""]).encode()


def test_a_wrong_text_is_refused():
    expect_chat("hello")(chat("hello"))
    with pytest.raises(BenchError, match="expected the text 'hello', got 'bye'"):
        expect_chat("hello")(chat("bye"))


def test_pieces_of_a_stream_are_its_texts_without_the_empty_ones():
    assert stream_pieces(events("a", "b")) == (["a", "b"], True)
    assert stream_pieces(events("a", end=False)) == (["a"], False)


@pytest.mark.parametrize("body", [events("a", "bc"), events("a", "b", "c", end=False), events("a", "b", "d")])
def test_a_stream_with_other_pieces_another_text_or_no_end_is_refused(body):
    expect_stream("abc", 3)(events("a", "b", "c"))
    with pytest.raises(BenchError):
        expect_stream("abc", 3)(body)


def test_the_request_is_whole_http_with_its_length():
    head, _, body = Target(80, b"{}", expect_chat("")).request().partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert b"Content-Length: 2" in head
    assert body == b"{}"


def http(body, status=200):
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body


def load(answer, expected="hello", *, answers=50, connections=1):
    """Let the client run against a server that always answers the same; how many requests that server got.

    An empty answer means that the server closes the connection.
    """
    served = 0

    async def serve(reader, writer):
        nonlocal served
        try:
            while answer or not served:
                await reader.readuntil(b"\r\n\r\n{}")
                served += 1
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def main():
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            target = Target(server.sockets[0].getsockname()[1], b"{}", expect_chat(expected))
            assert await closed_loop(target, 0.0, answers, connections) > 0

    asyncio.run(main())
    return served


def test_answers_are_counted_until_the_limit():
    assert 50 <= load(http(chat("hello")), connections=2) <= 52


def test_a_wrong_status_stops_the_measurement():
    with pytest.raises(BenchError, match="status 500"):
        load(http(chat("hello"), status=500))


def test_a_wrong_first_answer_stops_the_measurement():
    with pytest.raises(BenchError, match="'bye'"):
        load(http(chat("bye")))


def test_an_answer_that_is_not_http_stops_the_measurement():
    with pytest.raises(BenchError, match="not HTTP"):
        load(b"nonsense\r\n\r\n")


def test_a_connection_that_breaks_stops_the_measurement():
    with pytest.raises(BenchError, match="closed a connection"):
        load(b"")
