"""An exported run is one archive with all that it has; a broken one is never left."""

from __future__ import annotations

import zipfile

import pytest

from soundstage.runs import ContentNotFoundError, export_run
from soundstage.trace import ToolUse
from support.stores import run_of

FILES = {"b/c.bin": b"\0\1", "a.txt": "text"}


def test_an_archive_has_record_journal_transcripts_and_files_and_equal_runs_equal_bytes(
    store, records, tmp_path
):
    calls = [ToolUse(call_id="1", name="t", arguments={})]
    run = store.save(run_of(), journal=records, files=FILES, transcripts=calls)
    path = export_run(run, tmp_path / "new" / "run.zip")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = ["run.json", "journal.jsonl", "transcripts.json", "files/a.txt", "files/b/c.bin"]
        assert archive.namelist() == names
        assert archive.read("files/b/c.bin") == b"\0\1"
        assert archive.read("journal.jsonl") == (run.path / "journal.jsonl").read_bytes()
        assert archive.read("run.json") == (run.path / "run.json").read_bytes()
    again = export_run(store.open("run0"), tmp_path / "again.zip")
    assert again.read_bytes() == path.read_bytes()


def test_who_reads_an_archive_reads_it_to_the_end_though_it_is_replaced(store, tmp_path):
    path = export_run(store.save(run_of(1), files=FILES), tmp_path / "run.zip")
    whole = path.read_bytes()
    with path.open("rb") as reader:
        export_run(store.save(run_of(2)), path)
        assert reader.read() == whole
    assert path.read_bytes() != whole


def test_an_archive_without_all_content_is_not_made_and_the_old_one_stays(store, tmp_path):
    run = store.save(run_of(), files=FILES)
    export_run(run, tmp_path / "run.zip")
    before = (tmp_path / "run.zip").read_bytes()
    store.objects.place(run.files["b/c.bin"].blob.sha256).unlink()
    with pytest.raises(ContentNotFoundError, match=r"b/c\.bin"):
        export_run(run, tmp_path / "run.zip")
    assert (tmp_path / "run.zip").read_bytes() == before
    assert [path.name for path in tmp_path.glob("*.zip*")] + list(tmp_path.glob(".*")) == ["run.zip"]
