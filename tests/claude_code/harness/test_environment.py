"""Category 6 through a client: projects, git, files, artifacts, and the three levels of a reset."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest


def test_a_project_is_generated_put_under_git_and_filled(tools: Any, roots: tuple[Path, Path]) -> None:
    async def body(call: Any) -> None:
        made = await call.good(
            "create_test_project",
            project_type="cli",
            language="python",
            output_path="calculator",
            project_name="Calculator App",
        )
        project = roots[0] / "calculator"
        assert made["project_path"] == str(project)
        assert (made["project_type"], made["language"]) == ("cli", "python")
        assert made["total_files"] >= len(made["files_created"]) > 3
        assert all((project / path).is_file() for path in made["files_created"])
        git = await call.good("setup_git_repo", project_path="calculator")
        assert len(git["commit_hash"]) == 8
        assert git["files_tracked"] == made["total_files"]
        log = subprocess.run(
            ["git", "log", "--format=%s"], cwd=project, capture_output=True, text=True, check=True
        )
        assert log.stdout == "Initial commit\n"
        files = [
            {"path": "src/deep/sums.py", "content": "x = 1\n"},
            {"path": "../escape.py", "content": "x = 2\n"},
        ]
        done = await call.good("create_sample_files", project_path=str(project), file_specs=files)
        assert done["files_created"] == 1
        assert len(done["errors"]) == 1
        assert "../escape.py" in done["errors"][0]
        assert (project / "src/deep/sums.py").read_text() == "x = 1\n"
        assert not (roots[0] / "escape.py").exists()

    tools(body)


def test_what_cannot_be_made_is_an_envelope(tools: Any, roots: tuple[Path, Path]) -> None:
    (roots[0] / "empty").mkdir()

    async def body(call: Any) -> None:
        project = {"project_type": "cli", "language": "python", "output_path": "x"}
        assert "web-app" in await call.bad("create_test_project", **project | {"project_type": "game"})
        assert "javascript" in await call.bad("create_test_project", **project | {"language": "cobol"})
        assert "no such folder" in await call.bad("setup_git_repo", project_path="nowhere")
        assert "nothing to commit" in await call.bad("setup_git_repo", project_path="empty")
        assert "no file was written" in await call.bad(
            "create_sample_files", project_path="empty", file_specs=[{"path": "/etc/passwd", "content": ""}]
        )
        assert "no such folder" in await call.bad(
            "create_sample_files", project_path="nowhere", file_specs=[]
        )
        assert "git_diffs" in await call.bad(
            "capture_test_artifacts", test_name="x", artifact_types=["videos"]
        )
        assert "name" in await call.bad("capture_test_artifacts", test_name="//")
        assert "no such conversation" in await call.bad(
            "capture_test_artifacts", test_name="x", session_id="x"
        )

    tools(body)


def test_a_folder_that_was_chosen_and_is_not_there_is_an_envelope(
    tools: Any, roots: tuple[Path, Path]
) -> None:
    for root in roots:
        root.rmdir()

    async def body(call: Any) -> None:
        project = {"project_type": "cli", "language": "python", "output_path": "x"}
        assert "SOUNDSTAGE_PROJECTS" in await call.bad("create_test_project", **project)
        assert "SOUNDSTAGE_ARTIFACTS" in await call.bad("capture_test_artifacts", test_name="x")
        failed = await call("reset_test_environment")
        assert [failed[flag] for flag in ("status", "projects_cleaned", "sessions_cleaned")] == [False] * 3

    tools(body)


def test_artifacts_have_real_content(tools: Any, roots: tuple[Path, Path]) -> None:
    write = {"name": "Write", "arguments": {"file_path": "notes.txt", "content": "remember"}}
    config = {
        "script": [{"tool_calls": [write]}, "Noted."],
        "project_path": "calculator",
        "permission_mode": "acceptEdits",
    }

    async def body(call: Any) -> None:
        await call.good(
            "create_test_project", project_type="library", language="go", output_path="calculator"
        )
        await call.good("setup_git_repo", project_path="calculator")
        started = await call.good("start_conversation", config=config)
        await call.good("send_prompt", prompt="take a note", session_id=started["session_id"])
        kept = await call.good(
            "capture_test_artifacts",
            test_name="notes/../taken",
            artifact_types=["logs", "screenshots", "session_state", "git_diffs"],
        )
        folder = Path(kept["artifacts_dir"])
        assert folder.parent == roots[1]
        assert kept["files_captured"] == len(kept["artifact_paths"]) >= 5
        text = {path: Path(path).read_text() for path in kept["artifact_paths"]}
        named = {str(Path(path).relative_to(folder)): found for path, found in text.items()}
        assert "take a note" in named["logs/journal.jsonl"]
        assert "Noted." in named["logs/model.log"]
        assert "+remember" in named["git_diffs/uncommitted.patch"]
        assert started["session_id"] in named["session_state/state.json"]
        assert f"session_state/transcripts/{started['session_id']}.jsonl" in named
        assert list(kept["missing"]) == ["screenshots"]

    tools(body)


def test_a_reset_ends_sessions_and_removes_projects_and_the_system_when_asked(
    tools: Any, marketplace: Path, roots: tuple[Path, Path]
) -> None:
    (roots[0] / ".gitkeep").touch()
    (roots[0] / "mine").mkdir()
    tool = "mcp__mock__search"
    use = {"name": tool, "arguments": {}}

    async def body(call: Any) -> None:
        project = {"project_type": "cli", "language": "javascript"}
        await call.good("create_test_project", **project, output_path="below")
        await call.good("create_test_project", **project, output_path=str(roots[0] / "elsewhere"))
        await call.good("install_plugin", plugin_name="agent-loop", marketplace_path=str(marketplace))
        await call.good("mock_mcp_tool_response", tool_name=tool, mock_response={"found": 3})
        started = await call.good("start_conversation", config={"allowed_tools": [tool]})
        reset = await call("reset_test_environment")
        assert reset == {
            "status": True,
            "projects_cleaned": True,
            "volumes_cleaned": True,
            "sessions_cleaned": True,
        }
        assert sorted(path.name for path in roots[0].iterdir()) == [".gitkeep", "mine"]
        assert "no such conversation" in await call.bad("get_agent_mode", session_id=started["session_id"])
        unknown = {"tool_calls": [use], "check_calls": False}
        again = await call.good(
            "start_conversation", config={"script": [unknown, "x"], "allowed_tools": [tool]}
        )
        prompted = await call.good("send_prompt", prompt="search", session_id=again["session_id"])
        answer = await call.good("get_response", response_id=prompted["response_id"])
        assert "No such tool" in answer["tool_calls"][0]["result"]  # the stub is forgotten
        assert (await call.good("list_plugins"))["total"] == 1
        assert (await call("reset_test_environment", system=True))["status"] is True
        assert (await call.good("list_plugins"))["total"] == 0

    tools(body)


def test_a_reset_leaves_the_projects_of_other_clients_alone(over_http: Any, roots: tuple[Path, Path]) -> None:
    async def main() -> None:
        async with over_http() as harness, harness.client() as first:
            project = {"project_type": "cli", "language": "python"}
            await first.good("create_test_project", **project, output_path="first")
            async with harness.client() as second:
                await second.good("create_test_project", **project, output_path="second")
                assert (await second("reset_test_environment"))["status"] is True
            assert [path.name for path in roots[0].iterdir()] == ["first"]

    asyncio.run(main())


def test_a_reset_says_what_it_could_not_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from soundstage.claude_code.harness import _harness
    from soundstage.claude_code.harness._environment import create_test_project, reset_test_environment
    from soundstage.claude_code.harness._paths import NewFolder

    async def main() -> None:
        harness = _harness.Harness(projects=tmp_path, artifacts=tmp_path)
        made = await create_test_project(harness, "cli", "python", NewFolder(tmp_path / "stays"))
        with monkeypatch.context() as patched:
            patched.setattr(_harness, "remove_tree", lambda path: None)
            patched.setattr(_harness, "reset_projects", lambda root: None)
            reset = await reset_test_environment(harness)
        assert (reset["status"], reset["projects_cleaned"], reset["sessions_cleaned"]) == (False, False, True)
        assert made["project_path"] in reset["error"]  # type: ignore[typeddict-item]
        again = await reset_test_environment(harness)
        assert again == dict.fromkeys(again, True)

    asyncio.run(main())


def test_volumes_are_cleaned_when_the_engine_has_none_of_ours(tmp_path: Path) -> None:
    from soundstage.claude_code.harness._environment import reset_test_environment
    from soundstage.claude_code.harness._harness import Harness
    from soundstage.containers import InContainer
    from soundstage.containers._engine import Engine, own_labels
    from soundstage.drivers import isolation_problem

    isolation = InContainer("soundstage/busybox")
    problem = isolation_problem(isolation)
    if problem is not None:
        pytest.skip(str(problem))

    async def main() -> None:
        harness = Harness(projects=tmp_path, artifacts=tmp_path, isolation=isolation)
        engine = Engine.connect_now()
        free, used = (engine.client.volumes.create(labels=own_labels()) for _ in range(2))
        mounts = {used.name: {"bind": "/used", "mode": "rw"}}
        container = engine.client.containers.create(
            "soundstage/busybox", ["true"], volumes=mounts, labels=own_labels()
        )
        try:
            reset = await reset_test_environment(harness)
            assert (reset["status"], reset["volumes_cleaned"], reset["projects_cleaned"]) == (
                False,
                False,
                True,
            )
            assert used.name in reset["error"]  # type: ignore[typeddict-item]
            assert free.name not in reset["error"]  # type: ignore[typeddict-item]
            container.remove(force=True)
            assert (await reset_test_environment(harness))["volumes_cleaned"] is True
        finally:
            engine.remove_labelled("soundstage.owner=" + own_labels()["soundstage.owner"])
            engine.close()

    asyncio.run(main())
