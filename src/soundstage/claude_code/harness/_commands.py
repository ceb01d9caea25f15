"""Category 2: slash commands, carried out by the real CLI."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Meta
from msgspec.structs import replace

from soundstage.claude_code import ClaudeSession, SlashCommand
from soundstage.claude_code.harness._arguments import Seconds, SessionId
from soundstage.claude_code.harness._conversation import Config, ConversationTurn
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._open import open_conversation
from soundstage.claude_code.harness._paths import ProjectFolder
from soundstage.claude_code.harness._stages import located
from soundstage.claude_code.harness._views import error_of, tool_calls
from soundstage.errors import AppError


class CommandResult(TypedDict):
    status: str
    command_id: str
    response: str
    content: str
    workflow_stage: str
    metadata: dict[str, Any]


class CommandOutput(TypedDict):
    status: str
    command_id: str
    command: str
    output: str


class Commands(TypedDict):
    status: str
    commands: list[str]
    details: list[dict[str, Any]]
    total: int


class Expanded(TypedDict):
    status: str
    command: str
    exists: bool
    expands: bool
    expansion: str


Line = Annotated[
    str,
    Meta(
        min_length=1,
        description="A slash command with its plugin, and arguments after it.",
        examples=["/agent-loop:explore the parser", "agent-loop:plan"],
    ),
]
CommandId = Annotated[str, Meta(min_length=1, description="Command id from execute_command.")]
SomeSession = Annotated[
    str | None, Meta(description="Ask in this session; else what a new conversation would have.")
]


async def execute_command(
    harness: Harness, command: Line, session_id: SessionId, timeout: Seconds = 30.0
) -> CommandResult:
    """Execute a slash command in a conversation and wait until the agent has finished.

    Commands of plugins are called with their plugin: /agent-loop:explore. A bare name that only one plugin has
    (/explore) is completed; the CLI itself would not know it.

    Returns response (the agent's final words; content is the same), workflow_stage (see get_workflow_stage; empty
    where there is no workflow), command_id (for get_command_output) and metadata: command, arguments, expansion (what
    the model received), tool_calls (with action_id), denials, duration_ms, requests. When the turn failed, status is
    "error".

    Errors: no such command (with the nearest names), no such session, the turn takes too long.

    Example: execute_command(command="/agent-loop:explore", session_id="...")
    """
    conversation = harness.conversation(session_id)
    name, _, arguments = command.strip().removeprefix("/").partition(" ")
    full = full_name(name, await conversation.session.commands())
    turn = await conversation.session.run_command(full, arguments.strip(), within=timeout)
    answer = ConversationTurn(harness.ids.draw("cmd_", 8), session_id, turn, full)
    harness.keep(answer)
    expansion = turn.expansion
    found: CommandResult = {
        "status": "success",
        "command_id": answer.id,
        "response": turn.text,
        "content": turn.text,
        "workflow_stage": (await located(conversation)).stage,
        "metadata": {
            "command": f"/{full}",
            "arguments": arguments.strip(),
            "session_id": session_id,
            "expansion": expansion.text if expansion is not None else "",
            "tool_calls": tool_calls(turn),
            "denials": [denial.tool for denial in turn.denials],
            "duration_ms": turn.result.duration_ms,
            "requests": len(turn.requests),
        },
    }
    return error_of(turn, found)


async def get_command_output(harness: Harness, command_id: CommandId) -> CommandOutput:
    """Return the output of an executed command.

    Returns output (the agent's final words) and command. When the turn failed, status is "error".

    Errors: no such command id.

    Example: get_command_output(command_id="cmd_1a2b3c4d")
    """
    answer = harness.answer(command_id, "command")
    found: CommandOutput = {
        "status": "success",
        "command_id": answer.id,
        "command": f"/{answer.command}",
        "output": answer.turn.text,
    }
    return error_of(answer.turn, found)


async def list_available_commands(harness: Harness, session_id: SomeSession = None) -> Commands:
    """List the available slash commands and skills. Ask no model.

    Without session_id: those of the installed plugins and of the CLI itself. Plugins that were given to one
    conversation (plugin_dirs) are listed with its session_id.

    Returns commands (names with the slash), details (name, description, argument_hint, plugin, builtin) and
    their total.

    Errors: no such session.

    Example: list_available_commands()
    """
    known = await _known(harness, session_id)
    return {
        "status": "success",
        "commands": [f"/{command.name}" for command in known],
        "details": [
            {
                "name": f"/{command.name}",
                "description": command.description,
                "argument_hint": command.argument_hint,
                "plugin": command.plugin,
                "builtin": command.builtin,
            }
            for command in known
        ],
        "total": len(known),
    }


async def verify_command_expansion(
    harness: Harness, command: Line, session_id: SomeSession = None
) -> Expanded:
    """Verify that a slash command exists and expands: run it in a new conversation, and read the model request.

    The conversation has the installed plugins; with session_id also the project, plugin_dirs, settings and permissions
    of that one, in which nothing is said. A shell command in the text of the command runs in the project.

    Returns exists, expands, and expansion: the text that the model receives. A command that does not exist is
    an answer, not an error.

    Errors: no such session.

    Example: verify_command_expansion(command="/agent-loop:explore")
    """
    config = Config()
    if session_id is not None:
        given = harness.conversation(session_id)
        project = ProjectFolder(given.project)
        config = replace(given.config, script=None, strict=False, max_turns=None, project_path=project)
    name, _, arguments = command.strip().removeprefix("/").partition(" ")
    trial = await open_conversation(harness, config, listed=False)
    try:
        exists, text = await _expand(trial.session, name, arguments.strip())
    finally:
        await harness.end(trial)
    return {
        "status": "success",
        "command": f"/{name}",
        "exists": exists,
        "expands": bool(text),
        "expansion": text,
    }


async def _expand(session: ClaudeSession, name: str, arguments: str) -> tuple[bool, str]:
    known = await session.commands()
    full = full_name(name, known)
    if full not in {command.name for command in known}:
        return False, ""
    try:
        turn = await session.run_command(full, arguments)
    except AppError:  # the CLI did not send it: a shell command in it was refused
        return True, ""
    return True, turn.expansion.text if turn.expansion is not None else ""


async def _known(harness: Harness, session_id: str | None) -> tuple[SlashCommand, ...]:
    if session_id is not None:
        return await harness.conversation(session_id).session.commands()
    claude = await harness.claude()
    async with await claude.open() as session:  # for a moment: it has what is installed now
        return await session.commands()


def full_name(name: str, known: tuple[SlashCommand, ...]) -> str:
    """A bare name with the one plugin that has it; any other name as it is."""
    names = [command.name for command in known]
    ours = [found for found in names if found.rpartition(":")[2] == name and ":" in found]
    return ours[0] if ":" not in name and len(ours) == 1 else name
