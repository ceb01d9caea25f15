"""The cost of runs in the terminal: rounded, by model, with warnings that are coloured only where somebody looks."""

from __future__ import annotations

import io

import pytest

from soundstage.errors import WrongValueError
from soundstage.runs import CostReporter
from soundstage.trace import Cost


class Terminal(io.StringIO):
    def isatty(self):
        return True


def told(*updates, file=None, **options):
    file = file if file is not None else io.StringIO()
    reporter = CostReporter(file=file, **options)
    for run, cost in updates:
        reporter.on_cost_update(run, cost)
    return file.getvalue().splitlines()


def test_a_cost_has_two_decimals_and_a_sign_and_models_that_cost_nothing_are_left_out():
    cost = Cost(amount=1.125, by_model={"gpt-4.1": 1.0, "free": 0.0, "haiku": 0.125})
    assert told(("a", cost)) == ["cost: $1.13 (gpt-4.1 $1.00, haiku $0.13)"]


def test_a_later_update_of_a_run_replaces_its_cost_and_other_runs_are_added():
    updates = [
        ("a", Cost(amount=0.1)),
        ("a", Cost(amount=0.3)),
        ("b", Cost(amount=0.2)),
        ("b", Cost(amount=0.2)),
    ]
    assert told(*updates) == ["cost: $0.10", "cost: $0.30", "cost: $0.50"]


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0.79, ""),
        (0.8, "; near the budget of $1.00"),
        (1.0, "; near the budget of $1.00"),
        (1.01, "; over the budget of $1.00"),
    ],
)
def test_a_budget_is_warned_of_from_four_fifths_on_and_is_inclusive(amount, words):
    assert told(("a", Cost(amount=amount)), budget=1.0) == [f"cost: ${amount:.2f}{words}"]


def test_warnings_are_coloured_in_a_terminal_alone(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    update = ("a", Cost(amount=2.0))
    [line] = told(update, budget=1.0, file=Terminal())
    assert line == "cost: $2.00; \x1b[31mover the budget of $1.00\x1b[0m"
    assert "\x1b" not in told(update, budget=1.0)[0]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in told(update, budget=1.0, file=Terminal())[0]


def test_a_cost_that_is_not_known_is_a_warning_with_the_id_of_the_run_once():
    unknown = Cost(amount=None, reason="no price for 'odd'")
    lines = told(("4f1c", unknown), ("4f1c", unknown), ("b", Cost(amount=0.5)))
    assert lines == [
        "warning: the cost of the run 4f1c is not known: no price for 'odd'",
        "cost: $0.00; that of 1 run is not known",
        "cost: $0.50; that of 1 run is not known",
    ]


async def test_a_workflow_tells_it_the_runs_of_all_stages_once():
    """Results of stages and of the workflow are sums of those runs, and would count them again."""
    from soundstage.journal import Journal
    from soundstage.messages import ModelRequest, user
    from soundstage.models import JournaledModel, Script, ScriptedModel, complete
    from soundstage.workflows import Stage, Workflow, WorkflowContext

    journal, script, file = Journal(), Script(), io.StringIO()
    script.on(user="plan").reply("word " * 100_000)
    script.on(user="build").reply("word " * 200_000)
    model = JournaledModel(ScriptedModel(script), journal)

    async def agent(prompt, _):
        request = ModelRequest(model="gpt-4.1", messages=(user(str(prompt)),))
        return (await complete(model, request)).text

    context = WorkflowContext(journal, agent, reporters=[CostReporter(file=file)])
    result = await Workflow(Stage("plan", prompt="plan"), Stage("build", prompt="build")).run(context)
    lines = file.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[-1] == f"cost: {result.cost.show()} (gpt-4.1 {result.cost.show()})"
    assert lines[0] != lines[1]


def test_a_run_that_asked_no_model_says_nothing():
    assert told(("a", None)) == []


def test_a_budget_that_is_none_is_refused():
    with pytest.raises(WrongValueError, match="budget"):
        CostReporter(budget=-1)
