"""Paths that files of a plugin name: in the plugin, and there."""

from __future__ import annotations

from pathlib import Path

from soundstage.claude_code.plugin_check._findings import Entry


def inside(
    root: Path, written: str, entry: Entry, *, line: int, file: str, dot_slash: bool = True
) -> Path | None:
    """The file or folder that a path means; nothing if it is outside, or not there, which is written down.

    Args:
        root: the plugin's folder.
        written: the path, from there.
        entry: what it belongs to.
        line: where it is written.
        file: in which file.
        dot_slash: whether it has to begin with `./`.
    """
    path = root / written
    if not path.resolve().is_relative_to(root.resolve()) or ".." in Path(written).parts:
        entry.add("path-escape", f"{written} is outside of the plugin", line=line, file=file)
        return None
    if dot_slash and not written.startswith("./"):
        entry.add("path-form", f"{written} does not begin with ./", line=line, file=file)
    if not path.exists():
        entry.add("file-missing", f"{written} does not exist", line=line, file=file)
        return None
    return path
