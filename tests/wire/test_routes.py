"""Paths: which codec, which kind of answer, and what path and query say."""

from __future__ import annotations

import pytest

from soundstage.wire import CODECS, MatchedRoute, find_route, format_of
from soundstage.wire._routes import ROUTES, methods_of, sdk_routes

CHAT = MatchedRoute("openai-chat", "generate", {})
RESPONSES = MatchedRoute("openai-responses", "generate", {})
MESSAGES = MatchedRoute("anthropic", "generate", {})


@pytest.mark.parametrize(
    ("method", "path", "query", "found"),
    [
        ("POST", "/v1/chat/completions", "", CHAT),
        ("POST", "/chat/completions", "", CHAT),
        ("POST", "/v1/responses", "", RESPONSES),
        ("POST", "/responses", "", RESPONSES),
        ("POST", "/v1/messages", "", MESSAGES),
        ("POST", "/messages", "", MESSAGES),
        ("POST", "/v1/messages", "beta=true", MatchedRoute("anthropic", "generate", {"beta": "true"})),
        ("POST", "/v1/messages/count_tokens", "", MatchedRoute("anthropic", "count", {})),
        (
            "POST",
            "/openai/deployments/gpt-4o/chat/completions",
            "api-version=2024-10-21",
            MatchedRoute("openai-chat", "generate", {"api-version": "2024-10-21", "model": "gpt-4o"}),
        ),
        (
            "POST",
            "/v1beta/models/gemini-2.5-pro:generateContent",
            "",
            MatchedRoute("gemini", "generate", {"model": "gemini-2.5-pro", "call": "generateContent"}),
        ),
        (
            "POST",
            "/v1beta/models/g:streamGenerateContent",
            "alt=sse",
            MatchedRoute(
                "gemini",
                "generate",
                {"model": "g", "call": "streamGenerateContent", "stream": "true", "alt": "sse"},
            ),
        ),
        (
            "POST",
            "/v1/tunedModels/mine:generateContent",
            "",
            MatchedRoute("gemini", "generate", {"model": "mine", "call": "generateContent"}),
        ),
        ("POST", "/v1alpha/models/g:countTokens", "", MatchedRoute("gemini", "count", {"model": "g"})),
        (
            "POST",
            "/v1beta/models/g:batchEmbedContents",
            "",
            MatchedRoute("gemini", "embed", {"model": "g", "call": "batchEmbedContents"}),
        ),
        ("POST", "/v1/embeddings", "", MatchedRoute("openai-chat", "embed", {})),
        ("GET", "/v1/models", "", MatchedRoute("openai-chat", "models", {})),
        ("GET", "/models/gpt-4o", "", MatchedRoute("openai-chat", "model", {"model": "gpt-4o"})),
        ("GET", "/v1/models/ft:gpt/a", "", MatchedRoute("openai-chat", "model", {"model": "ft:gpt/a"})),
        ("GET", "/v1beta/models", "pageSize=5", MatchedRoute("gemini", "models", {"pageSize": "5"})),
        ("GET", "/v1beta/models/g", "", MatchedRoute("gemini", "model", {"model": "g"})),
    ],
)
def test_paths_of_the_providers(method, path, query, found):
    assert find_route(method, path, query) == found


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/chat/completions"),
        ("HEAD", "/v1/chat/completions"),
        ("GET", "/v1beta/models/g:generateContent"),
        ("POST", "/v1/models"),
        ("POST", "/v2/messages"),
        ("POST", "/v1/messages/"),
        ("POST", "/v1/messages/batches"),
        ("POST", "//v1/messages"),
        ("POST", "/v1beta/models/g:unheardOf"),
        ("POST", "/v1beta/models/:generateContent"),
        ("POST", "/openai/deployments//chat/completions"),
        ("GET", "/v1/models/"),
        ("POST", "/"),
        ("POST", ""),
    ],
)
def test_other_paths_are_nobodys(method, path):
    assert find_route(method, path, "") is None


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({}, "openai-chat"),
        ({"authorization": "Bearer k"}, "openai-chat"),
        ({"anthropic-version": "2023-06-01", "x-api-key": "k"}, "anthropic"),
        ({"x-goog-api-client": "genai"}, "gemini"),
        ({"x-goog-api-key": "k"}, "gemini"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/m"])
def test_the_client_decides_whose_list_of_models_it_is(headers, name, path):
    found = find_route("GET", path, "", headers)
    assert found is not None
    assert found.format == name


def test_a_query_cannot_say_what_only_the_path_says():
    found = find_route("POST", "/v1beta/models/g:generateContent", "stream=true&call=x&model=other")
    assert found == MatchedRoute("gemini", "generate", {"model": "g", "call": "generateContent"})


def test_a_path_is_not_decoded_twice():
    """The server has decoded `%2541` to `%41`, and that is the name."""
    found = find_route("GET", "/v1/models/100%41", "")
    assert found is not None
    assert found.parameters == {"model": "100%41"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1beta/files", "gemini"),
        ("/v1alpha/models/g:unheardOf", "gemini"),
        ("/v1/messages/batches", "anthropic"),
        ("/messages/x", "anthropic"),
        ("/v1/nothing", "openai-chat"),
        ("/", "openai-chat"),
    ],
)
def test_an_unknown_path_gets_the_shape_of_the_nearest_provider(path, name):
    assert format_of(path) == name


