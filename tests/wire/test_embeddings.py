from __future__ import annotations

import base64
import json
import math
import struct
from typing import Any

import httpx2
import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st
from openai import OpenAI
from openai.types import CreateEmbeddingResponse

from soundstage.errors import RequestRejected
from soundstage.wire._embeddings import (
    decode_gemini,
    decode_openai,
    embed,
    encode_gemini,
    encode_openai,
)
from support.cases import cases


def closeness(one: str, other: str, dimensions: int = 1536) -> float:
    return sum(a * b for a, b in zip(embed(one, dimensions), embed(other, dimensions), strict=True))


def openai(**body: Any) -> dict[str, Any]:
    asked = {"model": "text-embedding-3-small", "input": "hello", **body}
    return json.loads(encode_openai(decode_openai(json.dumps(asked).encode())))


def gemini(body: Any, *, batch: bool = False, model: str = "text-embedding-004") -> dict[str, Any]:
    return json.loads(
        encode_gemini(decode_gemini(json.dumps(body).encode(), model, batch=batch), batch=batch)
    )


def content(text: str) -> dict[str, Any]:
    return {"content": {"parts": [{"text": text}]}}


# Vectors


def test_a_vector_is_the_same_on_every_machine():
    assert embed("hello world", 4) == pytest.approx([-0.3536, 0.7071, 0.5721, 0.2185], abs=1e-4)


@given(st.text(max_size=200), st.integers(1, 64))
@cases(100)
def test_any_text_has_a_vector_of_length_one(text, dimensions):
    vector = embed(text, dimensions)

    assert len(vector) == dimensions
    assert math.sqrt(sum(value * value for value in vector)) == pytest.approx(1, abs=1e-6)
    assert embed(text, dimensions) == vector


@pytest.mark.parametrize(
    ("text", "similar", "unrelated"),
    [
        ("How do I reset my password?", "password reset instructions", "The best pizza in Naples"),
        ("the cat sat on the mat", "a cat is sitting on a mat", "quarterly revenue grew in Europe"),
        ("def parse_request(body):", "parse_requests", "class Window"),
        ("日本語のテキスト", "日本語のテスト", "天気がいいですね"),
    ],
)
@pytest.mark.parametrize("dimensions", [256, 1536])
def test_similar_texts_are_closer_than_unrelated_ones(text, similar, unrelated, dimensions):
    assert closeness(text, similar, dimensions) > closeness(text, unrelated, dimensions) + 0.2


def test_case_and_punctuation_do_not_matter():
    assert embed("Hello, World!", 1536) == embed("hello world", 1536)


def test_texts_without_words_differ():
    assert closeness("!!!", "???") < 0.5
    assert closeness("", "") == pytest.approx(1)


# OpenAI


def test_one_text_has_one_vector():
    answer = openai(input="hello there")

    assert answer["data"] == [{"object": "embedding", "index": 0, "embedding": embed("hello there", 1536)}]
    assert CreateEmbeddingResponse.model_validate(answer).model_extra == {}
    assert (answer["model"], answer["usage"]) == (
        "text-embedding-3-small",
        {"prompt_tokens": 3, "total_tokens": 3},
    )


def test_several_texts_have_vectors_in_their_order():
    answer = openai(input=["one", "two", "one"], dimensions=8)

    assert [entry["index"] for entry in answer["data"]] == [0, 1, 2]
    assert [entry["embedding"] for entry in answer["data"]] == [
        embed(text, 8) for text in ("one", "two", "one")
    ]


def test_tokens_are_embedded_and_counted():
    one = openai(input=[1, 2, 3], dimensions=8)
    several = openai(input=[[1, 2, 3], [4]], dimensions=8)

    assert (len(one["data"]), one["usage"]["prompt_tokens"]) == (1, 3)
    assert (len(several["data"]), several["usage"]["prompt_tokens"]) == (2, 4)
    assert one["data"][0] == several["data"][0]


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [
        ("text-embedding-3-small", 1536),
        ("text-embedding-ada-002", 1536),
        ("text-embedding-3-large", 3072),
        ("some-model", 1536),
    ],
)
def test_a_model_has_the_dimensions_of_the_provider(model, dimensions):
    assert len(openai(model=model)["data"][0]["embedding"]) == dimensions


def test_base64_holds_the_same_numbers():
    encoded = openai(encoding_format="base64", dimensions=8)["data"][0]["embedding"]

    assert list(struct.unpack("<8f", base64.b64decode(encoded))) == embed("hello", 8)


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_the_official_client_reads_an_answer(encoding):
    body = encode_openai(
        decode_openai(json.dumps({"model": "m", "input": "x", "encoding_format": encoding}).encode())
    )
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=json.loads(body)))
    client = OpenAI(api_key="none", max_retries=0, http_client=httpx2.Client(transport=transport))
    asked = (
        {} if encoding == "base64" else {"encoding_format": "float"}
    )  # the client asks for base64 by itself

    answer = client.embeddings.create(model="m", input="x", **asked)
    assert list(answer.data[0].embedding) == embed("x", 1536)


