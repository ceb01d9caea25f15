"""`soundstage plugin test`: the files first, then servers, hooks and the real CLI, then the reports."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.claude_code import find_cli
from soundstage.claude_code.plugin_check._declared import DeclaredPlugin
from soundstage.claude_code.plugin_check._environment import PluginEnvironment
from soundstage.claude_code.plugin_check._finding import PluginReport
from soundstage.claude_code.plugin_check._findings import Findings
from soundstage.claude_code.plugin_check._hooks import run_hooks
from soundstage.claude_code.plugin_check._html import report_html
from soundstage.claude_code.plugin_check._junit import report_junit
from soundstage.claude_code.plugin_check._servers import run_servers
from soundstage.claude_code.plugin_check._session import run_in_cli
from soundstage.claude_code.plugin_check._static import read_folder
from soundstage.claude_code.plugin_check._text import report_text
from soundstage.drivers import PROCESS, AnyIsolation
from soundstage.errors import EnvironmentProblem, SoundstageError

GOOD, FAILED, NOT_CHECKED = 0, 1, 2
WITHIN: Final = 10.0


class PluginTestOptions(NamedTuple):
    """The options of a test: the folder, the reports, how strict it is.

    Args:
        folder: a plugin, or a marketplace with plugins.
        junit: where a JUnit file goes; none unless given.
        html: where a page goes; none unless given.
        isolation: how far hooks, servers and the CLI are kept apart.
        strict: whether warnings fail the test.
        within: seconds that a hook or a server may take.
        cli: path of the Claude Code CLI; looked for unless given.
    """

    folder: Path
    junit: Path | None = None
    html: Path | None = None
    isolation: AnyIsolation = PROCESS
    strict: bool = False
    within: float = WITHIN
    cli: Path | None = None


def run_plugin_test(
    options: PluginTestOptions, *, say: Callable[[str], None], warn: Callable[[str], None]
) -> int:
    """Test a plugin and report. Returns the exit code: 0 good, 1 something is broken, 2 it could not be tested.

    Args:
        options: what to test, and how.
        say: gets the report as text, and where the other reports are.
        warn: gets the reason why it could not be tested.

    Example:
        ::

            code = run_plugin_test(PluginTestOptions(Path("my-plugin")), say=print, warn=print)
    """
    try:
        report = asyncio.run(
            inspect_plugin(
                options.folder, isolation=options.isolation, within=options.within, cli=options.cli
            )
        )
        say(report_text(report))
        if options.junit is not None:
            _write(options.junit, report_junit(report, strict=options.strict), say)
        if options.html is not None:
            _write(options.html, report_html(report), say)
    except SoundstageError as error:
        warn(str(error))
        return NOT_CHECKED
    except BaseExceptionGroup as group:  # a background task of the surroundings failed
        known, rest = group.split(SoundstageError)
        if known is None or rest is not None:
            raise
        warn("\n".join(str(error) for error in known.exceptions))
        return NOT_CHECKED
    return FAILED if report.errors or (options.strict and report.warnings) else GOOD


def _write(path: Path, text: str, say: Callable[[str], None]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise EnvironmentProblem(
            f"the report {path} cannot be written",
            seen=error.strerror or str(error),
            hint="choose a folder that you may write to",
        ) from None
    say(f"wrote {path}")


async def inspect_plugin(
    folder: Path | str,
    *,
    isolation: AnyIsolation = PROCESS,
    within: float = WITHIN,
    cli: Path | str | None = None,
) -> PluginReport:
    """Test the plugin in a folder, or all plugins of a marketplace, with the real Claude Code CLI.

    What is wrong with the plugin is in the report. Nothing is written into the folder: plugins run in a copy.

    Args:
        folder: where the manifest is: `.claude-plugin/plugin.json` or `marketplace.json`.
        isolation: how far hooks, servers and the CLI are kept apart.
        within: seconds that a hook or a server may take.
        cli: path of the CLI; looked for unless given.

    Raises:
        EnvironmentProblem: if it cannot be tested: no such folder, no CLI, no such isolation here.

    Example:
        ::

            report = await inspect_plugin("my-plugin")
            assert not report.errors, report_text(report)
    """
    began = time.perf_counter()
    root = _folder(folder)
    program = find_cli(cli)
    findings = Findings(root)
    plugins = read_folder(root, findings)
    versions = [await _run(plugin, findings, isolation, within, program) for plugin in plugins]
    return PluginReport(
        name=_title(root, plugins, findings),
        version=plugins[0].version if len(plugins) == 1 else "",
        folder=str(folder),
        checks=findings.close(),
        cli=next(iter(versions), ""),
        seconds=time.perf_counter() - began,
    )


def _folder(folder: Path | str) -> Path:
    root = Path(folder).resolve()
    if not root.is_dir():
        raise EnvironmentProblem(
            "there is no plugin to test",
            expected=f"a folder {folder}, with .claude-plugin/plugin.json in it",
            seen="a file" if root.exists() else "no such folder",
        )
    return root


def _title(root: Path, plugins: Sequence[DeclaredPlugin], findings: Findings) -> str:
    if len(plugins) == 1:
        return plugins[0].name
    return next((entry.name for entry in findings.entries if entry.kind == "marketplace"), root.name)


async def _run(
    plugin: DeclaredPlugin, findings: Findings, isolation: AnyIsolation, within: float, cli: Path
) -> str:
    async with PluginEnvironment(plugin.root, findings.path(plugin.root), isolation, within) as stage:
        await stage.run(["true"], stdin="", within=within)  # whether programs can be run at all
        await run_servers(plugin, stage)
        await run_hooks(plugin, stage)
        return await run_in_cli(plugin, stage, findings, cli=cli)
