"""The folder of a recording: what it has, what is wrong with one that was changed, and copies that are edited."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from soundstage.errors import SoundstageError
from soundstage.scenarios import (
    FixtureDriftError,
    FixtureError,
    ScenarioNotFoundError,
    ScenarioVersionError,
    load_recording,
    result_of,
)
from soundstage.scenarios._command_line import scenario
from soundstage.scenarios._definitions import require_version
from soundstage.scenarios._folder import read_metadata, recording_names, seal, write_recording
from soundstage.scenarios._normal import normal_form

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "scenarios"


def command(capsys, *words):
    """Exit code, output and error of `soundstage scenario ...`."""
    done = CliRunner().invoke(scenario, [*map(str, words)])
    if isinstance(done.exception, SoundstageError):  # `soundstage` makes 2 of it
        return 2, done.stdout, str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_a_recording_has_versions_hashes_inputs_hooks_outputs_and_figures(own_data):
    folder = own_data / "recorded/shop"
    assert sorted(path.name for path in folder.iterdir()) == [
        *("assertions.json", "frames.jsonl", "hooks", "input.json", "metadata.json", "output.json"),
        "workspace.json",
    ]
    assert [path.name for path in sorted((folder / "hooks").iterdir())][:2] == [
        "001-CanUseTool.json",
        "002-PreToolUse.json",
    ]
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata["sdk"]
    assert metadata["cli"]
    assert len(metadata["workspace"]) == len(metadata["checksum"]) == 64
    assert metadata["normalised"]
    given = json.loads((folder / "input.json").read_text())
    assert given["sessions"][0]["prompts"][1] == {"role": "user", "content": "Now delete .env."}
    assert sorted(given["files"]) == [".env", "prices.txt"]


def test_no_recording_has_a_folder_or_an_id_of_the_machine_that_made_it(own_data):
    for path in (own_data / "recorded").rglob("*.json*"):
        text = path.read_text()
        assert "soundstage-" not in text, path
        assert "req_1_" not in text, path


def test_a_recording_that_is_not_there_is_named_with_the_command_that_makes_it(own_data):
    with pytest.raises(ScenarioNotFoundError) as caught:
        load_recording(own_data, "shopp")
    assert "did you mean 'shop'?" in str(caught.value)
    assert "soundstage scenario record shopp" in str(caught.value)


@pytest.mark.parametrize("name", ["input.json", "frames.jsonl", "output.json", "assertions.json"])
def test_a_recording_without_one_of_its_files_is_refused_with_its_name(own_data, name):
    (own_data / "recorded/shop" / name).unlink()
    with pytest.raises(FixtureError, match=name):
        load_recording(own_data, "shop")


def test_a_recording_without_one_of_its_hooks_is_refused_with_its_name(own_data):
    (own_data / "recorded/shop/hooks/002-PreToolUse.json").unlink()
    with pytest.raises(FixtureError, match="002-PreToolUse"):
        load_recording(own_data, "shop")


@pytest.mark.parametrize("name", ["output.json", "workspace.json", "hooks/002-PreToolUse.json"])
def test_a_recording_with_one_changed_byte_has_drifted(own_data, name):
    path = own_data / "recorded/shop" / name
    path.write_text(path.read_text().replace("a", "b", 1))
    with pytest.raises(FixtureDriftError, match="checksum"):
        load_recording(own_data, "shop")


def test_versions_in_the_metadata_cannot_be_edited_either(own_data):
    path = own_data / "recorded/shop/metadata.json"
    path.write_text(path.read_text().replace('"sdk": "', '"sdk": "9'))
    with pytest.raises(FixtureDriftError):
        load_recording(own_data, "shop")


def test_a_recording_of_another_version_of_its_definition_is_refused_also_as_an_edited_copy(own_data, capsys):
    words = ("shop", "lost", "--note", "nothing yet", "--scenarios", own_data)
    assert command(capsys, "copy", *words)[0] == 0
    require_version(own_data, load_recording(own_data, "shop"))
    definitions = own_data / "apps.py"
    definitions.write_text(definitions.read_text().replace('name = "shop"', 'name = "shop"\n    version = 2'))
    for name in ("shop", "lost"):
        with pytest.raises(ScenarioVersionError, match="version 1 of its scenario"):
            require_version(own_data, load_recording(own_data, name))
    assert "of version 2" in command(capsys, "check", "shop", "--scenarios", own_data)[1]


def test_a_definition_without_a_method_a_name_or_a_field_of_its_sheet_is_refused(own_data, capsys):
    (own_data / "apps.py").write_text(
        "from soundstage.scenarios import Scenario, ScenarioSheet\n"
        "class Half(Scenario):\n"
        "    name = 'half'\n"
        "    sheet = ScenarioSheet(workspace='w', prompt='p', output='o', owner='me')\n"
        "    def build_prompt(self):\n        return ''\n"
    )
    with pytest.raises(TypeError, match="assert_results"):
        command(capsys, "record", "half", "--scenarios", own_data)
    (own_data / "more.py").write_text(
        "from soundstage.scenarios import Scenario\nclass NoSheet(Scenario):\n    name = 'no-sheet'\n"
    )
    code, _, error = command(capsys, "list", "--scenarios", own_data)
    assert code == 2
    assert "the sheet of no-sheet has no workspace, prompt, output, owner" in error


def test_a_recording_of_a_newer_format_is_refused(own_data):
    path = own_data / "recorded/shop/metadata.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(ScenarioVersionError, match="format 2"):
        load_recording(own_data, "shop")


def test_a_copy_that_was_edited_says_so_and_loses_the_hook_whose_file_is_gone(own_data, capsys):
    words = ("shop", "lost", "--note", "the hook of Read is lost", "--scenarios", own_data)
    assert command(capsys, "copy", *words)[0] == 0
    (own_data / "manual/lost/hooks/002-PreToolUse.json").unlink()
    with pytest.raises(FixtureDriftError, match="seal lost"):
        load_recording(own_data, "lost")
    assert command(capsys, "seal", "lost", "--scenarios", own_data)[0] == 0
    recording = load_recording(own_data, "lost")
    assert "002-PreToolUse" not in [frame.hook for frame in recording.frames]
    assert "copy of shop" in command(capsys, "list", "--scenarios", own_data)[1]


def test_a_recording_is_not_edited_but_copied(own_data, capsys):
    assert command(capsys, "seal", "shop", "--scenarios", own_data)[0] == 2
    assert command(capsys, "copy", "shop", "new", "--note", " ", "--scenarios", own_data)[0] == 2
    assert command(capsys, "copy", "shop", "reviewer", "--note", "x", "--scenarios", own_data)[0] == 2


def test_times_and_ids_make_no_other_recording_and_words_do(own_data):
    one = load_recording(own_data, "reviewer")
    folder = shutil.copytree(one.folder, own_data / "recorded/again")
    frames = folder / "frames.jsonl"
    later = frames.read_text().replace('"duration_ms":', '"duration_ms":1').replace("2026-", "2027-")
    frames.write_text(later)
    seal(folder, read_metadata(folder))
    again = load_recording(own_data, "again")
    assert normal_form(again) == normal_form(one)
    frames.write_text(later.replace("leaves out", "forgets"))
    seal(folder, read_metadata(folder))
    assert normal_form(load_recording(own_data, "again")) != normal_form(one)


def test_ids_that_the_cli_has_counted_further_make_no_other_recording(tmp_path):
    """One more state of the session that was told in time moves every later id by one."""
    root = tmp_path / "scenarios"
    folder = shutil.copytree(EXAMPLES / "recorded/multi-stage", root / "recorded/multi-stage")
    before = normal_form(load_recording(root, "multi-stage"))["lanes"]
    counted = re.compile(r"(?<=00000000-0000-4000-8000-)\d{12}")
    moved = 0
    for path in (folder / "frames.jsonl", *folder.glob("hooks/*.json")):
        text, times = counted.subn(lambda found: f"{int(found[0]) + 1:012d}", path.read_text())
        path.write_text(text)
        moved += times
    assert moved > 10
    seal(folder, read_metadata(folder))
    assert normal_form(load_recording(root, "multi-stage"))["lanes"] == before


def test_what_a_dead_writer_left_is_neither_listed_nor_in_the_way(own_data):
    place = own_data / "recorded"
    (place / ".new-shop").mkdir()
    (place / ".new-shop/metadata.json").write_text("{")
    (place / "reviewer").rename(place / ".old-reviewer")  # killed between two renames
    assert recording_names(own_data) == ("reviewer", "shop")
    found = load_recording(own_data, "reviewer")
    files = {
        path.relative_to(found.folder).as_posix(): path.read_bytes()
        for path in found.folder.rglob("*")
        if path.is_file()
    }
    write_recording(place, found.metadata, files)
    assert load_recording(own_data, "reviewer").folder == place / "reviewer"
    assert sorted(path.name for path in place.iterdir()) == [".new-shop", "reviewer", "shop"]


def test_a_recording_is_a_run_without_its_program_and_without_the_sdk(own_data):
    result = result_of(load_recording(own_data, "shop"))
    assert [tool.name for tool in result.tools] == ["mcp__shop__price", "Read", "Edit", "Write", "Bash"]
    assert result.output == "I may not."
    assert result.duration > 0


def test_unknown_names_end_with_2_and_the_names_there_are(own_data, capsys):
    for words in (("record", "shopp"), ("show", "shopp"), ("seal", "shopp")):
        code, _, _said = command(capsys, *words, "--scenarios", own_data)
        assert code == 2, words
    assert "shop" in command(capsys, "record", "shopp", "--scenarios", own_data)[2]
    assert command(capsys, "record", "--scenarios", own_data)[0] == 2
    assert command(capsys, "record", "shop", "--all", "--scenarios", own_data)[0] == 2


def test_check_is_green_names_what_is_not_good_and_ends_with_1(own_data, capsys):
    assert command(capsys, "check", "--scenarios", own_data)[:2] == (0, "reviewer: ok\nshop: ok\n")
    folder = own_data / "recorded/shop"
    path = folder / "assertions.json"
    path.write_text(path.read_text().replace("I may not.", "I may."))
    seal(folder, read_metadata(folder))
    code, said, _ = command(capsys, "check", "--scenarios", own_data)
    assert code == 1
    assert "shop: not good" in said
    assert "assertions.json, output: expected 'I may.', the recording comes to 'I may not.'" in said


def test_show_has_sheet_versions_and_trace(own_data, capsys):
    code, said, _ = command(capsys, "show", "shop", "--scenarios", own_data)
    assert code == 0
    for words in ("prices.txt and .env", "claude-agent-sdk", "PreToolUse:Bash", "mcp__shop__price"):
        assert words in said
