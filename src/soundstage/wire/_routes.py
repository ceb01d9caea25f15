"""Paths of the providers: which codec and which kind of answer belongs to each. A table.

The routes of the official SDKs, served and refused, are in the files of `routes/`; a test compares these with the SDKs
and with this table, which knows the paths of gateways and clouds too.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Final, Literal, NamedTuple
from urllib.parse import parse_qsl

Kind = Literal["generate", "count", "models", "model", "embed"]


class WireRoute(NamedTuple):
    """A method and a path, whose format it is and what is wanted."""

    method: str
    path: re.Pattern[str]
    format: str
    kind: Kind


class MatchedRoute(NamedTuple):
    """The route of a request.

    Attributes:
        format: the name of its codec in `CODECS`.
        kind: what is wanted; `generate` asks a model, the others are answered without one.
        parameters: what path and query say, for `Codec.decode`. A `key` of the query is among them, and is a secret.
    """

    format: str
    kind: Kind
    parameters: dict[str, str]


def _route(method: str, path: str, format: str, kind: Kind) -> WireRoute:  # noqa: A002
    return WireRoute(method, re.compile(path), format, kind)


# What stands before the path at gateways and clouds: OpenRouter and others, Azure, proxies.
_OPENAI: Final = r"(?:/openai|/api)?(?:/v1(?:beta/openai)?)?"
_AZURE: Final = r"/openai/deployments/(?P<model>[^/]+)"
_ANTHROPIC: Final = r"(?:/anthropic)?(?:/v1)?"
_GEMINI: Final = r"(?:/gemini)?/v1(?:beta|alpha)?/(?:tunedModels|models)/(?P<model>[^:]+):"
_VERTEX: Final = (
    r"/v1(?:beta1)?(?:/projects/[^/]+/locations/[^/]+)?/publishers/google/models/(?P<model>[^:]+):"
)
_CLAUDE_ON_VERTEX: Final = r"(?:/v1)?/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/"
_GENERATE: Final = r"(?P<call>generateContent|streamGenerateContent)"

ROUTES: Final = (
    _route("POST", _OPENAI + r"/chat/completions", "openai-chat", "generate"),
    _route("POST", _AZURE + r"/chat/completions", "openai-chat", "generate"),
    _route("POST", _OPENAI + r"/responses", "openai-responses", "generate"),
    _route("POST", _ANTHROPIC + r"/messages", "anthropic", "generate"),
    _route("POST", _ANTHROPIC + r"/messages/count_tokens", "anthropic", "count"),
    _route("POST", _CLAUDE_ON_VERTEX + r"count-tokens:rawPredict", "anthropic", "count"),
    _route("POST", _CLAUDE_ON_VERTEX + r"(?P<model>[^:]+):(?:raw|streamRaw)Predict", "anthropic", "generate"),
    _route("POST", _GEMINI + _GENERATE, "gemini", "generate"),
    _route("POST", _VERTEX + _GENERATE, "gemini", "generate"),
    _route("POST", _GEMINI + r"countTokens", "gemini", "count"),
    _route("POST", _VERTEX + r"countTokens", "gemini", "count"),
    _route("POST", _GEMINI + r"(?P<call>embedContent|batchEmbedContents)", "gemini", "embed"),
    _route("POST", _OPENAI + r"/embeddings", "openai-chat", "embed"),
    _route("POST", _AZURE + r"/embeddings", "openai-chat", "embed"),
    _route("GET", _OPENAI + r"/models", "openai-chat", "models"),
    _route("GET", _OPENAI + r"/models/(?P<model>.+)", "openai-chat", "model"),
    _route("GET", r"/anthropic/v1/models", "anthropic", "models"),
    _route("GET", r"/anthropic/v1/models/(?P<model>.+)", "anthropic", "model"),
    _route("GET", r"/v1(?:beta|alpha)/models", "gemini", "models"),
    _route("GET", r"/v1(?:beta|alpha)/models/(?P<model>[^:]+)", "gemini", "model"),
)
_PATH_ONLY: Final = frozenset({"model", "call", "stream"})
_EXACT: Final = {
    ("POST", path): MatchedRoute(format, "generate", {})
    for path, format in (  # noqa: A001
        ("/v1/chat/completions", "openai-chat"),
        ("/v1/responses", "openai-responses"),
        ("/v1/messages", "anthropic"),
    )
}


class SdkRoutes(NamedTuple):
    """The routes of a provider's SDKs, as `METHOD PATH` with `{names}` in the path."""

    served: tuple[str, ...]
    refused: tuple[str, ...]


