"""The standard tools work on real files below one folder, and on nothing outside of it."""

from __future__ import annotations

import os
import subprocess

import pytest

from soundstage.agents.runtime import (
    AgentDefinition,
    AgentDefinitionError,
    AgentRegistry,
    ToolRegistry,
    workspace_tools,
)
from soundstage.errors import ToolDefinitionError
from soundstage.journal import FileChanged
from soundstage.messages import call

GIT = {
    "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@example.invalid",
    "GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@example.invalid",
}  # fmt: skip


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "work"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "a.py").write_text(
        "class A(Base):\n    def f(self, x: int = 1) -> str:\n        return 'x'\n"
    )
    (folder / "src" / "deep" / "b.ts").write_text("export function hello(name: string) {\n}\n")
    (folder / "notes.txt").write_text("first\nsecond\nthird\n")
    (folder / "image.bin").write_bytes(b"\x00\xff\xfe")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "x.py").write_text("hidden = 1\n")
    (tmp_path / "secret.txt").write_text("outside")
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.fixture
def do(use, root):
    def do(name, *, real=False, within=60.0, options=None, **arguments):
        made = {one.name: one for one in workspace_tools(root, **(options or {}))}
        return use(made[name], arguments, real=real, within=within)

    return do


def test_every_tool_has_its_permission(root):
    assert {one.name: "".join(one.permissions) for one in workspace_tools(root)} == {
        "read_file": "read", "glob": "read", "grep": "read", "tree_view": "read", "git_diff": "read",
        "repo_map": "read", "write_file": "write", "edit_file": "write", "bash": "execute",
        "web_fetch": "web", "web_search": "web",
    }  # fmt: skip
    assert all(one.description for one in workspace_tools(root))


def test_files_are_read_whole_or_in_part(do):
    assert do("read_file", path="notes.txt").text == "first\nsecond\nthird\n"
    assert do("read_file", path="./src/../notes.txt", start=2, lines=1).text == "second\n"
    assert do("read_file", path="notes.txt", start=9).text == ""


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../secret.txt", "outside of the workspace"),
        ("/etc/passwd", "outside of the workspace"),
        ("src/../../secret.txt", "outside of the workspace"),
        ("link", "outside of the workspace"),
        ("link/below", "outside of the workspace"),
        ("none.txt", "there is no file 'none.txt'"),
        ("src", "'src' is a folder"),
        ("pipe", "'pipe' is no regular file"),
        ("image.bin", "not a text in UTF-8"),
        ("a\0b", "zero byte"),
        ("x" * 5000, "there is no file"),
    ],
)
def test_what_cannot_be_read_is_a_clear_error(do, path, words):
    used = do("read_file", path=path)
    assert used.result.is_error
    assert words in used.text


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "../x", "content": ""}),
        ("write_file", {"path": "link", "content": ""}),
        ("edit_file", {"path": "../secret.txt", "old": "outside", "new": "in"}),
        ("glob", {"pattern": "*", "path": ".."}),
        ("grep", {"pattern": "outside", "path": ".."}),
        ("grep", {"pattern": "outside", "path": "link"}),
        ("tree_view", {"path": "../.."}),
        ("repo_map", {"path": "/"}),
        ("git_diff", {"path": "../.."}),
    ],
)
def test_no_tool_leaves_the_folder(do, root, name, arguments):
    assert "outside of the workspace" in do(name, **arguments).text
    assert (root.parent / "secret.txt").read_text() == "outside"


def test_a_folder_moved_under_a_link_is_outside_too(do, root):
    (root / "up").symlink_to("..")
    assert "outside of the workspace" in do("write_file", path="up/new.txt", content="x").text
    assert not (root.parent / "new.txt").exists()