def test_an_unknown_path_without_a_providers_name_gets_the_shape_of_the_client():
    assert format_of("/v1/files", {"anthropic-version": "2023-06-01"}) == "anthropic"
    assert format_of("/v1/files", {"authorization": "Bearer k"}) == "openai-chat"
    assert format_of("/v1/threads/t/messages", {}) == "openai-chat"


def test_every_route_leads_to_a_codec():
    assert {route.format for route in ROUTES} == set(CODECS)


PREFIXED = [  # the paths that gateways, clouds and compatible servers have
    ("POST", "/openai/v1/chat/completions", "openai-chat", "generate"),
    ("POST", "/api/v1/chat/completions", "openai-chat", "generate"),
    ("POST", "/v1beta/openai/chat/completions", "openai-chat", "generate"),
    ("POST", "/openai/responses", "openai-responses", "generate"),
    ("POST", "/openai/v1/responses", "openai-responses", "generate"),
    ("POST", "/api/v1/embeddings", "openai-chat", "embed"),
    ("POST", "/openai/deployments/my-model/embeddings", "openai-chat", "embed"),
    ("POST", "/anthropic/v1/messages", "anthropic", "generate"),
    ("POST", "/anthropic/v1/messages/count_tokens", "anthropic", "count"),
    ("GET", "/anthropic/v1/models", "anthropic", "models"),
    ("GET", "/v1beta/openai/models", "openai-chat", "models"),
    (
        "POST",
        "/v1/projects/p/locations/us/publishers/google/models/gemini-2.5-pro:generateContent",
        "gemini",
        "generate",
    ),
    (
        "POST",
        "/v1/projects/p/locations/us/publishers/anthropic/models/my-model:rawPredict",
        "anthropic",
        "generate",
    ),
    (
        "POST",
        "/v1/projects/p/locations/us/publishers/anthropic/models/count-tokens:rawPredict",
        "anthropic",
        "count",
    ),
    ("POST", "/v1beta1/publishers/google/models/gemini-2.5-pro:streamGenerateContent", "gemini", "generate"),
]


@pytest.mark.parametrize(("method", "path", "name", "kind"), PREFIXED)
def test_the_paths_of_gateways_and_clouds_are_served(method, path, name, kind):
    found = find_route(method, path, "")
    assert (found.format, found.kind) == (name, kind)
    if "my-model" in path or "gemini-2.5-pro" in path:
        assert found.parameters["model"] in ("my-model", "gemini-2.5-pro")


def test_what_an_unknown_path_is_told_covers_each_kind_of_every_format():
    told = [
        line.split(" ")
        for provider in ("openai", "anthropic", "gemini")
        for line in sdk_routes(provider).served
    ]
    clients = {"openai": {}, "anthropic": {"anthropic-version": "1"}, "gemini": {"x-goog-api-key": "k"}}
    found = [
        find_route(method, path.replace("{", "").replace("}", ""), "", headers)
        for method, path in told
        for headers in clients.values()
    ]
    formats = {(route.format.partition("-")[0], route.kind) for route in ROUTES}
    assert {(one.format.partition("-")[0], one.kind) for one in found if one} == formats


def test_a_path_of_a_get_answers_head_and_an_unknown_one_has_no_method():
    assert find_route("HEAD", "/v1/models", "") == find_route("GET", "/v1/models", "")
    assert (methods_of("/v1/models"), methods_of("/v1/messages"), methods_of("/x")) == (
        ("GET", "HEAD"),
        ("POST",),
        (),
    )
