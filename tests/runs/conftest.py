"""A store, and the records of a journal."""

from __future__ import annotations

import pytest

from soundstage.journal import Journal, MessageSent, Redactor
from soundstage.runs import RunStore
from support.stores import QuickDisk


@pytest.fixture
def root(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def store(root):
    made = RunStore(root, disk=QuickDisk())
    yield made
    made.close()


@pytest.fixture(scope="session")
def records():
    journal = Journal(redactor=Redactor())
    for number in range(3):
        journal.append(MessageSent(text=f"message {number}"), source="console")
    return journal.read()
