"""PreToolUse of Bash: code is committed only while all tests pass. Tests alone may be committed while they fail."""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePath
from typing import Any

from _commits import Add, Commit, steps
from _files import belongs_to_tests
from _hook import block, folder, guard
from _project import project_of
from _suite import run

PROSE = frozenset([".md", ".rst", ".txt"])


def check(payload: dict[str, Any]) -> None:
    """Block a commit of code on red."""
    staged: list[Add] = []
    for step in steps(str(payload["tool_input"]["command"])):
        if isinstance(step, Add):
            staged.append(step)
            continue
        start = folder(payload) / step.folder
        project = project_of({**payload, "cwd": str(start)})
        files = to_be_committed(step, staged, start)
        if files and all(may_go_alone(PurePath(file)) for file in files):
            continue
        outcome = run(project)
        if outcome is not None and not outcome.passed:
            block(
                f"The tests fail ({outcome.command}); code is committed when they pass. Run /epti:iterate. "
                f"Tests that are meant to fail are committed alone.\n{outcome.tail}"
            )


def may_go_alone(file: PurePath) -> bool:
    """Whether a file can be committed whatever the tests say: a test itself, or prose."""
    return belongs_to_tests(file) or file.suffix in PROSE


def to_be_committed(commit: Commit, staged: list[Add], start: Path) -> list[str]:
    """The files that a commit would hold, relative to the root of the repository."""
    if commit.paths:
        return _git(start, "diff", "--name-only", "HEAD", "--", *commit.paths)
    files = _git(start, "diff", "--name-only", "--cached")
    if commit.everything or any(not add.paths for add in staged):
        files += _git(start, "diff", "--name-only")
    if any(not add.paths for add in staged):
        files += _git(start, "ls-files", "--others", "--exclude-standard", "--full-name", ":/")
    for add in staged:
        if add.paths:
            files += _git(start, "diff", "--name-only", "--", *add.paths)
            files += _git(
                start, "ls-files", "--others", "--exclude-standard", "--full-name", "--", *add.paths
            )
    return sorted(set(files))


def _git(start: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", *arguments],
        cwd=start,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace").splitlines()


if __name__ == "__main__":
    guard(check)
