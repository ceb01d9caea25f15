"""The index is made of the folders: whatever becomes of it, the runs are found."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys

import pytest
import sqlalchemy

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
        print("sqlalchemy" in sys.modules)
        import soundstage.runs._index
        print("sqlalchemy" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\nTrue\n"


def test_an_index_that_another_process_has_made_anew_is_read_and_written_by_a_store_that_is_open(filled):
    assert ids(filled) == ALL
    other = RunStore(filled.root)
    other.catalogue.rebuild("a test")
    other.save(run_of(4))
    other.close()
    assert ids(filled) == ["run4", *ALL]
    filled.save(run_of(5))
    with sqlite3.connect(filled.root / "runs.db") as connection:
        rows = [row for (row,) in connection.execute("SELECT id FROM soundstage_runs ORDER BY id DESC")]
    connection.close()
    assert rows == ["run5", "run4", *ALL]  # it has not written to a file that is gone


def test_a_process_that_was_forked_uses_no_connection_of_its_parent(filled, monkeypatch):
    filled.list()
    connected = []
    sqlalchemy.event.listen(filled.catalogue._opened._engine, "connect", lambda *_: connected.append(1))
    filled.list()
    assert connected == []
    monkeypatch.setattr(os, "getpid", lambda: -1)
    filled.list()
    filled.list()
    assert connected == [1]


def test_a_folder_that_is_copied_in_by_hand_before_a_run_is_saved_is_listed(filled, tmp_path):
    filled.list()
    saved = RunStore(tmp_path / "other").save(run_of(9))
    shutil.copytree(saved.path, filled.root / "runs" / saved.path.name)
    filled.save(run_of(4))
    assert ids(filled) == ["run9", "run4", *ALL]


FORKS = """
import os, sys
sys.path.insert(0, {tests!r})
from soundstage.runs import RunStore
from support.stores import run_of

store = RunStore({root!r})
store.save(run_of(1))
for number in (2, 3):
    if not os.fork():
        store.save(run_of(number))
        sys.exit(0)
    assert os.wait()[1] == 0
store.save(run_of(4))
print([record.id for record in store.list()])
"""


@pytest.mark.full
def test_processes_that_are_forked_from_one_with_an_open_store_save_beside_it(root, pytestconfig):
    code = FORKS.format(tests=str(pytestconfig.rootpath / "tests"), root=str(root))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "['run4', 'run3', 'run2', 'run1']\n"), done.stderr
    assert ids(RunStore(root)) == ["run4", "run3", "run2", "run1"]
