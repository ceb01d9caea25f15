"""Cleaning removes old runs and content that no run has, and nothing that is marked, young, or still referred to."""

from __future__ import annotations

import pytest

from soundstage.errors import WrongValueError
from soundstage.journal import read_journal
from soundstage.runs import ContentRemoved, Retention, RunRemoved, RunStore, StoreBusyError
from soundstage.runs._lock import locked
from support.stores import NOON, FailingDisk, KilledError, QuickDisk, run_of


class _Noon:
    virtual = True

    def now(self):
        return 0.0

    def wall(self):
        return NOON


class SmallDisk(QuickDisk):
    """A disk that has room for so many runs, each of one megabyte, and shows how much is left."""

    def __init__(self, runs):
        self.runs = runs

    def free(self, folder):
        return (self.runs - len(list(folder.glob("runs/*/run.json")))) << 20


def store_at(root, disk=None, **options):
    return RunStore(root, clock=_Noon(), disk=disk or QuickDisk(), **options)


@pytest.fixture
def aged(root):
    """Runs of 50, 40, 20 and 0 days, with content of their own and content of all."""
    made = store_at(root)
    for number, days in enumerate((50, 40, 20, 0)):
        made.save(run_of(number, days=days), files={"own": f"of {number}", "all": "of all"})
    return made


def ids(store):
    return sorted(record.id for record in store.list())


def contents(store):
    return sorted(place.read_text() for _, place in store.objects.stored())


def test_runs_over_the_age_go_with_the_content_that_was_theirs_alone(aged):
    done = aged.clean(Retention(max_age_days=30))
    assert [record.id for record in done.removed] == ["run0", "run1"]
    assert (done.files, done.size) == (2, len("of 0of 1"))
    assert ids(aged) == ids(store_at(aged.root)) == ["run2", "run3"]
    assert contents(aged) == ["of 2", "of 3", "of all"]
    assert [aged.open(run).files["all"].text() for run in ("run2", "run3")] == ["of all"] * 2
    assert list((aged.root / "tmp").iterdir()) == []


@pytest.mark.parametrize(("days", "left"), [(50.1, 4), (50, 4), (49.9, 3), (0, 0), (None, 4)])
def test_a_run_goes_when_it_is_older_than_the_limit_and_not_before(root, days, left):
    store = store_at(root)
    for number, age in enumerate((50, 40, 20, 1)):
        store.save(run_of(0, days=age - number / 1e9))
    store.clean(Retention(max_age_days=days))
    assert len(store.list()) == left


@pytest.mark.parametrize("marker", [".keep", ".vibe-keep"])
def test_a_marked_run_stays_whatever_its_age_and_however_full_the_disk(aged, marker):
    (aged.folder_of(run_of(0, days=50)) / marker).touch()
    aged.clean(Retention(max_age_days=0, min_free_mb=1e9))
    assert ids(aged) == ["run0"]
    assert aged.open("run0").files["own"].text() == "of 0"


def test_a_dry_run_says_which_would_go_and_removes_nothing(aged):
    done = aged.clean(Retention(max_age_days=30), dry_run=True)
    assert [record.id for record in done.removed] == ["run0", "run1"]
    assert len(ids(aged)) == 4
    assert len(contents(aged)) == 5


@pytest.mark.parametrize("retention", [Retention(-1), Retention(min_free_mb=-1), Retention(float("nan"))])
def test_a_negative_limit_is_refused_and_removes_nothing(aged, retention):
    with pytest.raises(ValueError, match="from 0"):
        aged.clean(retention)
    with pytest.raises(WrongValueError):
        RunStore(aged.root, retention=retention)
    assert len(ids(aged)) == 4


def test_each_run_that_goes_is_in_the_log_with_the_reason(aged):
    aged.clean(Retention(max_age_days=45))
    aged.clean(Retention(max_age_days=None, min_free_mb=1e9))
    logged = [record.event for record in read_journal(aged.root / "runs-log.jsonl")]
    removed = [(event.run, event.reason) for event in logged if isinstance(event, RunRemoved)]
    assert removed == [("run0", "age"), ("run1", "space"), ("run2", "space"), ("run3", "space")]
    assert sum(event.files for event in logged if isinstance(event, ContentRemoved)) == 5


def test_keeping_a_run_below_the_floor_removes_the_oldest_until_there_is_enough(root):
    store = store_at(root, SmallDisk(4), retention=Retention(max_age_days=None, min_free_mb=2))
    for number in range(6):
        store.save(run_of(number))
        store.keep("run0")
    assert ids(store) == ["run0", "run4", "run5"]  # 2 stay before each save, which is one more


def test_above_the_floor_keeping_a_run_removes_nothing_however_old(root):
    store = store_at(root, SmallDisk(100), retention=Retention(max_age_days=1, min_free_mb=2))
    store.save(run_of(1, days=50))
    store.save(run_of(2))
    assert ids(store) == ["run1", "run2"]


def test_while_a_record_cannot_be_read_no_content_is_removed_and_the_folder_is_named(aged):
    path = aged.folder_of(run_of(3)) / "run.json"
    whole = path.read_bytes()
    path.write_text("{")
    (aged.root / "runs.db").unlink()
    done = aged.clean(Retention(max_age_days=30))
    assert (len(done.removed), done.files, done.unreadable) == (2, 0, (path.parent.name,))
    path.write_bytes(whole)
    assert aged.open("run3").files["own"].text() == "of 3"
    assert aged.clean().files == 2


def test_content_that_a_killed_saver_has_left_goes_with_the_next_cleanup(aged):
    place = aged.objects.place("ab" + "0" * 62)
    place.parent.mkdir(exist_ok=True)
    place.write_text("nobody's")
    assert aged.clean(Retention(None)).files == 1
    assert "nobody's" not in contents(aged)


def test_a_kill_at_any_step_of_a_cleanup_leaves_young_and_marked_runs_whole(tmp_path):
    def filled(root, disk=None):
        store = store_at(root)
        for number, days in enumerate((50, 40, 20)):
            store.save(run_of(number, days=days), files={"own": f"of {number}", "all": "of all"})
        store.keep("run1")
        return store_at(root, disk)

    counted = FailingDisk()
    filled(tmp_path / "counted", counted).clean()
    assert len(counted.steps) >= 4
    for number in range(len(counted.steps)):
        for after in (False, True):
            root = tmp_path / f"{number}-{after}"
            store = filled(root, FailingDisk(number, after=after))
            with pytest.raises(KilledError):
                store.clean()
            again = store_at(root)
            assert set(ids(again)) - {"run0"} == {"run1", "run2"}
            for run in ids(again):
                assert [file.text() for file in again.open(run).files.values()] == [f"of {run[3]}", "of all"]
            again.clean()
            assert (ids(again), contents(again)) == (["run1", "run2"], ["of 1", "of 2", "of all"])


def test_a_cleanup_does_not_wait_for_a_writer_if_it_is_told_not_to(aged):
    with locked(aged.root / "lock", doing="write"), pytest.raises(StoreBusyError, match="to write"):
        aged.clean(Retention(0), within=0)
    assert len(ids(aged)) == 4


def test_a_store_that_is_not_there_has_nothing_to_clean(root):
    assert store_at(root).clean().removed == ()
    assert not root.exists()
