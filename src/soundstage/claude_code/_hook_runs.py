"""The hooks of a run: `claude.hooks` lists them, runs one with a payload, and reads the log of those that ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.claude_code._cli import Cli, run_program
from soundstage.claude_code._hook_verdict import HookRun, judge
from soundstage.claude_code._hooks import (
    data_folder,
    hook_argv,
    hook_input,
    hook_limit,
    settings_hooks,
)
from soundstage.claude_code._options import SessionOptions
from soundstage.claude_code._plugin_types import PluginHook
from soundstage.claude_code._plugins import Plugins
from soundstage.errors import EnvironmentProblem, ScriptError, WaitTimeout
from soundstage.journal import HookFired

_ALL_SOURCES: Final = ("user", "project", "local")
_NOT_STARTED: Final = 1  # what the CLI takes for the exit code of a program that it cannot start


class Hooks:
    """Lists and runs the hooks that a session would run. Got as `claude.hooks`.

    Example:
        ::

            (hook,) = await claude.hooks.list("PreToolUse")
            ran = await claude.hooks.run(hook, {"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}})
            assert ran.blocked, ran.stderr
    """

    def __init__(
        self,
        cli: Callable[[Path | None], Cli],
        plugins: Plugins,
        options: SessionOptions,
        home: Callable[[], Path],
    ) -> None:
        self._cli = cli
        self._plugins = plugins
        self._options = options
        self._home = home

    async def list(self, name: str = "", *, cwd: Path | None = None) -> tuple[PluginHook, ...]:
        """The hooks of settings, of enabled plugins and of the session's plugin folders.

        Args:
            name: only those of an event, `PreToolUse`, or of an event and matcher, `PreToolUse:Bash`.
            cwd: the project whose settings count; the workspace unless given.
        """
        sources = self._options.setting_sources
        found = [hook for settings in self._settings(cwd) for hook in settings_hooks(settings)]
        folders = self._options.plugin_dirs
        if sources is None or "user" in sources:
            found += await self._plugins.hooks(*folders, cwd=cwd)
        else:
            found += [hook for folder in folders for hook in (await self._plugins.validate(folder)).hooks]
        return tuple(hook for hook in found if name in ("", hook.event, hook.name))

    def _settings(self, cwd: Path | None) -> Sequence[Mapping[str, Any]]:
        """The settings that count, in the order of the CLI's levels."""
        sources = self._options.setting_sources
        counted = _ALL_SOURCES if sources is None else sources
        project = self._cli(cwd).cwd / ".claude"
        files = {
            "user": self._home() / ".claude/settings.json",
            "project": project / "settings.json",
            "local": project / "settings.local.json",
        }
        found = [_settings_file(path) for source, path in files.items() if source in counted]
        given = self._options.settings
        if isinstance(given, Path | str):
            found.append(_settings_text(given))
        elif given is not None:
            found.append(given)
        return found

    async def run(
        self,
        hook: PluginHook,
        payload: Mapping[str, Any] | None = None,
        *,
        cwd: Path | None = None,
        within: float | None = None,
    ) -> HookRun:
        """Run a hook as the CLI would, with a payload of the test, whether its matcher fits or not.

        Args:
            hook: one of `list`, or one made by hand.
            payload: what the event adds to its input: `tool_name` and `tool_input` for `PreToolUse`, `prompt`
                for `UserPromptSubmit`; see https://code.claude.com/docs/en/hooks
            cwd: the project that it runs in; the workspace unless given.
            within: seconds; the hook's own limit unless given. A hook that takes longer is cancelled, as the
                CLI does it, and then it does not block.

        Raises:
            ScriptError: for a hook that is no command, or has a condition (`if`), which only the CLI can read.
        """
        _refuse(hook)
        cli = self._cli(cwd)
        common = {
            "session_id": "00000000-0000-4000-8000-000000000000",
            "transcript_path": str(self._home() / ".claude/projects/none.jsonl"),
            "cwd": str(cli.cwd),
            "permission_mode": self._options.permission_mode,
        }
        variables = self._variables(hook, cli.cwd, common["session_id"])
        try:
            output = await run_program(
                hook_argv(hook.command, hook.args, variables),
                cli.journal,
                source=cli.source,
                cwd=cli.cwd,
                environment={**cli.environment, **variables},
                within=within if within is not None else hook.timeout or hook_limit(hook.event),
                stdin=hook_input(hook, payload or {}, common),
                isolator=cli.isolator,
            )
        except WaitTimeout:
            ran = judge(hook, None, "", "")
        except EnvironmentProblem as error:  # there is no such program: the CLI goes on without it
            ran = judge(hook, _NOT_STARTED, "", str(error))
        else:
            ran = judge(hook, output.code, output.stdout, output.stderr)
        fired = HookFired(
            hook=hook.name,
            event=hook.event,
            outcome=ran.outcome,
            exit_code=ran.exit_code,
            output=ran.stdout + ran.stderr,
        )
        cli.journal.append(fired, source=cli.source)
        return ran

    def _variables(self, hook: PluginHook, cwd: Path, session_id: str) -> dict[str, str]:
        """Variables that a hook gets besides those of the CLI."""
        found = {
            "CLAUDE_PROJECT_DIR": str(cwd),
            "CLAUDE_CODE_SESSION_ID": session_id,
            "CLAUDE_CODE_CHILD_SESSION": "1",
            "CLAUDECODE": "1",
        }
        if hook.root:
            found["CLAUDE_PLUGIN_ROOT"] = hook.root
        if hook.id:
            data = data_folder(self._home(), hook.id)
            data.mkdir(parents=True, exist_ok=True)
            found["CLAUDE_PLUGIN_DATA"] = str(data)
        return found

    def log(self, name: str = "") -> tuple[HookFired, ...]:
        """The hooks that ran, in order, whoever started them: agents of this run, and `run`.

        `SessionEnd` is missing: the CLI runs it after its last word.

        Args:
            name: only those of an event, or of an event and matcher.
        """
        fired = self._cli(None).journal.events(HookFired)
        return tuple(hook for hook in fired if name in ("", hook.event, hook.hook))


def _refuse(hook: PluginHook) -> None:
    """Refuse a hook that cannot be run by itself."""
    runs = hook.type == "command" and bool(hook.command)
    if runs and not hook.condition:
        return
    raise ScriptError(
        f"the hook {hook.name} cannot be run by itself",
        expected="a hook of type command, without a condition",
        seen=f"if {hook.condition!r}" if runs else f"type {hook.type}",
        hint="let the agent do what it is for; `turn.blocked_by` and `claude.hooks.log()` tell what came of it",
    )


def _settings_file(path: Path) -> Mapping[str, Any]:
    return _settings_text(path) if path.is_file() else {}


def _settings_text(given: Path | str) -> Mapping[str, Any]:
    """Settings out of a file, or out of text, as the CLI takes both."""
    text = given if isinstance(given, str) and given.lstrip().startswith("{") else Path(given).read_text()
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}  # the CLI ignores it too, and says so in the session
    return found if isinstance(found, dict) else {}