def test_writing_makes_folders_and_tells_what_changed(do, root):
    used = do("write_file", path="new/file.py", content="a = 1\n")
    assert used.text == "wrote new/file.py: 1 lines"
    assert (root / "new" / "file.py").read_text() == "a = 1\n"
    (changed,) = used.journal.events(FileChanged)
    assert (changed.path, changed.change, changed.before) == ("new/file.py", "added", None)
    again = do("write_file", path="new/file.py", content="b = 2\n")
    assert again.text.startswith("replaced new/file.py")
    (modified,) = again.journal.events(FileChanged)
    assert (modified.change, modified.before) == ("modified", changed.after)


@pytest.mark.parametrize("path", [".git/config", "src/.GIT/hooks/pre-commit", ".git"])
def test_what_belongs_to_git_is_not_written_because_git_would_run_it(do, root, path):
    assert "belongs to git" in do("write_file", path=path, content="x").text
    assert not (root / path).exists()


@pytest.mark.parametrize("path", ["src", ".", "pipe", "notes.txt/below"])
def test_what_is_no_file_is_not_written(do, path):
    assert do("write_file", path=path, content="x").result.is_error


def test_editing_replaces_exactly_one_text_or_all(do, root):
    assert do("edit_file", path="notes.txt", old="second", new="2nd").text == "replaced 1 in notes.txt"
    assert (root / "notes.txt").read_text() == "first\n2nd\nthird\n"
    assert "does not contain" in do("edit_file", path="notes.txt", old="second", new="x").text
    assert "does not contain" in do("edit_file", path="notes.txt", old="", new="x").text
    assert "is 3 times" in do("edit_file", path="notes.txt", old="\n", new=" ").text
    assert do("edit_file", path="notes.txt", old="\n", new=" ", all=True).text == "replaced 3 in notes.txt"


def test_glob_finds_files_by_pattern_in_a_fixed_order(do):
    assert do("glob", pattern="**/*.py").text == "src/a.py"
    assert do("glob", pattern="src/**").text == "src/a.py\nsrc/deep/b.ts"
    assert do("glob", pattern="*.t[sx]", path="src/deep").text == "src/deep/b.ts"
    assert do("glob", pattern="*.rs").text == "no file fits '*.rs'"


def test_grep_shows_where_a_text_is(do):
    assert do("grep", pattern="^s.c").text == "notes.txt:2: second\n"
    assert do("grep", pattern="HELLO", ignore_case=True).text.startswith("src/deep/b.ts:1: export")
    assert do("grep", pattern="class", files="**/*.ts").text == "nothing matches 'class'"
    assert do("grep", pattern="first", path="notes.txt").text == "notes.txt:1: first\n"
    assert "is not a regular expression" in do("grep", pattern="(").text


@pytest.mark.parametrize("real", [False, True])
def test_an_expression_that_never_ends_is_ended(do, root, real):
    (root / "evil.txt").write_text("a" * 60 + "b\n")
    assert "no end within" in (text := do("grep", pattern="(a+)+$", within=0.5, real=real).text) or (
        "did not return" in text
    )


def test_a_tree_is_as_deep_as_asked(do):
    assert do("tree_view", depth=2).text == "image.bin\nnotes.txt\nsrc/\n  a.py\n  deep/"
    assert do("tree_view", path="src").text == "a.py\ndeep/\n  b.ts"


def test_the_map_shows_definitions(do):
    assert do("repo_map").text == (
        "src/a.py:\n  class A(Base)\n    def f(self, x: int=1) -> str\n"
        "src/deep/b.ts:\n  export function hello(name: string)"
    )
    assert do("repo_map", path="src/deep").text.startswith("src/deep/b.ts")


