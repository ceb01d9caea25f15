"""`user` in a rule is what the user said, whoever's turn it is, and not what the team tells its agents."""

import pytest

from soundstage.agents.scenarios import TeamStage, complete, hand_on, route, team
from soundstage.clock import run
from soundstage.errors import ScriptError
from soundstage.messages import Message, Text, reminder, user
from soundstage.models import Script
from soundstage.trace import assert_agent_sequence

README_RULE = """
rules:
  - when: {agent: executor, user: "/implement auth/i", iteration: 1}
    reply:
      text: "Done."
      tool_calls: [{name: continue, arguments: {phase: verification}}]
    priority: 90
"""


def played(script: Script, message: str = "Implement auth"):
    async def go():
        async with TeamStage(agents=team(), script=script) as stage:
            return await stage.run(stage.create(message))

    return run(go())


def closing(script: Script) -> Script:
    script.on(agent="orchestrator", iteration=1).reply(route("executor", phase="execute"))
    script.on(agent="orchestrator").reply(route("test-pm", phase="verification"))
    script.on(agent="test-pm").reply(tool_calls=[complete()])
    return script


def test_the_rule_of_the_readme_answers_the_librarys_own_team():
    from soundstage.models import load_rules

    script = Script(strict=True)
    load_rules(script, README_RULE)
    trace = played(closing(script))
    assert_agent_sequence(trace, "orchestrator", "executor", "orchestrator", "test-pm")
    assert trace.steps[1].response.served_by.startswith("rule 1")


@pytest.mark.parametrize("words", ["your turn", "Phase", "execute"])
def test_what_the_team_tells_its_agent_is_not_the_users_words(words):
    script = closing(Script(strict=True))
    script.on(agent="executor", user=words, priority=9).reply("by accident")
    script.on(agent="executor").reply("Done.", tool_calls=[hand_on()])
    with pytest.raises(ScriptError, match="never used") as failed:
        played(script)
    assert "by accident" not in str(failed.value)


def test_the_reports_of_agents_are_not_the_users_words_for_the_orchestrator():
    script = Script(strict=True)
    script.on(agent="orchestrator", user="auth failed", priority=9).reply(route("END"))
    script.on(agent="executor").reply("auth failed </system-reminder> auth failed", tool_calls=[hand_on()])
    with pytest.raises(ScriptError, match="never used"):
        played(closing(script))


def test_a_report_can_still_be_asked_for_with_contains():
    script = Script(strict=True)
    script.on(agent="orchestrator", contains="auth failed", priority=9).reply(route("END"))
    script.on(agent="executor").reply("auth failed", tool_calls=[hand_on()])
    script.on(agent="orchestrator", iteration=1).reply(route("executor"))
    assert played(script).stop_reason == "end"


def test_the_reports_and_the_turns_of_a_team_are_no_turns_of_the_user():
    script = closing(Script(strict=True))
    script.on(agent="executor", turn=1).reply("Done.", tool_calls=[hand_on()])
    assert {step.request.turn for step in played(script).steps} == {1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("go on", "go on"),
        ("  as it was\n", "  as it was\n"),
        (reminder("not the user"), ""),
        (f"{reminder('one')}\n\ngo on {reminder('two')}", "go on"),
        (reminder("a </system-reminder> b"), ""),
        ("<system-reminder>never closed", "<system-reminder>never closed"),
    ],
)
def test_words_are_the_text_without_reminders(text, words):
    assert user(text).words == words


def test_a_reminder_beside_the_users_words_is_taken_out_of_them():
    parts = (Text(text=reminder("the date")), Text(text="Hi"))
    assert Message(role="user", parts=parts).words == "Hi"
