"""A scripted call in process: matched against 10 rules, journaled, folded into a reply.

The peer is the fake model that pydantic-ai ships for tests. Its function may be a plain `def`, as its
documentation shows (it is then run in a thread), or an `async def`; ours is measured against both.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from _load import BenchError
from _pairs import interleave, ratio
from _servers import CLIENT_CORE, on_core
from _settings import Settings
from _table import Row, micros

NAME = "call"
RULES = 10
QUESTION, ANSWER = f"This is question {RULES} please.", f"The answer to question {RULES} is short."
WHAT = f"scripted call in process, {RULES} rules, journaled"


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    turns = {
        "ours": _turn(_ours, settings.scaled(5000)),
        "def": _turn(_function_model(_plain), settings.scaled(2000)),
        "async def": _turn(_function_model(_coroutine), settings.scaled(5000)),
    }
    with on_core(CLIENT_CORE):
        times = interleave(turns, settings.rounds, settings.tell)
    for kind in ("def", "async def"):
        figures = f"{micros(times['ours'])} : {micros(times[kind])}"
        yield Row(WHAT, f"pydantic-ai FunctionModel, {kind}", figures, ratio(times[kind], times["ours"]), 10)


def _turn(prepare: Callable[[], Callable[[], Awaitable[str]]], count: int) -> Callable[[], float]:
    """Seconds for one call, on a loop and with a model that are made for this turn."""

    async def measure() -> float:
        ask = prepare()
        if await ask() != ANSWER:
            raise BenchError(f"expected {ANSWER!r}, got {await ask()!r}")
        gc.collect()
        start = time.perf_counter()
        for _ in range(count):
            await ask()
        return (time.perf_counter() - start) / count

    return lambda: asyncio.run(measure())


def _ours() -> Callable[[], Awaitable[str]]:
    from soundstage.journal import Journal
    from soundstage.messages import ModelRequest, user
    from soundstage.models import JournaledModel, Script, ScriptedModel, complete

    script = Script()
    for number in range(1, RULES + 1):
        script.on(user=f"question {number} ").reply(f"The answer to question {number} is short.")
    model = JournaledModel(ScriptedModel(script), Journal())
    request = ModelRequest(model="gpt-4o", messages=(user(QUESTION),))

    async def ask() -> str:
        return (await complete(model, request)).text

    return ask


def _function_model(function: Callable[[Any, Any], Any]) -> Callable[[], Callable[[], Awaitable[str]]]:
    def prepare() -> Callable[[], Awaitable[str]]:
        from pydantic_ai.messages import ModelRequest, UserPromptPart
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.models.function import FunctionModel

        model = FunctionModel(function)
        messages = [ModelRequest(parts=[UserPromptPart(QUESTION)])]
        parameters = ModelRequestParameters()

        async def ask() -> str:
            return (await model.request(messages, None, parameters)).parts[0].content  # type: ignore[union-attr]

        return ask

    return prepare


def _plain(*_: Any) -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart

    return ModelResponse(parts=[TextPart(ANSWER)])


async def _coroutine(*_: Any) -> Any:
    return _plain()
