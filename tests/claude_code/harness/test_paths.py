"""No path of any tool leads out of the harness's folders, and no tool takes a path that is not checked."""

from __future__ import annotations

import asyncio
import os
import typing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from soundstage.claude_code.harness._conversation import Config
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._paths import (
    CheckedPath,
    NewFolder,
    PluginFolder,
    ProjectFolder,
    plugin_roots,
)
from soundstage.claude_code.harness._table import TOOLS
from soundstage.claude_code.projects import _files
from soundstage.errors import ScriptError
from soundstage.lifecycle import write_beneath
from soundstage.mcp.server._server import call

NO_PATHS = {
    *("plugin_name", "command", "session_id", "command_id", "prompt", "response_id", "expected_stage"),
    *("hook_name", "payload", "action_id", "project_type", "language", "project_name", "test_name"),
    *("artifact_types", "text", "keywords", "from_stage", "to_stage", "actual_stage", "workflow", "response"),
    *(
        "command_name",
        "error_type",
        "server_name",
        "server_config",
        "server_id",
        "tool_name",
        "mock_response",
    ),
    *("config", "file_specs", "script", "permission_mode", "allowed_tools", "model", "agent", "settings"),
}
"""Texts and objects that tools take and that are no paths; `config`, `file_specs` and `script` are tried below."""
OTHERS = {
    "create_test_project": {"project_type": "cli", "language": "python"},
    "setup_git_repo": {},
    "create_sample_files": {"file_specs": [{"path": "new.txt", "content": "x"}]},
    "capture_test_artifacts": {"test_name": "t", "artifact_types": ["git_diffs"]},
    "trigger_hook": {"hook_name": "Stop", "payload": {}},
    "install_plugin": {"plugin_name": "x"},
    "start_mcp_server": {"server_name": "x", "server_config": {"command": "true"}},
}
"""The other arguments of a tool with a path."""
EMPTY = ("is no path", "expected a text (minLength 1)")  # of a configuration, and of a tool
HOSTILE = (
    *(
        "..",
        "../outside",
        "x/../../outside",
        "{outside}",
        "link",
        "link/deep",
        "{projects}/link",
        "up/outside",
    ),
    *("loop", "", " ", "\0", "x" * 5000, "{projects}/../outside", "file/..//..", "{projects}-beside"),
)
FAR = ("/", "/etc", "//", "/proc/self/root", "/proc/self/cwd", "/proc/self/cwd/..")
"""These are read alone: a tool that got them would do harm to the machine of the test."""


def _kinds(hint: Any) -> set[Any]:
    """The types in a hint."""
    parts = typing.get_args(hint)
    return set().union(*map(_kinds, parts)) if parts else {hint}


def _taken(record: type[msgspec.Struct]) -> dict[str, set[Any]]:
    return {name: _kinds(hint) for name, hint in typing.get_type_hints(record).items()}


def _paths(record: type[msgspec.Struct]) -> list[str]:
    return [
        name
        for name, kinds in _taken(record).items()
        if any(isinstance(kind, type) and issubclass(kind, CheckedPath) for kind in kinds)
    ]


