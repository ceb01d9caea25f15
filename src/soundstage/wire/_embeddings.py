"""Embeddings without a model: OpenAI's /v1/embeddings, Gemini's :embedContent and :batchEmbedContents.

How a text becomes a vector. Its words, and within each word the runs of three letters, are its features. Each
feature is hashed to one place of the vector and to a sign, and adds its weight there; then the vector is
scaled to length one. So equal texts have equal vectors on every machine, texts that share words or parts of
words are close, and unrelated texts are nearly at right angles. Meaning is not in it: synonyms are unrelated.

    >>> vector = embed("Hello, world!", 4)
    >>> vector == embed("hello world", 4), len(vector), round(sum(value * value for value in vector), 6)
    (True, 4, 1.0)

Source: the providers' API references for embeddings; the words of refusals are those of their servers.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.errors import RequestRejected
from soundstage.wire import _openai
from soundstage.wire._codec import parse
from soundstage.wire._fields import EMBEDDINGS
from soundstage.wire._parts import CHARACTERS_PER_TOKEN
from soundstage.wire._sse import encode_json

OPENAI_DIMENSIONS: Final = 1536
GEMINI_DIMENSIONS: Final = 768
DIMENSIONS: Final = {"text-embedding-3-large": 3072, "gemini-embedding-001": 3072}  # that differ from these
LARGEST: Final = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
FIXED: Final = ("text-embedding-ada-002",)  # models whose dimensions cannot be chosen
MOST_DIMENSIONS: Final = 4096  # of models that we do not know
MOST_TOKENS: Final = 300_000  # of one request
MOST_INPUTS: Final = 2048
MOST_IN_BATCH: Final = 100
LONG_WORD: Final = 6  # letters from which on a word counts fully
_word = re.compile(r"\w+").findall


class EmbeddingInput(NamedTuple):
    """One text to embed, and how many dimensions its vector has."""

    text: str
    dimensions: int


class EmbeddingRequest(NamedTuple):
    """A request for embeddings. `tokens` is counted for token arrays and estimated for texts."""

    model: str
    inputs: tuple[EmbeddingInput, ...]
    tokens: int
    base64: bool = False


def embed(text: str, dimensions: int) -> list[float]:
    """The vector of a text: `dimensions` numbers in single precision, of length one."""
    vector = [0.0] * dimensions
    for feature, weight in _features(text):
        place = _place(feature)
        vector[(place >> 1) % dimensions] += weight if place & 1 else -weight
    length = math.sqrt(math.fsum(value * value for value in vector))
    if length < 1e-9:  # no features, or they cancel out
        vector[_place(text) % dimensions] = length = 1.0
    return array("f", [value / length for value in vector]).tolist()


def _features(text: str) -> Iterator[tuple[str, float]]:
    """Words and their parts. Repetition counts less and less, as do short words: they are in any text."""
    for word, count in Counter(_word(text.casefold())).items():
        weight = math.sqrt(count) * min(len(word), LONG_WORD) / LONG_WORD
        yield word, weight
        padded = f"<{word}>"
        share = weight / math.sqrt(len(word))
        for start in range(len(word)):
            yield padded[start : start + 3], share


@lru_cache(maxsize=65_536)
def _place(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def decode_openai(body: bytes, named: str = "") -> EmbeddingRequest:
    """The request in a body of OpenAI's format; `named` is the model that the path names.

    Raises:
        RequestRejected: as the provider would.
    """
    given = parse(body)
    EMBEDDINGS.check(given)
    model = given.get("model") or named
    if not isinstance(model, str) or not model:
        raise RequestRejected("you must provide a model parameter")
    dimensions = _openai_dimensions(model, given.get("dimensions"))
    encoding = given.get("encoding_format") or "float"
    if encoding not in ("float", "base64"):
        raise _openai.not_one_of(encoding, ("float", "base64"), "encoding_format")
    texts, tokens = _openai_texts(given.get("input"))
    if tokens > MOST_TOKENS:
        raise RequestRejected(
            f"Invalid 'input': maximum request size is {MOST_TOKENS} tokens per request.",
            code="max_tokens_per_request",
        )
    inputs = tuple(EmbeddingInput(text, dimensions) for text in texts)
    return EmbeddingRequest(model, inputs, tokens, base64=encoding == "base64")


def _openai_dimensions(model: str, given: Any) -> int:
    if given is None:
        return DIMENSIONS.get(model, OPENAI_DIMENSIONS)
    if type(given) is not int:
        raise _openai.wrong_type("dimensions", "an integer", given)
    if model in FIXED:
        raise RequestRejected("This model does not support specifying dimensions.")
    if given < 1:
        raise RequestRejected(
            "Invalid 'dimensions': integer below minimum value. Expected a value >= 1, but got "
            f"{given} instead.",
            param="dimensions",
            code="integer_below_min_value",
        )
    most = LARGEST.get(model, MOST_DIMENSIONS)
    if given > most:
        raise RequestRejected(
            f"Invalid value for 'dimensions' = {given}. Must be less than or equal to {most}."
        )
    return given


def _openai_texts(given: Any) -> tuple[list[str], int]:
    """The texts and how many tokens they have. Tokens become words, as we have no tokenizer."""
    if isinstance(given, str):
        return [given], estimate_tokens(given)
    if not isinstance(given, list):
        raise _invalid_input()
    if not given:
        raise RequestRejected("Invalid 'input': input cannot be an empty array.")
    if all(type(token) is int for token in given):
        given = [given]
    if len(given) > MOST_INPUTS:
        raise RequestRejected(f"Invalid 'input': array length must be {MOST_INPUTS} or less.")
    texts, tokens = [], 0
    for number, entry in enumerate(given):
        if isinstance(entry, str):
            if not entry:
                raise RequestRejected(f"Invalid 'input[{number}]': input cannot be an empty string.")
            texts.append(entry)
            tokens += estimate_tokens(entry)
        elif isinstance(entry, list) and entry and all(type(token) is int for token in entry):
            texts.append(" ".join(map(str, entry)))
            tokens += len(entry)
        else:
            raise _invalid_input()
    return texts, tokens


def _invalid_input() -> RequestRejected:
    return RequestRejected(
        "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."
    )


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def encode_openai(request: EmbeddingRequest) -> bytes:
    """The answer in OpenAI's format."""
    data = [
        {"object": "embedding", "index": index, "embedding": _number_list(item, as_base64=request.base64)}
        for index, item in enumerate(request.inputs)
    ]
    usage = {"prompt_tokens": request.tokens, "total_tokens": request.tokens}
    return encode_json({"object": "list", "data": data, "model": request.model, "usage": usage})


