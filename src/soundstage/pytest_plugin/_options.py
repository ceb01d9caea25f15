"""The options in the mark of a test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from soundstage.config import Settings
from soundstage.errors import ScriptError
from soundstage.net import Egress


class Options(NamedTuple):
    """The mark of a test: `@pytest.mark.soundstage(...)`."""

    strict: bool = True
    seed: int = 0
    script: str | Path | None = None
    clock: str | None = None
    egress: Egress = "fail"
    hosts: Sequence[str] = ()
    unfinished: str = "fail"

    @classmethod
    def of(cls, mark: pytest.Mark | None, settings: Settings) -> Self:
        """The options in a mark; what it leaves open is in the settings.

        Raises:
            ScriptError: for one that does not exist.
        """
        given = dict(mark.kwargs) if mark else {}
        unknown = sorted(set(given) - set(cls._fields))
        if unknown or (mark and mark.args):
            raise ScriptError(
                f"the mark `soundstage` has no option {unknown[0]!r}" if unknown else "options are named",
                expected=", ".join(cls._fields),
            )
        return cls(**({"seed": settings.seed, "egress": settings.egress} | given))

    def chosen_clock(self, otherwise: str) -> str:
        """`virtual` or `system`; unless the mark says it, `otherwise`.

        Raises:
            ScriptError: for another word.
        """
        chosen = self.clock or otherwise
        if chosen not in ("system", "virtual"):
            raise ScriptError("unknown clock", expected="'virtual' or 'system'", seen=repr(chosen))
        return chosen
