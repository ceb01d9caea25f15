"""PostToolUse of Edit, Write and NotebookEdit: the tests run after every change of code, and the agent is told."""

from __future__ import annotations

from typing import Any

from _files import belongs_to_tests, is_code
from _hook import guard, tell
from _project import edited, project_of
from _suite import run


def check(payload: dict[str, Any]) -> None:
    """Say how the tests went after a change of code; after a change of tests, that they are due."""
    project, file = project_of(payload), edited(payload)
    if not file.is_relative_to(project) or not is_code(file):
        return
    if belongs_to_tests(file.relative_to(project)):
        tell(
            "PostToolUse",
            f"{file.name} is a test. Run it and see it fail before the code: /epti:verify-fail.",
        )
    outcome = run(project)
    if outcome is None:
        return
    if outcome.passed:
        tell("PostToolUse", f"All tests pass after the change of {file.name}. Next: /epti:commit-code.")
    tell("PostToolUse", f"Tests fail after the change of {file.name}. Next: /epti:iterate.\n{outcome.tail}")


if __name__ == "__main__":
    guard(check)
