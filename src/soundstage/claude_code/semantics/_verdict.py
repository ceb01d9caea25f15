"""The common base of the results."""

from __future__ import annotations

import msgspec

from soundstage.errors import ExpectationError


class SemanticResult(msgspec.Struct, frozen=True, kw_only=True):
    """A result that is true when it passed.

    Args:
        passed: whether the words mean what they should.
        details: what was found, in a sentence.
    """

    passed: bool
    details: str

    def __bool__(self) -> bool:
        return self.passed

    def require(self) -> None:
        """Raise if it did not pass.

        Raises:
            ExpectationError: with the details.
        """
        if not self.passed:
            raise ExpectationError(f"{type(self).__name__}: not passed", seen=self.details)
