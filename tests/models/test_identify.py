"""Who asks: the script's `agents` tell, and what the app says itself stays."""

from __future__ import annotations

import pytest

from soundstage.clock import run
from soundstage.errors import MatchError
from soundstage.journal import Journal, ModelRequested
from soundstage.models import AgentSpec, JournaledModel, Script, ScriptedModel, When, complete
from soundstage.models._identify import Identifier

EXECUTOR = AgentSpec(name="executor", when=When(system="/you are the executor/i"), phase=r"/Phase: (\w+)?/")
ROUTER = AgentSpec(name="Dispatcher", when=When(system="dispatch"), router=True)


@pytest.fixture
def identify() -> Identifier:
    return Identifier([EXECUTOR, ROUTER])


def test_the_first_rule_that_fits_names_the_agent(identify, request_of):
    assert identify(request_of(prompt="You are the executor.")).caller.agent == "executor"
    assert identify(request_of(prompt="You dispatch work.")).caller.agent == "Dispatcher"
    unknown = request_of(prompt="You are somebody.")
    assert identify(unknown) is unknown


def test_the_phase_is_read_from_the_prompt_unless_the_caller_says_it(identify, request_of):
    prompt = "You are the executor. Phase: plan"
    assert identify(request_of(prompt=prompt)).caller.phase == "plan"
    assert identify(request_of(prompt=prompt, phase="verify")).caller.phase == "verify"
    assert identify(request_of(prompt="You are the executor.")).caller.phase == ""
    assert identify(request_of(prompt="You are the executor. Phase: ")).caller.phase == ""


def test_a_name_given_in_process_stays(identify, request_of):
    assert identify(request_of(prompt="You are the executor", agent="planner")).caller.agent == "planner"


def test_on_the_wire_only_our_own_header_is_a_name_that_stays(identify, request_of):
    wire = {"prompt": "You are the executor", "wire": "anthropic"}
    assert identify(request_of(agent="subagent-7", **wire)).caller.agent == "executor"
    named = request_of(agent="planner", headers={"x-soundstage-agent": "planner"}, **wire)
    assert identify(named).caller.agent == "planner"


def test_routers_are_the_orchestrator_and_who_is_declared_one(identify):
    assert identify.routers == {"orchestrator", "dispatcher"}


def test_conditions_of_rules_see_the_agent_that_was_recognised(ask):
    script = Script()
    script.agent("executor", system="/you are the executor/i")
    script.on(agent="executor", iteration=2).reply("second call of the executor")
    model = ScriptedModel(script)
    ask(model, prompt="You are the executor")
    assert ask(model, prompt="You are the executor").text == "second call of the executor"


def test_an_agent_that_is_added_later_is_journaled_too(request_of):
    script, journal = Script(), Journal()
    scripted = ScriptedModel(script)
    model = JournaledModel(scripted, journal, identify=scripted.identify)
    script.agent("executor", system="executor")
    run(complete(model, request_of(prompt="executor")))
    assert journal.events(ModelRequested)[0].request.caller.agent == "executor"


def test_a_phase_without_a_group_is_refused_with_what_was_written_and_how_it_is_written():
    with pytest.raises(MatchError, match="expression with a group") as caught:
        Identifier([AgentSpec(name="a", when=When(system="a"), phase="/Phase: plan/")])
    assert caught.value.seen == "/Phase: plan/"
    assert caught.value.hint == "write it like /Phase: (\\w+)/"
