"""The commands `soundstage plugin` and `soundstage project`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soundstage.cli import LEVELS, level, say, warn

project = typer.Typer(help="Projects for an agent to work on.", no_args_is_help=True)


@project.command("new")
def project_new(
    folder: Annotated[Path, typer.Argument(help="Where; it must not exist, or be empty.")],
    type_: Annotated[str, typer.Option("--type", help="web-app, cli or library.")] = "cli",
    language: Annotated[str, typer.Option(help="python, javascript or go.")] = "python",
    name: Annotated[str | None, typer.Option(help="As people write it; made of the folder's name.")] = None,
    git: Annotated[bool, typer.Option("--git", help="Put it under git, with a first commit.")] = False,
) -> None:
    """Generate a small project whose own tests pass with its own toolchain.

    Example: `soundstage project new calc --type cli --language python --name "Calculator App" --git`
    """
    from soundstage.claude_code.projects import create_project, project_text, set_up_git

    made = create_project(type_, language, folder, name)
    say(project_text(made))
    if git:
        say(f"  git: {set_up_git(made.path).commit}")


plugin = typer.Typer(help="Plugins of Claude Code.", no_args_is_help=True)


@plugin.command("test")
def plugin_test(
    folder: Annotated[Path, typer.Argument(help="A plugin, or a marketplace with plugins.")],
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file too.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page too.")] = None,
    isolation: Annotated[str, typer.Option(help=LEVELS)] = "process",
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail the test.")] = False,
    within: Annotated[float, typer.Option(help="Seconds that a hook or a server may take.")] = 10.0,
) -> None:
    """Test a plugin that has no test yet, with the real Claude Code CLI, offline.

    Reads its files, loads it, expands every command, runs every hook for each of its events, starts every MCP
    server. Says what is broken, with file and line. Exit codes: 0 sound, 1 something is broken, 2 not testable.

    Example: `soundstage plugin test ./my-plugin --junit report.xml`
    """
    from soundstage.claude_code.plugin_check import PluginTestOptions, run_plugin_test

    options = PluginTestOptions(folder, junit, html, level(isolation), strict, within)
    raise typer.Exit(run_plugin_test(options, say=say, warn=warn))
