"""Our calls of git run nothing that lies in a repository, and follow nothing out of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from soundstage.errors import AppError
from soundstage.lifecycle import git_call, run_git
from soundstage.worlds._git import Git

PLAIN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}

# What a program may leave in a repository: settings, other files, and the command by which plain git runs it.
PLANTS = {
    "hook": ({}, {".git/hooks/prepare-commit-msg": "hook"}, "commit"),
    "hook after a commit": ({}, {".git/hooks/post-commit": "hook"}, "commit"),
    "folder of hooks": ({"core.hooksPath": "hooks"}, {"hooks/post-commit": "hook"}, "commit"),
    "watcher": ({"core.fsmonitor": "{mark}; false"}, {}, "status"),
    "filter": ({"filter.x.clean": "{mark}; cat"}, {".gitattributes": "* filter=x"}, "add"),
    "filter process": ({"filter.x.process": "{mark}"}, {".gitattributes": "* filter=x"}, "add"),
    "filter of this repository": (
        {"filter.x.clean": "{mark}; cat"},
        {".git/info/attributes": "* filter=x"},
        "add",
    ),
    "signature": ({"gpg.program": "{script}", "commit.gpgSign": "true"}, {}, "commit"),
    "diff": ({"diff.external": "{script}"}, {}, "diff"),
    "diff of a kind": ({"diff.x.command": "{script}"}, {".gitattributes": "* diff=x"}, "diff"),
    "text conversion": ({"diff.x.textconv": "{script}"}, {".gitattributes": "* diff=x"}, "diff"),
    "text conversion in the log": ({"diff.x.textconv": "{script}"}, {".gitattributes": "* diff=x"}, "log"),
    "included settings": ({"include.path": "../more"}, {"more": '[diff]\n\texternal = "{script}"\n'}, "diff"),
    "settings of the work tree": (
        {"extensions.worktreeConfig": "true"},
        {".git/config.worktree": '[diff]\n\texternal = "{script}"\n'},
        "diff",
    ),
    "signatures shown": ({"gpg.program": "{script}", "log.showSignature": "true"}, {"signed": ""}, "log"),
}
COMMANDS = {
    "add": ("add", "--all"),
    "commit": ("commit", "--quiet", "--no-verify", "--message=x"),
    "diff": ("diff", "HEAD"),
    "log": ("log", "--patch"),
    "status": ("status", "--porcelain"),
}
SIGNED = """tree {tree}
author a <a> 0 +0000
committer a <a> 0 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 x
 -----END PGP SIGNATURE-----

