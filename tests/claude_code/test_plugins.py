"""Plugins in the throw-away home, managed by the real CLI; what is wrong with them has a name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import (
    ClaudeCode,
    Marketplace,
    PluginError,
    PluginManaged,
    PluginServer,
    bundled_cli,
)
from soundstage.claude_code import _plugin_decode as decode
from soundstage.errors import EnvironmentProblem, InvalidStateError
from soundstage.journal import Journal
from soundstage.models import CallSpec

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

Play = Callable[..., Any]
Make = Callable[..., Path]
HOOK = {"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 0"}]}
GREET = "---\ndescription: greets\nargument-hint: NAME\n---\nSay hello to $ARGUMENTS.\n"


def good(make_plugin: Make, folder: Path) -> Path:
    return make_plugin(
        folder,
        {
            "commands/greet.md": GREET,
            "agents/reviewer.md": "---\nname: reviewer\ndescription: reviews\n---\nYou review.\n",
            "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: tidies\n---\nTidy up.\n",
            "hooks/hooks.json": {"hooks": {"PreToolUse": [HOOK]}},
            ".mcp.json": {"mcpServers": {"files": {"command": "no-such-program", "args": ["-v"]}}},
        },
        description="greets people",
        author={"name": "me"},
    )


# --- installing


def test_a_plugin_is_installed_and_a_running_session_loads_it(
    with_claude: Play, make_plugin: Make, make_marketplace: Make, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", "good")
    good(make_plugin, market / "good")

    async def body(run: Any) -> None:
        plugins = run.claude.plugins
        assert await plugins.list() == ()
        plugin = await plugins.install("good", marketplace=market)
        assert (plugin.id, plugin.name, plugin.marketplace) == ("good@market", "good", "market")
        assert (plugin.status, plugin.version, plugin.mcp_servers) == ("loaded", "1.0.0", ("files",))
        assert plugin.folder == str(market / "good")
        commands = {command.name: command for command in await run.claude.session.reload_plugins()}
        assert commands["good:greet"].description == "greets"
        run.script.on(user="go", iteration=1).reply(
            tool_calls=[CallSpec(name="Bash", arguments={"command": "true", "description": "x"})]
        )
        run.script.on(user="go").reply("done")
        turn = await run.claude.prompt("go", within=30)
        assert turn.init is not None
        assert "good@market" in [found["source"] for found in turn.init.plugins]
        assert "PreToolUse:Bash" in [message.hook for message in turn.messages if hasattr(message, "hook")]
        managed = run.journal.events(PluginManaged)
        assert [(event.action, event.ok) for event in managed] == [
            ("marketplace add", True),
            ("install", True),
        ]

    with_claude(body)


def test_disabling_keeps_a_plugin_and_uninstalling_removes_it(
    with_claude: Play, make_plugin: Make, make_marketplace: Make, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", "good")
    make_plugin(market / "good")

    async def body(run: Any) -> None:
        plugins = run.claude.plugins
        assert await plugins.add_marketplace(market) == Marketplace(name="market", path=str(market))
        await plugins.install("good@market")
        assert (await plugins.disable("good")).status == "unloaded"
        assert (await plugins.enable("good")).status == "loaded"
        await plugins.uninstall("good")
        assert await plugins.list() == ()

    with_claude(body)


def test_what_is_so_already_is_no_error_and_a_marketplace_can_be_removed(
    with_claude: Play, make_plugin: Make, make_marketplace: Make, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", "good")
    make_plugin(market / "good")

    async def body(run: Any) -> None:
        plugins = run.claude.plugins
        await plugins.install("good", marketplace=market)
        assert (await plugins.enable("good")).status == "loaded"
        await plugins.remove_marketplace("market")
        assert await plugins.marketplaces() == ()
        assert await plugins.list() == ()

    with_claude(body)


def test_a_marketplace_that_the_cli_does_not_list_is_an_error_that_says_where_it_looked(
    with_claude: Play, make_marketplace: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    market = make_marketplace(tmp_path / "market")

    async def body(run: Any) -> None:
        monkeypatch.setattr(type(run.claude.plugins), "marketplaces", nothing)
        with pytest.raises(EnvironmentProblem, match="does not list it") as caught:
            await run.claude.plugins.add_marketplace(market)
        assert str(market) in caught.value.expected

    async def nothing(_: object) -> tuple[()]:
        return ()

    with_claude(body, opens=False)


def test_what_the_cli_refuses_has_a_named_cause(
    with_claude: Play, make_plugin: Make, make_marketplace: Make, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", "manifest", "gone")
    make_plugin(market / "manifest", agents="./agents/")

    async def body(run: Any) -> None:
        plugins = run.claude.plugins
        refused = [
            (lambda: plugins.add_marketplace(tmp_path / "nowhere"), "unknown marketplace"),
            (lambda: plugins.install("good"), "unknown plugin"),
            (lambda: plugins.enable("good@market"), "not installed"),
            (lambda: plugins.uninstall("good"), "not installed"),
            (lambda: plugins.remove_marketplace("market"), "unknown marketplace"),
            (lambda: plugins.install("manifest", marketplace=market), "invalid manifest"),
            (lambda: plugins.install("gone@market"), "missing file"),
        ]
        for call, cause in refused:
            with pytest.raises(PluginError) as caught:
                await call()
            assert caught.value.cause == cause, str(caught.value)
        messages = [
            event.message for event in run.journal.events(PluginManaged) if event.plugin == "manifest@market"
        ]
        assert 'must end with ".md"' in messages[0]

    with_claude(body)


def test_a_plugin_whose_hooks_cannot_be_loaded_installs_and_says_so(
    with_claude: Play, make_plugin: Make, make_marketplace: Make, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", "bad")
    make_plugin(market / "bad", {"hooks/hooks.json": []})

    async def body(run: Any) -> None:
        plugin = await run.claude.plugins.install("bad", marketplace=market)
        assert plugin.status == "error"
        (defect,) = plugin.defects
        assert (defect.cause, defect.plugin) == ("hooks in the wrong shape", "bad")
        assert defect.file == str(market / "bad/hooks/hooks.json")

    with_claude(body)


# --- checking


def test_a_valid_plugin_says_what_it_provides(with_claude: Play, make_plugin: Make, tmp_path: Path) -> None:
    folder = good(make_plugin, tmp_path / "good")

    async def body(run: Any) -> None:
        found = await run.claude.plugins.validate(folder)
        assert (found.ok, found.kind, found.defects) == (True, "plugin", ())
        assert (found.commands, found.agents) == (("good:greet",), ("good:reviewer",))
        assert found.skills == ("good:tidy",)
        assert found.mcp_servers == (PluginServer(name="files", target="no-such-program", args=("-v",)),)
        (hook,) = await run.claude.plugins.hooks(folder)
        assert (hook.name, hook.command, hook.plugin, hook.root) == (
            "PreToolUse:Bash",
            "exit 0",
            "good",
            str(folder),
        )

    with_claude(body)


def test_defects_have_a_cause_a_file_and_a_line(with_claude: Play, make_plugin: Make, tmp_path: Path) -> None:
    about = {"description": "d", "author": {"name": "me"}}
    manifest = make_plugin(tmp_path / "manifest", agents="./agents/", **about)
    hooks = make_plugin(tmp_path / "hooks", {"hooks/hooks.json": []}, **about)
    event = make_plugin(tmp_path / "event", {"hooks/hooks.json": {"hooks": {"pre-commit": []}}}, **about)
    bare = make_plugin(tmp_path / "bare", {"commands/bare.md": "Say hello.\n"}, **about)

    async def body(run: Any) -> None:
        seen = {}
        for folder in (manifest, hooks, event, bare):
            found = await run.claude.plugins.validate(folder)
            seen[folder.name] = (
                found.ok,
                [
                    (defect.cause, defect.file.removeprefix(f"{folder}/"), defect.line)
                    for defect in found.defects
                ],
            )
        plugin = ".claude-plugin/plugin.json"
        assert seen == {
            "manifest": (False, [("invalid manifest", plugin, 4), ("missing file", plugin, 4)]),
            "hooks": (False, [("hooks in the wrong shape", "hooks/hooks.json", 1)]),
            "event": (True, [("unknown hook event", "hooks/hooks.json", 3)]),
            "bare": (True, [("no front matter", "commands/bare.md", 1)]),
        }

    with_claude(body)


def test_a_folder_that_is_no_plugin_is_a_finding(with_claude: Play, tmp_path: Path) -> None:
    async def body(run: Any) -> None:
        found = await run.claude.plugins.validate(tmp_path / "nowhere")
        assert (found.ok, found.causes) == (False, ("missing file",))

    with_claude(body)


def test_names_that_hide_each_other_are_found(with_claude: Play, make_plugin: Make, tmp_path: Path) -> None:
    one = make_plugin(tmp_path / "one", {"commands/greet.md": GREET}, name="same")
    two = make_plugin(tmp_path / "two", {"commands/greet.md": GREET}, name="same")
    skill = "---\nname: greet\ndescription: greets\n---\nHello.\n"
    both = make_plugin(tmp_path / "both", {"commands/greet.md": GREET, "skills/greet/SKILL.md": skill})

    async def body(run: Any) -> None:
        (clash,) = await run.claude.plugins.clashes(one, two)
        assert (clash.cause, clash.where) == ("same name", "same:greet")
        assert str(one) in clash.message
        assert "same name" in (await run.claude.plugins.validate(both)).causes

    with_claude(body)


def test_the_cli_loads_one_of_two_plugins_with_the_same_command(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    folders = [
        make_plugin(tmp_path / name, {"commands/greet.md": f"This is {name}.\n"}, name="same")
        for name in ("one", "two")
    ]

    async def body(run: Any) -> None:
        turn = await run.claude.run_command("same:greet")
        assert turn.expansion is not None
        assert turn.expansion.text == "This is one.\n"
        assert [command.name for command in await run.claude.session.commands()].count("same:greet") == 1

    with_claude(body, plugin_dirs=folders)


def test_a_plugin_that_does_not_load_is_in_the_init_message(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    bad = make_plugin(tmp_path / "bad", agents="./agents/")

    async def body(run: Any) -> None:
        turn = await run.claude.prompt("hello", within=30)
        assert not turn.is_error
        assert "invalid manifest" in [defect.cause for defect in turn.plugin_defects]

    with_claude(body, plugin_dirs=[bad, tmp_path / "nowhere"])


# --- without the CLI


def test_before_start_there_is_no_home_to_manage(tmp_path: Path) -> None:
    claude = ClaudeCode(Journal(), "http://127.0.0.1:1", tmp_path)
    with pytest.raises(InvalidStateError, match="start it first"):
        asyncio.run(claude.plugins.list())


@pytest.mark.parametrize("data", [[], {}, None, [1], [{}], "x"])
def test_answers_of_another_shape_are_read_as_far_as_they_go(data: Any) -> None:
    assert isinstance(decode.plugins(data), tuple)
    assert isinstance(decode.marketplaces(data), tuple)


def test_an_unknown_complaint_is_still_a_defect() -> None:
    defect = decode.load_defect({"type": "brand-new", "message": "no", "plugin": "p"})
    assert (defect.cause, str(defect)) == ("refused", "refused: no")
