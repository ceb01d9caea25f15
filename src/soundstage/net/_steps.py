"""Steps of a producer, and a word when one of them really has to wait.

Streams are written in batches that nobody can see: what has been written goes out when the producer has to wait. So a
producer is run up to its next real suspension by hand, and `suspended` is awaited there, once for each step that waits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")


class ProducerStep:
    """Awaits one step of a producer, and calls `suspended` once if that step really has to wait."""

    __slots__ = ("_step", "_suspended")

    def __init__(self, step: Awaitable[Any], suspended: Callable[[], Awaitable[None]]) -> None:
        self._step = step
        self._suspended = suspended

    def __await__(self) -> Generator[Any, Any, Any]:
        step = self._step.__await__()
        try:
            waiting = step.send(None)
        except StopIteration as done:
            return done.value
        try:
            yield from self._suspended().__await__()
        except BaseException as error:  # noqa: BLE001  (handed to the step, as below)
            return (yield from _throw(step, error))
        return (yield from _resume(step, waiting))


class Steps(AsyncIterator[T]):
    """The items of a stream, each as a `ProducerStep`; no generator, since one more costs on every chunk."""

    __slots__ = ("_next", "_suspended")

    def __init__(self, stream: AsyncIterator[T], suspended: Callable[[], Awaitable[None]]) -> None:
        self._next = stream.__anext__
        self._suspended = suspended

    def __anext__(self) -> Awaitable[T]:
        return ProducerStep(self._next(), self._suspended)


def _resume(step: Generator[Any, Any, Any], waiting: Any) -> Generator[Any, Any, Any]:
    """Go on with a generator that has already yielded `waiting`."""
    while True:
        try:
            sent = yield waiting
        except BaseException as error:  # noqa: BLE001  (handed to the step, as `yield from` would)
            return (yield from _throw(step, error))
        try:
            waiting = step.send(sent)
        except StopIteration as done:
            return done.value


def _throw(step: Generator[Any, Any, Any], error: BaseException) -> Generator[Any, Any, Any]:
    try:
        waiting = step.throw(error)
    except StopIteration as done:
        return done.value
    return (yield from _resume(step, waiting))
