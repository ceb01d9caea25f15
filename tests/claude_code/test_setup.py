"""The start of the CLI: its path, its arguments, its environment."""

from __future__ import annotations

import importlib.util
import json
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import SessionOptions, find_cli
from soundstage.claude_code._environment import (
    SETTINGS,
    claude_environment,
    configuration,
    refuse_stray_memories,
)
from soundstage.claude_code._options import STREAMING, arguments, session_options
from soundstage.drivers._isolation import isolated
from soundstage.errors import EnvironmentProblem, ScriptError


def program(folder: Path) -> Path:
    path = folder / "claude"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "claude_agent_sdk" else found(name)
    )


def test_the_cli_is_looked_for_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("explicit", "variable", "package", "path")}
    for folder in folders.values():
        folder.mkdir()
    explicit, variable, in_path = (program(folders[name]) for name in ("explicit", "variable", "path"))
    (folders["package"] / "_bundled").mkdir()
    bundled = program(folders["package"] / "_bundled")
    spec = ModuleSpec("claude_agent_sdk", None, origin=str(folders["package"] / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    environment = {"SOUNDSTAGE_CLAUDE": str(variable), "PATH": str(folders["path"])}
    assert find_cli(explicit, environment) == explicit
    assert find_cli(None, environment) == variable
    assert find_cli(None, {"PATH": str(folders["path"])}) == bundled
    bundled.unlink()
    assert find_cli(None, {"PATH": str(folders["path"])}) == in_path


@pytest.mark.usefixtures("no_package")
def test_a_machine_without_the_cli_learns_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"pip install 'soundstage\[claude\]'"):
        find_cli(None, {"PATH": str(tmp_path)})


def test_a_cli_that_was_named_is_not_replaced_by_another(tmp_path: Path) -> None:
    for explicit, environment in ((tmp_path / "missing", {}), (None, {"SOUNDSTAGE_CLAUDE": "/missing"})):
        with pytest.raises(EnvironmentProblem, match="missing"):
            find_cli(explicit, environment)


def test_options_become_arguments() -> None:
    options = SessionOptions(
        permission_mode="plan",
        allowed_tools=("Read", "Bash(git *)"),
        model="sonnet",
        max_turns=3,
        settings={"a": 1},
        plugin_dirs=(Path("/p1"), "/p2"),
        extra_args=("--debug",),
    )
    assert arguments(options, "an-id")[len(STREAMING) :] == [
        *("--permission-mode", "plan"),
        *("--allowedTools", "Read", "Bash(git *)"),
        *("--model", "sonnet"),
        *("--max-turns", "3"),
        *("--settings", '{"a":1}'),
        *("--plugin-dir", "/p1", "--plugin-dir", "/p2"),
        *("--session-id", "an-id"),
        "--debug",
    ]
    resumed = session_options(options, {"resume": "old", "settings": Path("/s.json")})
    assert "--session-id" not in arguments(resumed, "an-id")
    assert arguments(resumed, "an-id")[-5:] == ["--plugin-dir", "/p2", "--resume", "old", "--debug"]
    assert "/s.json" in arguments(resumed, "an-id")


@pytest.mark.parametrize(
    "wrong", [{"permission_mode": "yolo"}, {"allowed_tools": "Bash"}, {"no_such": 1}, {"extra_args": "--x"}]
)
def test_a_wrong_option_is_refused_with_what_is_expected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ScriptError) as caught:
        session_options(SessionOptions(), wrong)
    assert caught.value.expected or caught.value.hint


def test_every_setting_has_a_reason_and_root_needs_a_sandbox_only_to_bypass() -> None:
    assert all(setting.reason and setting.value for setting in SETTINGS)
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)

    def with_sandbox(mode: str, *, root: bool) -> bool:
        found = claude_environment("http://127.0.0.1:1", Path("/t"), permission_mode=mode, root=root)
        assert found["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
        assert found["CLAUDE_CODE_TMPDIR"] == "/t"
        return "IS_SANDBOX" in found

    assert with_sandbox("bypassPermissions", root=True)
    assert not with_sandbox("bypassPermissions", root=False)
    assert not with_sandbox("acceptEdits", root=True)


def test_the_configuration_pins_the_device_id() -> None:
    assert len(json.loads(configuration())["userID"]) == 64


def test_the_isolated_environment_is_a_function_of_the_list_only() -> None:
    parent = {"PATH": "/bin", "HOME": "/home/me", "ANTHROPIC_API_KEY": "k", "LANG": "C", "WANTED": "w"}
    found = isolated(parent, Path("/r"), proxy={"https_proxy": "p"}, extra={"TZ": "CET"}, allow=["WANTED"])
    assert found["PATH"] == "/bin"
    assert found["HOME"] == "/r/home"
    assert found["TMPDIR"] == "/r/tmp"
    assert (found["https_proxy"], found["TZ"], found["LANG"], found["WANTED"]) == ("p", "CET", "C.UTF-8", "w")
    assert "ANTHROPIC_API_KEY" not in found
    assert isolated({}, Path("/r"), proxy={}, extra={})["PATH"]


@pytest.mark.parametrize("name", ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"])
def test_instructions_in_the_workspace_are_fine_and_above_it_are_not(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "project"
    for folder in (inside, tmp_path):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (inside / name).write_text("mine")
    refuse_stray_memories(inside)
    (tmp_path / name).write_text("not mine")
    with pytest.raises(EnvironmentProblem, match=name):
        refuse_stray_memories(inside)
