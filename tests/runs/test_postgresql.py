"""The index on a real PostgreSQL server answers as that in a file does, and runs outlive the server."""

from __future__ import annotations

import threading

import pytest

from soundstage.errors import EnvironmentProblem
from soundstage.runs import Retention, RunStore
from support.postgres import PASSWORD, PostgresServer, postgres_programs
from support.stores import NOON, QuickDisk, run_of

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def server():
    programs = postgres_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server: apt-get install postgresql")
    with PostgresServer(programs) as made:
        yield made


@pytest.fixture
def stores(server, tmp_path):
    """Makes stores whose index is on the server."""
    made = []

    def make(name="store"):
        made.append(RunStore(tmp_path / name, index=server.url, disk=QuickDisk()))
        return made[-1]

    yield make
    for store in made:
        store.close()


def ids(store, **asked):
    return [record.id for record in store.list(**asked)]


def test_runs_are_found_as_in_a_file_and_stores_do_not_mix(stores):
    store, other = stores(), stores("other")
    store.save(run_of(1, test="t::a", outcome="failed", labels={"os": "linux"}), files={"a": "x"})
    store.save(run_of(2, test="t::a", outcome="passed", labels={"os": "mac"}))
    store.save(run_of(3, days=40, test="t::a", outcome="failed", labels={"os": "linux"}))
    other.save(run_of(1, test="t::a", outcome="failed"))
    assert ids(store, test="t::a", outcome="failed", since=NOON) == ["run1"]
    assert ids(store, labels={"os": "linux"}) == ["run1", "run3"]
    assert ids(stores(), limit=2) == ["run2", "run1"]
    assert ids(other) == ["run1"]
    assert store.open("run1").files["a"].text() == "x"
    store.clean(Retention(0))
    assert (ids(store), ids(other)) == ([], ["run1"])


def test_tables_that_are_broken_are_made_anew_and_each_store_comes_back(stores, server):
    import sqlalchemy

    store, other = stores(), stores("other")
    store.save(run_of(1))
    other.save(run_of(2))
    engine = sqlalchemy.create_engine(server.url.replace("postgresql:", "postgresql+psycopg:"))
    for statement in (
        "ALTER TABLE soundstage_runs DROP COLUMN record",
        "DROP TABLE soundstage_labels",
        "UPDATE soundstage_runs SET record = '{'",
    ):
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(statement))
        assert (ids(store), ids(other)) == (["run1"], ["run2"]), statement
    engine.dispose()


def test_writers_at_once_lose_nothing(stores):
    made = [stores() for _ in range(4)]
    failed = []

    def save(number):
        try:
            made[number % 4].save(run_of(number), files={"a": "of all"})
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert set(ids(made[0])) == {f"run{number}" for number in range(16)}


def test_a_run_is_kept_while_the_server_is_down_and_found_when_it_is_back(stores, server):
    store = stores()
    store.save(run_of(1))
    server.stop()
    try:
        for asked in (lambda: store.save(run_of(2)), store.list):
            with pytest.raises(EnvironmentProblem, match=r"(?s)index.*start that server") as raised:
                asked()
            assert PASSWORD not in str(raised.value)
    finally:
        server.start()
    assert ids(store) == ["run2", "run1"]
