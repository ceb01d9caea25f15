"""PreToolUse of Edit, Write and NotebookEdit: no code before the first test."""

from __future__ import annotations

from typing import Any

from _files import belongs_to_tests, has_tests, is_code
from _hook import block, guard
from _project import edited, project_of


def check(payload: dict[str, Any]) -> None:
    """Block a change of code while the project has no tests. Tests and prose may always be written."""
    project, file = project_of(payload), edited(payload)
    if not file.is_relative_to(project) or not is_code(file):
        return
    if not belongs_to_tests(file.relative_to(project)) and not has_tests(project):
        block(
            f"{file.name} would be code without a test: this project has none yet. "
            "Run /epti:write-tests and /epti:verify-fail first."
        )


if __name__ == "__main__":
    guard(check)
