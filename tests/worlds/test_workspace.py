"""The workspace is a real folder that nothing leaves, and that says exactly what changed in it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from soundstage.clock import run
from soundstage.errors import EnvironmentProblem, ExpectationError, InvalidStateError, ScriptError
from soundstage.journal import LARGEST, Committed, FactMissed, FileChanged, Journal
from soundstage.runs import build_result
from soundstage.worlds import Workspace
from support.cases import cases


def in_workspace(body: Callable[[Workspace], Any], root: Path | None = None) -> Any:
    """Run `body` in a workspace that is removed afterwards, whatever happens. Returns its result."""

    async def main() -> Any:
        workspace = Workspace(Journal(), root)
        await workspace.start()
        try:
            return body(workspace)
        finally:
            await workspace.stop()

    return run(main())


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_tree_is_gone_after_the_run_also_when_the_test_fails() -> None:
    seen: list[Path] = []

    def body(workspace: Workspace) -> None:
        seen.append(workspace.root)
        locked = workspace.write("a/b/c.txt", "x").parent
        locked.chmod(0o500)
        raise RuntimeError("the test fails")

    with pytest.raises(RuntimeError, match="the test fails"):
        in_workspace(body)
    assert not seen[0].exists()


def test_a_folder_that_was_there_before_stays_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert in_workspace(lambda workspace: workspace.files(), tmp_path) == ["mine.txt"]
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_folder_that_start_has_made_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "new" / "project"
    in_workspace(lambda workspace: workspace.write("a", "b"), root)
    assert not root.exists()
    assert tmp_path.exists()


def test_a_folder_that_cannot_be_made_is_a_problem_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="cannot be made"):
        in_workspace(lambda workspace: None, tmp_path / "file" / "below")


def test_what_is_written_is_read_and_listed() -> None:
    def body(workspace: Workspace) -> None:
        path = workspace.write("src/deep/app.py", "print('ü')\n")
        workspace.write("raw.bin", b"\xff\x00")
        assert path == workspace.root / "src/deep/app.py"
        assert workspace.read("src/deep/app.py") == "print('ü')\n"
        assert workspace.read(path) == "print('ü')\n"
        assert workspace.files() == ["raw.bin", "src/deep/app.py"]
        with pytest.raises(ExpectationError, match=r"raw\.bin is not text"):
            workspace.read("raw.bin")

    in_workspace(body)


def test_a_missing_file_is_reported_with_the_files_that_are_there() -> None:
    def body(workspace: Workspace) -> None:
        workspace.write("there.txt", "")
        with pytest.raises(ExpectationError, match=r"No such file or directory; the files are: there\.txt"):
            workspace.read("missing.txt")

    in_workspace(body)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", ".", "out/x", "nul\0"])
def test_paths_that_leave_the_workspace_are_refused(path: str) -> None:
    def body(workspace: Workspace) -> None:
        (workspace.root / "out").symlink_to("/tmp", target_is_directory=True)
        for access in (workspace.read, workspace.path, lambda path: workspace.write(path, "x")):
            with pytest.raises(ScriptError):
                access(path)

    in_workspace(body)


def test_changes_tell_added_modified_and_deleted_files_with_hash_and_text() -> None:
    def body(workspace: Workspace) -> None:
        for name in ("kept", "edited", "removed"):
            workspace.write(name, name)
        before = workspace.snapshot()
        (workspace.root / "edited").write_text("new text")
        (workspace.root / "removed").unlink()
        (workspace.root / "sub").mkdir()
        (workspace.root / "sub/added").write_text("fresh")
        found = {change.path: change for change in workspace.changes(before)}
        assert {path: change.change for path, change in found.items()} == {
            "edited": "modified",
            "removed": "deleted",
            "sub/added": "added",
        }
        assert (found["edited"].text, found["edited"].sha256) == ("new text", sha("new text"))
        assert found["edited"].before is not None
        assert found["edited"].before.text == "edited"
        assert (found["removed"].text, found["removed"].sha256) == (None, None)
        assert found["sub/added"].before is None

    in_workspace(body)


def test_only_what_others_change_is_recorded_and_only_once() -> None:
    def body(workspace: Workspace) -> None:
        workspace.write("mine.txt", "by the test")
        assert workspace.record_changes() == ()
        (workspace.root / "theirs.txt").write_text("by the agent")
        (workspace.root / "mine.txt").write_text("by the agent too")
        assert [change.path for change in workspace.record_changes(cause=7)] == ["mine.txt", "theirs.txt"]
        assert workspace.record_changes() == ()
        assert [
            (event.path, event.change, event.before, event.after)
            for event in workspace.journal.events(FileChanged)
        ] == [
            ("mine.txt", "modified", sha("by the test"), sha("by the agent too")),
            ("theirs.txt", "added", None, sha("by the agent")),
        ]
        assert [record.cause for record in workspace.journal.read(type=FileChanged)] == [7, 7]

    in_workspace(body)


def test_a_recorded_change_has_its_patch_and_the_journal_has_both_contents_whatever_they_are() -> None:
    def body(workspace: Workspace) -> None:
        workspace.write("a.txt", "one\ntwo\n")
        workspace.write("b.bin", b"\xff\x00")
        workspace.write("gone.txt", "farewell\n")
        (workspace.root / "a.txt").write_text("one\n2\n")
        (workspace.root / "b.bin").write_bytes(b"\xfe")
        (workspace.root / "gone.txt").unlink()
        workspace.record_changes()
        text, binary, gone = workspace.journal.events(FileChanged)
        read = workspace.journal.contents.read
        assert text.patch == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        assert (binary.patch, read(binary.before or ""), read(binary.after or "")) == (
            "",
            b"\xff\x00",
            b"\xfe",
        )
        assert (gone.change, gone.after, read(gone.before or "")) == ("deleted", None, b"farewell\n")
        assert gone.patch == "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-farewell\n"

    in_workspace(body)


def test_commits_that_others_made_are_recorded_once_and_those_of_the_test_are_not() -> None:
    def git(workspace: Workspace, *arguments: str) -> None:
        environment = {**os.environ, **workspace.environment(own_home=True)}
        subprocess.run(["git", *arguments], cwd=workspace.root, env=environment, check=True)

    def body(workspace: Workspace) -> None:
        workspace.git()
        workspace.record_changes()
        git(workspace, "commit", "-q", "--allow-empty", "-m", "theirs")
        workspace.write("a.txt", "x")
        mine = workspace.commit("mine")
        git(workspace, "commit", "-q", "--allow-empty", "-m", "known")
        known = workspace.commits()[0]
        workspace.journal.append(Committed(hash=known.hash, subject="known"), source="session")
        workspace.record_changes(cause=None)
        workspace.record_changes()
        told = workspace.journal.events(Committed)
        assert [event.subject for event in told] == ["known", "theirs"]
        assert (told[1].author, mine.hash in {event.hash for event in told}) == (mine.author, False)

    in_workspace(body)


def test_a_repository_that_cannot_be_read_is_told_once_and_files_are_recorded_all_the_same() -> None:
    def body(workspace: Workspace) -> None:
        (workspace.root / ".git").write_text("gitdir: nowhere\n")
        (workspace.root / "a.txt").write_text("x")
        workspace.record_changes()
        workspace.record_changes()
        assert [event.path for event in workspace.journal.events(FileChanged)] == ["a.txt"]
        [missed] = workspace.journal.events(FactMissed)
        assert missed.what == "commits"
        result = build_result(workspace.journal.read())
        assert (result.status, result.warnings) == ("partial", (str(missed),))

    in_workspace(body)


def test_of_a_file_over_1_mib_the_hash_is_recorded_and_no_content() -> None:
    def body(workspace: Workspace) -> None:
        large = b"x" * (LARGEST + 1)
        (workspace.root / "large").write_bytes(large)
        workspace.record_changes()
        [event] = workspace.journal.events(FileChanged)
        assert event.after == hashlib.sha256(large).hexdigest()
        assert (event.patch, workspace.journal.contents.find(event.after)) == ("", None)

    in_workspace(body)


def test_files_of_a_submodule_are_files_like_others_and_its_git_folder_is_none() -> None:
    def body(workspace: Workspace) -> None:
        (workspace.root / "lib").mkdir()
        (workspace.root / "lib/.git").write_text("gitdir: ../.git/modules/lib\n")
        (workspace.root / "lib/code.py").write_text("x = 1\n")
        assert [change.path for change in workspace.record_changes()] == ["lib/code.py"]

    in_workspace(body)


def test_a_file_whose_name_is_not_text_is_recorded_under_a_visible_name() -> None:
    def body(workspace: Workspace) -> None:
        name = os.fsencode(workspace.root) + b"/caf\xe9.txt"
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
        [change] = workspace.record_changes()
        assert os.fsencode(change.path) == b"caf\xe9.txt"
        assert [event.path for event in workspace.journal.events(FileChanged)] == ["caf\\udce9.txt"]

    in_workspace(body)


def test_links_are_not_followed_and_pipes_do_not_block() -> None:
    def body(workspace: Workspace) -> None:
        (workspace.root / "loop").symlink_to(workspace.root, target_is_directory=True)
        (workspace.root / "outside").symlink_to("/etc/hostname")
        os.mkfifo(workspace.root / "pipe")
        workspace.write("large.bin", b"a" * (1024 * 1024 + 1))
        snapshot = workspace.snapshot()
        assert list(snapshot) == ["large.bin", "loop", "outside"]
        assert snapshot["outside"].text == "-> /etc/hostname"
        assert snapshot["large.bin"].text is None
        assert snapshot["large.bin"].sha256 == hashlib.sha256(b"a" * (1024 * 1024 + 1)).hexdigest()

    in_workspace(body)


@cases(25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.binary(max_size=5)),
    st.dictionaries(st.sampled_from("abcdef"), st.binary(max_size=5)),
)
def test_changes_are_exactly_the_difference_of_two_trees(
    old: dict[str, bytes], new: dict[str, bytes]
) -> None:
    def body(workspace: Workspace) -> None:
        for name, data in old.items():
            workspace.write(f"dir/{name}", data)
        before = workspace.snapshot()
        for name in old:
            (workspace.root / "dir" / name).unlink()
        for name, data in new.items():
            workspace.write(f"dir/{name}", data)
        expected = {
            f"dir/{name}": "deleted" if name not in new else "modified" if name in old else "added"
            for name in {*old, *new}
            if old.get(name) != new.get(name)
        }
        found = workspace.changes(before)
        assert {change.path: change.change for change in found} == expected
        assert [change.path for change in found] == sorted(expected)

    in_workspace(body)


def test_commits_have_subject_author_and_files_and_repeat_to_the_hash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody Else")
    monkeypatch.setenv("GIT_DIR", "/nowhere")

    def body(workspace: Workspace) -> Any:
        workspace.git()
        assert workspace.commits() == ()
        workspace.write("ü b.txt", "1")
        first = workspace.commit("first\n\nwith a body")
        workspace.write("c.txt", "2")
        (workspace.root / "ü b.txt").unlink()
        workspace.commit("second")
        assert workspace.files() == ["c.txt"]
        found = workspace.commits()
        assert found[-1] == first
        return found

    commits = in_workspace(body)
    assert [(commit.subject, commit.author, commit.files) for commit in commits] == [
        ("second", "Test <test@soundstage.invalid>", ("c.txt", "ü b.txt")),
        ("first", "Test <test@soundstage.invalid>", ("ü b.txt",)),
    ]
    assert in_workspace(body) == commits


def test_a_commit_of_the_agent_is_seen_and_uses_the_local_identity(tmp_path: Path) -> None:
    def body(workspace: Workspace) -> None:
        workspace.git()
        (workspace.root / "a").write_text("a")
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **workspace.environment()}
        subprocess.run(
            "git add -A && git commit -qm 'fix: a'",
            shell=True,
            check=True,
            cwd=workspace.root,
            env=environment,
        )
        assert [(commit.subject, commit.author) for commit in workspace.commits()] == [
            ("fix: a", "Test <test@soundstage.invalid>")
        ]

    in_workspace(body)


def test_what_git_writes_for_the_user_goes_into_a_file_that_is_thrown_away(tmp_path: Path) -> None:
    kept: list[Path] = []

    def body(workspace: Workspace) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **workspace.environment()}
        settings = Path(environment["GIT_CONFIG_GLOBAL"])
        assert settings.parent.is_dir()
        assert not settings.exists(), "a device, or a file of somebody else"
        subprocess.run(
            ["git", "config", "--global", "user.name", "agent"],
            check=True,
            cwd=workspace.root,
            env=environment,
        )
        assert "agent" in settings.read_text()
        assert workspace.files() == []
        kept.append(settings)

    in_workspace(body)
    assert list(tmp_path.iterdir()) == []
    assert not kept[0].parent.exists()


def test_git_steps_in_the_wrong_order_say_what_to_do() -> None:
    def body(workspace: Workspace) -> None:
        for step in (workspace.commits, lambda: workspace.commit("x")):
            with pytest.raises(InvalidStateError, match=r"call git\(\) first"):
                step()
        workspace.git()
        with pytest.raises(ScriptError, match="nothing to commit"):
            workspace.commit("empty")

    in_workspace(body)


def test_a_machine_without_git_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="git is not installed") as caught:
        in_workspace(lambda workspace: workspace.git())
    assert caught.value.hint


def test_a_failing_git_shows_its_words() -> None:
    def body(workspace: Workspace) -> None:
        workspace.git()
        workspace.write(".git/config", "[broken")
        assert workspace.record_changes() == ()
        with pytest.raises(EnvironmentProblem, match="bad config"):
            workspace.commits()

    in_workspace(body)


def test_nothing_works_before_start_and_after_stop() -> None:
    async def main() -> None:
        workspace = Workspace(Journal())
        for _ in range(2):
            for call in (workspace.files, workspace.git, workspace.commits, lambda: workspace.read("x")):
                with pytest.raises(InvalidStateError):
                    call()
            if workspace.status == "stopped":
                await workspace.start()
                await workspace.stop()

    run(main())


@pytest.mark.parametrize(
    "ask",
    [
        lambda workspace: workspace.root,
        lambda workspace: workspace.write("a.txt", "a"),
        lambda workspace: workspace.files(),
        lambda workspace: workspace.git(),
        lambda workspace: workspace.environment(),
    ],
    ids=["root", "write", "files", "git", "environment"],
)
def test_a_folder_on_demand_is_made_by_whatever_asks_for_it_and_gone_after_the_run(
    ask: Callable[[Workspace], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def main() -> None:
        workspace = Workspace(Journal(), on_demand=True)
        with pytest.raises(InvalidStateError):
            _ = workspace.root
        await workspace.start()
        assert workspace.record_changes() == ()
        assert not list(tmp_path.iterdir())
        ask(workspace)
        (workspace.root / "theirs.txt").write_text("x")
        assert [change.path for change in workspace.record_changes()] == ["theirs.txt"]
        await workspace.stop()
        with pytest.raises(InvalidStateError):
            _ = workspace.root

    run(main())
    assert not list(tmp_path.iterdir())


def test_a_folder_on_demand_that_nobody_asks_for_is_never_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))

    async def main() -> None:
        workspace = Workspace(Journal(), on_demand=True)
        await workspace.start()
        await workspace.stop()
        with pytest.raises(InvalidStateError):
            _ = workspace.root

    run(main())
