"""A run that was saved is there, whole, with equal content once; it is found by test, outcome, age and label."""

from __future__ import annotations

import hashlib
import re
import shutil
from datetime import datetime

import msgspec
import pytest

from soundstage.errors import HarnessError, WrongValueError
from soundstage.journal import Journal, MessageSent, Redactor
from soundstage.runs import (
    ContentNotFoundError,
    DamagedContentError,
    RunNotFoundError,
    RunRecord,
    RunStore,
    SchemaError,
    StreamConsumedError,
    new_run_id,
)
from soundstage.trace import ToolUse
from support.stores import NOON, run_of


def test_a_run_lies_in_a_folder_of_its_time_and_id_with_its_record(store, records):
    saved = store.save(run_of(7, test="t::a", outcome="failed"), journal=records)
    assert saved.path == store.root / "runs" / "20260105T120007000Z-run7"
    assert {path.name for path in saved.path.iterdir()} == {"run.json", "journal.jsonl"}
    assert msgspec.json.decode((saved.path / "run.json").read_bytes())["run"]["test"] == "t::a"


def test_a_saved_run_comes_back_whole(store, records):
    record = run_of(
        test="t::a",
        name="the first",
        driver="pytest",
        status="partial",
        outcome="aborted",
        reason="cut off",
        labels={"branch": "main"},
        tokens=12,
        cost=0.5,
        warnings=("no video",),
    )
    calls = [ToolUse(call_id="c1", name="read", arguments={"path": "a"}, result="text")]
    store.save(record, journal=records, files={"a/b.txt": "text", "raw": b"\0\xff"}, transcripts=calls)
    found = RunStore(store.root).open("run0")
    assert found.record == record
    assert found.journal() == records
    assert {path: file.content() for path, file in found.files.items()} == {
        "a/b.txt": b"text",
        "raw": b"\0\xff",
    }
    assert found.transcripts() == tuple(calls)
    assert [line.text for line in found.trace().messages] == [f"message {number}" for number in range(3)]


def test_the_journal_and_the_files_may_be_paths(store, tmp_path):
    journal = Journal(tmp_path / "j.jsonl", redactor=Redactor())
    journal.append(MessageSent(text="hello"), source="console")
    journal.close()
    (tmp_path / "big.bin").write_bytes(bytes(range(256)) * 10_000)
    saved = store.save(run_of(), journal=tmp_path / "j.jsonl", files={"big": tmp_path / "big.bin"})
    assert saved.journal() == journal.read()
    pieces = list(saved.files["big"].stream())
    assert len(pieces) > 1
    assert b"".join(pieces) == bytes(range(256)) * 10_000


def test_equal_content_is_stored_once(store):
    store.save(run_of(1), files={"a": b"same", "b": b"same", "c": b"other"})
    store.save(run_of(2), files={"d": b"same"})
    stored = dict(store.objects.stored())
    assert set(stored) == {hashlib.sha256(text).hexdigest() for text in (b"same", b"other")}
    assert {place.read_bytes() for place in stored.values()} == {b"same", b"other"}
    assert store.open("run1").files["a"].text() == store.open("run2").files["d"].text() == "same"


def test_content_that_is_cut_short_on_the_disk_is_replaced_by_the_next_run_that_has_it(store):
    saved = store.save(run_of(1), files={"a": b"whole"})
    store.objects.place(saved.files["a"].blob.sha256).write_bytes(b"wh")
    assert store.save(run_of(2), files={"a": b"whole"}).files["a"].text() == "whole"


def test_nothing_is_left_beside_the_runs(store, records):
    store.save(run_of(), journal=records, files={"a": b"x"})
    assert list((store.root / "tmp").iterdir()) == []


def test_a_run_cannot_be_saved_twice(store):
    store.save(run_of(), files={"a": b"first"})
    with pytest.raises(WrongValueError, match="new_run_id"):
        store.save(run_of(), files={"a": b"second"})
    assert store.open("run0").files["a"].text() == "first"
    assert len(store.list()) == 1


@pytest.mark.parametrize("path", ["", "/a", "../a", "a/../b", "a\\b", "a//b", "a\0b", ".", "a/"])
def test_a_path_that_leads_out_of_the_run_is_refused_before_anything_is_written(store, path):
    with pytest.raises(WrongValueError, match=re.escape(repr(path))):
        store.save(run_of(), files={path: b"x"})
    assert not store.root.exists()


