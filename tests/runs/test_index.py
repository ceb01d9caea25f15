"""The index is made of the folders: whatever becomes of it, the runs are found."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys

import pytest

from soundstage.errors import ConfigError, EnvironmentProblem
from soundstage.journal import read_journal
from soundstage.runs import IndexRebuilt, Retention, RunStore
from support.stores import run_of


@pytest.fixture
def filled(store):
    for number in range(3):
        store.save(run_of(number, test="t::a", labels={"n": str(number)}))
    store.close()
    return store


def ids(store):
    return [record.id for record in store.list()]


ALL = ["run2", "run1", "run0"]


def test_an_index_that_is_gone_is_made_anew(filled):
    (filled.root / "runs.db").unlink()
    assert ids(RunStore(filled.root)) == ALL
    assert [run.id for run in filled.list(labels={"n": "1"})] == ["run1"]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda data: b"garbage" * 2000, id="another file"),
        pytest.param(lambda data: data[: len(data) // 2], id="cut off"),
        pytest.param(lambda data: data[:100] + b"\xff" * (len(data) - 100), id="overwritten"),
        pytest.param(lambda data: b"", id="empty"),
    ],
)
def test_an_index_that_is_broken_is_made_anew(filled, broken):
    path = filled.root / "runs.db"
    path.write_bytes(broken(path.read_bytes()))
    assert ids(RunStore(filled.root)) == ALL


def test_what_was_rebuilt_is_in_the_log_of_the_store_with_the_reason(filled):
    (filled.root / "runs.db").write_bytes(b"garbage" * 2000)
    filled.list()
    (logged,) = [record.event for record in read_journal(filled.root / "runs-log.jsonl")]
    assert isinstance(logged, IndexRebuilt)
    assert logged.runs == 3
    assert "not a database" in logged.reason


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE soundstage_runs SET record = '{'",
        "DROP TABLE soundstage_labels",
        "UPDATE soundstage_stores SET layout = 99",
        "ALTER TABLE soundstage_runs RENAME COLUMN record TO recorded",
    ],
)
def test_an_index_whose_tables_are_not_ours_is_made_anew(filled, statement):
    with sqlite3.connect(filled.root / "runs.db") as connection:
        connection.execute(statement)
    connection.close()
    again = RunStore(filled.root)
    assert ids(again) == ALL
    assert [run.id for run in again.list(labels={"n": "2"})] == ["run2"]
    again.save(run_of(4, labels={"n": "2"}))
    assert [run.id for run in again.list(labels={"n": "2"})] == ["run4", "run2"]


def test_an_index_that_breaks_while_a_run_is_saved_is_made_anew_and_has_the_run(filled):
    filled.list()
    (filled.root / "runs.db").write_bytes(b"garbage" * 2000)
    filled.save(run_of(4))
    assert ids(filled) == ["run4", *ALL]


def test_a_folder_that_is_removed_by_hand_is_listed_no_more(filled):
    shutil.rmtree(filled.root / "runs" / run_of(1).folder)
    assert ids(filled) == ["run2", "run0"]


def test_a_folder_that_is_copied_in_by_hand_is_listed(filled, tmp_path):
    other = RunStore(tmp_path / "other")
    saved = other.save(run_of(9))
    shutil.copytree(saved.path, filled.root / "runs" / saved.path.name)
    assert ids(filled) == ["run9", *ALL]


@pytest.mark.parametrize("content", [None, b"", b'{"run":', b"[]", b'{"version": 1}', b"\xff"])
def test_a_folder_without_a_readable_record_is_not_listed_and_named_until_it_is_mended(filled, content):
    path = filled.root / "runs" / run_of(1).folder / "run.json"
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    (filled.root / "runs.db").unlink()
    for _ in range(2):
        assert ids(filled) == ["run2", "run0"]
        assert filled.unreadable == (run_of(1).folder,)
    filled.save(run_of(8))
    filled.clean(Retention(None))
    assert ids(filled) == ["run8", "run2", "run0"]
    path.write_bytes(whole)
    assert ids(filled) == ["run8", *ALL]
    assert filled.unreadable == ()


def test_a_folder_with_the_record_of_another_run_is_not_listed(filled):
    shutil.copytree(
        filled.root / "runs" / run_of(1).folder, filled.root / "runs" / "20260101T000000000Z-other"
    )
    assert ids(filled) == ALL
    assert filled.unreadable == ("20260101T000000000Z-other",)


def test_other_files_among_the_runs_do_not_matter(filled):
    (filled.root / "runs" / "notes.txt").write_text("mine")
    (filled.root / "runs" / "folder").mkdir()
    assert ids(filled) == ALL
    assert filled.unreadable == ()


def test_two_stores_in_one_database_do_not_mix(tmp_path):
    url = f"sqlite:///{tmp_path / 'both.db'}"
    one, two = (RunStore(tmp_path / name, index=url) for name in ("one", "two"))
    one.save(run_of(1))
    two.save(run_of(2))
    assert (ids(one), ids(two)) == (["run1"], ["run2"])
    shutil.rmtree(two.root / "runs" / run_of(2).folder)
    assert (ids(one), ids(two)) == (["run1"], [])


def test_a_run_is_kept_although_the_index_cannot_be_written_and_found_when_it_can_be(root, tmp_path):
    beside = tmp_path / "db"
    store = RunStore(root, index=f"sqlite:///{beside / 'runs.db'}")
    with pytest.raises(EnvironmentProblem, match="index"):
        store.save(run_of(1))
    beside.mkdir()
    assert ids(store) == ["run1"]


@pytest.mark.parametrize("url", ["nonsense", "mysql://root:hunter2secret@localhost/x", "://"])
def test_a_url_of_another_database_is_refused_without_its_password(root, url):
    store = RunStore(root, index=url)
    (root / "runs").mkdir(parents=True)
    with pytest.raises(ConfigError, match="postgresql://") as raised:
        store.list()
    assert "hunter2secret" not in str(raised.value)


def test_without_sqlalchemy_a_store_says_what_to_install(filled, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.delitem(sys.modules, "soundstage.runs._index")
    with pytest.raises(EnvironmentProblem, match=r"(?s)sqlalchemy.*soundstage\[runs\]"):
        RunStore(filled.root).list()


def test_sqlalchemy_is_not_loaded_before_an_index_is_used():
    code = """if True:
        import sys
        import soundstage.pytest_plugin, soundstage.runs, soundstage.runs._fixtures, soundstage.runs._command_line
        soundstage.runs.RunStore("nowhere").list()
        assert "sqlalchemy" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)