@pytest.mark.parametrize("record", [*(tool.arguments for tool in TOOLS), Config])
def test_what_a_tool_takes_is_a_checked_path_or_known_to_be_none(record: Any) -> None:
    free = {name for name, kinds in _taken(record).items() if kinds & {str, Any, Path}} - set(_paths(record))
    assert free <= NO_PATHS, "a new text of a tool: is it a path? Then give it a type of `_paths`"


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    """A harness whose folder for projects has links that lead out of it."""
    projects = tmp_path / "projects"
    for name in ("projects", "artifacts", "plugins", "outside/deep", "projects-beside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "outside/file.txt").write_text("kept")
    (tmp_path / "outside/script.yaml").write_text("rules: []")
    (projects / "file").write_text("a file")
    for folder in (projects, tmp_path / "plugins"):
        (folder / "link").symlink_to(tmp_path / "outside")
        (folder / "up").symlink_to("..")
        (folder / "loop").symlink_to("loop")
        (folder / "script.yaml").symlink_to(tmp_path / "outside/script.yaml")
    return Harness(projects=projects, artifacts=tmp_path / "artifacts", plugins=[tmp_path / "plugins"])


def _tree(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() if path.is_file() else "" for path in sorted(folder.rglob("*"))}


def _cases() -> list[Any]:
    tools = [
        pytest.param(tool, (name,), id=f"{tool.name}-{name}")
        for tool in TOOLS
        for name in _paths(tool.arguments)
    ]
    (start,) = (tool for tool in TOOLS if tool.name == "start_conversation")
    return [*tools, *(pytest.param(start, ("config", name), id=f"config-{name}") for name in _paths(Config))]


@pytest.mark.parametrize(("tool", "place"), _cases())
def test_no_path_of_a_tool_leads_out(
    tool: Any, place: tuple[str, ...], harness: Harness, tmp_path: Path
) -> None:
    before = _tree(tmp_path)
    names = {"outside": tmp_path / "outside", "projects": tmp_path / "projects"}

    def arguments(text: str) -> dict[str, Any]:
        path: Any = [text] if place[-1] == "plugin_dirs" else text
        return (
            {"config": {place[-1]: path}} if place[0] == "config" else OTHERS[tool.name] | {place[-1]: path}
        )

    async def main() -> None:
        for text in HOSTILE:
            named = text.format(**names) if "{" in text else text
            result = (await call(tool, harness, arguments(named))).structured_content
            assert result is not None
            assert result["status"] in ("error", False), (text, result)
            said = result["error"]
            refusals = ("does not go there", "is no path", "no such folder") if text else EMPTY
            assert any(refusal in said for refusal in refusals), (text, said)
            if "outside" in text or text in ("..", "link", "link/deep"):
                assert "does not go there" in said, (text, said)

    asyncio.run(main())
    for text in FAR:
        with pytest.raises(ScriptError, match="does not go there"):
            given = tool.read(arguments(text), harness.places.resolve)
            Config.read(given.get("config"), harness.places.resolve)
    assert not harness.started
    assert _tree(tmp_path) == before


@pytest.mark.parametrize(
    "given",
    ["script.yaml", "../outside/script.yaml", "/etc/passwd.yaml", "nowhere.json", "code.py", "pipe.yaml"],
)
def test_a_script_is_read_from_the_harness_s_folders_and_is_no_code(given: str, harness: Harness) -> None:
    (harness.projects / "code.py").write_text("raise SystemExit('it ran')")
    os.mkfifo(harness.projects / "pipe.yaml")
    with pytest.raises(ScriptError, match=r"does not go there|no such file|no Python"):
        Config.read({"script": given}, harness.places.resolve)


def test_a_script_file_below_the_folders_is_read(harness: Harness) -> None:
    (harness.projects / "own.yaml").write_text("rules:\n- reply: hello\n")
    config = Config.read({"script": "own.yaml"}, harness.places.resolve)
    assert config.script == "rules:\n- reply: hello\n"


def test_files_stay_in_the_project_though_a_link_is_put_in_between(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = harness.projects / "calc"
    (project / "src").mkdir(parents=True)

    def late(root: Path, path: Any, data: bytes) -> None:
        (root / "src").rmdir()
        (root / "src").symlink_to(tmp_path / "outside")
        write_beneath(root, path, data)

    monkeypatch.setattr(_files, "write_beneath", late)
    with pytest.raises(ScriptError, match="Not a directory"):
        _files.write_files(project, [{"path": "src/file.txt", "content": "overwritten"}])
    assert (tmp_path / "outside/file.txt").read_text() == "kept"


def test_a_folder_that_an_agent_could_exchange_is_refused_while_it_works(harness: Harness) -> None:
    inner = harness.projects / "calc/inner"
    inner.mkdir(parents=True)
    other: Any = Harness(projects=harness.projects, peers=harness._peers)
    other.conversations["s"] = SimpleNamespace(project=harness.projects / "calc")
    for kind in (ProjectFolder, NewFolder):
        with pytest.raises(ScriptError, match="project of an open conversation"):
            harness.places.resolve(kind, "calc/inner")
    assert harness.places.resolve(ProjectFolder, "calc").path == harness.projects / "calc"
    other.conversations.clear()
    assert harness.places.resolve(ProjectFolder, "calc/inner").path == inner


def test_folders_for_plugins_may_be_plugins_and_projects_may_hold_some(
    harness: Harness, tmp_path: Path
) -> None:
    (tmp_path / "plugins/mine").mkdir()
    (harness.projects / "made").mkdir()
    found = [
        harness.places.resolve(PluginFolder, text).path
        for text in ("mine", "made", str(tmp_path / "plugins"))
    ]
    assert found == [tmp_path / "plugins/mine", harness.projects / "made", tmp_path / "plugins"]


def test_the_current_folder_is_for_plugins_unless_the_user_s_home_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home/me"))
    work = tmp_path / "home/me/work"
    work.mkdir(parents=True)
    assert plugin_roots((), work) == (work,)
    for cwd in (work.parent, tmp_path, Path("/")):
        assert plugin_roots((), cwd) == ()
    assert plugin_roots([tmp_path / "given"], Path("/")) == (tmp_path / "given",)
