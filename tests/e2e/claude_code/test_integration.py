"""Integration, 3 tests: several plugins at once.

test_all_plugins_are_installed_together, test_commands_of_one_name_stay_apart, test_hooks_of_two_plugins_both_guard
"""

from __future__ import annotations

from e2e.claude_code.kit import (
    COMMANDS,
    PLUGINS,
    RIGHT,
    SUMS_TEST,
    WRONG,
    After,
    bash,
    blocked,
    edit,
    play,
    repository,
    subjects,
    working,
    write,
)
from soundstage.claude_code import expand_command


def test_all_plugins_are_installed_together(plugin_installed, test_session, script):
    installed = [plugin_installed(plugin, marketplace=PLUGINS) for plugin in COMMANDS]
    assert [plugin.status for plugin in installed] == ["loaded"] * 3
    offered = {found.name for found in test_session.call(test_session.session.commands())}
    assert offered >= {f"{plugin}:{command}" for plugin in COMMANDS for command in COMMANDS[plugin]}
    play(script, "hello")
    turn = test_session.prompt("hello")
    assert turn.plugin_defects == ()
    assert {plugin["name"] for plugin in turn.init.plugins} >= set(COMMANDS)
    hooked = {hook.plugin for hook in test_session.call(test_session.claude.hooks.list("PreToolUse"))}
    assert {name.partition("@")[0] for name in hooked} == {"agent-loop", "epti"}


@working("epti", "visual-iteration")
def test_commands_of_one_name_stay_apart(test_session, script):
    folders = [PLUGINS / "epti", PLUGINS / "visual-iteration"]
    assert test_session.call(test_session.claude.plugins.clashes(*folders)) == ()
    for folder in folders:
        play(script, "I iterate.")
        turn = test_session.run_command(f"/{folder.name}:iterate", "once")
        assert turn.expansion.command == f"{folder.name}:iterate"
        assert turn.expansion.text == expand_command((folder / "commands/iterate.md").read_text(), "once")


@working("agent-loop", "epti")
def test_hooks_of_two_plugins_both_guard(test_session, script):
    root = repository(test_session, {"sums.py": WRONG, "test_sums.py": SUMS_TEST})
    commit = bash("git commit -qam 'fix: add adds'")
    test_session.workspace.write("sums.py", WRONG.replace("a - b", "b - a"))
    play(
        script,
        write(root / "PLAN.md", "1. add adds\n"),
        commit,
        After("The tests fail", edit(root / "sums.py", "b - a", "a + b")),
        bash("rm PLAN.md"),
        commit,
        After("There is no plan", write(root / "PLAN.md", "1. add adds\n")),
        commit,
        "It is committed.",
    )
    turn = test_session.prompt("commit it")
    assert blocked(turn) == ["", "hook", "", "", "hook", "", ""]
    assert subjects(test_session) == ["fix: add adds", "chore: begin"]
    assert (root / "sums.py").read_text() == RIGHT
