"""git in a throw-away repository: no configuration of the machine, a local identity, fixed dates.

An agent works in it, so what it leaves there is never run by our calls: see `git_call`.

With the same files, messages and dates, commits have the same hashes on every machine. Sources: git's manual,
"ENVIRONMENT VARIABLES" in git(1) and "COMMIT INFORMATION" in git-commit(1).
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.errors import EnvironmentProblem, InvalidStateError, ScriptError
from soundstage.lifecycle import git_call, run_git

BORN: Final = 1767225600  # 2026-01-01 00:00 UTC, where virtual time begins too
IDENTITY: Final = {"user.name": "Test", "user.email": "test@soundstage.invalid"}
SUBMODULE: Final = "160000 "  # the mode of its entry in the index
_FORMAT: Final = "%x01%H%x02%an <%ae>%x02%s%x02"


class Commit(NamedTuple):
    """A commit: its hash, first line, author (`name <address>`) and the files that it touched."""

    hash: str
    subject: str
    author: str
    files: tuple[str, ...]


def git_environment(root: Path, *, settings: Path | None = None, seconds: int = 0) -> dict[str, str]:
    """Variables for agents that call git.

    Args:
        root: the working tree; repositories above it are not found.
        settings: the file that `git config --global` writes; unless given, that of the agent's home, which has to be a
            throw-away one. Never a device: git replaces the file.
        seconds: how long after 2026-01-01 00:00 UTC a commit is made.
    """
    return {
        "GIT_CONFIG_NOSYSTEM": "1",
        **({"GIT_CONFIG_GLOBAL": str(settings)} if settings is not None else {}),
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "GIT_TERMINAL_PROMPT": "0",
        **_dates(seconds),
    }


def _dates(seconds: int) -> dict[str, str]:
    return dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{BORN + seconds} +0000")


class Git:
    """The repository in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made = 0

    def init(self) -> None:
        """Make the repository, on a branch `main`, with an identity of its own."""
        if not (self.root / ".git").exists():
            self.run("init", "--quiet", "--template=", "--initial-branch=main")
        for key, value in zip((*IDENTITY, "commit.gpgSign"), (*IDENTITY.values(), "false"), strict=True):
            self.run("config", "--file", ".git/config", key, value)

    def commit(self, message: str) -> Commit:
        """Commit every change. Each commit of the test is dated one second after the one before."""
        self._need_repository()
        self._add()
        if not self.run("status", "--porcelain"):
            raise ScriptError("there is nothing to commit", hint="write a file before commit()")
        self._made += 1
        self.run("commit", "--quiet", "--no-verify", f"--message={message}", seconds=self._made)
        return self.commits()[0]

    def _add(self) -> None:
        """Stage every change; of submodules, that they are at another commit: see `git_call`."""
        staged = (entry.partition("\t") for entry in self.run("ls-files", "--stage", "-z").split("\0"))
        submodules = [path for about, _, path in staged if about.startswith(SUBMODULE)]
        self.run("add", "--all", "--", ".", *(f":(exclude,literal,top){path}" for path in submodules))
        if submodules:
            self.run("update-index", "--remove", "--", *submodules)

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
            AppError: if the repository would lead git out of itself.
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
        with git_call(self.root, *arguments) as call:
            dated = call._replace(environment={**call.environment, **_dates(seconds)})
            return run_git(dated, cwd=self.root)


def _commit(part: str) -> Commit:
    """One commit of the log: three fields, then its files with NULs between."""
    digest, author, subject, files = part.split("\x02", 3)
    names = (name.removeprefix("\n") for name in files.split("\0"))
    return Commit(digest, subject, author, tuple(name for name in names if name))
