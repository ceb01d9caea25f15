"""A project under git."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.worlds import Git

MESSAGE: Final = "Initial commit"
SHORT: Final = 8  # characters of a hash


class GitSetup(msgspec.Struct, frozen=True, kw_only=True):
    """A project's new repository.

    Args:
        path: the project.
        commit: the first eight characters of the first commit's hash.
        tracked: how many files are in it.
    """

    path: Path
    commit: str
    tracked: int


class Repository(Git):
    """The repository of a project, with what is needed to look at it."""

    def look(self, *arguments: str) -> str:
        """The output of a command that only looks; an agent may be at work, so git's index stays as it is."""
        return self.run("--no-optional-locks", *arguments)

    def tracked(self) -> tuple[str, ...]:
        """The files that git knows."""
        return tuple(path for path in self.look("ls-files", "-z").split("\0") if path)

    def untracked(self) -> tuple[str, ...]:
        """The files that git would take, and has not been told about."""
        listed = self.look("ls-files", "--others", "--exclude-standard", "-z")
        return tuple(path for path in listed.split("\0") if path)

    def patch_of_new(self, path: str) -> str:
        """A new file as a patch."""
        done = self._call(("diff", "--no-color", "--no-ext-diff", "--no-index", "--", "/dev/null", path), 0)
        if done.returncode not in (0, 1):  # 1: they differ
            raise EnvironmentProblem(
                f"git diff failed with code {done.returncode}", seen=done.stderr.decode("utf-8", "replace")
            )
        return done.stdout.decode("utf-8", "replace")


def set_up_git(project: Path | str) -> GitSetup:
    """Make a project a git repository with everything in one first commit, by a local identity.

    The same files give the same hash on every machine: the commit has a fixed date, and no setting of the machine
    counts.

    Raises:
        ScriptError: if the folder is missing, has no file that git would take, or is a repository already.
        EnvironmentProblem: if git is missing or fails.

    Example:
        ::

            setup = set_up_git(project.path)
            assert len(setup.commit) == 8
    """
    root = folder_of(project)
    if (root / ".git").exists():
        raise ScriptError("the project is a git repository already", seen=str(root / ".git"))
    if not any(path.is_file() or path.is_symlink() for path in root.rglob("*")):
        raise ScriptError(
            "there is nothing to commit",
            expected="at least one file",
            seen=f"no file in {root}",
            hint="write some first",
        )
    repository = Repository(root)
    repository.init()
    commit = repository.commit(MESSAGE)
    return GitSetup(path=root, commit=commit.hash[:SHORT], tracked=len(repository.tracked()))


def folder_of(project: Path | str) -> Path:
    """The folder of a project, without links in its path.

    Raises:
        ScriptError: if there is none.
    """
    root = Path(project).resolve()
    if not root.is_dir():
        raise ScriptError(
            "there is no such project",
            expected="a folder",
            seen=f"{root} is a file" if root.exists() else f"nothing at {root}",
            hint="create_project makes one",
        )
    return root
