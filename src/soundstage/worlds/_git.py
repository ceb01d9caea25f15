"""git in a throw-away repository: no configuration of the machine, a local identity, fixed dates.

With the same files, messages and dates, commits have the same hashes on every machine. Sources: git's manual,
"ENVIRONMENT VARIABLES" in git(1) and "COMMIT INFORMATION" in git-commit(1).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.errors import EnvironmentProblem, InvalidStateError, ScriptError

BORN: Final = 1767225600  # 2026-01-01 00:00 UTC, where virtual time begins too
IDENTITY: Final = ("Test", "test@soundstage.invalid")
WITHIN: Final = 30.0  # seconds for one git command
_FORMAT: Final = "%x01%H%x02%an <%ae>%x02%s%x02"


class Commit(NamedTuple):
    """A commit: its hash, first line, author (`name <address>`) and the files that it touched."""

    hash: str
    subject: str
    author: str
    files: tuple[str, ...]


def git_environment(root: Path, *, seconds: int = 0) -> dict[str, str]:
    """Variables for git, and for agents that call it.

    Args:
        root: the working tree; repositories above it are not found.
        seconds: how long after 2026-01-01 00:00 UTC a commit is made.
    """
    date = f"@{BORN + seconds} +0000"
    return {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
    }


class Git:
    """The repository in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made = 0

    def init(self) -> None:
        """Make the repository, on a branch `main`, with an identity of its own."""
        self.run("init", "--quiet", "--template=", "--initial-branch=main")
        for key, value in zip(("user.name", "user.email"), IDENTITY, strict=True):
            self.run("config", key, value)
        self.run("config", "commit.gpgSign", "false")

    def commit(self, message: str) -> Commit:
        """Commit every change. Each commit of the test is dated one second after the one before."""
        self._need_repository()
        self.run("add", "--all")
        if not self.run("status", "--porcelain"):
            raise ScriptError("there is nothing to commit", hint="write a file before commit()")
        self._made += 1
        self.run("commit", "--quiet", "--no-verify", f"--message={message}", seconds=self._made)
        return self.commits()[0]

    def commits(self) -> tuple[Commit, ...]:
        """All commits of the current branch, newest first, as `git log` has them."""
        self._need_repository()
        if self._call(("rev-parse", "--quiet", "--verify", "HEAD"), 0).returncode == 1:
            return ()  # nothing has been committed yet
        text = self.run("log", "-z", "--name-only", "--no-renames", f"--format={_FORMAT}")
        return tuple(_commit(part) for part in text.split("\x01")[1:])

    def _need_repository(self) -> None:
        if not (self.root / ".git").exists():
            raise InvalidStateError(
                "the workspace is not a repository", seen=f"no .git in {self.root}", hint="call git() first"
            )

    def run(self, *arguments: str, seconds: int = 0) -> str:
        """The output of `git ARGUMENTS`.

        Raises:
            EnvironmentProblem: if git is missing, fails, or takes longer than half a minute.
        """
        done = self._call(arguments, seconds)
        if done.returncode != 0:
            raise EnvironmentProblem(
                f"git {arguments[0]} failed with code {done.returncode}",
                seen=done.stderr.decode("utf-8", "replace").strip() or "no message",
                hint=f"run it by hand: git -C {self.root} {' '.join(arguments)}",
            )
        return done.stdout.decode("utf-8", "replace")

    def _call(self, arguments: tuple[str, ...], seconds: int) -> subprocess.CompletedProcess[bytes]:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.root),
            "LC_ALL": "C",
            **git_environment(self.root, seconds=seconds),
        }
        try:
            return subprocess.run(  # noqa: S603  (fixed program, arguments without a shell)
                ["git", "-c", "core.quotePath=false", *arguments],  # noqa: S607
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=WITHIN,
                check=False,
            )
        except FileNotFoundError:
            raise EnvironmentProblem(
                "git is not installed",
                expected="a program `git` in PATH",
                hint="install git: apt install git",
            ) from None
        except subprocess.TimeoutExpired:
            raise EnvironmentProblem(
                f"git {arguments[0]} took longer than {WITHIN:g} s",
                hint=f"look for a lock file in {self.root}/.git",
            ) from None


def _commit(part: str) -> Commit:
    """One commit of the log: three fields, then its files with NULs between."""
    digest, author, subject, files = part.split("\x02", 3)
    names = (name.removeprefix("\n") for name in files.split("\0"))
    return Commit(digest, subject, author, tuple(name for name in names if name))
