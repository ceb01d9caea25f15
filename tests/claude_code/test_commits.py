"""The commits of a turn: those that git has written down, whatever the command looks like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import bundled_cli
from soundstage.models import CallSpec
from soundstage.worlds import HeadLog, commits_between, head_log

CHANGE = "echo x >> a.txt && git add a.txt && "
COMMANDS: dict[str, tuple[str, ...]] = {  # with the subjects of the commits that they make
    "git log -1 # the last commit": (),
    f"{CHANGE}git commit --dry-run -m no": (),
    "git stash -q; git commit -m nothing || true": (),
    "echo git commit -m talk": (),
    "git commit --help > /dev/null 2>&1; true": (),
    f"{CHANGE}git commit -qm 'feat: quiet'": ("feat: quiet",),
    f"{CHANGE}git -c alias.ci=commit ci -m 'fix: by alias' > /dev/null": ("fix: by alias",),
    "git commit -q --amend -m 'fix: again'": ("fix: again",),
    f"{CHANGE}sh -c 'git commit -qm \"feat: one\"' && {CHANGE}git commit -qm 'feat: two'": (
        "feat: one",
        "feat: two",
    ),
}


@pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
def test_a_turn_has_the_commits_that_git_has_made(with_claude: Callable[..., Any]) -> None:
    async def body(run: Any) -> None:
        run.workspace.write("a.txt", "begin\n")
        run.workspace.git()
        run.workspace.commit("chore: begin")
        for number, (command, subjects) in enumerate(COMMANDS.items()):
            call = CallSpec(name="Bash", arguments={"command": command, "description": "d"})
            run.script.on(user=f"do {number} ", times=1, priority=1).reply(tool_calls=[call])
            run.script.on(tool_result=True, times=1).reply("done")
            known = {commit.hash for commit in run.workspace.commits()}
            turn = await run.claude.prompt(f"do {number} now", within=60)
            assert not turn.tool_uses[0].is_error, turn.tool_uses[0].text
            assert tuple(commit.subject for commit in turn.commits) == subjects, command
            new = [one for one in run.workspace.commits() if one.hash not in known]
            assert [commit.hash for commit in turn.commits] == [commit.hash for commit in reversed(new)]

    with_claude(body, allowed_tools=["Bash"])


def test_a_folder_without_a_repository_has_no_commits(tmp_path: Path) -> None:
    assert head_log(tmp_path / "nowhere") == HeadLog()
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    assert head_log(tmp_path).lines == ()
    assert "is no repository that can be read" in head_log(tmp_path).problem


def test_a_log_that_was_written_anew_has_the_lines_that_were_not_there() -> None:
    def line(letter: str, what: str) -> str:
        return f"{'0' * 40} {letter * 40} Me <me@x> 1 +0000\t{what}"

    before = (line("a", "commit: one"), line("b", "reset: moving to HEAD~1"))
    after = (line("b", "reset: moving to HEAD~1"), line("c", "commit (amend): two"), line("d", "checkout: x"))
    assert [commit.subject for commit in commits_between(HeadLog(before), HeadLog(after))] == ["two"]
    assert commits_between(HeadLog(before), HeadLog()) == ()
