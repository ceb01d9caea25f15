"""Spans made by hand and by the SDK, and a run to export."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from soundstage.clock import SystemClock, run
from soundstage.journal import Journal
from soundstage.messages import Caller, ModelRequest, ToolDefinition, tool, user
from soundstage.models import JournaledModel, Script, ScriptedModel, complete
from soundstage.otel._recorder import SpanRecorder
from soundstage.otel._spans import Span

TRACE = "0af7651916cd43dd8448eb211c80319c"
NANO = 1_000_000_000


class Spans:
    """Spans of one trace, made by hand. Times are milliseconds from `zero`."""

    def __init__(self, zero: int, trace: str = TRACE) -> None:
        self.zero = zero
        self.trace = trace
        self.made: list[Span] = []

    def add(self, name: str, begin: int, end: int, *, parent: Span | None = None, **fields: Any) -> Span:
        attributes = {key.replace("__", "."): value for key, value in fields.pop("attributes", {}).items()}
        span = Span(
            trace=self.trace,
            span=f"{len(self.made) + 1:016x}",
            parent=parent.span if parent is not None else "",
            name=name,
            began=self.zero + begin * 1_000_000,
            ended=self.zero + end * 1_000_000,
            attributes=attributes,
            **fields,
        )
        self.made.append(span)
        return span

    def agent(self, name: str, begin: int, end: int, **fields: Any) -> Span:
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        attributes |= fields.pop("attributes", {})
        return self.add(f"invoke_agent {name}", begin, end, attributes=attributes, **fields)

    def chat(self, begin: int, end: int, *parts: Any, asked: Any = "go on", **fields: Any) -> Span:
        """A model's span; `parts` are texts, and `(id, name, arguments)` for calls."""
        written = [
            {"type": "text", "content": part}
            if isinstance(part, str)
            else {"type": "tool_call", "id": part[0], "name": part[1], "arguments": part[2]}
            for part in parts
        ]
        messages = (
            asked
            if isinstance(asked, list)
            else [{"role": "user", "parts": [{"type": "text", "content": asked}]}]
        )
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.input.messages": json.dumps(messages),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": written}]),
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 3,
        } | fields.pop("attributes", {})
        return self.add("chat gpt-4o", begin, end, attributes=attributes, **fields)

    def tool(self, name: str, begin: int, end: int, result: Any = "ok", **fields: Any) -> Span:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.result": result,
        }
        attributes |= fields.pop("attributes", {})
        return self.add(f"execute_tool {name}", begin, end, attributes=attributes, **fields)


@pytest.fixture
def journal() -> Journal:
    return Journal(clock=SystemClock())


@pytest.fixture
def recorder(journal) -> SpanRecorder:
    return SpanRecorder(journal)


@pytest.fixture
def spans(journal) -> Spans:
    """Made 10 seconds ago by the journal's clock, which began before that."""
    journal.clock._origin -= 60
    from soundstage.journal import RunStarted

    journal.append(RunStarted(name="test", wall=journal.clock.wall().isoformat()), at=0.0)
    return Spans(round((journal.clock.wall().timestamp() - 10) * NANO))


@pytest.fixture
def new_spans() -> type[Spans]:
    return Spans


@pytest.fixture
def team_run() -> Callable[[], Journal]:
    """A run of a router and a worker with tools, one of which fails, and a request that fails."""

    def play() -> Journal:
        async def main() -> Journal:
            from soundstage.journal import RunFinished, RunStarted

            journal, script = Journal(run="run-1"), Script()
            journal.append(RunStarted(name="team", wall="2026-01-01T00:00:00+00:00"))
            script.on(agent="router", times=1).reply(
                text="the worker",
                tool_calls=[{"name": "ask_worker", "arguments": {"task": "Bern"}}],
            )
            script.on(agent="worker", iteration=1).reply(
                tool_calls=[
                    {"name": "weather", "arguments": {"city": "Bern"}},
                    {"name": "weather", "raw": '{"city": '},
                ]
            )
            script.on(agent="worker", iteration=2).error(529, "busy", type="overloaded_error")
            script.on(agent="worker", iteration=3).reply("4 degrees")
            model = JournaledModel(ScriptedModel(script), journal)

            async def ask(agent: str, *messages: Any) -> Any:
                request = ModelRequest(
                    model="gpt-4o",
                    messages=(user("weather in Bern?"), *messages),
                    tools=(
                        ToolDefinition(name="weather", schema={"type": "object"}),
                        ToolDefinition(name="ask_worker", schema={"type": "object"}),
                    ),
                    settings={"temperature": 0.5},
                    caller=Caller(agent=agent, conversation="c-1", phase="plan"),
                )
                return await complete(model, request)

            await ask("router")
            first = await ask("worker")
            good, bad = first.tool_calls
            history = (
                first.message(),
                tool(good.id, "4 C, clear"),
                tool(bad.id, "no JSON", is_error=True),
            )
            with pytest.raises(Exception, match="busy"):
                await ask("worker", *history)
            await ask("worker", *history)
            journal.append(RunFinished())
            return journal

        return run(main())

    return play
