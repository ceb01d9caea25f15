"""The commits that a turn has made: what git wrote into the log of HEAD meanwhile.

A command says little: `git commit --dry-run` makes none, `git commit … || true` may have failed, a script or an alias
makes one without the word. Git's own log tells. It is read as a file, because a repository under test can make git run
programs of its own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from soundstage.journal import Committed
from soundstage.lifecycle import read_beneath

_MADE: Final = re.compile(
    r"[0-9a-f]+ (?P<hash>[0-9a-f]{40,64}) [^\t]*\tcommit(?: \([^)]*\))?: ?(?P<subject>.*)"
)


def head_log(folder: Path) -> tuple[str, ...]:
    """The lines of the log of HEAD, of the repository that a folder is in; none without one."""
    git = next((path / ".git" for path in (folder, *folder.parents) if (path / ".git").exists()), None)
    if git is None:
        return ()
    try:
        if git.is_file():  # a worktree, or a submodule: it says where its repository is
            told = read_beneath(git.parent, git.name).decode()
            git = git.parent / told.strip().removeprefix("gitdir: ")
        return tuple(read_beneath(git, "logs/HEAD").decode("utf-8", "replace").splitlines())
    except (OSError, UnicodeDecodeError):
        return ()


def commits_between(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[Committed, ...]:
    """The commits in a log of HEAD that an earlier one did not have, oldest first.

    >>> line = "0" * 40 + " " + "a" * 40 + " Me <me@x> 1 +0000\\tcommit (initial): feat: begin"
    >>> [commit.subject for commit in commits_between((), (line,))]
    ['feat: begin']
    """
    known = after[: len(before)] == before
    new = after[len(before) :] if known else [line for line in after if line not in before]
    found = (_MADE.fullmatch(line) for line in new)
    return tuple(
        Committed(hash=match["hash"], subject=match["subject"]) for match in found if match is not None
    )
