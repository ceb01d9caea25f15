"""Recording with the real CLI: the same again changes no byte, and what is not whole is not written."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from soundstage.clock import SystemClock
from soundstage.errors import ExpectationError, FileError, ScriptError
from soundstage.models import CallSpec, Script, ScriptedModel
from soundstage.scenarios import (
    RecordingIncompleteError,
    Scenario,
    ScenarioSheet,
    load_recording,
    record_scenario,
)
from soundstage.scenarios import _folder as folder_module
from soundstage.scenarios._definitions import definition, definitions
from soundstage.tapes import RecordingModel, Surroundings, Tape, TapeHead, models_of_tape

ROOT = Path(__file__).resolve().parents[2] / "examples" / "scenarios"
SHEET = ScenarioSheet(workspace="one file", prompt="a word", output="a word", owner="these tests")


def content(root):
    """The hash of every file below a folder."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }


@pytest.fixture
def own_root(tmp_path):
    """The scenarios of the project, in a folder of this test."""
    return Path(shutil.copytree(ROOT, tmp_path / "scenarios", ignore=shutil.ignore_patterns("__pycache__")))


def test_the_simple_edit_recorded_again_with_the_real_cli_changes_no_byte(own_root):
    before = content(own_root)
    made, changed = record_scenario(definition(own_root, "simple-file-edit"), own_root)
    assert not changed
    assert content(own_root) == before
    assert made.name == "simple-file-edit"


def test_all_that_are_defined_recorded_again_are_the_same(own_root):
    before = content(own_root)
    changed = [
        name for name in definitions(own_root) if record_scenario(definition(own_root, name), own_root)[1]
    ]
    assert changed == []
    assert content(own_root) == before


class OneWord(Scenario):
    """A scenario of one word."""

    name = "one-word"
    sheet = SHEET

    def setup_workspace(self, workspace):
        workspace.write("a.txt", "a\n")

    def build_prompt(self):
        return "Say yes."

    def script(self, workspace):
        script = Script()
        script.on(iteration=1).reply("yes")
        return script

    def assert_results(self, result):
        assert result.output == "yes"


class NoSession(OneWord):
    async def program(self, prompt, workspace):
        """Opens no session."""


class NoAnswer(OneWord):
    def script(self, workspace):
        return Script()


class NoSuchHook(OneWord):
    requires = ("PostToolUse",)


class OtherWord(OneWord):
    def assert_results(self, result):
        assert result.output == "no"


class NoOwner(OneWord):
    sheet = ScenarioSheet(workspace="one file", prompt="a word", output="a word")


class Link(OneWord):
    def script(self, workspace):
        script = Script()
        link = CallSpec(name="Bash", arguments={"command": "ln -s a.txt b.txt", "description": "link"})
        script.on(iteration=1).reply(tool_calls=[link])
        script.on(iteration=2).reply("yes")
        return script

    options: ClassVar = {**Scenario.options, "allowed_tools": ["Bash(ln *)"]}


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        (NoSession, RecordingIncompleteError, "has opened no session"),
        (NoOwner, ScriptError, "has no owner"),
    ],
)
def test_nothing_is_written_of_what_is_no_run(tmp_path, kind, error, words):
    with pytest.raises(error, match=words):
        record_scenario(kind(), tmp_path)
    assert content(tmp_path) == {}


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        (NoAnswer, RecordingIncompleteError, "had no answer"),
        (NoSuchHook, RecordingIncompleteError, "no hook PostToolUse has fired"),
        (OtherWord, ExpectationError, 'result.output == "no"'),
        (Link, RecordingIncompleteError, "b.txt"),
    ],
)
def test_a_run_that_is_not_whole_leaves_the_recording_that_was_there(tmp_path, kind, error, words):
    record_scenario(OneWord(), tmp_path)
    before = content(tmp_path)
    with pytest.raises(error, match=words):
        record_scenario(kind(), tmp_path)
    assert content(tmp_path) == before


def test_files_of_a_folder_take_the_place_of_those_of_the_definition_without_caches_and_git(tmp_path):
    (tmp_path / "mine/.git").mkdir(parents=True)
    (tmp_path / "mine/.git/config").write_text("x")
    (tmp_path / "mine/__pycache__").mkdir()
    (tmp_path / "mine/__pycache__/m.pyc").write_text("x")
    (tmp_path / "mine/b.txt").write_text("b\n")
    made, _ = record_scenario(OneWord(), tmp_path / "root", workspace=tmp_path / "mine")
    assert [one.path for one in made.workspace] == ["b.txt"]


