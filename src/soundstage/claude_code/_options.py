"""The options of a session of Claude Code, and its command line. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.claude_code._callbacks import HookCallback, PermissionFunction
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


_LISTS: Final = ("allowed_tools", "disallowed_tools", "plugin_dirs", "setting_sources", "extra_args")


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
        fork: whether a resumed session gets a new id, so that the earlier one stays as it is.
        agent: which agent answers: `demo:reviewer`, or one of `agents`; the CLI's own unless given.
        agents: agents for this session: `{"name": {"description": ..., "prompt": ...}}`.
        disallowed_tools: tools that are not offered at all.
        max_budget_usd: what the session may cost; checked after each request, so it is overrun.
        mcp_servers: MCP servers besides those of plugins: `{"name": {"command": ..., "args": [...]}}`.
        mcp_timeout: seconds that a server may take to start; it is `failed` then.
        setting_sources: which settings count: of `user`, `project`, `local`; all unless given. Without `user`,
            no installed plugin is loaded.
        hooks: hooks that are functions of the test.
        permission: a function that decides on tools that nobody has allowed; see `PermissionAsked`.
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
    fork: bool = False
    agent: str = ""
    agents: Mapping[str, Any] = {}
    disallowed_tools: tuple[str, ...] = ()
    max_budget_usd: float | None = None
    mcp_servers: Mapping[str, Any] = {}
    mcp_timeout: float | None = None
    setting_sources: tuple[str, ...] | None = None
    hooks: tuple[HookCallback, ...] = ()
    permission: PermissionFunction | None = None
    extra_args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.permission_mode not in PERMISSION_MODES:
            raise ScriptError(
                "unknown permission mode",
                expected="one of " + ", ".join(PERMISSION_MODES),
                seen=repr(self.permission_mode),
            )
        if self.fork and not self.resume:
            raise ScriptError(
                "there is nothing to fork", hint="name an earlier session: resume=ID, fork=True"
            )
        for name in _LISTS:
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


def files_of(options: SessionOptions) -> list[Path]:
    """Files and folders that the arguments name, and that the CLI therefore has to see."""
    named = [*options.plugin_dirs, *([options.settings] if isinstance(options.settings, Path | str) else [])]
    return [path for path in map(Path, named) if path.exists()]


def arguments(options: SessionOptions, session_id: str) -> list[str]:
    """The arguments of the CLI.

    >>> arguments(SessionOptions(model="sonnet"), "id")[-4:]
    ['--model', 'sonnet', '--session-id', 'id']
    """
    found = list(STREAMING)
    for flag, value in _flags(options):
        if value:
            found += [flag, *value]
    return [*found, *_identity(options, session_id), *options.extra_args]


def _flags(options: SessionOptions) -> Iterator[tuple[str, Sequence[str]]]:
    """Flags with their values; those without a value are left out."""
    mode = options.permission_mode
    yield "--permission-mode", [mode] if mode != "default" else []
    yield "--allowedTools", options.allowed_tools
    yield "--disallowedTools", options.disallowed_tools
    yield "--model", _one(options.model)
    yield "--max-turns", _one(options.max_turns)
    yield "--max-budget-usd", _one(options.max_budget_usd)
    yield "--agents", [_json(options.agents)] if options.agents else []
    yield "--agent", _one(options.agent)
    yield "--settings", [_settings(options.settings)] if options.settings is not None else []
    yield "--setting-sources", [] if options.setting_sources is None else [",".join(options.setting_sources)]
    yield "--mcp-config", [_json({"mcpServers": options.mcp_servers})] if options.mcp_servers else []
    yield "--permission-prompt-tool", ["stdio"] if options.permission is not None else []
    for folder in options.plugin_dirs:
        yield "--plugin-dir", [str(folder)]


def _identity(options: SessionOptions, session_id: str) -> list[str]:
    if not options.resume:
        return ["--session-id", session_id]
    forked = ["--fork-session", "--session-id", session_id] if options.fork else []
    return ["--resume", options.resume, *forked]


def _one(value: str | float | None) -> list[str]:
    return [] if value in (None, "") else [str(value)]


def _json(value: Mapping[str, Any]) -> str:
    return msgspec.json.encode(value).decode()


def _settings(settings: Mapping[str, Any] | Path | str) -> str:
    return str(settings) if isinstance(settings, Path | str) else _json(dict(settings))
