"""Artifacts: what a test leaves behind is taken from the journal, the screens and git, and never made up."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.claude_code.projects import (
    ARTIFACT_TYPES,
    capture_artifacts,
    create_project,
    set_up_git,
    write_files,
)
from soundstage.claude_code.projects._picture import screen_of
from soundstage.clock import run
from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.journal import (
    HookFired,
    Journal,
    MessageReceived,
    MessageSent,
    ModelRequested,
    Noted,
    Redactor,
    read_journal,
)
from soundstage.messages import Message, ModelRequest, Text, ToolResult
from soundstage.models import JournaledModel, Script, ScriptedModel, complete
from soundstage.terminal import Emulator, screen_event

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
SECRET = "hunter2-hunter2"


def ask(journal, text):
    """One real exchange with a scripted model."""
    script = Script()
    script.on(user="fix").reply("It is fixed.")
    model = JournaledModel(ScriptedModel(script), journal)
    request = ModelRequest(model="m", messages=(Message(role="user", parts=(Text(text=text),)),))

    async def main():
        await complete(model, request)

    run(main())


def screen(text, columns=20, rows=3):
    emulator = Emulator(columns=columns, rows=rows)
    emulator.feed(text.encode())
    return emulator.screen()


@pytest.fixture
def journal():
    journal = Journal(redactor=Redactor([SECRET]))
    session = journal.append(
        MessageReceived(text="fix it", channel="s1", sender="test"), source="claude-code"
    )
    journal.append(Noted(text="session", data={"session_id": "s1", "mode": "plan"}), source="claude-code")
    ask(journal, f"fix it with {SECRET}")
    journal.append(HookFired(hook="PreToolUse:Bash", exit_code=2), source="claude-code", cause=session)
    shown = screen("\x1b[1;31mred\x1b[0m")
    journal.append(screen_event(shown, channel="terminal", label="start"), source="terminal")
    journal.append(screen_event(screen("the end"), channel="terminal"), source="terminal")
    journal.append(MessageSent(text="It is fixed.", channel="s1", sender="claude-code"), source="claude-code")
    return journal


def test_logs_are_the_journal_itself_and_what_was_said_to_the_model(journal, tmp_path):
    kept = capture_artifacts("test_fix", tmp_path, ["logs"], journal=journal, now=NOW)
    assert kept.path == tmp_path / "test_fix_20260304_050607"
    assert kept.files == ("logs/journal.jsonl", "logs/model.log")
    assert len(list(read_journal(kept.path / "logs/journal.jsonl"))) == len(journal)
    log = (kept.path / "logs/model.log").read_text()
    assert "asks m, 1 messages" in log
    assert "It is fixed." in log
    assert kept.missing == {}


def test_no_secret_reaches_a_file(journal, tmp_path):
    project = create_project("library", "python", tmp_path / "p", "Sums")
    set_up_git(project.path)
    write_files(project.path, [{"path": "key.txt", "content": SECRET}])
    kept = capture_artifacts(
        "t",
        tmp_path / "out",
        ARTIFACT_TYPES,
        journal=journal,
        project=project.path,
        transcripts={"t.jsonl": json.dumps({"text": SECRET}).encode() + b"\n"},
        state={"key": SECRET},
        screens={"s": screen(SECRET)},
    )
    for path in kept.files:
        text = (kept.path / path).read_text()
        assert SECRET not in text, path
        if path.endswith(".jsonl"):
            assert all(json.loads(line) for line in text.splitlines())
    assert "[redacted]" in (kept.path / "git_diffs/uncommitted.patch").read_text()


def test_screenshots_are_pictures_of_the_screens_that_a_test_named_and_of_the_last_one(journal, tmp_path):
    kept = capture_artifacts(
        "t", tmp_path, ["screenshots"], journal=journal, screens={"../mine": screen("mine")}, now=NOW
    )
    assert kept.files == (
        "screenshots/_mine.svg",
        "screenshots/terminal-last.svg",
        "screenshots/terminal-start.svg",
    )
    for path in kept.files:
        assert ET.fromstring((kept.path / path).read_text()).tag.endswith("svg")
    start = (kept.path / "screenshots/terminal-start.svg").read_text()
    assert start == screen("\x1b[1;31mred\x1b[0m").svg()


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
DATA = base64.b64encode(PNG).decode()


def asked(*extra):
    result = ToolResult(call_id="c", text="", extra=extra)
    return ModelRequested(request=ModelRequest(model="m", messages=(Message(role="user", parts=(result,)),)))


def test_pictures_that_tools_have_returned_are_screenshots(tmp_path):
    journal = Journal()
    before = journal.append(asked({"type": "image", "data": "b2xk", "mimeType": "image/png"}))
    anthropic = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
    journal.append(asked(anthropic))
    second = base64.b64encode(PNG + b"2").decode()
    journal.append(asked(anthropic, {"type": "input_image", "image_url": f"data:image/jpeg;base64,{second}"}))
    journal.append(
        asked({"data": "no base64!", "mimeType": "image/png"}, {"data": DATA, "mimeType": "audio/wav"})
    )
    kept = capture_artifacts("t", tmp_path, ["screenshots"], journal=journal, after=before)
    assert kept.files == ("screenshots/tool-1.png", "screenshots/tool-2.jpg")
    assert [(kept.path / file).read_bytes() for file in kept.files] == [PNG, PNG + b"2"]
    assert kept.missing == {}


def test_where_there_is_no_picture_it_is_said_why(tmp_path):
    kept = capture_artifacts("t", tmp_path, ["screenshots"], journal=Journal())
    assert kept.files == ()
    assert "no tool has returned a picture" in kept.missing["screenshots"]
    assert "without a screen" in kept.missing["screenshots"]


def test_the_state_of_a_session_is_its_history_its_hooks_and_what_is_known_about_it(journal, tmp_path):
    kept = capture_artifacts(
        "t",
        tmp_path / "out",
        ["session_state"],
        journal=journal,
        transcripts={"t.jsonl": b'{"type": "user"}\n'},
        state={"stage": "planning"},
    )
    state = json.loads((kept.path / "session_state/state.json").read_text())
    assert state["given"] == {"stage": "planning"}
    session = state["sessions"]["s1"]
    assert [(turn["who"], turn["text"]) for turn in session["history"]] == [
        ("user", "fix it"),
        ("agent", "It is fixed."),
    ]
    assert session["about"]["mode"] == "plan"
    assert state["sessions"]["claude-code"]["hooks"][0]["exit_code"] == 2
    assert (kept.path / "session_state/transcripts/t.jsonl").read_text() == '{"type": "user"}\n'


def test_diffs_have_the_commits_and_what_is_not_committed_new_files_too(tmp_path):
    project = create_project("library", "python", tmp_path / "p", "Sums")
    set_up_git(project.path)
    write_files(
        project.path, [{"path": "new.py", "content": "x = 1\n"}, {"path": "README.md", "content": "# New\n"}]
    )
    before = sorted((path, path.stat().st_mtime_ns) for path in (project.path / ".git").rglob("index"))
    kept = capture_artifacts("t", tmp_path / "out", ["git_diffs"], journal=Journal(), project=project.path)
    commits, uncommitted, status = (
        (kept.path / "git_diffs" / name).read_text()
        for name in ("commits.patch", "uncommitted.patch", "status.txt")
    )
    assert "Initial commit" in commits
    assert "+def greet(name: str) -> str:" in commits
    assert "+# New" in uncommitted
    assert "+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1" in uncommitted
    assert " M README.md" in status
    assert before == sorted(
        (path, path.stat().st_mtime_ns) for path in (project.path / ".git").rglob("index")
    )


def test_what_is_not_there_is_not_made_up_but_missing_with_a_reason(tmp_path):
    (tmp_path / "bare").mkdir()
    kept = capture_artifacts(
        "t", tmp_path / "out", ARTIFACT_TYPES, journal=Journal(), project=tmp_path / "bare"
    )
    assert kept.files == ()
    assert kept.missing["logs"] == "the journal is empty"
    assert "no terminal has shown anything" in kept.missing["screenshots"]
    assert kept.missing["session_state"] == "no session has said or done anything in this run"
    assert "not a git repository" in kept.missing["git_diffs"]
    none = capture_artifacts("t", tmp_path / "out", ["git_diffs"], journal=Journal())
    assert none.missing == {"git_diffs": "no project was named"}


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("tests/e2e/test_a.py::test_b[x/y]", "tests_e2e_test_a.py_test_b_x_y"),
        ("../../etc", "etc"),
        ("a b\n", "a_b"),
        ("x" * 200, "x" * 80),
    ],
)
def test_the_name_of_a_test_becomes_one_folder(name, folder, journal, tmp_path):
    kept = capture_artifacts(name, tmp_path, journal=journal, now=NOW)
    assert kept.path == tmp_path / f"{folder}_20260304_050607"
    again = capture_artifacts(name, tmp_path, journal=journal, now=NOW)
    assert again.path == tmp_path / f"{folder}_20260304_050607_2"


def test_without_a_time_the_clock_of_the_journal_says_it(tmp_path):
    async def main():
        journal = Journal()
        await journal.clock.sleep(61)
        return capture_artifacts("t", tmp_path, journal=journal).path.name

    assert run(main()) == "t_20260101_000101"


@pytest.mark.parametrize("types", [["videos"], ["logs", "Logs"], [], "video"])
def test_an_unknown_type_or_none_is_refused_before_anything_is_written(types, journal, tmp_path):
    with pytest.raises(ScriptError, match="logs, screenshots, session_state, git_diffs"):
        capture_artifacts("t", tmp_path / "out", types, journal=journal)
    with pytest.raises(ScriptError, match="the name of a test"):
        capture_artifacts("///", tmp_path / "out", journal=journal)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_a_problem_of_the_machine(journal, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="artifacts cannot be written"):
        capture_artifacts("t", tmp_path / "file", journal=journal)


# --- a screen of the journal is a screen again

SIGNS = st.sampled_from(
    ["a", "Z", " ", "é", "日", "e\u0301", "🙂", "\x1b[1m", "\x1b[31;44m", "\x1b[7m", "\x1b[0m", "\r\n"]
)


@given(st.lists(SIGNS, max_size=60), st.booleans())
def test_a_screen_survives_the_journal(signs, hidden):
    shown = screen("".join(signs) + ("\x1b[?25l" if hidden else ""), columns=12, rows=5)
    again = screen_of(screen_event(shown, channel="t"))
    assert again.rows == shown.rows
    assert again.cursor.visible == shown.cursor.visible
    if not hidden:
        assert again.cursor == shown.cursor
