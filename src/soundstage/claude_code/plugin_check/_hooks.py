"""Runs hooks: each with a payload for every occasion of its event, as Claude Code starts them."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from soundstage.claude_code import hook_argv, hook_limit
from soundstage.claude_code.plugin_check._declared import DeclaredHook, DeclaredPlugin
from soundstage.claude_code.plugin_check._environment import FILE, SESSION, PluginEnvironment, ProgramExit
from soundstage.claude_code.plugin_check._hook_output import BrokenRule, faults
from soundstage.claude_code.plugin_check._payloads import PayloadContext, payloads
from soundstage.errors import EnvironmentProblem

MORE: Final = "end it sooner, or give it more time in this test: --within SECONDS"
_NOT_RUN: Final = {
    "prompt": "a hook for a model is not run",
    "agent": "a hook for a model is not run",
    "http": "a hook that is posted to a server is not run",
    "mcp_tool": "a hook that calls a tool of a server is not run",
}
# a place in a script, as Python, shells and Node write it
_PLACE: Final = re.compile(r'(?P<file>/[^\s":]+)(?:", line |: line |:)(?P<line>\d+)')


async def run_hooks(plugin: DeclaredPlugin, stage: PluginEnvironment) -> None:
    """Run all hooks of a plugin. What is wrong with them is written down."""
    scene = PayloadContext(stage.project, stage.project / FILE, stage.transcript, SESSION)
    for hook in plugin.hooks:
        kind = str(hook.data.get("type"))
        if kind in _NOT_RUN:
            hook.entry.skipped = _NOT_RUN[kind]
        elif not hook.entry.broken:
            mark = stage.mark()
            await _run(hook, scene, stage)
            stage.tell_since(mark, hook.entry)


async def _run(hook: DeclaredHook, scene: PayloadContext, stage: PluginEnvironment) -> None:
    declared = float(hook.data.get("timeout") or hook_limit(hook.event))
    within = min(declared, stage.within)
    found: dict[BrokenRule, list[str]] = {}
    places: dict[BrokenRule, tuple[str, int]] = {}
    for occasion in payloads(hook.event, hook.matcher, scene):
        ran = await _once(hook, occasion.data, stage, within)
        hook.entry.seconds += ran.seconds
        if ran.code is None:
            own = within == declared
            message = f"{hook.entry.name} does not end within {within:g} s, given {occasion.name}"
            hook.entry.add(
                "hook-hangs", message + (", its own timeout" if own else ""), hint="" if own else MORE
            )
            break  # it would most likely hang again
        for fault in faults(hook.event, ran, again=bool(occasion.data.get("stop_hook_active"))):
            found.setdefault(fault, []).append(occasion.name)
            places.setdefault(fault, _place(ran.stderr, hook, stage))
    for fault, names in found.items():
        file, line = places[fault]
        message = stage.untouched(f"{hook.entry.name} {fault.message}, given {', '.join(names)}")
        hook.entry.add(fault.rule, message, file=file, line=line)


async def _once(
    hook: DeclaredHook, data: dict[str, object], stage: PluginEnvironment, within: float
) -> ProgramExit:
    try:
        return await stage.run(
            _argv(hook, stage),
            stdin=msgspec.json.encode(data).decode() + "\n",
            within=within,
            CLAUDE_ENV_FILE=str(stage.transcript.with_name("env.sh")),
        )
    except EnvironmentProblem as error:
        return ProgramExit(127, "", error.seen, 0.0)


def _argv(hook: DeclaredHook, stage: PluginEnvironment) -> list[str]:
    """As the CLI starts it."""
    arguments = hook.data.get("args")
    args = [str(argument) for argument in arguments] if isinstance(arguments, list) else None
    return hook_argv(str(hook.data["command"]), args, stage.variables())


def _place(stderr: str, hook: DeclaredHook, stage: PluginEnvironment) -> tuple[str, int]:
    """Where in the plugin's scripts a complaint comes from; where the hook is declared, if it does not say."""
    root = stage.plugin.as_posix() + "/"
    named = [found for found in _PLACE.finditer(stderr) if found["file"].startswith(root)]
    if not named:
        return hook.entry.file, hook.entry.line
    inner = named[-1]["file"].removeprefix(root)
    return stage.called(inner), int(named[-1]["line"])
