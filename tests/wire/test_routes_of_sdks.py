"""Every route of the official SDKs is served, or refused in the provider's shape with those that are served."""

from __future__ import annotations

import re

import pytest

from soundstage.journal import RequestRefused
from soundstage.models import Script
from soundstage.wire._routes import find_route, sdk_routes
from support.sdk_routes import routes_of
from support.wires import WIRES, error_of, run, serving

CLIENTS = {  # provider -> what its SDK sends, and the format whose error shape it reads
    "openai": ({"authorization": "Bearer k"}, "openai-chat"),
    "anthropic": ({"x-api-key": "k", "anthropic-version": "2023-06-01"}, "anthropic"),
    "gemini": ({"x-goog-api-key": "k"}, "gemini"),
}
LEAST = {"openai": 300, "anthropic": 200, "gemini": 60}  # routes; fewer were not read from the sources


def _path(route: str) -> tuple[str, str]:
    method, path = route.split(" ")
    return method, re.sub(r"\{\w+\}", "x1", path)


@pytest.mark.parametrize("provider", CLIENTS)
def test_every_route_of_the_sdk_is_in_our_table_and_no_other(provider):
    known = sdk_routes(provider)
    ours, theirs = {*known.served, *known.refused}, routes_of(provider)
    assert len(theirs) >= LEAST[provider]
    assert sorted(theirs - ours) == [], "new in the SDK: serve it, or name it as refused"
    assert sorted(ours - theirs) == [], "the SDK does not ask for it"
    assert len(ours) == len(known.served) + len(known.refused)


@pytest.mark.parametrize("provider", CLIENTS)
def test_a_route_is_served_if_the_table_says_so(provider):
    headers, name = CLIENTS[provider]
    for route in sdk_routes(provider).served:
        found = find_route(*_path(route), "", headers)
        assert found is not None, route
        assert found.format.partition("-")[0] == name.partition("-")[0], route
    for route in sdk_routes(provider).refused:
        assert find_route(*_path(route), "", headers) is None, route


@pytest.mark.parametrize("provider", CLIENTS)
def test_a_route_that_is_not_served_is_refused_in_the_providers_shape_with_those_that_are(provider):
    headers, name = CLIENTS[provider]
    known = sdk_routes(provider)

    async def main():
        async with serving(Script()) as served:
            for route in known.refused:
                method, path = _path(route)
                answer = await served.http.request(method, path, headers=headers)
                _, message = error_of(WIRES[name], answer)
                assert path in message
                if answer.status_code == 405:
                    assert any(one.endswith(f" {route.split(' ')[1]}") for one in known.served), route
                    assert answer.headers["allow"] in message
                else:
                    assert answer.status_code == 404, route
                    assert "Soundstage does not serve it" in message
                    assert all(one in message for one in known.served)
            assert len(served.events(RequestRefused)) == len(known.refused)

    run(main())
