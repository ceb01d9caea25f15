"""Where a conversation is in its workflow: a view of the commands that were executed and what they came to.

Claude Code knows no stages; they are ours. A command puts the conversation into its stage when its turn has
not failed. `complete` is reached when the turn has made a commit, by git's own log: a command that only looks like
one, or that a hook has blocked, leaves the work where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from soundstage.claude_code import ClaudeTurn
from soundstage.claude_code.harness._conversation import ConversationTurn, OpenConversation
from soundstage.claude_code.semantics import WORKFLOWS
from soundstage.errors import ScriptError

IDLE: Final = "idle"
COMPLETE: Final = "complete"
OWN: Final = "own"


class Where(NamedTuple):
    """Where a conversation is: its workflow (empty if none is known), its stage, and the stages so far."""

    workflow: str
    stage: str
    passed: tuple[str, ...]


def stage_of(conversation: OpenConversation) -> Where:
    """Where a conversation is."""
    return stage_after(conversation.answers, conversation.config.workflow)


async def located(conversation: OpenConversation) -> Where:
    """Where a conversation is; before the first command, in the workflow of its plugins. No stage if they have none."""
    where = stage_of(conversation)
    if where.workflow:
        return where
    known = [plugin for plugin in await plugins_of(conversation) if plugin in WORKFLOWS]
    if not known:
        return Where("", "", ())
    return where._replace(workflow=known[0] if len(known) == 1 else "")


async def plugins_of(conversation: OpenConversation) -> list[str]:
    """The plugins whose commands a conversation has."""
    return sorted({command.plugin for command in await conversation.session.commands() if command.plugin})


def stages_of(where: Where, workflow: str | Mapping[str, str]) -> tuple[str, ...]:
    """The stages that a conversation can be in; those of all workflows while none has been begun.

    Args:
        where: where it is.
        workflow: the one that it was started with.
    """
    if not isinstance(workflow, str):
        return (IDLE, *dict.fromkeys(workflow.values()))
    chosen = [WORKFLOWS[where.workflow]] if where.workflow else WORKFLOWS.values()
    return tuple(dict.fromkeys(stage for one in chosen for stage in one.stages))


def stage_after(answers: Iterable[ConversationTurn], workflow: str | Mapping[str, str] = "") -> Where:
    """Where these answers lead to. Pure.

    Args:
        answers: what has been asked, oldest first.
        workflow: the one that counts, by name, or as the stages that commands lead to (`{"plan": "planning"}`);
            unless given, that of the plugin whose command came last.
    """
    name = workflow if isinstance(workflow, str) else OWN
    chosen = name if name != OWN else ""
    stages = [IDLE]
    for answer in answers:
        plugin, _, command = answer.command.rpartition(":")
        stage = _own(workflow, plugin, command) if name == OWN else _stage(plugin, command, answer.turn)
        if not stage or answer.turn.is_error or (chosen and plugin != chosen):
            continue
        stages.append(stage)
        name = name if workflow else plugin
    return Where(name, stages[-1], tuple(stages))


def _own(workflow: str | Mapping[str, str], plugin: str, command: str) -> str:
    if isinstance(workflow, str):
        return ""
    return workflow.get(f"{plugin}:{command}", workflow.get(command, ""))


def _stage(plugin: str, command: str, turn: ClaudeTurn) -> str:
    """The stage that a command has led to; empty if it leads nowhere, or has not come there."""
    if plugin not in WORKFLOWS:
        return ""
    workflow = WORKFLOWS[plugin]
    stage = workflow.commands.get(command, "")
    if stage == COMPLETE:
        return COMPLETE if turn.commits else ""
    ends = stage.startswith("committing") and workflow.allows(stage, COMPLETE)
    return COMPLETE if ends and turn.commits else stage


def check_workflow(workflow: str | Mapping[str, str]) -> None:
    """Refuse a workflow that there is not.

    Raises:
        ScriptError: for its name.
    """
    if isinstance(workflow, str) and workflow and workflow not in WORKFLOWS:
        raise ScriptError(
            "there is no such workflow",
            expected="one of " + ", ".join(WORKFLOWS) + '; or your own: {"plan": "planning", ...}',
            seen=repr(workflow),
        )
