"""How a suite runs: one guarantee after the other, and the first that does not hold is named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from soundstage.errors import ExpectationError

WITHIN: Final = 10.0  # seconds for one guarantee; a part that keeps it needs none of them
T = TypeVar("T")


class Guarantee(NamedTuple, Generic[T]):
    """A promise in words, and the coroutine that finds out whether it is kept."""

    promise: str
    check: Callable[[T], Awaitable[None]]


class NotKept(Exception):  # noqa: N818  (caught in this package)
    """Raised by a check: what was expected, and what was seen."""

    def __init__(self, expected: str, seen: Any) -> None:
        super().__init__(expected)
        self.expected = expected
        self.seen = seen if isinstance(seen, str) else repr(seen)


def same(what: str, wanted: Any, seen: Any) -> None:
    """Go on if both are equal."""
    if wanted != seen:
        raise NotKept(f"{what}: {wanted!r}", seen)


def raised(kinds: type[Exception], what: str, call: Callable[[], Any]) -> None:
    """Go on if `call` raises an error of this kind."""
    try:
        result = call()
    except kinds:
        return
    except Exception as error:  # noqa: BLE001  (told below)
        result = error
    raise NotKept(f"{what} raises {kinds.__name__}", repr(result))


async def keep_all(part: str, guarantees: Sequence[Guarantee[T]], make: T) -> None:
    """Check all guarantees.

    Raises:
        ExpectationError: for the first that is not kept.
    """
    for guarantee in guarantees:
        try:
            async with asyncio.timeout(WITHIN):
                await guarantee.check(make)
        except NotKept as problem:
            raise _broken(part, guarantee, problem.expected, problem.seen) from None
        except Exception as error:
            raise _broken(part, guarantee, "no error", f"{type(error).__name__}: {error}") from error


def _broken(part: str, guarantee: Guarantee[Any], expected: str, seen: str) -> ExpectationError:
    return ExpectationError(
        f"this {part} does not keep a guarantee: {guarantee.promise}", expected=expected, seen=seen
    )
