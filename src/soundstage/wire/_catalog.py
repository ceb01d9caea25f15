"""Lists of models, as the providers' /models paths give them.

A scripted server serves any model, so any name that is asked for has an entry. The lists show a few
well-known names and those that the caller adds, such as the names in a script's conditions.

    >>> b'"id":"my-model"' in openai_models(["my-model"])
    True

Source: the providers' API references for models.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from soundstage.wire._sse import encode_json

EPOCH: Final = "1970-01-01T00:00:00Z"  # what Anthropic says when it does not know the day

OPENAI: Final = {  # name -> when it was created (Unix seconds)
    "gpt-4.1": 1744316542,
    "gpt-4.1-mini": 1744318173,
    "gpt-4o": 1715367049,
    "gpt-4o-mini": 1721172741,
    "gpt-5": 1754425777,
    "gpt-5-mini": 1754425928,
    "text-embedding-3-large": 1705953180,
    "text-embedding-3-small": 1705948997,
}


class AnthropicModelEntry(NamedTuple):
    """An entry of Anthropic's list of models."""

    shown: str
    created: str = EPOCH
    input_tokens: int | None = None
    output_tokens: int | None = None


ANTHROPIC: Final = {
    "claude-opus-4-5-20251101": AnthropicModelEntry(
        "Claude Opus 4.5", "2025-11-24T00:00:00Z", 200_000, 64_000
    ),
    "claude-haiku-4-5-20251001": AnthropicModelEntry(
        "Claude Haiku 4.5", "2025-10-15T00:00:00Z", 200_000, 64_000
    ),
    "claude-sonnet-4-5-20250929": AnthropicModelEntry(
        "Claude Sonnet 4.5", "2025-09-29T00:00:00Z", 200_000, 64_000
    ),
}

GENERATES: Final = ("generateContent", "streamGenerateContent", "countTokens")
EMBEDS: Final = ("embedContent", "batchEmbedContents", "countTokens")


class GeminiModelEntry(NamedTuple):
    """An entry of Gemini's list of models."""

    shown: str
    input_tokens: int = 1_048_576
    output_tokens: int = 65_536


GEMINI: Final = {
    "gemini-2.5-flash": GeminiModelEntry("Gemini 2.5 Flash"),
    "gemini-2.5-flash-lite": GeminiModelEntry("Gemini 2.5 Flash-Lite"),
    "gemini-2.5-pro": GeminiModelEntry("Gemini 2.5 Pro"),
    "gemini-embedding-001": GeminiModelEntry("Gemini Embedding 001", 2048, 1),
}


def _all(known: Iterable[str], names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*known, *names)))


def openai_models(names: Iterable[str] = ()) -> bytes:
    """The list of OpenAI's models, and of `names`."""
    return encode_json({"object": "list", "data": [_openai(name) for name in _all(OPENAI, names)]})


def openai_model(name: str) -> bytes:
    """The entry of one model of OpenAI."""
    return encode_json(_openai(name))


def _openai(name: str) -> dict[str, Any]:
    owner = "system" if name in OPENAI else "soundstage"
    return {"id": name, "object": "model", "created": OPENAI.get(name, 0), "owned_by": owner}


def anthropic_models(names: Iterable[str] = ()) -> bytes:
    """The list of Anthropic's models, and of `names`, in one page."""
    found = _all(ANTHROPIC, names)
    page = {"has_more": False, "first_id": found[0], "last_id": found[-1]}
    return encode_json({"data": [_anthropic(name) for name in found], **page})


def anthropic_model(name: str) -> bytes:
    """The entry of one model of Anthropic."""
    return encode_json(_anthropic(name))


def _anthropic(name: str) -> dict[str, Any]:
    known = ANTHROPIC.get(name, AnthropicModelEntry(name))
    return {
        "type": "model",
        "id": name,
        "display_name": known.shown,
        "created_at": known.created,
        "lifecycle": "active",
        "max_input_tokens": known.input_tokens,
        "max_tokens": known.output_tokens,
    }


def gemini_models(names: Iterable[str] = ()) -> bytes:
    """The list of Gemini's models, and of `names`, in one page."""
    bare = (name.removeprefix("models/") for name in names)
    return encode_json({"models": [_gemini(name) for name in _all(GEMINI, bare)]})


def gemini_model(name: str) -> bytes:
    """The entry of one model of Gemini; `models/` in front of the name may be left out."""
    return encode_json(_gemini(name.removeprefix("models/")))


def _gemini(name: str) -> dict[str, Any]:
    known = GEMINI.get(name, GeminiModelEntry(name))
    embeds = "embedding" in name
    sampling = {} if embeds else {"temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2}
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": known.shown,
        "description": "",
        "inputTokenLimit": known.input_tokens,
        "outputTokenLimit": known.output_tokens,
        "supportedGenerationMethods": EMBEDS if embeds else GENERATES,
        **sampling,
    }