@functools.cache
def sdk_routes(provider: str) -> SdkRoutes:
    """The routes that the SDKs of `openai`, `anthropic` or `gemini` know.

    >>> "POST /v1/responses" in sdk_routes("openai").served
    True
    """
    file = resources.files("soundstage.wire") / "routes" / f"{provider}.toml"
    written = tomllib.loads(file.read_text("utf-8"))
    return SdkRoutes(*(tuple(written[mark].strip().splitlines()) for mark in SdkRoutes._fields))


def client_format(headers: Mapping[str, str]) -> str:
    """Whose client sends such headers: the lists of models have one path for three providers."""
    if "anthropic-version" in headers:
        return "anthropic"
    return "gemini" if "x-goog-api-client" in headers or "x-goog-api-key" in headers else "openai-chat"


def find_route(
    method: str, path: str, query: str, headers: Mapping[str, str] | None = None
) -> MatchedRoute | None:
    """The route of a request; None if it is of none of the formats.

    Args:
        method: of the request.
        path: without the query, percent-decoded.
        query: as it came.
        headers: of the request, names in lower case; they tell whose list of models is wanted.

    Example:
        >>> find_route("POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "alt=sse").parameters
        {'alt': 'sse', 'model': 'gemini-2.5-pro', 'call': 'streamGenerateContent', 'stream': 'true'}
        >>> find_route("GET", "/favicon.ico", "") is None
        True
    """
    if not query:
        exact = _EXACT.get((method, path))
        if exact is not None:
            return exact
    method = "GET" if method == "HEAD" else method
    for route in ROUTES:
        found = route.path.fullmatch(path) if route.method == method else None
        if found is None:
            continue
        parameters = {name: value for name, value in parse_qsl(query) if name not in _PATH_ONLY}
        parameters.update({name: value for name, value in found.groupdict().items() if value})
        if parameters.get("call") == "streamGenerateContent":
            parameters["stream"] = "true"
        listed = route.kind in ("models", "model") and route.format == "openai-chat"
        format = client_format(headers or {}) if listed else route.format  # noqa: A001
        return MatchedRoute(format, route.kind, parameters)
    return None


def methods_of(path: str) -> tuple[str, ...]:
    """The methods that a path is served with; empty for an unknown one.

    >>> methods_of("/v1/responses"), methods_of("/v1/models")
    (('POST',), ('GET', 'HEAD'))
    """
    found = dict.fromkeys(route.method for route in ROUTES if route.path.fullmatch(path))
    return (*found, "HEAD") if "GET" in found else tuple(found)


def format_of(path: str, headers: Mapping[str, str] | None = None) -> str:
    """Whose error shape to use for a path that no route knows: the name of a codec in `CODECS`.

    Args:
        path: as in `find_route`; it decides where it names a provider.
        headers: of the request, names in lower case; they decide otherwise.

    >>> format_of("/v1beta/files"), format_of("/v1/files", {"anthropic-version": "2023-06-01"})
    ('gemini', 'anthropic')
    """
    if ("/v1beta" in path or "/v1alpha" in path or "/publishers/google/" in path) and "/openai" not in path:
        return "gemini"
    if "/messages" in path and "/threads/" not in path and "/chat/" not in path:
        return "anthropic"
    if path.startswith("/anthropic") or "/publishers/anthropic/" in path:
        return "anthropic"
    return client_format(headers or {})