def test_secrets_reach_neither_record_nor_journal_nor_files_nor_transcripts(store, tmp_path, records):
    secret = "correct-horse-battery"
    redactor = Redactor([secret])
    journal = Journal(redactor=Redactor())
    journal.append(MessageSent(text=f"the key {secret}"), source="console")
    key = "sk-ant-api03-" + "Ab1" * 30
    for cut, name in ((5, "near"), (15, "long"), (4, "token")):  # a border between pieces cuts it
        text = key if name == "token" else secret
        (tmp_path / name).write_bytes(b"x" * ((1 << 20) - cut - 1) + b" " + text.encode() + b" y")
    store.save(
        run_of(reason=f"with {secret}"),
        journal=journal.read(),
        files={"a": f"{secret}!", **{name: tmp_path / name for name in ("near", "long", "token")}},
        transcripts=[{"call_id": "1", "name": "t", "arguments": {"key": secret}}],
        redactor=redactor,
    )
    store.close()
    kept = [path for path in store.root.rglob("*") if path.is_file()]
    assert len(kept) >= 7
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []
    for name in ("near", "long", "token"):
        assert store.open("run0").files[name].content().lstrip(b"x") == b" [redacted] y"
    assert "with" in store.list()[0].reason


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ({"name": "t", "arguments": {}}, "call_id"),
        ({"call_id": "1", "name": "t", "arguments": ["a"]}, "arguments"),
        ({"call_id": "1", "name": "t", "arguments": {}, "result": 3}, "result"),
        ({"call_id": "1", "name": "t", "arguments": {}, "reslt": "x"}, "'reslt'"),
        ({"call_id": "1", "name": "t", "arguments": {"x": object()}}, "object"),
        ("text", "str"),
    ],
)
def test_a_transcript_that_its_schema_forbids_is_refused_by_name_and_nothing_is_kept(store, call, says):
    good = {"call_id": "0", "name": "t", "arguments": {}}
    with pytest.raises(SchemaError, match=f"(?s)tool call 1.*{says}"):
        store.save(run_of(), transcripts=[good, call])
    assert store.list() == []


def test_the_text_of_a_file_is_read_once(store):
    file = store.save(run_of(), files={"a": "text"}).files["a"]
    assert file.text() == "text"
    store.objects.place(file.blob.sha256).unlink()
    assert file.text() == "text"


def test_a_file_is_streamed_once(store):
    file = store.save(run_of(), files={"a": "text"}).files["a"]
    assert b"".join(file.stream()) == b"text"
    with pytest.raises(StreamConsumedError, match=r"content\(\)"):
        file.stream()
    assert file.text() == "text"


def test_content_that_is_gone_is_named_with_its_place(store):
    file = store.save(run_of(), files={"a": "text"}).files["a"]
    place = store.objects.place(file.blob.sha256)
    place.unlink()
    with pytest.raises(ContentNotFoundError, match=re.escape(str(place))):
        file.text()


def test_content_that_was_changed_is_not_handed_out_as_what_was_saved(store):
    file = store.save(run_of(), files={"a": "text"}).files["a"]
    store.objects.place(file.blob.sha256).write_bytes(b"TEXT")
    with pytest.raises(DamagedContentError, match=file.blob.sha256):
        file.text()


def save_some(store):
    store.save(run_of(1, test="t::a", outcome="failed", driver="pytest"))
    store.save(run_of(2, days=10, test="t::a", outcome="failed", status="partial"))
    store.save(run_of(3, days=40, test="t::a", outcome="failed"))
    store.save(run_of(4, days=5, test="t::a", outcome="passed", labels={"branch": "main", "os": "linux"}))
    store.save(run_of(5, test="t::b", outcome="failed", labels={"branch": "other", "x": "main"}))


