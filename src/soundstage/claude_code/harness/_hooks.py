"""Category 5: hooks of plugins and settings: which there are, what they did, what they do when triggered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from soundstage.claude_code import PluginHook, settings_hooks
from soundstage.claude_code.harness._blocked import HookVerdict, verdict
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._paths import ProjectFolder
from soundstage.claude_code.harness._stubs import plugin_folders
from soundstage.errors import ScriptError
from soundstage.journal import HookFired, MessageReceived


class HookList(TypedDict):
    status: str
    hooks: list[dict[str, Any]]
    total: int


class Triggered(TypedDict):
    status: str
    hook_name: str
    output: str
    blocked: bool
    runs: list[dict[str, Any]]


class HookLog(TypedDict):
    status: str
    hook_name: str
    executions: list[dict[str, Any]]
    total: int


class Blocked(TypedDict):
    status: str
    action_id: str
    blocked: bool
    hook: str
    reason: str


HookName = Annotated[
    str,
    Meta(
        min_length=1,
        description="An event (PreToolUse), an event and a tool (PreToolUse:Bash), either of one plugin "
        "(agent-loop/PreToolUse), or the name of the hook's script (before_commit).",
        examples=["PreToolUse:Bash", "agent-loop/PreToolUse", "before_commit"],
    ),
]
Payload = Annotated[
    dict[str, Any],
    Meta(
        description="What the hook reads on standard input: tool_name and tool_input for tools, prompt for "
        "UserPromptSubmit... Session id, cwd and the event's name are added.",
        examples=[{"tool_name": "Bash", "tool_input": {"command": "git commit -m x"}}],
    ),
]
ActionId = Annotated[
    str,
    Meta(
        min_length=1,
        description="action_id of a tool call (get_response, execute_command), or a response_id or command_id "
        "for a prompt that a UserPromptSubmit hook may have blocked.",
    ),
]
Folder = Annotated[
    ProjectFolder | None,
    Meta(description="Project that the hook works in; else that of the session, or an empty one."),
]
Limit = Annotated[int, Meta(ge=1, le=1000, description="How many at most, the newest ones.")]
OneSession = Annotated[str | None, Meta(description="Of this conversation alone, its plugin_dirs included.")]


async def list_active_hooks(harness: Harness, session_id: OneSession = None) -> HookList:
    """List the active hooks: those of the enabled plugins, of plugin_dirs and of settings of conversations.

    Returns hooks, each with name (PreToolUse:Bash), event, matcher, type, command, timeout and plugin; and
    their total.

    Errors: no such session.

    Example: list_active_hooks()
    """
    found = [_described(hook) for hook in await active_hooks(harness, session_id)]
    return {"status": "success", "hooks": found, "total": len(found)}


async def trigger_hook(
    harness: Harness,
    hook_name: HookName,
    payload: Payload,
    project_path: Folder = None,
    session_id: OneSession = None,
) -> Triggered:
    """Run a hook's command as the CLI does, with a payload of your own, and return its decision.

    All active hooks of this name run whose matcher fits payload's tool_name, one after the other. Nothing is
    sent to a model.

    Returns blocked (whether one of them stops the action), output (what they printed) and runs: each with
    name, plugin, command, exit_code, outcome (success, error, cancelled), decision, reason, stdout, stderr.

    Errors: no such hook; none of them fits the payload; a folder that is not there.

    Example: trigger_hook(hook_name="PreToolUse:Bash", payload={"tool_name": "Bash",
    "tool_input": {"command": "git commit -m x"}}, project_path="calculator")
    """
    known = await active_hooks(harness, session_id)
    named = [hook for hook in known if hook_name in names(hook)]
    if not named:
        raise _unknown(hook_name, known)
    fitting = [hook for hook in named if hook.fits(payload)]
    if not fitting:
        raise ScriptError(
            "no hook of this name is for this payload",
            expected="a payload that fits " + " or ".join(sorted({hook.matcher for hook in named})),
            seen=repr(dict(payload)),
        )
    claude = await harness.claude()
    folder = _folder(harness, project_path, session_id)
    runs = [await claude.hooks.run(hook, payload, cwd=folder) for hook in fitting]
    return {
        "status": "success",
        "hook_name": hook_name,
        "output": "\n".join(
            text for run in runs for text in (run.stdout.strip(), run.stderr.strip()) if text
        ),
        "blocked": any(run.blocked for run in runs),
        "runs": [
            {
                **_described(run.hook),
                "exit_code": run.exit_code,
                "outcome": run.outcome,
                "blocked": run.blocked,
                "decision": run.decision,
                "reason": run.reason,
                "stdout": run.stdout,
                "stderr": run.stderr,
            }
            for run in runs
        ],
    }


async def get_hook_execution_log(
    harness: Harness, hook_name: HookName, session_id: OneSession = None, limit: Limit = 50
) -> HookLog:
    """Return all runs of a hook since the last reset, in order. session_id is empty for trigger_hook.

    The CLI names executions by event and tool (PreToolUse:Bash); it does not say which plugin's they are.

    Returns executions, each with hook, event, outcome, exit_code, output and session_id; and their total.

    Errors: no such hook: it is not active, and has never run.

    Example: get_hook_execution_log(hook_name="PreToolUse:Bash")
    """
    known = await active_hooks(harness, session_id)
    matched = [hook for hook in known if hook_name in names(hook)]
    executions = [entry for entry in _executions(harness, session_id) if _is_of(entry, hook_name, matched)]
    if not matched and not executions:
        raise _unknown(hook_name, known)
    return {
        "status": "success",
        "hook_name": hook_name,
        "executions": executions[-limit:],
        "total": len(executions),
    }


async def verify_hook_blocked_action(harness: Harness, action_id: ActionId) -> Blocked:
    """Return whether a hook has stopped an action: a tool call, or a prompt.

    Returns blocked, hook (as the CLI names it) and reason (the hook's own words). An action that was refused
    for want of permission, not by a hook, is not blocked by a hook.

    Errors: no such action in any conversation.

    Example: verify_hook_blocked_action(action_id="toolu_...")
    """
    found = _verdict(harness, action_id)
    if found is None:
        raise ScriptError(
            "there is no such action",
            expected="an action_id from get_response or execute_command, a response_id or a command_id",
            seen=repr(action_id),
        )
    return {
        "status": "success",
        "action_id": action_id,
        "blocked": found.blocked,
        "hook": found.hook,
        "reason": found.reason,
    }


async def active_hooks(harness: Harness, session_id: str | None) -> tuple[PluginHook, ...]:
    """Return the active hooks: of plugins, and of the settings of conversations."""
    claude = await harness.claude()
    chosen = (
        list(harness.conversations.values()) if session_id is None else [harness.conversation(session_id)]
    )
    found = list(await claude.hooks.list())
    for conversation in chosen:
        if (conversation.project / ".claude").is_dir():
            found += await claude.hooks.list(cwd=conversation.project)
        found += settings_hooks(conversation.config.settings or {})
    given = [folder.path for one in chosen for folder in one.config.plugin_dirs]
    for plugin in plugin_folders(given):
        found += (await claude.plugins.validate(plugin)).hooks
    once = {(hook.event, hook.matcher, hook.command, hook.root): hook for hook in found}
    return tuple(once.values())


def names(hook: PluginHook) -> set[str]:
    """Return the names of a hook."""
    tools = [part.strip() for part in re.split(r"[|,]", hook.matcher) if part.strip()]
    bare = {hook.event, hook.name, *(f"{hook.event}:{tool}" for tool in tools)}
    scripts = {Path(found).stem for found in re.findall(r"[\w./${}-]+\.\w+", hook.command)}
    scripts |= {name.replace("_", "-") for name in scripts}
    own = {f"{hook.plugin}/{name}" for name in bare | scripts} if hook.plugin else set()
    return bare | scripts | own


def _is_of(entry: dict[str, Any], name: str, matched: list[PluginHook]) -> bool:
    """Whether an execution is one of the hooks that a client means."""
    if name in (entry["hook"], entry["event"]):
        return True
    tool = entry["hook"].partition(":")[2]
    asked = name.rpartition("/")[2].partition(":")[2]
    return any(
        hook.event == entry["event"]
        and (hook.name == entry["hook"] or hook.fits({"tool_name": tool}))
        and asked in ("", tool, hook.matcher)
        for hook in matched
    )


def _executions(harness: Harness, session_id: str | None) -> Iterator[dict[str, Any]]:
    """The runs of hooks that the journal tells of; the session is that of the prompt that caused them."""
    prompts = {
        record.position: record.event.channel
        for record in harness.journal.read(harness.began, MessageReceived)
        if isinstance(record.event, MessageReceived)
    }
    for record in harness.journal.read(harness.began, HookFired):
        event = record.event
        session = prompts.get(record.cause or 0, "")
        if not isinstance(event, HookFired) or (session_id is not None and session != session_id):
            continue
        yield {
            "hook": event.hook,
            "event": event.event,
            "outcome": event.outcome,
            "exit_code": event.exit_code,
            "output": event.output,
            "session_id": session,
        }


def _verdict(harness: Harness, action_id: str) -> HookVerdict | None:
    for answer in harness.answers.values():
        found = verdict(answer.turn, action_id if action_id != answer.id else "")
        if found is not None:
            return found
    return None


def _folder(harness: Harness, project_path: ProjectFolder | None, session_id: str | None) -> Path:
    if project_path is not None:
        return project_path.path
    if session_id is not None:
        return harness.conversation(session_id).project
    return harness.scratch_projects


def _described(hook: PluginHook) -> dict[str, Any]:
    return {
        "name": hook.name,
        "event": hook.event,
        "matcher": hook.matcher,
        "type": hook.type,
        "command": hook.command,
        "timeout": hook.timeout,
        "plugin": hook.plugin,
    }


def _unknown(name: str, known: tuple[PluginHook, ...]) -> ScriptError:
    found = sorted({hook.name for hook in known})
    return ScriptError(
        "there is no such hook",
        expected="one of " + ", ".join(found) if found else "an active hook: there is none",
        seen=repr(name),
        hint="list_active_hooks lists them; install_plugin brings more",
    )