INVALID = (
    "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."
)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model": "", "input": "x"}, "you must provide a model parameter"),
        ({"model": "m"}, INVALID),
        ({"model": "m", "input": {"text": "x"}}, INVALID),
        ({"model": "m", "input": ["x", 1]}, INVALID),
        ({"model": "m", "input": [[]]}, INVALID),
        ({"model": "m", "input": [True]}, INVALID),
        ({"model": "m", "input": []}, "Invalid 'input': input cannot be an empty array."),
        ({"model": "m", "input": ["x", ""]}, "Invalid 'input[1]': input cannot be an empty string."),
        ({"model": "m", "input": ["x"] * 2049}, "Invalid 'input': array length must be 2048 or less."),
        (
            {"model": "text-embedding-3-small", "input": "x", "dimensions": 1537},
            "Invalid value for 'dimensions' = 1537. Must be less than or equal to 1536.",
        ),
        (
            {"model": "text-embedding-ada-002", "input": "x", "dimensions": 8},
            "This model does not support specifying dimensions.",
        ),
        (
            {"model": "m", "input": "x", "dimensions": 0},
            "Invalid 'dimensions': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        ),
        (
            {"model": "m", "input": "x", "dimensions": "8"},
            "Invalid type for 'dimensions': expected an integer, but got a string instead.",
        ),
        (
            {"model": "m", "input": "x", "encoding_format": "hex"},
            "Invalid value: 'hex'. Supported values are: 'float' and 'base64'.",
        ),
    ],
)
def test_a_faulty_request_is_refused_in_the_words_of_the_provider(body, message):
    with pytest.raises(RequestRejected) as caught:
        decode_openai(json.dumps(body).encode())

    assert (caught.value.message, caught.value.status) == (message, 400)


def test_an_empty_text_alone_and_the_most_inputs_are_fine():
    assert len(openai(input="", dimensions=8)["data"]) == 1
    assert len(openai(input=["x"] * 2048, dimensions=1)["data"]) == 2048


# Gemini


def test_gemini_embeds_one_content():
    answer = gemini(content("hello"), model="models/text-embedding-004")

    assert answer == {"embedding": {"values": embed("hello", 768)}}


def test_gemini_embeds_a_batch_each_with_its_own_dimensions():
    asked = {
        "requests": [
            {**content("one"), "outputDimensionality": 8},
            {**content("two"), "embedContentConfig": {"outputDimensionality": 4}},
            content("three"),
        ]
    }
    answer = gemini(asked, batch=True, model="gemini-embedding-001")

    assert [entry["values"] for entry in answer["embeddings"]] == [
        embed("one", 8),
        embed("two", 4),
        embed("three", 3072),
    ]
    assert types.EmbedContentResponse.model_validate(answer).embeddings[1].values == embed("two", 4)


def test_gemini_embeds_what_is_not_text_by_its_content():
    def image(data: str) -> dict[str, Any]:
        return {"content": {"parts": [{"inlineData": {"mimeType": "image/png", "data": data}}]}}

    assert gemini(image("AA==")) == gemini(image("AA=="))
    assert gemini(image("AA==")) != gemini(image("AQ=="))


UNSPECIFIED = "* EmbedContentRequest.content: content is not specified\n"
EMPTY = "EmbedContentRequest.content contains an empty Part."


@pytest.mark.parametrize(
    ("body", "batch", "message"),
    [
        ({}, False, UNSPECIFIED),
        ({"content": "hello"}, False, UNSPECIFIED),
        (content(""), False, EMPTY),
        ({"content": {"parts": ["x"]}}, False, EMPTY),
        ({**content("x"), "outputDimensionality": "8"}, False, "output_dimensionality"),
        ({}, True, "* BatchEmbedContentsRequest.requests: requests is not specified\n"),
        ({"requests": [7]}, True, UNSPECIFIED),
        (
            {"requests": [content("x")] * 101},
            True,
            "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n",
        ),
    ],
)
def test_a_faulty_gemini_request_is_refused(body, batch, message):
    with pytest.raises(RequestRejected) as caught:
        gemini(body, batch=batch)

    assert message in caught.value.message
    assert caught.value.status == 400


def test_no_request_makes_vectors_beyond_what_a_provider_has():
    for model, most in (("m", 4096), ("text-embedding-3-large", 3072)):
        with pytest.raises(RequestRejected, match=f"less than or equal to {most}"):
            openai(model=model, input="x", dimensions=300_000_000)
    with pytest.raises(RequestRejected, match="maximum request size is 300000 tokens"):
        openai(input=["word " * 5_000] * 50)
    with pytest.raises(RequestRejected, match="from 1 to 4096"):
        decode_gemini(
            b'{"content":{"parts":[{"text":"x"}]},"outputDimensionality":300000000}', "m", batch=False
        )
