"""Projects for an agent to work on: generated, put under git, filled, looked at, removed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     project = create_project("cli", "python", Path(folder) / "calculator", "Calculator App")
    ...     project.package, len(project.files), set_up_git(project.path).tracked
    ('calculator_app', 9, 9)

Every project is small and real: its own tests pass with nothing but the language's own tools (and pytest for Python).
Frozen records come back; what cannot be done is an error that says what was expected.
"""

from soundstage.claude_code.projects._artifacts import ARTIFACT_TYPES, Artifacts, capture_artifacts
from soundstage.claude_code.projects._create import (
    LANGUAGES,
    PROJECT_TYPES,
    Project,
    create_project,
    project_text,
)
from soundstage.claude_code.projects._files import FileProblem, FilesWritten, write_files
from soundstage.claude_code.projects._repository import GitSetup, set_up_git
from soundstage.claude_code.projects._reset import Reset, reset_projects

__all__ = [
    "ARTIFACT_TYPES",
    "LANGUAGES",
    "PROJECT_TYPES",
    "Artifacts",
    "FileProblem",
    "FilesWritten",
    "GitSetup",
    "Project",
    "Reset",
    "capture_artifacts",
    "create_project",
    "project_text",
    "reset_projects",
    "set_up_git",
    "write_files",
]
