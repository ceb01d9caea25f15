"""The cost of the agent runtime per turn, and of a trace per event.

A turn: an agent is asked, the model answers at once, the loop ends. The model is instant in all contestants, so
only the frameworks differ: our `AgentLoop` with its journal, pydantic-ai's `Agent.run` with `FunctionModel`, and
the smallest graph of LangGraph with a fake chat model. None of them sends telemetry.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from _load import BenchError
from _pairs import interleave, median, ratio
from _servers import CLIENT_CORE, on_core
from _settings import Settings
from _table import Row, micros

NAME = "team"
ANSWER = "done"
TURN = "a turn of an agent, instant model, journaled"
EVENTS = 100_000
CONVERSATIONS = 100


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    os.environ["LANGSMITH_TRACING"] = "false"
    turns = {
        "ours": _turn(_ours, settings.scaled(2000)),
        "pydantic-ai": _turn(_pydantic_ai, settings.scaled(400)),
        "langgraph": _turn(_langgraph, settings.scaled(400)),
    }
    with on_core(CLIENT_CORE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = interleave(turns, settings.rounds, settings.tell)
        yield from _turn_rows(times)
        settings.tell(f"a trace over {EVENTS} events")
        yield _trace_row()
        settings.tell(f"{CONVERSATIONS} conversations at once")
        yield _conversations_row()


def _turn_rows(times: dict[str, list[float]]) -> Iterator[Row]:
    peers = {
        "pydantic-ai": "pydantic-ai Agent.run, FunctionModel",
        "langgraph": "LangGraph, one node, a fake chat model",
    }
    for name, against in peers.items():
        figures = f"{micros(times['ours'])} : {micros(times[name])}"
        yield Row(TURN, against, figures, ratio(times[name], times["ours"]), 5)


def _turn(prepare: Callable[[], Callable[[], Awaitable[str]]], count: int) -> Callable[[], float]:
    """Seconds for one turn."""

    async def measure() -> float:
        ask = prepare()
        if await ask() != ANSWER:
            raise BenchError(f"expected {ANSWER!r}")
        gc.collect()
        start = time.perf_counter()
        for _ in range(count):
            await ask()
        return (time.perf_counter() - start) / count

    return lambda: asyncio.run(measure())


def _ours() -> Callable[[], Awaitable[str]]:
    from itertools import count

    from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, AgentTask
    from soundstage.journal import Journal
    from soundstage.models import Script, ScriptedModel

    script = Script()
    script.on(user="go").reply(ANSWER)
    registry = AgentRegistry([AgentDefinition(slug="worker", prompt="You are the worker.")])
    loop = AgentLoop(ScriptedModel(script), registry, journal=Journal())
    numbers = count()

    async def ask() -> str:
        return (await loop.run(AgentTask(id=str(next(numbers)), agent="worker", prompt="go"))).output

    return ask


def _pydantic_ai() -> Callable[[], Awaitable[str]]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    async def answer(*_: Any) -> Any:
        return ModelResponse(parts=[TextPart(ANSWER)])

    agent = Agent(FunctionModel(answer), system_prompt="You are the worker.")

    async def ask() -> str:
        return (await agent.run("go")).output

    return ask


def _langgraph() -> Callable[[], Awaitable[str]]:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    def answers() -> Iterator[Any]:
        while True:
            yield AIMessage(ANSWER)

    model = GenericFakeChatModel(messages=answers())

    async def worker(state: Any) -> Any:
        return {"messages": [await model.ainvoke([SystemMessage("You are the worker."), *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("worker", worker)
    graph.add_edge(START, "worker")
    graph.add_edge("worker", END)
    compiled = graph.compile()

    async def ask() -> str:
        state = await compiled.ainvoke({"messages": [HumanMessage("go")]})
        return str(state["messages"][-1].content)

    return ask


def _trace_row() -> Row:
    """Building a trace and asserting on its agents, for many events and for a tenth of them."""
    small, large = (median(_trace_seconds(count) for _ in range(3)) for count in (EVENTS // 10, EVENTS))
    figures = f"{large * 1000:.0f} ms for {EVENTS:,} events, {small * 1000:.0f} ms for {EVENTS // 10:,}"
    return Row(
        "trace and agent sequence, per event, 100,000 events", "10,000 events", figures, large / small / 10
    )


def _trace_seconds(count: int) -> float:
    from soundstage.journal import AgentFinished, AgentStarted, Journal, ModelRequested, ModelResponded
    from soundstage.messages import Caller, ModelRequest, ModelResponse, Text, user
    from soundstage.trace import Trace, assert_agent_sequence

    journal = Journal()
    names = [f"agent-{number % 8}" for number in range(count // 4)]
    for name in names:
        started = journal.append(AgentStarted(agent=name, task="work"), source=name)
        request = ModelRequest(model="m", messages=(user("go"),), caller=Caller(agent=name))
        asked = journal.append(ModelRequested(request=request), source="model", cause=started)
        response = ModelResponse(parts=(Text(text="done"),))
        journal.append(ModelResponded(response=response), source="model", cause=asked)
        journal.append(AgentFinished(agent=name), source=name, cause=started)
    gc.collect()
    start = time.perf_counter()
    assert_agent_sequence(Trace.of(journal), *names)
    return time.perf_counter() - start


def _conversations_row() -> Row:
    """Conversations of eight executions with feedback, many at once on one stage; no words may cross over."""
    from soundstage.agents.scenarios import TeamStage, assert_no_leak, complete, hand_on, route, team
    from soundstage.clock import run

    words = [f"word-{number:03}" for number in range(CONVERSATIONS)]

    async def main() -> float:
        async with TeamStage(agents=team()) as stage:
            for number, (agent, phase) in enumerate(
                [("executor", "execute"), ("test-pm", "verification")] * 2, 1
            ):
                stage.script.on(agent="orchestrator", iteration=number).reply(route(agent, phase=phase))
            stage.script.on(agent="executor", iteration=1).reply(
                "Built", tool_calls=[hand_on("verification")]
            )
            stage.script.on(agent="test-pm", iteration=1).reply(
                "Wrong: plaintext", tool_calls=[hand_on("execute")]
            )
            stage.script.on(agent="executor", iteration=2).reply(
                "Mended", tool_calls=[hand_on("verification")]
            )
            stage.script.on(agent="test-pm", iteration=2).reply("Fine", tool_calls=[complete()])
            start = time.perf_counter()
            traces = await stage.run_all([f"Remember {word}." for word in words])
            elapsed = time.perf_counter() - start
            assert_no_leak(traces, words)
            executions = {len(trace.runs) for trace in traces}
        if executions != {8}:
            raise BenchError(f"expected 8 executions in each conversation, got {executions}")
        return elapsed

    rate = CONVERSATIONS / median(run(main()) for _ in range(3))
    what = f"{CONVERSATIONS} conversations of the reference test at once, 8 executions each"
    return Row(what, "-", f"{rate:.0f} conversations/s, no cross-talk")
