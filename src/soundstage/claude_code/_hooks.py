"""Hooks of plugins and settings: which there are, and how one is started. Pure, but for the files of a plugin.

The CLI says which hooks a plugin has (`plugin validate`), and leaves out their time limits and conditions. Those are
read from the plugin's own files; a hook that the CLI lists and the files do not have keeps what the CLI says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.claude_code._plugin_types import PluginHook

SHELL: Final = "/bin/sh"
_LIMITS: Final = {"UserPromptSubmit": 30.0}  # seconds; these and the next were measured with a clock
_LIMIT: Final = 600.0


def hook_limit(event: str) -> float:
    """Seconds that the CLI gives to a hook of this event that names no timeout."""
    return _LIMITS.get(event, _LIMIT)


def settings_hooks(settings: Mapping[str, Any]) -> tuple[PluginHook, ...]:
    """The hooks of a settings file, or of a `hooks.json`, by their content."""
    events = settings.get("hooks")
    return tuple(
        _hook(str(event), str(entry.get("matcher") or ""), hook)
        for event, entries in (events.items() if isinstance(events, Mapping) else ())
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, Mapping)
        for hook in (entry.get("hooks") or ())
        if isinstance(hook, Mapping)
    )


def _hook(event: str, matcher: str, data: Mapping[str, Any]) -> PluginHook:
    args, timeout = data.get("args"), data.get("timeout")
    return PluginHook(
        event=event,
        command=str(data.get("command") or ""),
        matcher=matcher,
        type=str(data.get("type", "command")),
        timeout=float(timeout) if isinstance(timeout, int | float) else None,
        args=tuple(map(str, args)) if isinstance(args, list) else None,
        condition=str(data.get("if") or ""),
        background=data.get("async") is True,
    )


def with_details(listed: Iterable[PluginHook], root: Path) -> tuple[PluginHook, ...]:
    """The hooks that the CLI lists for the plugin in `root`, with what only its files say."""
    written = [hook for data in _hook_files(root) for hook in settings_hooks(data)]
    return tuple(_with_details(hook, written) for hook in listed)


def _with_details(hook: PluginHook, written: Sequence[PluginHook]) -> PluginHook:
    same = ("event", "matcher", "type", "command", "args")
    key = [getattr(hook, name) for name in same]
    found = next((one for one in written if [getattr(one, name) for name in same] == key), hook)
    return msgspec.structs.replace(
        hook, timeout=found.timeout, condition=found.condition, background=found.background
    )


def _hook_files(root: Path) -> Iterator[Mapping[str, Any]]:
    """The hooks of a plugin as they are written: in its own file, and in what its manifest names or has."""
    yield _object(root / "hooks/hooks.json")
    named = _object(root / ".claude-plugin/plugin.json").get("hooks")
    for item in named if isinstance(named, list) else [named]:
        if isinstance(item, str):
            yield _object(root / item)
        elif isinstance(item, dict):
            yield item if "hooks" in item else {"hooks": item}


def _object(path: Path) -> dict[str, Any]:
    """The object in a file; empty if there is none, which the CLI says itself."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def hook_argv(command: str, args: Sequence[str] | None, variables: Mapping[str, str]) -> list[str]:
    """How a hook is started: by `/bin/sh`, or by itself if it has a list of arguments. Only there, the CLI fills in
    its variables; a shell does it by itself.

    >>> hook_argv("${CLAUDE_PLUGIN_ROOT}/run", ["$HOME"], {"CLAUDE_PLUGIN_ROOT": "/p"})
    ['/p/run', '$HOME']
    """
    if args is None:
        return [SHELL, "-c", command]
    return [_filled(text, variables) for text in (command, *args)]


def _filled(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda found: variables.get(found[1], found[0]), text)


def data_folder(home: Path, identity: str) -> Path:
    """Where the CLI lets a plugin keep its data: `CLAUDE_PLUGIN_DATA`."""
    return home / ".claude/plugins/data" / re.sub(r"[^\w-]", "-", identity, flags=re.ASCII)


def hook_input(hook: PluginHook, payload: Mapping[str, Any], common: Mapping[str, Any]) -> bytes:
    """Return the standard input of the hook."""
    return msgspec.json.encode({**common, "hook_event_name": hook.event, **payload}) + b"\n"
