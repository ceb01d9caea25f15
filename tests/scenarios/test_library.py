"""The sixteen recordings of the project: listed, checked, replayed through the SDK's client and read as runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from soundstage.clock import VirtualClock, run
from soundstage.journal import HookFired
from soundstage.scenarios import ScenarioReplay, load_recording, result_of
from soundstage.scenarios._command_line import scenario
from soundstage.scenarios._definitions import definition
from soundstage.scenarios._normal import same_content

PROJECT = Path(__file__).resolve().parents[2]
ROOT = PROJECT / "examples" / "scenarios"
NAMES = (
    "cost-budget-enforced",
    "error-correction-loop",
    "file-deletion",
    "git-commit-workflow",
    "hook-failure-recovery",
    "judge-fail",
    "judge-happy-path",
    "judge-malformed-response",
    "large-change-100-files",
    "multi-agent-workflow",
    "multi-file-refactor",
    "multi-stage",
    "session-timeout",
    "simple-file-edit",
    "todo-completion",
    "tool-usage-shell",
)


@pytest.fixture
def said(monkeypatch):
    """Runs a command in the folder of the project, whose settings name the folder of scenarios."""
    monkeypatch.chdir(PROJECT)

    def call(*words):
        done = CliRunner().invoke(scenario, words)
        assert done.exit_code == 0, done.output
        return done.stdout

    return call


def test_list_names_all_sixteen_and_the_version_that_each_was_recorded_with(said):
    lines = said("list").splitlines()[1:]
    assert tuple(line.split()[0] for line in lines) == NAMES
    assert all("SDK 0." in line or "copy of simple-file-edit" in line for line in lines)


def test_check_finds_all_sixteen_good(said):
    assert said("check").splitlines() == [f"{name}: ok" for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_replays_through_the_sdk_to_the_result_that_it_is_as_a_run(name, tmp_path):
    recording = load_recording(ROOT, name)
    made = definition(ROOT, recording.metadata.copied_from or name)
    with ScenarioReplay(recording, tmp_path / "work") as replay:
        run(made.program(made.build_prompt(), replay.workspace), clock=VirtualClock())
    replayed, alone = replay.result, result_of(recording)
    assert replayed.output == alone.output
    assert replayed.status == alone.status
    assert replayed.abort == alone.abort
    assert [(tool.name, tool.is_error) for tool in replayed.tools] == [
        (tool.name, tool.is_error) for tool in alone.tools
    ]
    assert [(file.path, file.change, file.patches) for file in replayed.files] == [
        (file.path, file.change, file.patches) for file in alone.files
    ]
    assert replayed.todos == alone.todos
    assert replayed.commits == alone.commits
    assert replayed.usage == alone.usage
    if not recording.metadata.note:  # of a copy that was edited, the definition is another's
        made.assert_results(alone)


def test_a_lost_hook_leaves_a_run_that_goes_on_without_it():
    recording = load_recording(ROOT, "hook-failure-recovery")
    hooks = [one.event for one in result_of(recording).timeline if isinstance(one.event, HookFired)]
    assert [(hook.hook, hook.paired) for hook in hooks] == [
        ("UserPromptSubmit", False),
        ("PreToolUse:Read", True),
        ("PostToolUse:Read", False),
        ("PreToolUse:Edit", True),  # nothing follows
        ("Stop", False),
    ]
    assert recording.metadata.note
    result = result_of(recording)
    assert result.output == "add() adds now."


async def test_the_fixture_replays_on_virtual_time_into_the_journal_of_the_test(recorded, journal):
    replay = recorded("simple-file-edit")
    made = definition(ROOT, "simple-file-edit")
    await made.program(made.build_prompt(), replay.workspace)
    assert replay.journal is journal
    assert (replay.workspace / "calc.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert [tool.name for tool in replay.result.tools] == ["Read", "Edit"]


def _frames(folder, change):
    """A copy of the recording with other frames."""
    path = folder / "frames.jsonl"
    lines = path.read_text().splitlines()
    results = [
        number for number, line in enumerate(lines) if '"tool_result"' in line and '"kind":"say"' in line
    ]
    change(lines, results)
    path.write_text("\n".join(lines) + "\n")


def _swap(lines, results):
    first, second = results[:2]
    lines[first], lines[second] = lines[second], lines[first]


def _drop(lines, results):
    del lines[results[0]]


def _double(lines, results):
    lines.insert(results[1], lines[results[0]])


@pytest.mark.parametrize(("change", "same"), [(_swap, True), (_drop, False), (_double, False)])
def test_the_order_in_which_tools_end_is_no_difference_of_recordings_but_each_result_is(
    tmp_path, change, same
):
    """Three files were read at the same time."""
    first = ROOT / "recorded" / "multi-file-refactor"
    copy = Path(shutil.copytree(first, tmp_path / "multi-file-refactor"))
    _frames(copy, change)
    assert (copy / "frames.jsonl").read_bytes() != (first / "frames.jsonl").read_bytes()
    assert same_content(first, copy) is same