x
"""


def plain(root: Path, *arguments: str, text: str | None = None) -> str:
    """git as a user calls it."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(root.parent), **PLAIN}
    done = subprocess.run(
        ("git", *arguments),
        cwd=root,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def repository(root: Path) -> Git:
    root.mkdir()
    made = Git(root)
    made.init()
    (root / "a").write_text("a")
    made.commit("first")
    return made


def plant(root: Path, name: str) -> Path:
    """Leave something in a repository; the file that exists when it has been run."""
    settings, files, _ = PLANTS[name]
    ran, script = root.parent / "ran", root.parent / "script"
    script.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    script.chmod(0o700)
    words = {"mark": f"touch '{ran}'", "script": str(script)}
    if "signed" in files:
        tree = plain(root, "rev-parse", "HEAD^{tree}")
        made = plain(root, "hash-object", "-t", "commit", "-w", "--stdin", text=SIGNED.format(tree=tree))
        plain(root, "update-ref", "HEAD", made)
    (root / "a").write_text("b")
    for place, text in files.items():
        path = root / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(script.read_text() if text == "hook" else text.format(**words))
        path.chmod(0o700)
    if PLANTS[name][2] == "commit":
        plain(root, "add", "--all")
    for key, value in settings.items():
        plain(root, "config", key, value.format(**words))
    ran.unlink(missing_ok=True)
    return ran


@pytest.mark.parametrize("name", PLANTS)
def test_what_plain_git_would_run_is_not_run_by_ours(name: str, tmp_path: Path) -> None:
    git = repository(tmp_path / "work")
    ran = plant(git.root, name)
    control = tmp_path / "control"
    shutil.copytree(git.root, control)
    command = COMMANDS[PLANTS[name][2]]
    git.run(*command)
    assert not ran.exists(), f"git {command[0]} ran it"
    plain(control, *command)
    assert ran.exists(), "the plant is none: plain git does not run it either"


def test_nothing_of_a_submodule_is_run_and_its_new_commit_is_recorded(tmp_path: Path) -> None:
    git = repository(tmp_path / "work")
    inner = repository(git.root / "sub")
    (git.root / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n')
    git.commit("with a submodule")
    ran = tmp_path / "ran"
    plain(inner.root, "config", "core.fsmonitor", f"touch '{ran}'; false")
    (inner.root / "a").write_text("changed")
    for command in COMMANDS.values():
        if command[0] not in ("add", "commit"):
            git.run(*command)
    inner.commit("second")
    git.commit("the submodule is at its second commit")
    assert not ran.exists()
    assert git.commits()[0].files == ("sub",)
    plain(git.root, "status")
    assert ran.exists(), "the plant is none: plain git does not run it either"


def link_folder(own: Path, outside: Path) -> None:
    own.rename(outside / "git")
    own.symlink_to(outside / "git")


def name_folder(own: Path, outside: Path) -> None:
    own.rename(outside / "git")
    own.write_text(f"gitdir: {outside / 'git'}\n")


def link_index(own: Path, outside: Path) -> None:
    (own / "index").rename(outside / "index")
    (own / "index").symlink_to(outside / "index")


def link_refs(own: Path, outside: Path) -> None:
    (own / "refs/heads").rename(outside / "heads")
    (own / "refs/heads").symlink_to(outside / "heads")


def pipe_for_head(own: Path, outside: Path) -> None:
    (own / "HEAD").unlink()
    os.mkfifo(own / "HEAD")


@pytest.mark.parametrize("lead", [link_folder, name_folder, link_index, link_refs, pipe_for_head])
def test_a_repository_that_leads_out_of_itself_is_refused(lead, tmp_path: Path) -> None:
    git = repository(tmp_path / "work")
    outside = tmp_path / "outside"
    outside.mkdir()
    lead(git.root / ".git", outside)
    before = sorted((path, path.lstat().st_mtime_ns) for path in outside.rglob("*"))
    (git.root / "a").write_text("b")
    for call in (git.commits, lambda: git.commit("x"), git.init):
        with pytest.raises(AppError, match="git would follow it elsewhere"):
            call()
    assert sorted((path, path.lstat().st_mtime_ns) for path in outside.rglob("*")) == before


def test_another_work_tree_in_the_settings_is_not_gone_to(tmp_path: Path) -> None:
    git = repository(tmp_path / "work")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret").write_text("secret")
    plain(git.root, "config", "core.worktree", str(tmp_path / "elsewhere"))
    (git.root / "b").write_text("b")
    assert git.commit("second").files == ("b",)


def test_how_a_repository_stores_files_is_heeded(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    plain(root, "init", "--quiet", "--object-format=sha256")
    git = Git(root)
    git.init()
    plain(root, "config", "core.autocrlf", "input")
    plain(root, "config", "user.name", 'A "quoted" \\ name')
    (root / "a").write_bytes(b"a\r\n")
    made = git.commit("first")
    assert len(made.hash) == 64
    assert made.author.startswith('A "quoted" \\ name <')
    assert plain(root, "show", "HEAD:a", "--format=") == "a"
    assert plain(root, "cat-file", "-s", "HEAD:a") == "2"


def test_settings_of_this_machine_and_a_git_in_the_work_tree_do_not_count(
    tmp_path: Path, monkeypatch
) -> None:
    git = repository(tmp_path / "work")
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = machine\n[log]\n\tdate = unix\n")
    (git.root / "git").write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    (git.root / "git").chmod(0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:.")
    with git_call(git.root, "config", "--list") as call:
        text = run_git(call, cwd=git.root).stdout.decode()
    assert "machine" not in text
    assert "user.name=Test" in text
    assert not (tmp_path / "ran").exists()
