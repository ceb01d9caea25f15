"""Settings: five sources, one record."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from soundstage.config import Settings, load_settings
from soundstage.errors import ConfigError


@pytest.fixture
def folder(tmp_path):
    """A project inside a folder that has settings of its own, which must not matter."""
    (tmp_path / "soundstage.toml").write_text("seed = 99\n")
    project = tmp_path / "project"
    (project / "deep" / "down").mkdir(parents=True)
    return project


def write(folder, *, project="", own=""):
    if project:
        (folder / "pyproject.toml").write_text(project)
    if own:
        (folder / "soundstage.toml").write_text(own)


def test_without_any_source_the_defaults_hold(tmp_path):
    settings = load_settings(tmp_path, {})
    assert settings == Settings()
    assert settings.source("seed") == "default"


def test_later_sources_win_and_each_value_knows_its_own(folder):
    write(
        folder,
        project='[tool.soundstage]\nseed = 1\nport = 1\nhost = "a"\nstrict = true\n',
        own='seed = 2\nport = 2\nhost = "b"\n',
    )
    environment = {"SOUNDSTAGE_SEED": "3", "SOUNDSTAGE_PORT": "3", "HOME": "/", "SOUNDSTAGE_TOKEN": "secret"}
    settings = load_settings(folder / "deep" / "down", environment, {"seed": 4, "journal": None})
    assert (settings.seed, settings.port, settings.host, settings.strict) == (4, 3, "b", True)
    assert settings.source("seed") == "given by the caller"
    assert settings.source("port") == "environment SOUNDSTAGE_PORT"
    assert settings.source("host") == str(folder / "soundstage.toml")
    assert settings.source("strict") == f"{folder / 'pyproject.toml'} [tool.soundstage]"
    assert settings.source("journal") == "default"


def test_the_nearest_folder_with_a_settings_file_is_the_only_one(folder):
    assert load_settings(folder, {}).seed == 99
    write(folder, project='[project]\nname = "x"\n')
    assert load_settings(folder / "deep", {}).seed == 0


def test_a_journal_in_a_file_is_relative_to_that_file(folder):
    write(folder, own='journal = "logs/run.jsonl"\n')
    assert load_settings(folder / "deep", {}).journal == str(folder / "logs" / "run.jsonl")
    assert load_settings(folder, {"SOUNDSTAGE_JOURNAL": "x.jsonl"}).journal == "x.jsonl"
    assert load_settings(folder, {}, {"journal": Path("y.jsonl")}).journal == "y.jsonl"
    write(folder, own='journal = ""\n')
    assert load_settings(folder, {}).journal == ""


@pytest.mark.parametrize("text", ["true", "True", "1"])
def test_variables_are_read_by_the_type_of_the_setting(tmp_path, text):
    environment = {"SOUNDSTAGE_STRICT": text, "SOUNDSTAGE_SEED": "-7", "SOUNDSTAGE_EGRESS": "allow"}
    settings = load_settings(tmp_path, environment)
    assert (settings.strict, settings.seed, settings.egress) == (True, -7, "allow")


def refused(start, environment=None, overrides=None):
    with pytest.raises(ConfigError) as caught:
        load_settings(start, environment or {}, overrides)
    return caught.value


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ({"project": "[tool.soundstage]\nsede = 1\n"}, "pyproject.toml [tool.soundstage]"),
        ({"own": "sede = 1\n"}, "soundstage.toml"),
    ],
)
def test_an_unknown_key_of_a_file_is_refused_with_the_nearest_one(folder, where, source):
    write(folder, **where)
    error = refused(folder)
    assert error.summary == f"{folder}/{source}: there is no setting 'sede'"
    assert error.expected.startswith("one of host, port, journal")
    assert error.hint == "write 'seed'"


def test_an_unknown_variable_or_override_is_refused_too(tmp_path):
    assert refused(tmp_path, {"SOUNDSTAGE_PROT": "1"}).summary == (
        "environment SOUNDSTAGE_PROT: there is no setting 'prot'"
    )
    error = refused(tmp_path, {}, {"zzz": 1})
    assert "given by the caller: there is no setting 'zzz'" in error.summary
    assert error.hint == "remove it"


def test_the_record_of_sources_is_no_setting(tmp_path):
    assert "no setting 'sources'" in refused(tmp_path, {}, {"sources": {}}).summary
    with pytest.raises(ConfigError, match="no setting 'nothing'"):
        Settings().source("nothing")


@pytest.mark.parametrize(
    ("text", "key", "expected", "seen"),
    [
        ('seed = "1"', "seed", "a whole number", "'1'"),
        ("seed = true", "seed", "a whole number", "True"),
        ("strict = 1", "strict", "true or false", "1"),
        ("port = 65536", "port", "a whole number from 0 to 65535", "65536"),
        ('egress = "maybe"', "egress", "fail or allow or closed", "'maybe'"),
        ("host = 5", "host", "text", "5"),
        ("journal = 5", "journal", "text", "5"),
        ('host = ""', "host", "text", "''"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(folder, text, key, expected, seen):
    write(folder, own=text)
    error = refused(folder)
    assert error.summary == f"{folder / 'soundstage.toml'}: the setting {key!r} has a wrong value"
    assert (error.expected, error.seen) == (expected, seen)
    assert error.hint.endswith("is the default")


def test_a_variable_of_the_wrong_type_is_refused(tmp_path):
    error = refused(tmp_path, {"SOUNDSTAGE_PORT": "http"})
    assert error.summary == "environment SOUNDSTAGE_PORT: the setting 'port' has a wrong value"
    assert error.hint == "port = 0 is the default"


def test_a_file_that_is_not_toml_is_refused_with_the_place(folder):
    write(folder, own="seed = \n")
    error = refused(folder)
    assert error.summary == f"{folder / 'soundstage.toml'} is not TOML"
    assert "line 1" in error.seen


def test_a_file_that_is_not_text_is_refused(folder):
    (folder / "soundstage.toml").write_bytes(b"seed = \xff")
    assert "is not TOML" in refused(folder).summary


def test_a_file_that_cannot_be_read_is_refused(folder, monkeypatch):
    write(folder, own="seed = 1")

    def deny(self, **_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", deny)
    assert refused(folder).seen == "Permission denied"


@pytest.mark.parametrize("text", ["[tool]\nsoundstage = 5\n", "tool = 5\n"])
def test_a_section_that_is_no_table_is_refused(folder, text):
    write(folder, project=text)
    assert "is not a table" in refused(folder).summary


def test_every_variable_of_ours_is_a_setting_or_known_as_none():
    """One that is not would stop each program that finds it in its environment."""
    project = Path(__file__).resolve().parents[1]
    places = [project / ".ci/run", project / "tests/conftest.py"]
    places += [path for folder in ("src", "containers", "tools") for path in (project / folder).rglob("*.*")]
    texts = [path.read_text() for path in places if path.suffix in ("", ".py", ".sh", ".yaml")]
    used = {name for text in texts for name in re.findall(r"SOUNDSTAGE_[A-Z_]+[A-Z]", text)}
    assert used >= {"SOUNDSTAGE_MAY_SKIP", "SOUNDSTAGE_TOKEN"}
    values = dict.fromkeys(used - {"SOUNDSTAGE_PORT", "SOUNDSTAGE_SEED"}, "x")
    assert load_settings(project, values | {"SOUNDSTAGE_PORT": "1", "SOUNDSTAGE_SEED": "2"}).port == 1
