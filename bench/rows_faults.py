"""A sweep of faulty runs in process: each kind of fault for each of ten model calls, and every cut of one stream."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

from _load import BenchError
from _pairs import median
from _servers import CLIENT_CORE, on_core
from _settings import Settings
from _table import Row

NAME = "faults"
CALLS = 10
RUNS = 200
LIMIT = 2000  # milliseconds


def rows(settings: Settings) -> Iterator[Row]:
    """The row of this file."""
    times = []
    with on_core(CLIENT_CORE):
        for number in range(1, settings.rounds + 1):
            settings.tell(f"round {number} of {settings.rounds}")
            gc.collect()
            begun = time.perf_counter()
            count = _sweep()
            times.append((time.perf_counter() - begun) * 1000)
    took = median(times)
    figures = f"{count} runs of up to {CALLS} calls and their retries, {took / count:.1f} ms each"
    yield Row(f"a sweep of {RUNS} faulty runs in process", "a limit", figures, took, LIMIT, "at most", "ms")


def _sweep() -> int:
    """Sweep once; the number of faulty runs."""
    from soundstage.faults import KINDS, sweep

    kinds = [name for name in KINDS if name not in ("outage", "stall")]  # both end most runs at once
    swept = sweep(_agent, _script(), kinds=kinds)
    if swept.findings or len(swept.rows) < RUNS:
        raise BenchError(f"expected {RUNS} runs that survive:\n{swept}")
    return len(swept.rows)


def _script() -> Any:
    from soundstage.models import Script

    script = Script(strict=True)
    for number in range(1, CALLS):
        script.on(iteration=number).reply(
            f"This is step {number}.", tool_calls=[{"name": "step", "arguments": {"number": number}}]
        )
    script.on(iteration=CALLS).reply("All the steps have been taken, one after the other. " * 2)
    return script


async def _agent(model: Any) -> str:
    from soundstage.errors import ModelError
    from soundstage.messages import ModelRequest, ToolDefinition, respond, tool, user

    messages, step = [user("Take the steps.")], ToolDefinition(name="step", schema={"type": "object"})
    while True:
        request = ModelRequest(model="m", messages=tuple(messages), tools=(step,), stream=True)
        try:
            reply = respond([chunk async for chunk in model.stream(request)])
        except ModelError:
            continue
        if not reply.parts:
            continue
        if not reply.tool_calls:
            return reply.text
        messages.append(reply.message())
        messages += [tool(call.id, "taken") for call in reply.tool_calls]