def _number_list(item: EmbeddingInput, *, as_base64: bool) -> msgspec.Raw | str:
    """A vector as text: as numbers it would take ten times the room."""
    vector = embed(*item)
    if as_base64:
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    return msgspec.Raw(encode_json(vector))


def decode_gemini(body: bytes, model: str, *, batch: bool) -> EmbeddingRequest:
    """The request in a body of Gemini's format.

    Args:
        body: what was posted.
        model: the model that the path names.
        batch: whether it came to `:batchEmbedContents`.

    Raises:
        RequestRejected: as the provider would.
    """
    given = parse(body)
    requests = given.get("requests") if batch else [given]
    if not isinstance(requests, list) or not requests:
        raise RequestRejected("* BatchEmbedContentsRequest.requests: requests is not specified\n")
    if len(requests) > MOST_IN_BATCH:
        raise RequestRejected(
            f"* BatchEmbedContentsRequest.requests: at most {MOST_IN_BATCH} requests can be in one batch\n"
        )
    name = model.removeprefix("models/")
    inputs = tuple(_gemini_input(request, name) for request in requests)
    return EmbeddingRequest(name, inputs, sum(estimate_tokens(item.text) for item in inputs))


def _gemini_input(given: Any, model: str) -> EmbeddingInput:
    given = given if isinstance(given, dict) else {}
    content = given.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list) or not parts:
        raise RequestRejected("* EmbedContentRequest.content: content is not specified\n")
    config = given.get("embedContentConfig")
    chosen = given.get("outputDimensionality") or (
        config.get("outputDimensionality") if isinstance(config, dict) else None
    )
    most = DIMENSIONS.get(model, MOST_DIMENSIONS)
    if chosen is not None and (type(chosen) is not int or not 1 <= chosen <= most):
        raise RequestRejected(f"* EmbedContentRequest.output_dimensionality: must be from 1 to {most}\n")
    return EmbeddingInput(
        "\n".join(map(_gemini_text, parts)), chosen or DIMENSIONS.get(model, GEMINI_DIMENSIONS)
    )


def _gemini_text(part: Any) -> str:
    """The text of a part; what is not text is one word that stands for its content."""
    if not isinstance(part, dict) or part in ({}, {"text": ""}):
        raise RequestRejected("EmbedContentRequest.content contains an empty Part.")
    text = part.get("text")
    return text if isinstance(text, str) else hashlib.blake2b(encode_json(part), digest_size=8).hexdigest()


def encode_gemini(request: EmbeddingRequest, *, batch: bool) -> bytes:
    """The answer in Gemini's format."""
    embeddings = [{"values": _number_list(item, as_base64=False)} for item in request.inputs]
    return encode_json({"embeddings": embeddings} if batch else {"embedding": embeddings[0]})
