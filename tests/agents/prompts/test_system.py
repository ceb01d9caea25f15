"""The system prompt of an agent: context and conventions, as its definition says."""

from __future__ import annotations

from functools import partial

import pytest

from soundstage.agents import SettingError
from soundstage.agents.prompts import (
    TRIMMED,
    PromptAssembler,
    PromptSection,
    PromptTooLargeError,
    trim_history,
)
from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, AgentTask
from soundstage.clock import run
from soundstage.journal import Journal, ModelRequested
from soundstage.messages import assistant, user
from soundstage.models import Script, ScriptedModel


def assemble_prompt(definition, **known):
    return PromptAssembler(**known).build(definition)


def agent(**fields):
    return AgentDefinition(slug="it", prompt="Be terse.", **fields)


def test_a_prompt_has_the_context_of_the_project():
    assert "a shop" in assemble_prompt(agent(), project_context="a shop").text


def test_an_agent_that_excludes_the_context_does_not_have_it():
    prompt = assemble_prompt(agent(project_context=False), project_context="a shop")
    assert prompt.text == "## System\n\nBe terse."
    assert [size.label for size in prompt.manifest.sections] == ["System"]


def test_the_conventions_end_the_prompt_of_an_agent_that_wants_them():
    known = {"project_context": "a shop", "conventions": "Tabs."}
    assert assemble_prompt(agent(conventions=True), **known).text.endswith(
        "a shop\n\n## Conventions\n\nTabs."
    )
    assert "Conventions" not in assemble_prompt(agent(), **known).text


@pytest.mark.parametrize("conventions", ["", " \n"])
def test_without_conventions_there_is_no_such_section(conventions):
    assert "Conventions" not in assemble_prompt(agent(conventions=True), conventions=conventions).text


def test_the_context_is_dropped_before_the_conventions_and_both_before_the_instructions():
    large = "x" * 35
    known = {"project_context": large, "conventions": large}
    drops = [
        assemble_prompt(agent(conventions=True), cap=cap, **known).manifest.dropped for cap in (23, 22, 12)
    ]
    assert drops == [(), ("Project Context",), ("Project Context", "Conventions")]
    with pytest.raises(PromptTooLargeError):
        assemble_prompt(agent(), cap=2)


def test_more_sections_stand_between_context_and_conventions():
    more = PromptSection(label="Phase", content="planning", priority=95)
    prompt = assemble_prompt(agent(conventions=True), project_context="p", conventions="c", sections=(more,))
    assert [size.label for size in prompt.manifest.sections] == [
        "System",
        "Project Context",
        "Phase",
        "Conventions",
    ]
    with pytest.raises(SettingError, match="two sections"):
        assemble_prompt(agent(), sections=(PromptSection(label="System", content="other"),))


def test_the_agent_loop_takes_assembler_and_trimming_as_they_are():
    script = Script()
    script.on(user="now").reply("done")

    async def main():
        journal = Journal()
        loop = AgentLoop(
            ScriptedModel(script),
            AgentRegistry([agent()]),
            journal=journal,
            assemble=PromptAssembler(project_context="a shop"),
            trim=partial(trim_history, window=100),
        )
        long = tuple(user("x" * 50) if n % 2 else assistant("y" * 50) for n in range(20))
        await loop.run(AgentTask(id="1", agent="it", prompt="now", history=long))
        return [record.event.request for record in journal.read() if isinstance(record.event, ModelRequested)]

    [request] = run(main())
    assert request.messages[0].text == "## System\n\nBe terse.\n\n## Project Context\n\na shop"
    assert [message.text == TRIMMED for message in request.messages] == [False] * 3 + [True] + [False] * 6
    assert request.last_user_text == "now"
