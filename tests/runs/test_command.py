"""`soundstage runs`: list, show, open, keep, clean, export."""

from __future__ import annotations

import json
import zipfile

import pytest
from typer.testing import CliRunner

from soundstage.errors import WrongValueError
from soundstage.runs import RunNotFoundError, StoreBusyError
from soundstage.runs._command_line import runs
from soundstage.runs._lock import locked
from support.stores import run_of


@pytest.fixture
def said(store, records, monkeypatch, tmp_path):
    """Fills the store, and runs a command on it, whose output it gives."""
    monkeypatch.chdir(tmp_path)
    store.save(run_of(1, test="t::a", outcome="failed", cost=0.5, tokens=7), journal=records)
    store.save(run_of(2, test="t::b", outcome="passed", labels={"os": "linux"}), files={"a.txt": "x"})

    def call(*words, code=0):
        result = CliRunner().invoke(runs, [*words, "--store", str(store.root)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result.output

    return call


def test_list_shows_the_newest_first_and_marks_what_is_kept(said, store):
    store.keep("run1")
    lines = said("list").splitlines()
    assert [line.split()[0] for line in lines] == ["run", "run2", "run1*", "*"]
    assert "$0.5000" in lines[2]


def test_list_takes_conditions(said):
    assert "run1" in said("list", "--outcome", "failed")
    assert "run2" not in said("list", "--outcome", "failed")
    assert [run["id"] for run in json.loads(said("list", "--label", "os=linux", "--json"))] == ["run2"]
    assert [run["id"] for run in json.loads(said("list", "--limit", "1", "--json"))] == ["run2"]
    assert "no such run" in said("list", "--test", "t::c")


def test_list_refuses_words_that_no_run_has(said):
    with pytest.raises(WrongValueError, match="fialed"):
        said("list", "--outcome", "fialed")
    assert "NAME=VALUE" in said("list", "--label", "os", code=2)


def test_list_names_folders_that_cannot_be_read(said, store):
    (store.root / "runs" / run_of(1).folder / "run.json").write_text("{")
    (store.root / "runs.db").unlink()
    assert run_of(1).folder in said("list")


def test_show_has_the_facts_and_the_trace(said):
    text = said("show", "run1")
    assert "t::a" in text
    assert "message 2" in text
    assert "a.txt (1 bytes)" in said("show", "run2")
    assert json.loads(said("show", "run2", "--json"))["files"]["a.txt"]["size"] == 1


def test_open_writes_a_page(said, tmp_path):
    assert "page:" in said("open", "run1")
    assert "message 2" in (tmp_path / "run1.html").read_text()
    said("open", "run1", "--html", "other.html")
    assert (tmp_path / "other.html").exists()


def test_keep_marks_and_unmarks(said, store):
    said("keep", "run1")
    assert store.open("run1").kept
    said("keep", "run1", "--off")
    assert not store.open("run1").kept


def test_clean_removes_old_runs_and_says_which(said, store):
    assert "would remove 2 run(s)" in said("clean", "--older-than", "0", "--dry-run")
    assert len(store.list()) == 2
    assert "removed 0 run(s)" in said("clean", "--older-than", "100000")
    store.keep("run1")
    text = said("clean", "--older-than", "0")
    assert "removed 1 run(s), 1 file(s), 1 bytes" in text
    assert "run2" in text
    assert [record.id for record in store.list()] == ["run1"]


def test_clean_is_refused_at_once_while_somebody_writes(said, store):
    with locked(store.root / "lock", doing="write"), pytest.raises(StoreBusyError):
        said("clean", "--older-than", "0")
    assert len(store.list()) == 2


def test_export_writes_an_archive(said, tmp_path):
    said("export", "run2", str(tmp_path / "run.zip"))
    assert zipfile.ZipFile(tmp_path / "run.zip").read("files/a.txt") == b"x"


def test_a_run_that_is_not_there_is_named(said):
    with pytest.raises(RunNotFoundError, match="nothing"):
        said("show", "nothing")
