"""Which screens go into the journal.

A program can change its screen thousands of times in a second, and a test needs few of those screens. Time
must not decide which, and a flood must not fill the disk. So:

- The screens that mattered are always there: the one on which the test acted (typed, resized), the one that an
  `expect` was waiting for, the one that it did not get, the last one, and those that the test has asked for.
- In between, a screen is kept when the program has stopped writing for a turn of the event loop, but no more
  than `BETWEEN` of them until the test acts again.

A screen that shows the same as the one before is not kept again. So a journal has at most `BETWEEN` + 1 screens
for each thing that a test does, whatever the program does.
"""

from __future__ import annotations

from typing import Final

from soundstage.journal import Journal
from soundstage.terminal._screen import Screen, screen_event

BETWEEN: Final = 20


class ScreenLog:
    """Appends screens to a journal.

    Args:
        journal: where to.
        name: whose screens they are.
    """

    def __init__(self, journal: Journal, name: str) -> None:
        self.cause: int | None = None
        self._journal = journal
        self._name = name
        self._last: Screen | None = None
        self._left = BETWEEN

    @property
    def wants_more(self) -> bool:
        """Whether a screen that nobody waits for would be kept."""
        return self._left > 0

    def pause(self, screen: Screen) -> None:
        """The program has paused."""
        if self.wants_more and self._is_new(screen):
            self._left -= 1
            self._append(screen)

    def mark(self, screen: Screen) -> None:
        """This screen matters."""
        self._left = BETWEEN
        if self._is_new(screen):
            self._append(screen)

    def name(self, screen: Screen, label: str) -> int:
        """The test wants this screen; the position of its event."""
        self._left = BETWEEN
        return self._append(screen, label)

    def _is_new(self, screen: Screen) -> bool:
        return self._last is None or (screen.rows, screen.title) != (self._last.rows, self._last.title)

    def _append(self, screen: Screen, label: str = "") -> int:
        self._last = screen
        event = screen_event(screen, channel=self._name, label=label)
        return self._journal.append(event, source=self._name, cause=self.cause)
