"""The conformance suite for journals: real ones pass, and each way to be wrong is named."""

from __future__ import annotations

import asyncio
import inspect
import itertools

import pytest

from soundstage import testing
from soundstage.clock import SystemClock, run
from soundstage.errors import ExpectationError
from soundstage.journal import Journal, Noted
from soundstage.testing import verify_journal
from soundstage.testing._journal import GUARANTEES


def test_the_journal_in_memory_passes_on_virtual_time_and_on_the_machines():
    run(verify_journal(Journal))
    run(verify_journal(Journal), clock=SystemClock())


def test_the_journal_in_a_file_passes(tmp_path):
    names = itertools.count()
    run(verify_journal(lambda: Journal(tmp_path / f"{next(names)}.jsonl")))


class FromZero(Journal):
    def append(self, event, **fields):
        return super().append(event, **fields) - 1


class Anonymous(Journal):
    def append(self, event, *, source="", cause=None):
        return super().append(event)


class Unfiltered(Journal):
    def read(self, after=0, type=None):  # noqa: A002
        return super().read(after)


class Hasty(Journal):
    async def tail(self, after=0):
        async for record in super().tail(after):
            if record.position != 3:
                yield record


class Blind(Journal):
    async def wait_for(self, match, *, within, after=0):
        return await super().wait_for(match, within=within)


class Lenient(Journal):
    async def wait_for(self, match, *, within, after=0):
        try:
            return await super().wait_for(match, within=within, after=after)
        except AssertionError:
            return None


class Careless(Journal):
    async def wait_for(self, match, *, within, after=0):
        def careful(event):
            try:
                return match(event)
            except AttributeError:
                return True

        return await super().wait_for(
            match if isinstance(match, type) else careful, within=within, after=after
        )


class Local(Journal):
    def append(self, event, **fields):
        asyncio.get_running_loop()
        return super().append(event, **fields)


class Greedy(Journal):
    def append(self, event, **fields):
        return super().append(Noted(text=event) if isinstance(event, str) else event, **fields)


class Angry(Journal):
    def append(self, event, **fields):
        if isinstance(event, str):
            raise KeyError(event)
        return super().append(event, **fields)


class Open(Journal):
    def close(self):
        self._wake()


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (FromZero, "positions are 1, 2, 3"),
        (Anonymous, "the envelope keeps source and cause"),
        (Unfiltered, "reading selects by position and class"),
        (Hasty, "every reader sees every event exactly once"),
        (Blind, "waiting finds what is there and what comes"),
        (Lenient, "waiting in vain ends with WaitTimeout"),
        (Careless, "a predicate that raises is an error"),
        (Local, "any thread may append"),
        (Greedy, "only events are taken"),
        (Angry, "only events are taken"),
        (Open, "a closed journal can be read, takes nothing more, and ends its readers"),
    ],
)
def test_each_way_to_be_wrong_is_named(broken, promise):
    with pytest.raises(ExpectationError) as caught:
        run(verify_journal(broken))
    assert caught.value.summary.startswith(f"this journal does not keep a guarantee: {promise}")
    assert caught.value.expected
    assert caught.value.seen


def test_every_guarantee_has_a_broken_journal_above():
    promises = next(mark for mark in test_each_way_to_be_wrong_is_named.pytestmark).args[1]
    for guarantee in GUARANTEES:
        assert any(guarantee.promise.startswith(promise) for _, promise in promises), guarantee.promise


def test_the_suites_do_not_need_pytest():
    for name in ("_guarantee", "_journal", "_model"):
        assert "pytest" not in inspect.getsource(getattr(testing, name))
