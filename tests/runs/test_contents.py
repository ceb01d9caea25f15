"""A kept run has the files before and after each change: its journal and the store rebuild all of it."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime

import pytest

from soundstage.journal import Contents, Journal, Redactor, file_changed
from soundstage.runs import Retention, RunRecord, RunStore, build_result, export_run, new_run_id

NOW = datetime(2026, 11, 23, 10, 30, tzinfo=UTC)


def changed(journal: Journal, path: str, before: bytes | None, after: bytes | None) -> None:
    event = file_changed(journal.contents, path, before, after)
    assert event is not None
    journal.append(event, source="workspace")


def record() -> RunRecord:
    return RunRecord(id=new_run_id(), started=NOW, ended=NOW)


@pytest.fixture
def journal() -> Journal:
    journal = Journal()
    changed(journal, "a.txt", b"one\n", b"two\n")
    changed(journal, "b.bin", None, b"\xff")
    changed(journal, "a.txt", b"two\n", b"three\n")
    return journal


def test_the_result_of_a_kept_run_is_that_of_its_journal_with_every_content(tmp_path, journal):
    store = RunStore(tmp_path / "store")
    kept = store.save(record(), journal=journal.read(), contents=journal.contents)
    result = store.open(kept.record.id).result()
    assert result == build_result(journal.read(), objects=journal.contents)
    text, binary = result.files
    assert (text.before.text(), text.after.text(), binary.before) == ("one\n", "three\n", None)
    assert b"".join(binary.after.stream()) == b"\xff"
    assert text.patch == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+three\n"


def test_a_journal_file_brings_the_folder_beside_it(tmp_path):
    journal = Journal(tmp_path / "run.jsonl")
    changed(journal, "a.txt", b"one\n", None)
    journal.close()
    store = RunStore(tmp_path / "store")
    kept = store.save(record(), journal=tmp_path / "run.jsonl")
    [entry] = store.open(kept.record.id).result().files
    assert (entry.change, entry.before.content(), entry.after) == ("deleted", b"one\n", None)


def test_equal_content_of_two_runs_lies_in_the_store_once_and_stays_as_long_as_one_of_them(tmp_path, journal):
    store = RunStore(tmp_path / "store")
    old = RunRecord(id="old", started=datetime(2020, 1, 1, tzinfo=UTC), ended=NOW)
    store.save(old, journal=journal.read(), contents=journal.contents)
    before = sorted(path for _, path in store.objects.stored())
    kept = store.save(record(), journal=journal.read(), contents=journal.contents)
    assert sorted(path for _, path in store.objects.stored()) == before
    store.clean(Retention(max_age_days=30))
    assert [run.id for run in store.list()] == [kept.record.id]
    assert kept.result().files[0].after.text() == "three\n"


def test_content_with_a_secret_that_only_the_store_knows_is_kept_without_it_and_found(tmp_path):
    journal = Journal(redactor=Redactor())
    changed(journal, "env", None, b"KEY=hunter2-hunter2\n")
    store = RunStore(tmp_path / "store")
    kept = store.save(
        record(), journal=journal.read(), contents=journal.contents, redactor=Redactor(["hunter2-hunter2"])
    )
    [entry] = store.open(kept.record.id).result().files
    assert entry.after.text().startswith("KEY=")
    assert "hunter2" not in entry.after.text() + entry.patch
    assert not [
        path for path in (tmp_path / "store").rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()
    ]


def test_an_exported_journal_finds_its_contents_beside_it(tmp_path, journal):
    store = RunStore(tmp_path / "store")
    kept = store.save(record(), journal=journal.read(), contents=journal.contents)
    archive = export_run(kept, tmp_path / "run.zip")
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "there")
    found = build_result(kept.journal(), objects=Contents.beside(tmp_path / "there/journal.jsonl"))
    assert [entry.after.content() for entry in found.files] == [b"three\n", b"\xff"]
