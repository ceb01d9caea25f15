"""Slash commands: what there is, and what the model server really receives for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import (
    SlashCommand,
    bundled_cli,
    expand_command,
    expansions,
    same_command,
)
from soundstage.errors import AppError
from soundstage.messages import ModelRequest, user

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

Play = Callable[..., Any]
Make = Callable[..., Path]
FILES = {
    "all": "---\ndescription: takes all\n---\n\n  All: $ARGUMENTS. First $0, third $2, $1x.\n\n",
    "root": "---\ndescription: d\n---\nSee ${CLAUDE_PLUGIN_ROOT} in ${CLAUDE_SESSION_ID}\n",
    "none": "---\ndescription: d\n---\nNothing to fill in.\n",
    "bare": "No front matter. $ARGUMENTS\n",
}


def test_commands_are_listed_with_their_descriptions_and_no_model_is_asked(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    files = {
        "commands/greet.md": "---\ndescription: greets\nargument-hint: NAME\n---\nHello.\n",
        "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: tidies\n---\nTidy up.\n",
    }
    folder = make_plugin(tmp_path / "demo", files)

    async def body(run: Any) -> None:
        run.workspace.write(".claude/commands/own.md", "---\ndescription: of the project\n---\nOwn.\n")
        await run.claude.start()
        try:
            commands = {command.name: command for command in await run.claude.session.commands()}
        finally:
            await run.claude.stop()
        assert commands["demo:greet"] == SlashCommand(
            name="demo:greet", description="greets", argument_hint="NAME", plugin="demo"
        )
        assert commands["demo:tidy"].description == "tidies"
        assert "of the project" in commands["own"].description
        assert run.requests() == []

    with_claude(body, plugin_dirs=[folder], started=False)


@pytest.mark.parametrize("arguments", ["", 'bob "ann smith" x', "one"])
def test_the_wire_has_what_the_rules_say(
    with_claude: Play, make_plugin: Make, tmp_path: Path, arguments: str
) -> None:
    folder = make_plugin(tmp_path / "demo", {f"commands/{name}.md": text for name, text in FILES.items()})

    async def body(run: Any) -> None:
        for name, file in FILES.items():
            turn = await run.claude.run_command(f"/demo:{name}", arguments)
            assert turn.expansion is not None
            assert (turn.expansion.command, turn.expansion.arguments) == (f"demo:{name}", arguments)
            wanted = expand_command(file, arguments, plugin_root=str(folder), session_id=turn.session_id)
            assert turn.expansion.text == wanted

    with_claude(body, plugin_dirs=[folder])


def test_a_shell_command_in_a_command_runs_if_it_is_allowed(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    allowed = "---\ndescription: d\nallowed-tools: Bash(echo:*)\n---\nSee !`echo real output`\n"
    denied = "---\ndescription: d\n---\nSee !`touch /never`\n"
    folder = make_plugin(tmp_path / "demo", {"commands/yes.md": allowed, "commands/no.md": denied})

    async def body(run: Any) -> None:
        turn = await run.claude.run_command("demo:yes")
        assert turn.expansion.text == "See real output\n"
        with pytest.raises(AppError, match="permission check failed"):
            await run.claude.run_command("demo:no")
        assert len(run.requests()) == 1

    with_claude(body, plugin_dirs=[folder])


def test_a_command_that_is_not_there_is_refused_with_the_nearest_name(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    folder = make_plugin(tmp_path / "demo", {"commands/greet.md": FILES["none"]})

    async def body(run: Any) -> None:
        for wrong in ("/greet", "demo:gret", "/Demo:Greet"):
            with pytest.raises(AppError, match="perhaps /demo:greet"):
                await run.claude.run_command(wrong)
        assert run.requests() == []
        turn = await run.claude.prompt("/greet", within=30)  # the CLI itself sends it to the model, as text
        assert turn.expansion is None
        assert "no command with that name" in "\n".join(part.text for part in turn.requests[0].messages)

    with_claude(body, plugin_dirs=[folder])


def test_a_builtin_that_needs_a_terminal_is_answered_without_the_model(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        turn = await run.claude.prompt("/plan", within=30)
        assert (turn.local_outcome, turn.requests, turn.is_error) == ("unavailable_headless", (), False)

    with_claude(body)


def test_a_request_without_a_command_has_no_expansion() -> None:
    assert (
        expansions(ModelRequest(model="m", messages=(user("look at <command-name>x</command-name>"),))) == ()
    )


def test_commands_of_one_name_in_several_plugins_are_found() -> None:
    names = ["epti:iterate", "visual:iterate", "epti:implement", "iterate"]
    assert same_command(names) == {"iterate": ("epti:iterate", "visual:iterate")}
