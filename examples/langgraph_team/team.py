"""The graphs: a supervisor that hands tasks out, and workers that carry them out with tools.

A worker sees its task and nothing else. Its answer is the result of the tool call that handed the task out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import httpx
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

MODEL = os.environ.get("TEAM_MODEL", "gpt-4.1-mini")
AGENTS = ("supervisor", "researcher", "planner")
SIGHTS = {"bern": "the clock tower, the bear park, the rose garden", "basel": "the minster, the paper mill"}
FARES = {("zurich", "bern"): 51.0, ("zurich", "basel"): 34.0}


@tool
def look_up(place: str) -> str:
    """List the sights of a place."""
    return SIGHTS.get(place.lower(), f"nothing is known about {place}")


@tool
def fare(start: str, end: str) -> str:
    """Return the price of a train ticket."""
    price = FARES.get((start.lower(), end.lower()))
    if price is None:
        raise ValueError(f"no train goes from {start} to {end}")
    return f"{price:.2f} CHF"


@tool
def transfer_to_researcher(task: str) -> str:
    """Have the researcher find something out."""
    return task


@tool
def transfer_to_planner(task: str) -> str:
    """Have the planner work out a trip and its price."""
    return task


def build_worker(
    name: str, instructions: str, tools: Sequence[BaseTool], model: ChatOpenAI
) -> CompiledStateGraph:
    """An agent that calls its tools until it has an answer."""
    bound = model.bind_tools(tools)

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke([SystemMessage(instructions), *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition)
    graph.add_edge("tools", "ask")
    return graph.compile(name=name)


def build_team(model: ChatOpenAI) -> CompiledStateGraph:
    """The whole desk."""
    workers = {
        "researcher": build_worker(
            "researcher", "You are the researcher of a travel desk.", [look_up], model
        ),
        "planner": build_worker("planner", "You are the planner of a travel desk.", [fare], model),
    }
    graph = StateGraph(MessagesState)
    graph.add_node("supervisor", _supervisor(model), destinations=(*workers, END))
    for name, worker in workers.items():
        graph.add_node(name, _task_of(name, worker))
        graph.add_edge(name, "supervisor")
    graph.add_edge(START, "supervisor")
    return graph.compile(name="travel desk")


def _supervisor(model: ChatOpenAI) -> Any:
    instructions = "You are the supervisor of a travel desk. Hand tasks out, then answer in one sentence."
    bound = model.bind_tools([transfer_to_researcher, transfer_to_planner])

    async def supervise(state: MessagesState) -> Command:
        reply = await bound.ainvoke([SystemMessage(instructions), *state["messages"]])
        chosen = {call["name"].removeprefix("transfer_to_") for call in reply.tool_calls}
        return Command(goto=sorted(chosen) or END, update={"messages": [reply]})

    return supervise


def _task_of(name: str, worker: CompiledStateGraph) -> Any:
    async def work(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        answers = []
        for call in _newest_calls(state):
            if call["name"] == f"transfer_to_{name}":
                done = await worker.ainvoke({"messages": [HumanMessage(call["args"]["task"])]}, config)
                said = done["messages"][-1].text
                answers.append(ToolMessage(said, tool_call_id=call["id"], name=call["name"]))
        return {"messages": answers}

    return work


def _newest_calls(state: MessagesState) -> list[Any]:
    """The calls of the supervisor's newest message; workers that run side by side have answered after it."""
    return next((m.tool_calls for m in reversed(state["messages"]) if getattr(m, "tool_calls", None)), [])


async def answer(question: str, callbacks: Sequence[BaseCallbackHandler] = ()) -> str:
    """Answer a traveller. Address and key of the model come from OPENAI_BASE_URL and OPENAI_API_KEY."""
    config: RunnableConfig = {"callbacks": list(callbacks), "recursion_limit": 20}
    async with httpx.AsyncClient() as client:
        team = build_team(ChatOpenAI(model=MODEL, http_async_client=client))
        done = await team.ainvoke({"messages": [HumanMessage(question)]}, config)
    return str(done["messages"][-1].text)
