"""A project under git, filled from a list, and removed again."""

from __future__ import annotations

import re
import subprocess

import pytest

from soundstage.claude_code.projects import create_project, reset_projects, set_up_git, write_files
from soundstage.errors import EnvironmentProblem, ScriptError


@pytest.fixture
def project(tmp_path):
    return create_project("cli", "python", tmp_path / "projects" / "calc", "Calculator App")


def git(folder, *arguments):
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


# --- git


def test_git_holds_every_file_in_one_first_commit_of_a_local_identity(project):
    setup = set_up_git(project.path)
    assert setup.tracked == len(project.files)
    assert git(project.path, "ls-files").splitlines() == sorted(project.files)
    hash_, author, message = git(project.path, "log", "--format=%H|%an <%ae>|%s").split("|")
    assert (setup.commit, len(setup.commit), message) == (hash_[:8], 8, "Initial commit")
    assert author == "Test <test@soundstage.invalid>"
    assert git(project.path, "status", "--porcelain") == ""
    assert git(project.path, "config", "--local", "user.name") == "Test"


def test_the_same_project_has_the_same_first_commit_everywhere(tmp_path):
    one, two = (create_project("web-app", "go", tmp_path / name, "Sums") for name in ("one", "two"))
    assert set_up_git(one.path).commit == set_up_git(two.path).commit


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda folder: None, "nothing at"),
        (lambda folder: folder.write_text("x"), "is a file"),
        (lambda folder: folder.mkdir(), "no file in"),
        (lambda folder: (folder / "empty").mkdir(parents=True), "no file in"),
    ],
)
def test_without_files_there_is_nothing_to_put_under_git(prepare, words, tmp_path):
    prepare(tmp_path / "x")
    with pytest.raises(ScriptError, match=words):
        set_up_git(tmp_path / "x")
    assert not (tmp_path / "x" / ".git").exists()


def test_a_repository_is_not_made_twice_and_one_above_does_not_count(project, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    set_up_git(project.path)
    with pytest.raises(ScriptError, match="already"):
        set_up_git(project.path)


def test_files_that_are_all_ignored_are_nothing_to_commit(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x/.gitignore").write_text("*\n")
    with pytest.raises(ScriptError, match="nothing to commit"):
        set_up_git(tmp_path / "x")


def test_git_that_is_missing_is_a_problem_of_the_machine(project, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EnvironmentProblem, match="git is not installed"):
        set_up_git(project.path)


# --- files


def test_files_are_written_with_the_folders_that_they_need(project):
    done = write_files(
        project.path,
        [
            {"path": "src/calculator.py", "content": "def add(a, b):\n    return a - b\n"},
            {"path": "a/b/c.txt", "content": "é"},
            {"path": "./README.md", "content": ""},
        ],
    )
    assert (done.written, done.problems) == (("src/calculator.py", "a/b/c.txt", "README.md"), ())
    assert (project.path / "a/b/c.txt").read_bytes() == "é".encode()
    assert (project.path / "README.md").read_text() == ""


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"path": "../x", "content": ""}, "outside of the project"),
        ({"path": "/etc/x", "content": ""}, "outside of the project"),
        ({"path": "a/../../x", "content": ""}, "outside of the project"),
        ({"path": "link/x", "content": ""}, "outside of the project"),
        ({"path": ".", "content": ""}, "outside of the project"),
        ({"path": ".git/hooks/pre-commit", "content": ""}, "belongs to git"),
        ({"path": "src", "content": ""}, "a folder of that name"),
        ({"path": "README.md/x", "content": ""}, "Not a directory|File exists"),
        ({"path": "a\0b", "content": ""}, "null"),
        ({"path": "x" * 300, "content": ""}, "name too long"),
        ({"path": "x", "content": "\ud800"}, "no text that UTF-8 can hold"),
        ({"path": "x", "content": 3}, "content should be a text"),
        ({"path": "x"}, "content should be a text"),
        ({"content": "x"}, "it has no path"),
        ({"path": " ", "content": "x"}, "it has no path"),
        ({"path": "x", "content": "", "mode": "w"}, "unknown key 'mode'"),
        ("x", "should be {path, content}"),
    ],
)
def test_each_file_fails_by_itself(spec, message, project, tmp_path):
    (project.path / "link").symlink_to(tmp_path)
    outside = sorted(tmp_path.iterdir())
    done = write_files(
        project.path, [{"path": "first", "content": "1"}, spec, {"path": "last", "content": "2"}]
    )
    assert done.written == ("first", "last")
    (problem,) = done.problems
    assert re.search(message, problem.message, re.IGNORECASE), problem
    assert sorted(tmp_path.iterdir()) == outside


def test_if_no_file_was_written_that_is_an_error_with_every_reason(project, tmp_path):
    with pytest.raises(ScriptError, match=r"\.\./x: it is outside.*\n.*file 2: it has no path"):
        write_files(project.path, [{"path": "../x", "content": ""}, {"content": ""}])
    with pytest.raises(ScriptError, match="an empty list"):
        write_files(project.path, [])
    with pytest.raises(ScriptError, match="no such project"):
        write_files(tmp_path / "missing", [{"path": "x", "content": ""}])


# --- reset


def test_a_reset_removes_generated_projects_wherever_they_are_and_nothing_else(tmp_path):
    root = tmp_path / "projects"
    for folder in ("one", "deep/er/two"):
        create_project("library", "javascript", folder, "Sums", root=root)
    set_up_git(root / "one")
    (root / "one" / "locked").mkdir()
    (root / "one" / "locked").chmod(0o500)
    (root / ".gitkeep").write_text("")
    (root / "mine").mkdir()
    (root / "mine/file").write_text("x")
    elsewhere = create_project("cli", "go", tmp_path / "elsewhere", "Sums")
    (root / "link").symlink_to(elsewhere.path)
    reset = reset_projects(root)
    assert reset.removed == ("deep/er/two", "one")
    assert reset.kept == (".gitkeep", "deep", "link", "mine")
    assert (root / "mine/file").read_text() == "x"
    assert (elsewhere.path / "go.mod").exists()
    assert reset_projects(root).removed == ()


def test_a_reset_of_what_is_no_folder_for_projects_is_refused(project, tmp_path):
    with pytest.raises(ScriptError, match="give the folder above"):
        reset_projects(project.path)
    with pytest.raises(ScriptError, match="nothing at"):
        reset_projects(tmp_path / "missing")
    assert (project.path / "README.md").exists()
