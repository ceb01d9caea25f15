"""A script that is bound to a team: names that the team does not have are refused, and traps are explained."""

import pytest

from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, AgentTask
from soundstage.agents.scenarios import TeamStage, complete, hand_on, route, team
from soundstage.agents.teams import PlanOrchestrator, RoutingError
from soundstage.clock import run
from soundstage.errors import UnknownNameError
from soundstage.host import HostBuilder
from soundstage.lifecycle import ScratchFolder
from soundstage.models import Script


async def on_stage(script: Script, message: str = "Implement auth", **options):
    async with TeamStage(agents=team(), script=script) as stage:
        await stage.run(stage.create(message), **options)
        return stage.trace


UNKNOWN = [
    (
        {"agent": "excutor"},
        "there is no agent 'excutor'; there are orchestrator, executor, test-pm; did you mean 'executor'",
    ),
    ({"agent": "main"}, "there is no agent 'main'"),
    ({"agent": {"not": "excutor"}}, "did you mean 'executor'"),
    ({"agent": ["executor", "tester"]}, "there is no agent 'tester'"),
    ({"agent": "/^exec$/"}, r"there is no agent '/\^exec\$/'"),
    ({"previous_agent": "exekutor"}, "did you mean 'executor'"),
    ({"previous_agent": "orchestrator"}, "a router does not count"),
    ({"phase": "exectue"}, "there is no phase 'exectue'; there are discovery, .*; did you mean 'execute'"),
    ({"tool": "continu"}, "there is no tool 'continu'; .*did you mean 'continue'"),
    ({"after_tool": "compleet"}, "did you mean 'complete'"),
    ({"after_tool": {"all": ["complete", "no_tool"]}}, "there is no tool 'no_tool'"),
    ({"header": {"x-team": "blue"}}, "header 'x-team': there are no headers at all"),
]


@pytest.mark.parametrize(("conditions", "message"), UNKNOWN, ids=[str(given) for given, _ in UNKNOWN])
def test_a_name_that_the_team_does_not_have_is_refused_before_and_during_the_run(conditions, message):
    before = Script()
    before.on(name="the rule", **conditions).reply("never")
    with pytest.raises(UnknownNameError, match=f"(?s)rule 1 'the rule'.*{message}"):
        run(on_stage(before))

    async def during():
        async with TeamStage(agents=team()) as stage:
            with pytest.raises(ValueError, match=message):
                stage.script.on(**conditions).reply("never")
            assert stage.script.rules == []
            stage.script.on(agent="Orchestrator").reply(route("END"))
            return await stage.run(stage.create("Implement auth"))

    assert run(during()).stop_reason == "end"


KNOWN = [
    {"agent": "EXECUTOR"},
    {"agent": "/^exec/"},
    {"agent": "judge"},
    {"phase": ["Execute", "verification"]},
    {"after_tool": "call_of_mine"},
    {"previous_agent": "executor", "tool": "continue"},
    {"agent": lambda name: name == "whoever"},
    {"user": "anything", "system": "at all"},
]


@pytest.mark.parametrize("conditions", KNOWN)
def test_names_that_somebody_has_are_taken(conditions):
    script = Script(strict=False)
    script.agent("judge", system="you judge")
    script.on(agent="orchestrator").reply(route("END"))
    script.on(**conditions).reply(tool_calls=[{"id": "call_of_mine", "name": "complete"}])
    assert run(on_stage(script)).stop_reason == "end"


def test_all_unknown_names_are_told_at_once_and_the_stage_leaves_nothing_behind(monkeypatch):
    closed = []
    original = ScratchFolder.close
    monkeypatch.setattr(ScratchFolder, "close", lambda self: (closed.append(self), original(self)))
    script = Script()
    script.on(agent="nobody").reply("a")
    script.on(phase="never").reply("b")
    stage = TeamStage(agents=team(), script=script)

    async def body():
        async with stage:
            pytest.fail("the block was entered")

    with pytest.raises(UnknownNameError, match="2 names") as failed:
        run(body())
    assert "rule 1 [agent 'nobody']" in str(failed.value)
    assert "rule 2 [phase 'never']" in str(failed.value)
    assert closed
    assert stage.host.journal.closed


def test_a_team_that_plans_knows_its_agents_too():
    script = Script()
    script.on(agent="ochestrator").reply("a direct answer")

    async def body():
        async with HostBuilder("plan").with_script(script).build() as host:
            agents = [AgentDefinition(slug="orchestrator"), AgentDefinition(slug="code")]
            loop = AgentLoop(host.model, AgentRegistry(agents), journal=host.journal)
            await PlanOrchestrator(loop, agents, host.journal).run("hello")

    with pytest.raises(UnknownNameError, match="did you mean 'orchestrator'"):
        run(body())


def test_a_strict_run_with_a_registry_says_that_an_unused_rule_names_nobody():
    script = Script()
    script.on(agent="greeter").reply("hi")
    script.on(agent="greter").reply("never")

    async def body():
        async with HostBuilder("one").with_script(script).build() as host:
            agents = AgentRegistry([AgentDefinition(slug="greeter")])
            loop = AgentLoop(host.model, agents, journal=host.journal)
            await loop.run(AgentTask(id="1", agent="greeter", prompt="hello"))

    with pytest.raises(UnknownNameError, match=r"rule 2 .*did you mean 'greeter'"):
        run(body())


def test_a_rule_on_the_users_words_that_decides_every_round_is_explained_in_the_trace():
    script = Script()
    script.on(agent="orchestrator", user="auth").reply(route("executor"))
    script.on(agent="executor").reply("done", tool_calls=[hand_on()])
    trace = run(on_stage(script, max_iterations=3))
    assert trace.stop_reason == "max_iterations"
    assert "decided the same in all 3 rounds" in trace.format(width=200)
    assert "iteration=1" in trace.format(width=300)


def test_rounds_that_were_decided_differently_need_no_advice():
    script = Script()
    script.on(agent="orchestrator", iteration=1).reply(route("executor"))
    script.on(agent="orchestrator").reply(route("test-pm"))
    script.on(agent=["executor", "test-pm"]).reply("done", tool_calls=[hand_on()])
    assert "decided the same" not in run(on_stage(script, max_iterations=2)).format(width=300)


def test_a_rule_that_answers_the_orchestrator_by_accident_is_explained_in_the_error():
    script = Script()
    script.on(user="auth").reply("Done.", tool_calls=[complete()], check_calls=False)
    script.on(user="hello").reply("Hello yourself")
    with pytest.raises(RoutingError) as failed:
        run(on_stage(script, "hello"))
    assert "agent='executor'" in "\n".join(failed.value.__notes__)
