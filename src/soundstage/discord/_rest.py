"""The REST API: finds the route of a request, checks who asks and what they may do, and answers.

In this order, as at Discord: version, route, token, rate limit, body, channel and permissions, and then the
handler of the route. Whatever refuses raises `RestRefused` and becomes Discord's answer; it is journaled as
`RequestRefused`. A request that leaves no other trace in the journal is journaled as `RequestServed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from soundstage.discord import (
    _routes_channels,
    _routes_commands,
    _routes_guild,
    _routes_interactions,
    _routes_messages,
)
from soundstage.discord._call import Call, Route
from soundstage.discord._drafts import number
from soundstage.discord._events import DiscordRateLimited
from soundstage.discord._limits import PLENTY, Limit, Limits, bucket, refusal_headers
from soundstage.discord._multipart import parse_body
from soundstage.discord._platform import Platform
from soundstage.discord._problems import (
    NO_ROUTE,
    TOO_LARGE,
    UNAUTHORIZED,
    WRONG_METHOD,
    WRONG_VERSION,
    RestRefused,
)
from soundstage.journal import Journal, RequestRefused, RequestServed
from soundstage.net import Exchange, HttpRequest

ROUTES: Final[tuple[Route, ...]] = (
    *_routes_messages.ROUTES,
    *_routes_channels.ROUTES,
    *_routes_guild.ROUTES,
    *_routes_commands.ROUTES,
    *_routes_interactions.ROUTES,
)
VERSIONS: Final = ("", "/v9", "/v10")
JSON: Final = {"content-type": "application/json"}
SHOWN: Final = 200  # characters of a refused body in the journal
_API: Final = re.compile(r"/api(?P<version>/v\d+)?(?P<path>/.*)")
_FILE: Final = re.compile(r"/attachments/\d+/(?P<number>\d{1,20})/.+")
_PART: Final = re.compile(r"\{(\w+)\}")
_encode = msgspec.json.Encoder().encode


def _pattern(template: str) -> re.Pattern[str]:
    """A pattern for the paths of a template. A variable part that is an id does not match `@me`."""
    parts = _PART.sub(lambda found: rf"(?P<{found[1]}>[^/@][^/]*)", template.replace(".", r"\."))
    return re.compile(parts)


def _find(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """The route of a request, or Discord's 404 or 405."""
    found = [(route, match) for route, pattern in _PATTERNS if (match := pattern.fullmatch(path))]
    for route, match in found:
        if route.method == method:
            return route, match.groupdict()
    raise RestRefused(WRONG_METHOD if found else NO_ROUTE)


# Routes with fewer variable parts come first: `messages/pins` is not the message with the id "pins".
_PATTERNS: Final = sorted(
    ((route, _pattern(route.template)) for route in ROUTES), key=lambda pair: pair[0].template.count("{")
)


class RestAnswer(NamedTuple):
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes


class RestApi:
    """Answers requests.

    Args:
        platform: the Discord that is asked.
        journal: where requests are noted that leave no other trace.
        source: what the journal calls this Discord.
    """

    def __init__(self, platform: Platform, journal: Journal, source: str) -> None:
        self.limits = Limits()
        self.unsettled = False  # whether the bot has been answered since this was last set to False
        self._platform = platform
        self._journal = journal
        self._source = source

    async def handle(self, request: HttpRequest, exchange: Exchange) -> None:
        """Answer one request."""
        answer = self._file(request.path) or self._answer(request)
        self.unsettled = True
        await exchange.reply(answer.status, answer.headers, answer.body)
        self.unsettled = True

    def _file(self, path: str) -> RestAnswer | None:
        """The content of an attachment."""
        found = _FILE.fullmatch(path)
        content = self._platform.state.files.get(int(found["number"])) if found else None
        if content is None:
            return None
        self._journal.append(
            RequestServed(format="discord", path=path, what="attachment"), source=self._source
        )
        return RestAnswer(200, {"content-type": "application/octet-stream"}, content)

    def _answer(self, request: HttpRequest) -> RestAnswer:
        before = len(self._journal)
        try:
            route, params = self._route(request)
            limit = self.limits.take(route.key)
            if limit is not None:
                return self._limited(route, limit)
            result = route.handler(self._call(request, route, params))
        except RestRefused as refused:
            return self._refused(request, refused)
        if len(self._journal) == before:
            served = RequestServed(format="discord", path=request.path, what=route.handler.__name__)
            self._journal.append(served, source=self._source)
        reset = f"{self._platform.now().timestamp() + 1:.3f}"
        headers = PLENTY | {"x-ratelimit-bucket": bucket(route.key), "x-ratelimit-reset": reset}
        return (
            RestAnswer(204, headers, b"")
            if result is None
            else RestAnswer(200, headers | JSON, _encode(result))
        )

    def _route(self, request: HttpRequest) -> tuple[Route, dict[str, str]]:
        found = _API.fullmatch(request.path)
        if found is None:
            raise RestRefused(NO_ROUTE)
        if (found["version"] or "") not in VERSIONS:
            raise RestRefused(WRONG_VERSION)
        route, params = _find(request.method, found["path"])
        if route.token and request.headers.get("authorization") != f"Bot {self._platform.settings.token}":
            raise RestRefused(UNAUTHORIZED)
        return route, params

    def _call(self, request: HttpRequest, route: Route, params: dict[str, str]) -> Call:
        if request.too_large:
            raise RestRefused(TOO_LARGE)
        body = parse_body(request.headers.get("content-type", ""), request.body)
        call = Call(
            platform=self._platform,
            params=dict(_typed(params)),
            query=dict(parse_qsl(request.query, keep_blank_values=True)),
            body=body.json,
            files=body.files,
        )
        if "channel_id" in params:
            self._platform.state.need(call.me, call.channel, *route.needs)
        return call

    def _limited(self, route: Route, limit: Limit) -> RestAnswer:
        event = DiscordRateLimited(
            route=route.key,
            scope="user" if limit.route else "global",
            retry_after=limit.retry_after,
        )
        self._journal.append(event, source=self._source)
        return RestAnswer(429, refusal_headers(limit, route.key) | JSON, _encode(limit.body))

    def _refused(self, request: HttpRequest, refused: RestRefused) -> RestAnswer:
        problem = refused.problem
        event = RequestRefused(
            format="discord",
            path=f"{request.method} {request.path}",
            status=problem.status,
            message=f"{problem.code}: {problem.message}" if problem.code else problem.message,
            body=request.body[:SHOWN].decode("utf-8", "replace"),
        )
        self._journal.append(event, source=self._source)
        return RestAnswer(problem.status, dict(JSON), _encode(refused.body))


def _typed(params: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """The variable parts of a path; those that are ids as numbers, or Discord's 400."""
    for name, value in params.items():
        yield name, number(name, value) if name.endswith("_id") else value
