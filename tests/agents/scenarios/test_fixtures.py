"""The plugin's fixture `script` on a team's stage and in a builder's run: one script, whoever serves it."""

import pytest

from soundstage.agents.scenarios import TeamStage, hand_on, route, team
from soundstage.clock import run
from soundstage.errors import ScriptError
from soundstage.host import HostBuilder
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, ScriptedModel
from soundstage.models import complete as ask

HI = ModelRequest(model="m", messages=(user("hi"),))


async def test_the_scripts_fixture_answers_a_team(script):
    script.on(agent="orchestrator", iteration=1).reply(route("executor", phase="execute"))
    script.on(agent="executor").reply("Auth is there", tool_calls=[hand_on("verification")])
    script.on(agent="orchestrator", iteration=2).reply(route("END"))
    async with TeamStage(agents=team(), script=script) as stage:
        trace = await stage.run(stage.create("Implement auth"))
    assert trace.stop_reason == "end"


async def test_the_scripts_fixture_answers_a_builders_run(script):
    script.on(user="hi").reply("hello")
    async with HostBuilder().with_script(script).build() as host:
        assert (await ask(host.model, HI)).text == "hello"


async def test_a_rule_that_the_builders_run_does_not_use_still_fails_it(script):
    script.on(user="hi").reply("hello")
    script.on(user="never").reply("hello")
    with pytest.raises(ScriptError, match=r"1 rule.* never used"):
        async with HostBuilder().with_script(script).build() as host:
            await ask(host.model, HI)
    script.rules.pop()  # else this test would fail for it, too


def test_a_rule_counts_as_used_by_another_model_only_where_that_was_said():
    script = Script()
    for words in ("hi", "never"):
        script.on(user=words).reply("hello")
    alone, shared = ScriptedModel(script), ScriptedModel(script, shared=True)
    run(ask(ScriptedModel(script), HI))
    assert [rule.number for rule in alone.unused()] == [1, 2]
    assert [rule.number for rule in shared.unused()] == [2]