def test_a_scenario_on_a_tape_comes_to_the_recording_of_the_run_that_the_tape_is_of(tmp_path):
    tape_file = tmp_path / "one.tape"

    class Taping(OneWord):
        def script(self, workspace):
            tape = Tape.create(tape_file)
            tape.head = TapeHead(places=Surroundings.here(SystemClock().wall(), workspace))
            return RecordingModel(ScriptedModel(super().script(workspace)), tape)

    class OnTape(OneWord):
        def script(self, workspace):
            return models_of_tape(tape_file)()

    class OtherPrompt(OnTape):
        def build_prompt(self):
            return "Say no."

    _, changed = record_scenario(Taping(), tmp_path)
    assert changed
    before = content(tmp_path)
    _, changed = record_scenario(OnTape(), tmp_path)
    assert not changed
    with pytest.raises(RecordingIncompleteError, match="Say no"):
        record_scenario(OtherPrompt(), tmp_path)
    assert content(tmp_path) == before


def test_keys_of_the_environment_reach_no_file(tmp_path, monkeypatch):
    secret = "hunter2-hunter2-hunter2"
    monkeypatch.setenv("SHOP_API_KEY", secret)

    class Told(OneWord):
        def build_prompt(self):
            return f"The key is {secret}. Say yes."

        options: ClassVar = {**Scenario.options, "env": {"MY_TOKEN": "swordfish-swordfish"}}

    made, _ = record_scenario(Told(), tmp_path)
    for path in made.folder.rglob("*"):
        if path.is_file():
            assert secret not in path.read_text(), path
            assert "swordfish" not in path.read_text(), path


class KilledError(BaseException):
    """The process is dead."""


def test_a_kill_at_any_step_of_writing_leaves_the_old_recording_or_the_new_one(tmp_path, monkeypatch):
    source = load_recording(ROOT, "tool-usage-shell")
    files = {
        path.relative_to(source.folder).as_posix(): path.read_bytes()
        for path in source.folder.rglob("*")
        if path.is_file()
    }
    new = {**files, "output.json": files["output.json"].replace(b"Six", b"Ten")}
    steps = {"left": 0}

    def dying(step):
        def call(*args, **options):
            steps["left"] -= 1
            if steps["left"] < 0:
                raise KilledError
            return step(*args, **options)

        return call

    def write(place, data, after):
        with monkeypatch.context() as patch:
            steps["left"] = after
            for where, name in ((folder_module.os, "rename"), (folder_module, "remove_tree")):
                patch.setattr(where, name, dying(getattr(where, name)))
            patch.setattr(Path, "write_bytes", dying(Path.write_bytes))
            folder_module.write_recording(place, source.metadata, data)

    found = []
    for after in range(100):
        root = tmp_path / str(after)
        write(root / "recorded", files, 10_000)
        try:
            write(root / "recorded", new, after)
        except KilledError:
            seen = load_recording(root, source.name)
            found.append(b"Ten" in (seen.folder / "output.json").read_bytes())
            write(root / "recorded", new, 10_000)
            assert [path.name for path in (root / "recorded").iterdir()] == [source.name]
        else:
            break
    else:
        pytest.fail("it never ends")
    assert len(found) > len(files)
    assert found == sorted(found), "once the new one is there it stays"
    assert {*found} == {False, True}


KILLER = """
import os, random, signal, sys, time
from pathlib import Path
from soundstage.scenarios import load_recording
from soundstage.scenarios._folder import write_recording

source = load_recording(Path(sys.argv[1]), "tool-usage-shell")
files = {
    path.relative_to(source.folder).as_posix(): path.read_bytes()
    for path in source.folder.rglob("*") if path.is_file()
}
new = {**files, "output.json": files["output.json"].replace(b"Six", b"Ten")}
root, whole = Path(sys.argv[2]), set()
write_recording(root / "recorded", source.metadata, files)
random.seed(14)
for number in range(int(sys.argv[3])):
    child = os.fork()
    if not child:
        while True:
            for data in (new, files):
                write_recording(root / "recorded", source.metadata, data)
    time.sleep(random.uniform(0.001, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seen = load_recording(root, source.name)
    whole.add((seen.folder / "output.json").read_bytes() in (files["output.json"], new["output.json"]))
print(number + 1, whole)
"""


def test_two_hundred_kills_at_seeded_moments_lose_no_recording_and_list_no_half_one(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLER, ROOT, tmp_path, "200"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "200 {True}\n"), done.stderr


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "recorded").write_text("a file")
    source = load_recording(ROOT, "tool-usage-shell")
    with pytest.raises(FileError, match="cannot be written"):
        folder_module.write_recording(tmp_path / "recorded", source.metadata, {"a": b"b"})
