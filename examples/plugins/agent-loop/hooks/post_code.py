"""PostToolUse of Edit, Write, NotebookEdit: a file that cannot be read is repaired at once; the tests are due."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from _hook import block, folder, guard, tell

READERS: Mapping[str, Callable[[str], Any]] = {".py": ast.parse, ".json": json.loads, ".ipynb": json.loads}
PROSE = frozenset((".md", ".rst", ".txt", ""))


def check(payload: dict[str, Any]) -> None:
    """Point out a broken file, else say what is due after a change of code."""
    given = payload["tool_input"].get("file_path") or payload["tool_input"]["notebook_path"]
    file = folder(payload) / str(given)
    reader = READERS.get(file.suffix)
    if reader is not None and file.is_file():
        problem = problem_of(file, reader)
        if problem:
            block(f"{file} is broken after this change: {problem}. Repair it before you go on.")
    if file.suffix not in PROSE:
        tell(
            "PostToolUse",
            f"{file.name} has changed. Run the tests before the next step, and /agent-loop:commit last.",
        )


def problem_of(file: Path, reader: Callable[[str], Any]) -> str:
    """Why a file cannot be read; nothing if it can."""
    try:
        reader(file.read_text())
    except ValueError as error:  # of JSON, and of bytes that are no text
        return str(error)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    return ""


if __name__ == "__main__":
    guard(check)
