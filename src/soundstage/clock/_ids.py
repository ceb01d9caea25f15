"""Seeded ids: two runs with one seed draw the same ids in the same order."""

from __future__ import annotations

import random


class IdSource:
    """Draws ids that look like the providers' and repeat with the seed.

    >>> IdSource(0).draw("call_") == IdSource(0).draw("call_")
    True
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._random = random.Random(seed)  # noqa: S311  (repeatable on purpose, not a secret)

    def draw(self, prefix: str = "", length: int = 24) -> str:
        """`prefix` and `length` hexadecimal digits."""
        return prefix + self.hex(length)

    def hex(self, length: int = 16) -> str:
        """`length` hexadecimal digits."""
        return f"{self._random.getrandbits(4 * length):0{length}x}"

    def uuid(self) -> str:
        """A version 4 UUID, for what insists on one."""
        digits = self.hex(32)
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
