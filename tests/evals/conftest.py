"""A script, an agent in process, and suites of them."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from soundstage.evals import Case, EvalRun, FunctionAgent, Suite, evaluator_of, grade
from soundstage.journal import Journal, MessageSent
from soundstage.models import Script, ScriptedModel
from soundstage.runs import RunStore, build_result


def weather() -> Script:
    """One reply for every question about the weather."""
    script = Script()
    script.on(user="weather").reply("It is sunny.")
    return script


def suite_of(function=None, **fields) -> Suite:
    """A suite with a function as its agent; unless given, one that answers with its prompt."""

    async def echo(prompt: str) -> str:
        return prompt

    usual = {
        "name": "suite",
        "agent": FunctionAgent(function or echo),
        "model": lambda: ScriptedModel(weather(), shared=True),
        "cases": [Case(name="a", input="sunny", expect=(evaluator_of("contains", "sunny"),))],
    }
    return Suite(**{**usual, **fields})


def without_times(report):
    """A report as plain data, but for times and ids."""
    data = report.as_json()
    data["eval"] = ""
    for case in data["cases"]:
        case["avg_latency"] = 0
        for one in case["runs"]:
            one["run"], one["seconds"] = "", 0
    return data


@pytest.fixture
def store(tmp_path):
    found = RunStore(tmp_path / "store")
    yield found
    found.close()


@pytest.fixture
def graded():
    """Ask an evaluator about a run with this output and these events."""

    def ask(kind, spec, output="", events=(), folder=None, **case):
        journal = Journal()
        for event in (*events, MessageSent(text=output, channel="agent", sender="agent")):
            journal.append(event, source="agent")
        run = EvalRun(
            case=Case(**{"name": "a", "input": "question", **case}),
            result=build_result(journal.read()),
            find_folder=None if folder is None else lambda: folder,
        )
        evaluator = evaluator_of(kind, spec)
        assert not inspect.iscoroutine(evaluator)
        return asyncio.run(grade(evaluator, run))

    return ask
