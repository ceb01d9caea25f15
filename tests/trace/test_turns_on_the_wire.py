"""A graph of LangGraph that fans out: its branches ask at the same time, in threads, through the model server."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict

import pytest

from soundstage.trace import assert_agent_count, assert_agent_sequence, assert_tool_calls

WORKERS = ("critic", "historian", "translator")


class State(TypedDict):
    question: str
    found: Annotated[list[str], operator.add]


def graph_of(url: str) -> Any:
    """Three workers with a tool each, side by side; then a writer, who puts together what they found."""
    from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, StateGraph

    @tool
    def look_up(word: str) -> str:
        """Look a word up."""
        return f"about {word}"

    llm = ChatOpenAI(model="gpt-5.2", base_url=url, api_key="test")

    def worker(name: str) -> Any:
        def node(state: State) -> dict[str, list[str]]:
            messages: list[Any] = [SystemMessage(f"You are the {name}."), HumanMessage(state["question"])]
            while True:
                answer = llm.bind_tools([look_up]).invoke(messages)
                messages.append(answer)
                if not answer.tool_calls:
                    return {"found": [str(answer.content)]}
                for call in answer.tool_calls:
                    messages.append(ToolMessage(look_up.invoke(call["args"]), tool_call_id=call["id"]))

        return node

    def write(state: State) -> dict[str, list[str]]:
        found = "\n".join(sorted(state["found"]))
        answer = llm.invoke([SystemMessage("You are the writer."), HumanMessage(found)])
        return {"found": [str(answer.content)]}

    graph = StateGraph(State)
    for name in WORKERS:
        graph.add_node(name, worker(name))
        graph.add_edge(START, name)
        graph.add_edge(name, "writer")
    graph.add_node("writer", write)
    graph.add_edge("writer", END)
    return graph.compile()


@pytest.mark.parametrize("together", [True, False], ids=["in step", "as they come"])
def test_branches_that_ask_at_the_same_time_have_a_turn_each(
    script, model_server, trace, monkeypatch, together
):
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    rounds = [asyncio.Barrier(len(WORKERS)) for _ in range(3)]

    def at_round(number: int, **reply: Any) -> Any:
        async def answer(_: Any) -> Any:
            if together:
                await rounds[number].wait()
            return reply

        return answer

    for name in (*WORKERS, "writer"):
        script.agent(name, system=f"You are the {name}")
    for name in WORKERS:
        for number in range(2):
            words = [{"name": "look_up", "arguments": {"word": f"{name} {number}"}}]
            script.on(agent=name, iteration=number + 1).reply(at_round(number, tool_calls=words))
        script.on(agent=name, iteration=3).reply(at_round(2, text=f"{name} is done"))
    script.on(agent="writer", user="historian is done").reply("Written.")

    ended = graph_of(model_server.openai_url).invoke({"question": "What is a stage?", "found": []})

    assert ended["found"][-1] == "Written."
    seen = trace()
    for name in (*WORKERS, "writer"):
        assert_agent_count(seen, name, 1)
    assert sorted(len(run.steps) for run in seen.runs) == [1, 3, 3, 3]
    assert_agent_sequence(seen, "writer", order="in_order")
    assert seen.runs[-1].agent == "writer"
    for name in WORKERS:
        words = [("look_up", {"word": f"{name} {number}"}) for number in range(2)]
        assert_tool_calls(seen, *words, agent=name)
    assert [edge.receiver for edge in seen.handovers] == ["writer"]
