"""Requests that need no model: token counts, model lists, embeddings. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from soundstage.wire import _catalog, _embeddings
from soundstage.wire._anthropic import AnthropicMessages
from soundstage.wire._gemini import Gemini
from soundstage.wire._routes import MatchedRoute

_COUNTERS: Final = {codec.name: codec for codec in (AnthropicMessages(), Gemini())}
_LISTS: Final[dict[str, tuple[Callable[[], bytes], Callable[[str], bytes]]]] = {
    "openai-chat": (_catalog.openai_models, _catalog.openai_model),
    "anthropic": (_catalog.anthropic_models, _catalog.anthropic_model),
    "gemini": (_catalog.gemini_models, _catalog.gemini_model),
}


def answer(found: MatchedRoute, body: bytes) -> tuple[str, bytes]:
    """The answer to a side request: what it was, for the journal, and the body.

    Args:
        found: its route.
        body: as posted.

    Raises:
        RequestRejected: as the provider would.
    """
    if found.kind == "count":
        return _count(found, body)
    if found.kind == "embed":
        return _embed(found, body)
    everything, one = _LISTS[found.format]
    if found.kind == "models":
        return "model list", everything()
    return f"model {found.parameters['model']}", one(found.parameters["model"])


def _count(found: MatchedRoute, body: bytes) -> tuple[str, bytes]:
    codec = _COUNTERS[found.format]
    counted = codec.count_tokens(body)
    return f"token count: {counted.tokens}", codec.encode_count(counted)


def _embed(found: MatchedRoute, body: bytes) -> tuple[str, bytes]:
    if found.format == "gemini":
        batch = found.parameters.get("call") == "batchEmbedContents"
        asked = _embeddings.decode_gemini(body, found.parameters["model"], batch=batch)
        return "embeddings", _embeddings.encode_gemini(asked, batch=batch)
    return "embeddings", _embeddings.encode_openai(
        _embeddings.decode_openai(body, found.parameters.get("model", ""))
    )
