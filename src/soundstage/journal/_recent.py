"""The last records of a journal, for a server that runs for ever. A test's journal is never cut.

Records have their positions as in a list that holds all of them. The state is one tuple that is replaced as a whole, so
that a reader in another thread never sees half of a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import overload

from soundstage.errors import InvalidStateError
from soundstage.journal._events import Record


class Recent:
    """A list of which only the end is kept: at least `most` records, at most twice as many.

    Args:
        most: how many are kept in any case.
        records: those that are there already.
        after: called when some have been let go.
    """

    def __init__(self, most: int, records: Iterable[Record], after: Callable[[], None]) -> None:
        if most < 1:
            raise ValueError(f"at least one record has to be kept; got {most}")
        self._most = most
        self._after = after
        self._state: tuple[int, list[Record]] = (0, [])
        for record in records:
            self.append(record)

    @property
    def let_go(self) -> int:
        """How many records from the first on are gone."""
        return self._state[0]

    def append(self, record: Record) -> None:
        """Add a record; from time to time, let old ones go."""
        gone, kept = self._state
        kept.append(record)
        if len(kept) >= 2 * self._most:
            self._state = (gone + len(kept) - self._most, kept[-self._most :])
            self._after()

    def extend(self, records: Iterable[Record]) -> None:
        """Add records, as `append` does."""
        for record in records:
            self.append(record)

    def __len__(self) -> int:
        gone, kept = self._state
        return gone + len(kept)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        gone, kept = self._state
        if isinstance(index, int):
            if index < gone:
                raise InvalidStateError(
                    f"record {index + 1} is not kept any more",
                    expected=f"a record after {gone}",
                    hint="read more often, or give the server a journal file, which has all",
                )
            return kept[index - gone]
        start, stop = (None if at is None else max(at - gone, 0) for at in (index.start, index.stop))
        return kept[start:stop]
