"""The harness's own endpoints under `/_soundstage/`, for tests in other languages and processes.

| request                                | answer                                                       |
|----------------------------------------|--------------------------------------------------------------|
| `GET journal?after=N&within=S`         | records after N as JSON lines; waits up to S seconds for one |
| `POST rules` (script in YAML or JSON)  | adds its rules: `{"added": 2}`                               |
| `GET unused`                           | the rules that have not served yet                           |
| `POST reset`                           | forgets conversations and what has been served               |

Programs under test can reach the server, and must not rewrite their own script: each request brings a token that only
the test knows, as `x-soundstage-control: TOKEN` or `Authorization: Bearer TOKEN`. It is another one than the token that
clients of the model may need. A page in a browser is refused in any case (`Origin`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import math
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs

from soundstage.errors import ScriptError, ScriptLoadError, SoundstageError
from soundstage.journal import Event, Journal, Noted, RequestRefused, encode_record
from soundstage.models import Model, ScriptedModel, Wrapper, load_rules
from soundstage.net import Exchange, HttpRequest
from soundstage.wire._sse import encode_json

HEADER: Final = "x-soundstage-control"
JSON: Final = {"content-type": "application/json"}
LINES: Final = {"content-type": "application/x-ndjson"}
LONGEST_WAIT: Final = 60.0


def scripted_in(model: Model) -> ScriptedModel | None:
    """The scripted model in `model`: itself, or what wrappers stand around."""
    while isinstance(model, Wrapper):
        model = model.inner
    return model if isinstance(model, ScriptedModel) else None


class ControlApi:
    """Handles requests under `/_soundstage/`."""

    def __init__(self, model: Model, journal: Journal, token: str) -> None:
        self._model = model
        self._token = token
        self._journal = journal
        self._polls: set[asyncio.Timeout] = set()
        self._table: dict[tuple[str, str], Callable[[HttpRequest, Exchange], Awaitable[None]]] = {
            ("GET", "journal"): self._records,
            ("GET", "unused"): self._unused,
            ("POST", "rules"): self._rules,
            ("POST", "reset"): self._reset,
        }

    async def handle(self, request: HttpRequest, exchange: Exchange) -> None:
        """Answer one request; mistakes get status 400 with what was expected."""
        refusal = self._refusal(request)
        if refusal is not None:
            status, message = refusal
            refused = RequestRefused(format="control", path=request.path, status=status, message=message)
            self._journal.append(refused, source="wire")
            await _error(exchange, status, message)
            return
        action = self._table.get((request.method, request.path.removeprefix("/_soundstage/")))
        if action is None:
            known = ", ".join(f"{method} /_soundstage/{name}" for method, name in self._table)
            await _error(
                exchange, 404, f"no such endpoint: {request.method} {request.path}; there are: {known}"
            )
            return
        if request.too_large:
            await _error(exchange, 413, "the body is too large")
            return
        try:
            await action(request, exchange)
        except (SoundstageError, ValueError) as error:
            await _error(exchange, 400, str(error))

    def _refusal(self, request: HttpRequest) -> tuple[int, str] | None:
        """Status and words for a request that is not the test's."""
        if "origin" in request.headers:
            return 403, "web pages may not use these endpoints"
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        given = [request.headers.get(HEADER, ""), bearer.strip() if scheme.lower() == "bearer" else ""]
        if any(hmac.compare_digest(value.encode(), self._token.encode()) for value in given):
            return None
        return 401, (
            f"send the header `{HEADER}: TOKEN`; `soundstage serve` prints the token, "
            "`ModelServer.control_headers` has it"
        )

    async def _records(self, request: HttpRequest, exchange: Exchange) -> None:
        query = parse_qs(request.query, keep_blank_values=True)
        after = int(_number(query, "after", whole=True))
        within = min(_number(query, "within"), LONGEST_WAIT)
        if after < self._journal.let_go:
            await _error(exchange, 410, _let_go(self._journal))
            return
        if within > 0 and len(self._journal) <= after:
            await self._next(exchange, after, within)
        redact = self._journal.redactor.json
        lines = [redact(encode_record(record)) + b"\n" for record in self._journal.read(after)]
        await exchange.reply(200, LINES, b"".join(lines))

    async def _next(self, exchange: Exchange, after: int, within: float) -> None:
        """Wait for a record after `after`; coming back without one is no mistake."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within) as limit:
                self._polls.add(limit)
                try:
                    await exchange.wait(self._journal.wait_for(Event, within=LONGEST_WAIT, after=after))
                finally:
                    self._polls.discard(limit)

    def end_polls(self) -> None:
        """Let nobody wait any longer: the server is about to stop."""
        for limit in self._polls:
            if not limit.expired():
                limit.reschedule(0)

    def _scripted(self) -> ScriptedModel:
        scripted = scripted_in(self._model)
        if scripted is None:
            kind = type(self._model).__name__
            raise ScriptError("this server has no script", seen=f"it answers from a {kind}")
        return scripted

    async def _unused(self, request: HttpRequest, exchange: Exchange) -> None:
        rules = [
            {"rule": rule.label, "when": rule.describe(), "where": rule.where}
            for rule in self._scripted().unused()
        ]
        await _json(exchange, {"unused": rules})

    async def _rules(self, request: HttpRequest, exchange: Exchange) -> None:
        script = self._scripted().script
        try:
            added = load_rules(script, _text(request.body), source="request")
        except ScriptLoadError as error:
            problems = [problem._asdict() for problem in error.problems]
            await exchange.reply(400, JSON, encode_json({"error": str(error), "problems": problems}))
            return
        self._journal.append(Noted(text=f"{added} rules added"), source="wire")
        await _json(exchange, {"added": added})

    async def _reset(self, request: HttpRequest, exchange: Exchange) -> None:
        self._scripted().reset()
        self._journal.append(Noted(text="script reset"), source="wire")
        await _json(exchange, {"reset": True})


def _let_go(journal: Journal) -> str:
    gone = journal.let_go
    where = (
        f"{journal.path} has all" if journal.path else "`soundstage serve --journal FILE` keeps all in a file"
    )
    return f"records 1 to {gone} are not kept in memory any more: ask for `after={gone}` or later; {where}"


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise ScriptError("rules are YAML or JSON in UTF-8", seen=str(error)) from None


def _number(query: dict[str, list[str]], name: str, *, whole: bool = False) -> float:
    """The number `name` of a query; 0 if it is not there.

    Raises:
        ValueError: if it is no such number.
    """
    given = query.get(name, ["0"])[-1]
    try:
        value = int(given) if whole else float(given)
    except ValueError:
        value = math.nan
    if not value >= 0:
        wanted = "a position: a whole number from 0" if whole else "a number of seconds from 0"
        raise ValueError(f"`{name}` is {wanted}; got {given!r}")
    return value


async def _json(exchange: Exchange, value: Any) -> None:
    await exchange.reply(200, JSON, encode_json(value))


async def _error(exchange: Exchange, status: int, message: str) -> None:
    await exchange.reply(status, JSON, encode_json({"error": message}))
