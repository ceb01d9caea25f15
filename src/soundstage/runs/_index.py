"""The index of stores, in SQL: which runs there are, by test, outcome, age and label.

The folders of the runs are the truth, and the index is made of them: it can be thrown away at any time. It says how
the folder of all runs looked when it was last brought up to date (`seen`), and `STALE` while somebody changes that
folder. So a writer that is killed between the two leaves an index that knows that it has to look again.

SQLAlchemy is imported here alone. Several stores may share one server: each has rows of its own.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import sqlalchemy as sql
from sqlalchemy import exc
from sqlalchemy.engine import make_url

from soundstage.errors import ConfigError, EnvironmentProblem
from soundstage.runs._errors import DiskFullError, StoreBusyError
from soundstage.runs._query import MISSING, STALE, IndexDamagedError, RunQuery
from soundstage.runs._record import RunRecord

LAYOUT: Final = 1  # of the tables below; other numbers are made anew
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BUSY: Final = 30.0  # seconds that a statement waits for another process
_TABLES: Final = sql.MetaData()
_STORES: Final = sql.Table(
    "soundstage_stores",
    _TABLES,
    sql.Column("store", sql.String(32), primary_key=True),
    sql.Column("layout", sql.Integer, nullable=False),
    sql.Column("seen", sql.BigInteger, nullable=False),
)
_RUNS: Final = sql.Table(
    "soundstage_runs",
    _TABLES,
    sql.Column("store", sql.String(32), primary_key=True),
    sql.Column("folder", sql.String(90), primary_key=True),
    sql.Column("id", sql.String(64), nullable=False),
    sql.Column("test", sql.Text, nullable=False),
    sql.Column("driver", sql.Text, nullable=False),
    sql.Column("started", sql.BigInteger, nullable=False),  # microseconds since 1970
    sql.Column("status", sql.String(10), nullable=False),
    sql.Column("outcome", sql.String(10), nullable=False),
    sql.Column("record", sql.Text, nullable=False),  # all of it, as JSON
    sql.Index("soundstage_runs_started", "store", "started"),
    sql.Index("soundstage_runs_test", "store", "test", "started"),
    sql.Index("soundstage_runs_outcome", "store", "outcome", "started"),
    sql.Index("soundstage_runs_id", "store", "id"),
)
_LABELS: Final = sql.Table(
    "soundstage_labels",
    _TABLES,
    sql.Column("store", sql.String(32), primary_key=True),
    sql.Column("folder", sql.String(90), primary_key=True),
    sql.Column("name", sql.String(200), primary_key=True),
    sql.Column("value", sql.Text, nullable=False),
)


class RunIndex:
    """The rows of one store.

    Args:
        url: of the database, as SQLAlchemy writes it.
        store: the id of the store.

    Raises:
        ConfigError: if that is no URL of SQLite or PostgreSQL.
    """

    def __init__(self, url: str, store: str) -> None:
        try:
            self._url = make_url(url)
        except exc.ArgumentError:
            raise _no_url("no URL") from None  # it may have a password, so it is not shown
        self._sqlite = self._url.get_backend_name() == "sqlite"
        if not self._sqlite and self._url.get_backend_name() != "postgresql":
            raise _no_url(self._url.get_backend_name())
        if self._url.drivername == "postgresql":
            self._url = self._url.set(drivername="postgresql+psycopg")
        self._store = store
        self._engine = self._made_engine()
        self._ready = False
        self._of: tuple[int, ...] = ()
        mine = _STORES.c.store == store  # what each save says is put together once
        fits = sql.and_(mine, _STORES.c.layout == LAYOUT, _STORES.c.seen == sql.bindparam("looks"))
        self._to_stale = sql.update(_STORES).where(fits).values(seen=STALE)
        self._to_seen = sql.update(_STORES).where(mine).values(seen=sql.bindparam("looks"), layout=LAYOUT)
        weakref.finalize(self, self._engine.dispose)

    def _made_engine(self) -> sql.Engine:
        if not self._sqlite:
            return sql.create_engine(self._url, pool_size=1, pool_pre_ping=True)
        own = {"timeout": _BUSY, "check_same_thread": False}
        engine = sql.create_engine(self._url, poolclass=sql.QueuePool, pool_size=1, connect_args=own)
        sql.event.listen(engine, "connect", _set_up_sqlite)
        return engine

    def __str__(self) -> str:
        shown: str = self._url.render_as_string(hide_password=True)
        return shown

    def close(self) -> None:
        """Let go of connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sql.Connection]:
        """A transaction; errors of the database come out as ours."""
        self._let_go_of_others()
        try:
            with self._engine.begin() as connection:
                if not self._ready:
                    _require_tables(connection)
                    self._ready = True
                yield connection
        except exc.DBAPIError as error:
            raise self._translated(error) from error
        except msgspec.DecodeError as error:
            raise IndexDamagedError(str(error)) from error

    def _let_go_of_others(self) -> None:
        """Use no connection to a file that has been replaced, and none of the process that this one comes from."""
        now: tuple[int, ...] = (os.getpid(),)
        if self._sqlite:
            with contextlib.suppress(OSError):
                found = Path(str(self._url.database)).stat()
                now = (*now, found.st_dev, found.st_ino)
        if self._of and now != self._of:
            self._engine.dispose(close=now[0] == self._of[0])
            self._ready = False
        self._of = now

    def _translated(self, error: exc.DBAPIError) -> Exception:
        """The table at which errors of databases cross."""
        said = str(error.orig).strip().splitlines()[0]
        code = getattr(error.orig, "sqlite_errorcode", None)
        primary = code & 0xFF if code is not None else None
        if primary in _BROKEN or isinstance(error, exc.ProgrammingError | exc.DataError):
            return IndexDamagedError(said)
        if primary == sqlite3.SQLITE_FULL:
            return DiskFullError(
                f"the index {self} cannot be written", seen=said, hint="soundstage runs clean --older-than 7"
            )
        if primary == sqlite3.SQLITE_BUSY:
            return StoreBusyError(f"the index {self} is in use", seen=said, hint="try again")
        return EnvironmentProblem(
            f"the index {self} cannot be used",
            seen=said,
            hint="make its folder one that you may write to"
            if self._sqlite
            else "start that server, or leave the URL out: the index is then a file of the store",
        )

    def seen(self) -> int:
        """How the folder of all runs looked when the index was brought up to date; `STALE` if it has to be.

        Raises:
            IndexDamagedError: if it cannot be read.
        """
        with self._connected() as connection:
            row = connection.execute(
                sql.select(_STORES.c.layout, _STORES.c.seen).where(_STORES.c.store == self._store)
            ).first()
        if row is not None and row.layout != LAYOUT:
            raise IndexDamagedError(f"its tables are of layout {row.layout}")
        return STALE if row is None else int(row.seen)

    def mark_stale(self, seen: int) -> bool:
        """Say that the folder of all runs is about to change, if the index has it as it looks now; whether it has.

        Args:
            seen: how it looks.
        """
        with self._connected() as connection:
            return bool(connection.execute(self._to_stale, {"looks": seen}).rowcount)

    def change(self, *, add: Iterable[RunRecord] = (), remove: Iterable[str] = (), seen: int) -> None:
        """Add and remove rows, and say how the folder of all runs looks now, all in one step.

        Args:
            add: records that have no row.
            remove: names of folders that are gone.
            seen: see `seen()`.
        """
        records, gone = list(add), list(remove)
        runs = [self._row(record) for record in records]
        labels = [
            {"store": self._store, "folder": record.folder, "name": name, "value": value}
            for record in records
            for name, value in record.labels.items()
        ]
        with self._connected() as connection:
            for table in (_LABELS, _RUNS):
                for place in range(0, len(gone), 500):  # a statement may have so many values
                    names = gone[place : place + 500]
                    connection.execute(
                        sql.delete(table).where(table.c.store == self._store, table.c.folder.in_(names))
                    )
            for table, rows in ((_RUNS, runs), (_LABELS, labels)):
                if rows:
                    connection.execute(sql.insert(table), rows)
            self._mark(connection, seen)

    def _row(self, record: RunRecord) -> dict[str, Any]:
        return {
            "store": self._store,
            "folder": record.folder,
            "id": record.id,
            "test": record.test,
            "driver": record.driver,
            "started": _micros(record.started),
            "status": record.status,
            "outcome": record.outcome,
            "record": msgspec.json.encode(record).decode(),
        }

    def _mark(self, connection: sql.Connection, seen: int) -> None:
        done = connection.execute(self._to_seen, {"looks": seen})
        if not done.rowcount:
            connection.execute(sql.insert(_STORES).values(store=self._store, layout=LAYOUT, seen=seen))

    def folders(self) -> set[str]:
        """The names of all folders that have a row."""
        with self._connected() as connection:
            return set(connection.scalars(sql.select(_RUNS.c.folder).where(_RUNS.c.store == self._store)))

    def find(self, query: RunQuery) -> list[RunRecord]:
        """The runs that fit, the newest first."""
        asked = sql.select(_RUNS.c.record).where(_RUNS.c.store == self._store, *_conditions(query))
        asked = asked.order_by(_RUNS.c.started.desc(), _RUNS.c.folder.desc())
        return self._records(asked.limit(query.limit) if query.limit else asked)

    def begin_with(self, word: str) -> list[RunRecord]:
        """At most two of the runs whose id or folder begins with a word; one whose id it is comes first."""
        begins = _RUNS.c.id.startswith(word, autoescape=True) | _RUNS.c.folder.startswith(
            word, autoescape=True
        )
        asked = sql.select(_RUNS.c.record).where(_RUNS.c.store == self._store, begins)
        return self._records(asked.order_by(_RUNS.c.id != word, _RUNS.c.folder).limit(2))

    def _records(self, asked: Any) -> list[RunRecord]:
        with self._connected() as connection:
            return [msgspec.json.decode(text, type=RunRecord) for text in connection.scalars(asked)]

    def make_anew(self) -> None:
        """Replace all tables by empty ones; other stores of the same server fill theirs when they are asked."""
        self._engine.dispose()
        self._ready, self._of = True, ()
        if self._sqlite:
            for ending in ("", "-wal", "-shm"):
                Path(f"{self._url.database}{ending}").unlink(missing_ok=True)
        with self._connected() as connection:
            _TABLES.drop_all(connection)
            _TABLES.create_all(connection)


