"""An event loop in a thread of its own, so that blocking code can talk to a running server.

A test that uses a blocking SDK client cannot also run the server's loop. `LoopThread` runs it beside the
test; `call` hands a coroutine over and blocks until it is done.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

T = TypeVar("T")


class LoopThread:
    """A running event loop in a background thread; a context manager."""

    def __init__(self, name: str = "soundstage") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` in the loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