def test_git_diff_shows_what_has_changed_and_runs_nothing_of_the_repository(do, root):
    def git(*words):
        subprocess.run(["git", *words], cwd=root, env=GIT, check=True, capture_output=True)

    assert "not a git repository" in do("git_diff").text.lower()
    git("init", "-q")
    git("add", "notes.txt")
    git("commit", "-q", "-m", "first")
    assert do("git_diff").text == "nothing has changed"
    git("config", "core.fsmonitor", "touch ran; false")
    git("config", "diff.external", "touch ran")
    (root / "notes.txt").write_text("first\n")
    assert "-second" in do("git_diff").text
    assert do("git_diff", staged=True).text == "nothing has changed"
    assert not (root / "ran").exists()


@pytest.mark.parametrize("real", [False, True])
def test_a_shell_command_runs_in_the_folder_and_tells_what_it_changed(do, root, real):
    used = do(
        "bash",
        command="echo out; echo err >&2; rm notes.txt; echo 1 > new.txt; echo 2 >> src/a.py",
        real=real,
    )
    assert used.text == "out\nerr\n"
    changes = [(event.path, event.change) for event in used.journal.events(FileChanged)]
    assert changes == [("new.txt", "added"), ("notes.txt", "deleted"), ("src/a.py", "modified")]


def test_a_shell_command_that_fails_is_an_error_with_its_output(do):
    assert do("bash", command="echo no; exit 3").text == "ERROR: exit code 3\nno"
    assert do("bash", command="kill -9 $$").text.startswith("ERROR: exit code -9")
    assert "more than 0" in do("bash", command="true", timeout=0).text
    assert "cannot be run" in do("bash", command="a\0b").text


@pytest.mark.parametrize("real", [False, True])
def test_a_shell_command_that_hangs_is_an_error_when_its_time_is_up(do, real):
    used = do("bash", command="trap '' TERM; while :; do sleep 600; done", real=real, timeout=0.3)
    assert used.text.startswith("ERROR: no end within 0.3 s; it was stopped. Its output:")


def test_a_shell_command_sees_no_secrets_and_a_flood_does_not_fill_the_memory(do):
    environment = {"PATH": os.environ["PATH"], "MY_TOKEN": "hidden", "PLAIN": "shown"}
    seen = do("bash", command="env", options={"environment": environment}).text
    assert "PLAIN=shown" in seen
    assert "MY_TOKEN" not in seen
    flood = do("bash", command="head -c 50000000 /dev/zero | tr '\\0' 'x'").text
    assert len(flood) < 5200


def test_the_web_goes_through_the_door_that_it_is_given_and_no_other(do):
    async def fetch(url):
        return f"page of {url}"

    options = {"fetch": fetch, "search": lambda query: f"found {query}"}
    assert (
        do("web_fetch", url="https://example.com/a", options=options).text == "page of https://example.com/a"
    )
    assert do("web_search", query="cats", options=options).text == "found cats"
    assert "web_fetch has no way out" in do("web_fetch", url="https://example.com").text
    assert "web_search has no way out" in do("web_search", query="cats").text
    assert "is no address of a page" in do("web_fetch", url="file:///etc/passwd", options=options).text


def test_the_files_of_an_agent_are_in_its_outcome(work, script, root):
    calls = [
        call("write_file", {"path": "x.py", "content": "1"}),
        call("bash", {"command": "echo 2 > y.py"}),
        call("write_file", {"path": "../no.py", "content": "1"}),
    ]
    script.on(times=1).reply(tool_calls=calls)
    script.on(times=1).reply("Done.")
    stage = work(script, *workspace_tools(root))
    assert stage.outcome.files == ("x.py", "y.py")


def test_a_team_of_real_tools_is_checked(root):
    agent = AgentDefinition(slug="docs", tools=("read_file", "web_fetch"), permissions=frozenset({"read"}))
    with pytest.raises(AgentDefinitionError, match="'web_fetch' needs 'web'"):
        AgentRegistry([agent], ToolRegistry(workspace_tools(root)))


def test_a_workspace_without_a_folder_is_refused(tmp_path):
    with pytest.raises(ToolDefinitionError, match="a workspace needs a folder"):
        workspace_tools(tmp_path / "none")