_BROKEN: Final = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR})


def _require_tables(connection: sql.Connection) -> None:
    """One that is missing beside others is an error of the question that needs it, and so makes them all anew."""
    if not set(sql.inspect(connection).get_table_names()) & set(_TABLES.tables):
        raise IndexDamagedError(MISSING)


def _no_url(seen: str) -> ConfigError:
    return ConfigError(
        "the index of runs has no URL that can be used",
        expected="sqlite:///FILE or postgresql://USER@HOST/DATABASE",
        seen=seen,
        hint="leave it out: the index is then a file of the store",
    )


def _conditions(query: RunQuery) -> Iterator[Any]:
    for field in ("test", "driver", "status", "outcome"):
        if getattr(query, field):
            yield _RUNS.c[field] == getattr(query, field)
    if query.since is not None:
        yield _RUNS.c.started >= _micros(query.since)
    if query.before is not None:
        yield _RUNS.c.started < _micros(query.before)
    for name, value in query.labels.items():
        yield sql.exists().where(
            _LABELS.c.store == _RUNS.c.store,
            _LABELS.c.folder == _RUNS.c.folder,
            _LABELS.c.name == name,
            _LABELS.c.value == value,
        )


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _set_up_sqlite(connection: Any, _: object) -> None:
    """Readers and a writer side by side; whole after a power cut, which may cost the last rows. Those come back."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
