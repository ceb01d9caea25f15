"""The commits that were made in a repository: those that git wrote into the log of HEAD meanwhile.

A command says little: `git commit --dry-run` makes none, `git commit … || true` may have failed, a script or an alias
makes one without the word. Git's own log tells. It is read as a file, because a repository under test can make git run
programs of its own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.journal import Committed
from soundstage.lifecycle import read_beneath

_MADE: Final = re.compile(
    r"[0-9a-f]+ (?P<hash>[0-9a-f]{40,64}) (?P<author>[^\t]*?)(?: \d+ [+-]\d{4})?"
    r"\tcommit(?: \([^)]*\))?: ?(?P<subject>.*)"
)


class HeadLog(NamedTuple):
    """The lines of a log of HEAD, none without a repository; and why it cannot be read, if there is one."""

    lines: tuple[str, ...] = ()
    problem: str = ""


def head_log(folder: Path) -> HeadLog:
    """The log of HEAD, of the repository that a folder is in."""
    git = next((path / ".git" for path in (folder, *folder.parents) if (path / ".git").exists()), None)
    if git is None:
        return HeadLog()
    try:
        if git.is_file():  # a worktree, or a submodule: it says where its repository is
            told = read_beneath(git.parent, git.name).decode()
            git = git.parent / told.strip().removeprefix("gitdir: ")
        read_beneath(git, "HEAD")
        if not (git / "logs/HEAD").exists():
            return HeadLog()  # nothing has been committed yet
        return HeadLog(tuple(read_beneath(git, "logs/HEAD").decode("utf-8", "replace").splitlines()))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        return HeadLog(problem=f"{git} is no repository that can be read: {error}")


def commits_between(before: HeadLog, after: HeadLog) -> tuple[Committed, ...]:
    """The commits in a log of HEAD that an earlier one did not have, oldest first.

    >>> line = "0" * 40 + " " + "a" * 40 + " Me <me@x> 1 +0000\\tcommit (initial): feat: begin"
    >>> [commit.subject for commit in commits_between(HeadLog(), HeadLog((line,)))]
    ['feat: begin']
    """
    old, lines = before.lines, after.lines
    new = lines[len(old) :] if lines[: len(old)] == old else [line for line in lines if line not in old]
    found = (_MADE.fullmatch(line) for line in new)
    return tuple(
        Committed(hash=match["hash"], subject=match["subject"], author=match["author"])
        for match in found
        if match is not None
    )
