"""Runs a plugin in the real Claude Code CLI: validate, load, list, expand.

Hooks are switched off here (`disableAllHooks`): one that blocks every prompt would keep the commands from being
seen. They are run one by one, in `_hooks.py`. Servers are started by the CLI only if all of them have answered
before, since it would wait for the others.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any, Final

from soundstage.claude_code import ClaudeCode, ClaudeTurn, Defect, Validation, argument_names
from soundstage.claude_code.plugin_check._declared import DeclaredPlugin, DeclaredText
from soundstage.claude_code.plugin_check._environment import PluginEnvironment
from soundstage.claude_code.plugin_check._expansion import ARGUMENTS, first_gap
from soundstage.claude_code.plugin_check._findings import Findings
from soundstage.errors import AppError, WaitTimeout
from soundstage.host import Composition
from soundstage.match import preview
from soundstage.messages import Text
from soundstage.models import Script, ScriptedModel

WITHIN: Final = 60.0  # seconds for one prompt
_RUN: Final = re.compile(r"!`[^`\n]+`|```!.*?```", re.DOTALL)
_OFF: Final = ("false", "no", "0")


async def run_in_cli(
    plugin: DeclaredPlugin, stage: PluginEnvironment, findings: Findings, *, cli: Path
) -> str:
    """Run a plugin in the CLI. What is wrong is written down. Returns the version of the CLI.

    Raises:
        EnvironmentProblem: if there is no CLI.
    """
    mark = stage.mark()
    with_servers = all(not (item.entry.broken or item.entry.skipped) for item in plugin.servers)
    options: dict[str, Any] = {
        "cli": cli,
        "isolation": stage.isolation,
        "plugin_dirs": [stage.plugin],
        "settings": {"disableAllHooks": True},
        "environment": {} if with_servers else {"CLAUDE_CODE_SKIP_PLUGIN_MCP_SERVERS": "1"},
    }
    parts = Composition(stage.journal)
    server = parts.serve(ScriptedModel(Script()))
    claude = parts.add(lambda journal: ClaudeCode(journal, server, stage.workspace, **options))
    try:
        async with parts:
            return await _look(plugin, claude, stage, findings, with_servers=with_servers)
    finally:
        stage.tell_since(mark, plugin.entry, only_new=True)


async def _look(
    plugin: DeclaredPlugin,
    claude: ClaudeCode,
    stage: PluginEnvironment,
    findings: Findings,
    *,
    with_servers: bool,
) -> str:
    checked = await claude.plugins.validate(stage.plugin)
    for defect in checked.defects:
        _refused(defect, plugin, stage, findings)
    turn = await claude.prompt("hello", within=WITHIN)
    loaded = turn.init is not None and any(item.get("name") == plugin.name for item in turn.init.plugins)
    if not loaded:
        _not_loaded(turn, plugin, stage, findings)
    else:
        for defect in turn.plugin_defects:
            _refused(defect, plugin, stage, findings)
        if checked.ok:
            _hooks(plugin, checked)
        _agents(plugin, turn)
        listed = frozenset(item.name for item in await claude.session.commands())
        _skills(plugin, turn, listed)
        if with_servers:
            _servers(plugin, turn)
        await _commands(plugin, claude, stage, listed)
    return turn.init.version if turn.init is not None else ""


def _not_loaded(
    turn: ClaudeTurn, plugin: DeclaredPlugin, stage: PluginEnvironment, findings: Findings
) -> None:
    """Write down that nothing of a plugin is there: what has no finding of its own has not been tested either."""
    said = "; ".join(defect.message for defect in turn.plugin_defects) or "it does not say why"
    plugin.entry.add("not-loaded", stage.untouched(f"Claude Code does not load {plugin.name}: {said}"))
    for entry in findings.entries:
        inside = PurePosixPath(entry.file).is_relative_to(stage.called(""))
        if entry is not plugin.entry and inside and not entry.broken:
            entry.skipped = f"{plugin.name} is not loaded"


def _hooks(plugin: DeclaredPlugin, checked: Validation) -> None:
    """Compare the hooks with those that the CLI has found."""
    listed = {
        (hook.event, hook.matcher if hook.matcher != "*" else "", hook.command) for hook in checked.hooks
    }
    for hook in plugin.hooks:
        known = (
            hook.data.get("type") != "command" or (hook.event, hook.matcher, hook.data["command"]) in listed
        )
        if not known and not hook.entry.broken:
            hook.entry.add("not-listed", f"Claude Code does not run {hook.entry.name}")


def _refused(defect: Defect, plugin: DeclaredPlugin, stage: PluginEnvironment, findings: Findings) -> None:
    """Write down what the CLI says, unless more is known about that file already."""
    root = stage.plugin.resolve().as_posix() + "/"
    inner = defect.file.removeprefix(root) if defect.file.startswith(root) else ""
    file = stage.called(inner) if inner else plugin.entry.file
    known = findings.has_error(file) if defect.severity == "error" else findings.mentions(file)
    if defect.cause == "same name" or (not inner and defect.severity == "error"):
        known = any(entry.broken for entry in findings.entries)
    if known or defect.cause == "remark":
        return
    rule = "refused" if defect.severity == "error" else "remark"
    plugin.entry.add(rule, stage.untouched(defect.message), file=file, line=defect.line)


def _agents(plugin: DeclaredPlugin, turn: ClaudeTurn) -> None:
    listed = turn.init.agents if turn.init is not None else ()
    for agent in plugin.agents:
        if agent.name not in listed:
            agent.entry.add("not-listed", f"Claude Code does not offer the agent {agent.name}")


def _servers(plugin: DeclaredPlugin, turn: ClaudeTurn) -> None:
    states = {item.get("name"): item.get("status") for item in (turn.init.mcp_servers if turn.init else ())}
    for server in plugin.servers:
        state = states.get(f"plugin:{plugin.name}:{server.name}")
        if state != "connected":
            message = f"{server.name} answers by itself, and Claude Code says: {state or 'nothing'}"
            server.entry.add("server-fails", message)


def _skills(plugin: DeclaredPlugin, turn: ClaudeTurn, listed: frozenset[str]) -> None:
    told = _told(turn)
    for skill in plugin.skills:
        if skill.called not in listed and skill.name not in told and skill.called not in told:
            skill.entry.add("not-listed", f"Claude Code does not offer the skill {skill.name}")


async def _commands(
    plugin: DeclaredPlugin, claude: ClaudeCode, stage: PluginEnvironment, listed: frozenset[str]
) -> None:
    over = ""
    for command in plugin.commands:
        if over:
            command.entry.skipped = over
        elif command.called not in listed and command.name not in listed:
            if command.document.get("user-invocable").lower() not in _OFF:
                command.entry.add("not-listed", f"Claude Code does not offer {command.entry.name}")
        else:
            name = command.called if command.called in listed else command.name
            try:
                turn = await claude.run_command(name, ARGUMENTS, within=WITHIN)
            except WaitTimeout as error:
                command.entry.add("not-expanded", f"{command.entry.name}: {error.summary}")
                over = f"Claude Code was ended in {command.entry.name}"
            except AppError as error:
                message = preview(error.seen or error.summary, 400)
                command.entry.add("not-expanded", stage.untouched(message), line=_shell_line(command))
            else:
                _compare(command, turn, stage)


def _shell_line(command: DeclaredText) -> int:
    """The line of the first shell command in a command, which is why most are not run."""
    found = _RUN.search(command.document.text)
    return command.document.text.count("\n", 0, found.start()) + 1 if found else 1


def _compare(command: DeclaredText, turn: ClaudeTurn, stage: PluginEnvironment) -> None:
    if not turn.requests:
        message = f"{command.entry.name} does not reach the model: {preview(turn.text, 300)}"
        command.entry.add("not-expanded", stage.untouched(message))
        return
    sent = turn.expansion.text if turn.expansion is not None else ""
    document = command.document
    names = document.front.value.get("arguments") if document.front is not None else None
    gap = first_gap(document.body, sent, names=argument_names(names))
    if gap is not None:
        above = len(document.text) - len(document.body)
        line = document.text.count("\n", 0, above + gap.offset) + 1
        message = f"{command.entry.name} reaches the model {gap.message}"
        command.entry.add("expansion", stage.untouched(message), line=line)


def _told(turn: ClaudeTurn) -> str:
    """All that the model was told in a turn."""
    return "\n".join(
        part.text
        for request in turn.requests
        for message in request.messages
        for part in message.parts
        if isinstance(part, Text)
    )
