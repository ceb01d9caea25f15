"""Removes projects that were generated, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from soundstage.claude_code.projects._create import MARKER
from soundstage.errors import ScriptError
from soundstage.lifecycle import remove_tree


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """The projects that a reset has removed.

    Args:
        root: the folder for projects.
        removed: the projects that were in it, relative to it, sorted.
        kept: what else is directly in it, `.gitkeep` for one.
    """

    root: Path
    removed: tuple[str, ...]
    kept: tuple[str, ...]


def reset_projects(root: Path | str) -> Reset:
    """Remove every generated project below a folder.

    Generated are folders that `create_project` has made; it leaves a mark in them. Whatever else there is stays, so
    that a wrong path does no harm. Links are not followed.

    Raises:
        ScriptError: if the folder is missing, or is itself a project.
        EnvironmentProblem: if something cannot be removed.
    """
    folder = Path(root).resolve()
    if not folder.is_dir():
        raise ScriptError("there is no folder for projects", expected="a folder", seen=f"nothing at {folder}")
    if (folder / MARKER).exists():
        raise ScriptError(
            "this is a project, not a folder for projects", seen=str(folder), hint="give the folder above it"
        )
    found = _projects(folder)
    for project in found:
        remove_tree(project)
    return Reset(
        root=folder,
        removed=tuple(sorted(project.relative_to(folder).as_posix() for project in found)),
        kept=tuple(sorted(entry.name for entry in folder.iterdir())),
    )


def _projects(root: Path) -> list[Path]:
    found = []
    for folder, folders, files in os.walk(root):
        if MARKER in files:
            found.append(Path(folder))
            folders.clear()  # what is in a project goes with it
    return found
