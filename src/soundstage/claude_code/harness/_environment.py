"""Category 6: projects to work on, artifacts to keep, and a clean start."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Final, TypedDict

from msgspec import Meta

from soundstage.claude_code.harness._arguments import ProjectPath
from soundstage.claude_code.harness._conversation import OpenConversation
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._paths import NewFolder, ProjectFolder
from soundstage.claude_code.harness._stages import stage_of
from soundstage.claude_code.projects import (
    capture_artifacts,
    create_project,
    set_up_git,
    write_files,
)

SHOWN: Final = 20  # files that a new project lists
DEFAULT_TYPES: Final = ("logs", "screenshots")


class Created(TypedDict):
    status: str
    project_path: str
    project_type: str
    language: str
    files_created: list[str]
    total_files: int


class GitReady(TypedDict):
    status: str
    commit_hash: str
    files_tracked: int


class Sampled(TypedDict):
    status: str
    files_created: int
    errors: list[str]


class Cleaned(TypedDict):
    status: bool
    projects_cleaned: bool
    volumes_cleaned: bool
    sessions_cleaned: bool


class Captured(TypedDict):
    status: str
    artifacts_dir: str
    files_captured: int
    artifact_paths: list[str]
    missing: dict[str, str]


ProjectType = Annotated[str, Meta(description="web-app, cli or library.", examples=["cli"])]
Language = Annotated[str, Meta(description="python, javascript or go.", examples=["python"])]
OutputPath = Annotated[
    NewFolder,
    Meta(
        description="Where it goes: a new or empty folder below the folder for projects; a relative path is enough.",
        examples=["calculator"],
    ),
]
ProjectName = Annotated[
    str | None,
    Meta(description="As people write it; else made of the folder's name.", examples=["Calculator App"]),
]
FileSpecs = Annotated[
    list[dict[str, Any]],
    Meta(
        description="A list of {path, content}; paths are relative to the project.",
        examples=[[{"path": "src/sums.py", "content": "def add(a, b):\n    return a - b\n"}]],
    ),
]
TestName = Annotated[str, Meta(description="What the folder is called, with the time behind it.")]
ArtifactTypes = Annotated[
    tuple[str, ...],
    Meta(
        description="Some of logs (journal and model), screenshots (that tools returned), session_state, git_diffs.",
        examples=[["logs", "session_state", "git_diffs"]],
    ),
]
System = Annotated[
    bool,
    Meta(description="Also throw away the home with its plugins, and the MCP servers that were started."),
]
OneSession = Annotated[
    str | None, Meta(description="Whose project and state; all conversations unless given.")
]
OneProject = Annotated[
    ProjectFolder | None,
    Meta(description="For git_diffs; else the project of the session, or the newest one."),
]


async def create_test_project(
    harness: Harness,
    project_type: ProjectType,
    language: Language,
    output_path: OutputPath,
    project_name: ProjectName = None,
) -> Created:
    """Generate a small real project, with code, configuration, README and tests that pass.

    Returns project_path, project_type, language, files_created (the first 20) and total_files.

    Errors: another type or language, a folder that is not empty or is elsewhere, a name that cannot be used.

    Example: create_test_project(project_type="cli", language="python", output_path="calculator",
    project_name="Calculator App")
    """
    project = await asyncio.to_thread(
        create_project, project_type, language, output_path.path, project_name, root=harness.projects
    )
    harness.made.append(project.path)
    return {
        "status": "success",
        "project_path": str(project.path),
        "project_type": project.type,
        "language": project.language,
        "files_created": list(project.files[:SHOWN]),
        "total_files": len(project.files),
    }


async def setup_git_repo(
    harness: Harness,  # noqa: ARG001  (every tool gets it)
    project_path: ProjectPath,
) -> GitReady:
    """Make a project a git repository, with all of its files in one first commit ("Initial commit").

    The identity is local; no setting of the machine counts.

    Returns commit_hash (8 characters) and files_tracked.

    Errors: no such folder, no file in it, a repository already, git is missing or fails.

    Example: setup_git_repo(project_path="calculator")
    """
    done = await asyncio.to_thread(set_up_git, project_path.path)
    return {"status": "success", "commit_hash": done.commit, "files_tracked": done.tracked}


async def create_sample_files(
    harness: Harness,  # noqa: ARG001
    project_path: ProjectPath,
    file_specs: FileSpecs,
) -> Sampled:
    """Write files into a project, with the folders that they need; files that are there are replaced.

    A file that cannot be written does not keep the others from it: one with a path out of the project, say.

    Returns files_created (how many) and errors (one text for each file that was not written).

    Errors: no such folder; not one file could be written.

    Example: create_sample_files(project_path="calculator", file_specs=[{"path": "src/sums.py",
    "content": "def add(a, b): return a - b"}])
    """
    done = await asyncio.to_thread(write_files, project_path.path, file_specs)
    return {
        "status": "success",
        "files_created": len(done.written),
        "errors": [f"{problem.path}: {problem.message}" for problem in done.problems],
    }


async def reset_test_environment(
    harness: Harness,
    system: System = False,  # noqa: FBT002  (clients name their arguments)
) -> Cleaned:
    """Clean up between tests: end all conversations, forget stubs, answers and the log, remove generated projects.

    Folders that the harness has not generated stay, and .gitkeep too; artifacts stay. Plugins and MCP servers
    stay unless system is true. What other clients have made stays.

    Returns status (true if all flags are), projects_cleaned (no project of this client is left),
    sessions_cleaned (no conversation is open) and volumes_cleaned (at the isolation level container: the engine
    has no volume of this server any more; there are none at other levels).

    Errors: something cannot be removed; status and all flags are false then.

    Example: reset_test_environment(system=true)
    """
    await harness.reset(system=system)
    left = await harness.left()
    flags = {f"{name}_cleaned": not found for name, found in left.items()}
    cleaned: Cleaned = {"status": all(flags.values()), **flags}  # type: ignore[typeddict-item]
    if cleaned["status"]:
        return cleaned
    what = "; ".join(f"{name}: {', '.join(found)}" for name, found in left.items() if found)
    return cleaned | {"error": f"this is left: {what}"}  # type: ignore[return-value]


async def capture_test_artifacts(
    harness: Harness,
    test_name: TestName,
    artifact_types: ArtifactTypes = DEFAULT_TYPES,
    session_id: OneSession = None,
    project_path: OneProject = None,
) -> Captured:
    """Save the artifacts of a test in a folder TEST_YYYYmmdd_HHMMSS below the artifacts folder.

    logs: the journal of everything since the last reset (journal.jsonl) and the requests and replies of the model
    (model.log). screenshots: pictures that tools returned, and terminals. session_state: each conversation with
    history, stage and hooks, and the CLI's own transcripts. git_diffs: the project's commits and uncommitted changes.

    Returns artifacts_dir, files_captured (how many), artifact_paths, and missing: kinds of which there was
    nothing, with the reason.

    Errors: an unknown type, an empty list, an empty name, no such session.

    Example: capture_test_artifacts(test_name="test_explore", artifact_types=["logs", "git_diffs"])
    """
    chosen = (
        list(harness.conversations.values()) if session_id is None else [harness.conversation(session_id)]
    )
    kept = await asyncio.to_thread(
        capture_artifacts,
        test_name,
        harness.artifacts,
        artifact_types,
        journal=harness.journal,
        after=harness.began,
        project=_project(harness, chosen, project_path),
        transcripts={name: data for one in chosen for name, data in harness.transcripts(one.id).items()},
        state={one.id: _state(one) for one in chosen},
    )
    return {
        "status": "success",
        "artifacts_dir": str(kept.path),
        "files_captured": len(kept.files),
        "artifact_paths": [str(kept.path / file) for file in kept.files],
        "missing": dict(kept.missing),
    }


def _project(
    harness: Harness, chosen: list[OpenConversation], project_path: ProjectFolder | None
) -> Path | None:
    if project_path is not None:
        return project_path.path
    newest = [conversation.project for conversation in chosen] or harness.made
    return newest[-1] if newest else None


def _state(conversation: OpenConversation) -> dict[str, Any]:
    where = stage_of(conversation)
    return {
        "project": str(conversation.project),
        "permission_mode": conversation.config.permission_mode,
        "workflow": where.workflow,
        "stages": list(where.passed),
        "answers": [
            {
                "id": answer.id,
                "command": answer.command,
                "prompt": answer.turn.prompt,
                "text": answer.turn.text,
            }
            for answer in conversation.answers
        ],
    }
