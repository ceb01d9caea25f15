"""Where the answers of a test's model come from, if not from its script: a wing names a mark and who answers then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

from soundstage.wings import load_target, wings

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage.models import Model
    from soundstage.wire import ModelEndpoint


class AnswerSource(Protocol):
    """The model of one test, in the place of a script. It is made of the test's `pytest.Item`.

    How it is used: `open` when the set-up is there, `begin` before the body, and after it `require` if the body has
    passed, or `cause` if it has not.
    """

    @property
    def real_time(self) -> bool:
        """Whether it needs the machine's time."""

    def open(self, stage: Setup) -> None:
        """Take the test's set-up: its journal, its clock, its folders."""

    def model(self) -> Model:
        """The model in process, without a journal."""

    def server(self) -> ModelEndpoint:
        """The same model on a port; not started."""

    def begin(self) -> None:
        """Let the body begin.

        Raises:
            SoundstageError: if nothing can answer it.
        """

    def require(self) -> None:
        """Require that all went as it should, when the body has passed.

        Raises:
            SoundstageError: if it did not.
        """

    def cause(self) -> Exception | None:
        """The error of this model that may have failed the body; nothing if there is none."""


def source_of(item: pytest.Item) -> AnswerSource | None:
    """The source that a mark of the test names; nothing if its script answers."""
    for wing in wings():
        for mark, target in wing.sources.items():
            if item.get_closest_marker(mark) is not None:
                make: Any = load_target(target)
                made: AnswerSource = make(item)
                return made
    return None
