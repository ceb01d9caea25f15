"""What a session of Claude Code can be told, and the command line that says it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.errors import ScriptError

PERMISSION_MODES: Final = (
    "default",
    "acceptEdits",
    "auto",
    "bypassPermissions",
    "dontAsk",
    "manual",
    "plan",
)
STREAMING: Final = (
    *("--print", "--verbose", "--include-hook-events"),
    *("--input-format", "stream-json"),
    *("--output-format", "stream-json"),
)


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a session; `ClaudeCode` takes them by name.

    Args:
        permission_mode: one of `PERMISSION_MODES`; `default` denies what nobody has allowed.
        allowed_tools: tools that need no permission: `Read`, `Bash(git *)`, `mcp__server__tool`.
        model: its name; the CLI's own choice unless given.
        max_turns: how many model calls a prompt may take.
        settings: settings as a mapping, or the path of a settings file.
        plugin_dirs: folders of plugins to load.
        session_id: a UUID; drawn from the run's ids unless given. It is the conversation id on the wire.
        resume: id of an earlier session to go on with.
        extra_args: more arguments, as they are.
    """

    permission_mode: str = "default"
    allowed_tools: tuple[str, ...] = ()
    model: str = ""
    max_turns: int | None = None
    settings: Mapping[str, Any] | Path | str | None = None
    plugin_dirs: tuple[Path | str, ...] = ()
    session_id: str = ""
    resume: str = ""
    extra_args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.permission_mode not in PERMISSION_MODES:
            raise ScriptError(
                "unknown permission mode",
                expected="one of " + ", ".join(PERMISSION_MODES),
                seen=repr(self.permission_mode),
            )
        for name in ("allowed_tools", "plugin_dirs", "extra_args"):
            if isinstance(getattr(self, name), str):
                raise ScriptError(
                    f"{name} is a list", seen=repr(getattr(self, name)), hint="put it in brackets"
                )


def session_options(base: SessionOptions, changes: Mapping[str, Any]) -> SessionOptions:
    """`base` with some options changed.

    Raises:
        ScriptError: for an option that does not exist, or a value that it cannot have.
    """
    known = SessionOptions.__struct_fields__
    unknown = sorted(set(changes) - set(known))
    if unknown:
        raise ScriptError(
            f"Claude Code has no option {unknown[0]!r}",
            expected="one of " + ", ".join(known),
            hint="pass command line arguments as extra_args=",
        )
    return msgspec.structs.replace(base, **changes)


def arguments(options: SessionOptions, session_id: str) -> list[str]:
    """The arguments of the CLI.

    >>> arguments(SessionOptions(model="sonnet"), "id")[-4:]
    ['--model', 'sonnet', '--session-id', 'id']
    """
    found = list(STREAMING)
    if options.permission_mode != "default":
        found += ["--permission-mode", options.permission_mode]
    if options.allowed_tools:
        found += ["--allowedTools", *options.allowed_tools]
    if options.model:
        found += ["--model", options.model]
    if options.max_turns is not None:
        found += ["--max-turns", str(options.max_turns)]
    if options.settings is not None:
        found += ["--settings", _settings(options.settings)]
    for folder in options.plugin_dirs:
        found += ["--plugin-dir", str(folder)]
    found += ["--resume", options.resume] if options.resume else ["--session-id", session_id]
    return [*found, *options.extra_args]


def _settings(settings: Mapping[str, Any] | Path | str) -> str:
    return str(settings) if isinstance(settings, Path | str) else msgspec.json.encode(dict(settings)).decode()