class _Noon:
    def wall(self):
        return NOON


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [5, 1, 4, 2, 3]),
        ({"test": "t::a"}, [1, 4, 2, 3]),
        ({"test": "t::a", "outcome": "failed", "days": 30}, [1, 2]),
        ({"outcome": "passed"}, [4]),
        ({"status": "partial"}, [2]),
        ({"driver": "pytest"}, [1]),
        ({"labels": {"branch": "main"}}, [4]),
        ({"labels": {"branch": "main", "os": "mac"}}, []),
        ({"before": NOON}, [4, 2, 3]),
        ({"since": NOON}, [5, 1]),
        ({"limit": 2}, [5, 1]),
        ({"test": "t::"}, []),
    ],
)
def test_runs_are_found_by(root, asked, found):
    store = RunStore(root, clock=_Noon())
    save_some(store)
    assert [record.id for record in store.list(**asked)] == [f"run{number}" for number in found]


@pytest.mark.parametrize("saved", [0, 1])
@pytest.mark.parametrize(
    "asked",
    [
        {"outcome": "fialed"},
        {"status": "done"},
        {"days": 3, "since": NOON},
        {"since": NOON.replace(tzinfo=None)},
    ],
)
def test_a_question_that_nothing_could_answer_is_refused_even_by_an_empty_store(store, asked, saved):
    if saved:
        store.save(run_of())
    with pytest.raises(WrongValueError):
        store.list(**asked)


def test_a_store_that_is_not_there_has_no_runs_and_is_not_made(store):
    assert store.list() == []
    assert not store.root.exists()


def test_a_run_is_opened_by_the_begin_of_its_id_or_folder(store):
    store.save(run_of(1))
    store.save(run_of(12))
    store.save(run_of(2))
    for word in ("run2", "20260105T120002"):
        assert store.open(word).record.id == "run2"
    assert store.open("run1").record.id == "run1"  # which run12 begins with, too


@pytest.mark.parametrize("word", ["run", "nothing", "", "%", "run_"])
def test_a_word_with_which_no_run_begins_or_several_do_is_refused(store, word):
    store.save(run_of(1))
    store.save(run_of(2))
    with pytest.raises(RunNotFoundError, match="soundstage runs list"):
        store.open(word)


def test_a_run_that_was_listed_is_opened_without_a_search(store, monkeypatch):
    store.save(run_of(1), files={"a": b"first"})
    store.save(run_of(2))
    one = next(record for record in store.list() if record.id == "run1")
    with monkeypatch.context() as patch:
        patch.setattr(store.catalogue, "ask", None)
        opened = store.open(one)
    assert (opened.record, opened.files["a"].text()) == (one, "first")


def test_a_listed_run_that_is_gone_is_refused_as_one_that_never_was(store):
    store.save(run_of(1))
    [listed] = store.list()
    shutil.rmtree(store.folder_of(listed))
    with pytest.raises(RunNotFoundError, match="no run 'run1'"):
        store.open(listed)


def test_an_absent_run_in_an_absent_store_is_refused(store):
    with pytest.raises(RunNotFoundError):
        store.open("run1")


@pytest.mark.parametrize(
    "facts",
    [
        {"id": ""},
        {"id": "../x"},
        {"id": "a-b"},
        {"id": "x" * 65},
        {"outcome": "good"},
        {"status": "running"},
        {"ended": datetime(2020, 1, 1, tzinfo=NOON.tzinfo)},
        {"started": NOON.replace(tzinfo=None)},
    ],
)
def test_a_record_that_no_run_can_have_is_refused(facts):
    with pytest.raises(WrongValueError):
        RunRecord(**{"id": "a", "started": NOON, "ended": NOON, **facts})


def test_run_ids_differ():
    assert len({new_run_id() for _ in range(1000)}) == 1000


def test_a_record_of_a_newer_version_is_refused_and_named(store):
    path = store.save(run_of()).path / "run.json"
    path.write_bytes(path.read_bytes().replace(b'"version": 1', b'"version": 2'))
    with pytest.raises(HarnessError, match="version 2"):
        store.open("run0")


def test_a_run_is_marked_to_be_kept_and_the_marker_of_others_counts(store):
    saved = store.save(run_of())
    assert not saved.kept
    store.keep("run0")
    assert saved.kept
    assert (saved.path / ".keep").exists()
    store.keep("run0", kept=False)
    (saved.path / ".vibe-keep").touch()
    assert saved.kept
    assert not store.keep("run0", kept=False).kept
