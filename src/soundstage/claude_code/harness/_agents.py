"""Category 4: the agent's mode, its instructions, and where it is in its workflow."""

from __future__ import annotations

from typing import TypedDict

from soundstage.claude_code.harness._arguments import SessionId, StageName
from soundstage.claude_code.harness._conversation import OpenConversation
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._stages import Where, located, plugins_of, stages_of
from soundstage.claude_code.semantics import WORKFLOWS
from soundstage.errors import ScriptError


class Mode(TypedDict):
    status: str
    session_id: str
    mode: str
    agent: str


class Guidance(TypedDict):
    status: str
    session_id: str
    guidance: str
    command: str
    command_text: str
    last_response: str
    agents: list[str]


class WorkflowStage(TypedDict):
    status: str
    session_id: str
    stage: str
    workflow: str
    stages: list[str]


class StageTransition(TypedDict):
    status: str
    session_id: str
    passed: bool
    expected_stage: str
    actual_stage: str
    previous_stage: str


async def get_agent_mode(harness: Harness, session_id: SessionId) -> Mode:
    """Return the permission mode of the agent, as the CLI itself reports it.

    Returns mode (default, acceptEdits, plan, dontAsk, bypassPermissions, auto) and agent (the main agent that
    start_conversation chose; empty for the CLI's own).

    Errors: no such session.

    Example: get_agent_mode(session_id="...")
    """
    conversation = harness.conversation(session_id)
    turns = [answer.turn for answer in conversation.answers]
    reported = [turn.init.permission_mode for turn in turns if turn.init is not None]
    return {
        "status": "success",
        "session_id": session_id,
        "mode": reported[-1] if reported else conversation.config.permission_mode,
        "agent": conversation.config.agent,
    }


async def get_agent_guidance(harness: Harness, session_id: SessionId) -> Guidance:
    """Return the current instructions, as the model received them on the wire.

    Returns guidance (the system prompt of the last request), command and command_text (the slash command that
    was executed last, and what it expanded to), last_response (the agent's last words) and agents (the
    subagents that it can call). Empty before the first prompt.

    Errors: no such session.

    Example: get_agent_guidance(session_id="...")
    """
    conversation = harness.conversation(session_id)
    turns = [answer.turn for answer in conversation.answers]
    guidance = [turn.guidance for turn in turns if turn.guidance]
    commands = [turn.expansion for turn in turns if turn.expansion is not None]
    init = next((turn.init for turn in reversed(turns) if turn.init is not None), None)
    return {
        "status": "success",
        "session_id": session_id,
        "guidance": guidance[-1] if guidance else "",
        "command": f"/{commands[-1].command}" if commands else "",
        "command_text": commands[-1].text if commands else "",
        "last_response": turns[-1].text if turns else "",
        "agents": list(init.agents) if init is not None else [],
    }


async def get_workflow_stage(harness: Harness, session_id: SessionId) -> WorkflowStage:
    """Return the workflow stage of the conversation: idle, exploring, planning, coding, complete...

    The stage follows from the executed commands. A failed command changes nothing, and a commit counts when git
    has made it. The stage is idle before the first command.

    Returns stage, workflow (agent-loop, epti, visual-iteration, or own) and stages (all so far, in order).

    Errors: no such session; no plugin of the session has a workflow.

    Example: get_workflow_stage(session_id="...")
    """
    where = await _where(harness.conversation(session_id))
    return {
        "status": "success",
        "session_id": session_id,
        "stage": where.stage,
        "workflow": where.workflow,
        "stages": list(where.passed),
    }


async def verify_agent_transition(
    harness: Harness, session_id: SessionId, expected_stage: StageName
) -> StageTransition:
    """Verify that the conversation is in a stage of its workflow. Capitals do not matter.

    Returns passed, expected_stage, actual_stage and previous_stage (empty while it is idle).

    Errors: no such session; no plugin of the session has a workflow; no such stage in it.

    Example: verify_agent_transition(session_id="...", expected_stage="planning")
    """
    conversation = harness.conversation(session_id)
    where = await _where(conversation)
    _refuse_unknown(expected_stage, stages_of(where, conversation.config.workflow))
    return {
        "status": "success",
        "session_id": session_id,
        "passed": where.stage.casefold() == expected_stage.strip().casefold(),
        "expected_stage": expected_stage,
        "actual_stage": where.stage,
        "previous_stage": where.passed[-2] if len(where.passed) > 1 else "",
    }


async def _where(conversation: OpenConversation) -> Where:
    """Where a conversation is.

    Raises:
        ScriptError: if no plugin of it has a workflow.
    """
    where = await located(conversation)
    if where.stage:
        return where
    raise ScriptError(
        "this conversation has no workflow",
        expected="a plugin with one: " + ", ".join(WORKFLOWS),
        seen="plugins: " + (", ".join(await plugins_of(conversation)) or "none"),
        hint='start_conversation(config={"workflow": {"my-plugin:plan": "planning"}}) declares one',
    )


def _refuse_unknown(expected: str, known: tuple[str, ...]) -> None:
    """Refuse a stage that there is not: whoever expects not to be there would always be right."""
    if expected.strip().casefold() not in {stage.casefold() for stage in known}:
        raise ScriptError(
            "there is no such stage", expected="one of " + ", ".join(known), seen=repr(expected)
        )
