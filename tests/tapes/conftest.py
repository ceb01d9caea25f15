"""The fixtures of these tests."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest

from support.asking import ask, request_of
from support.taping import KEY, provider, provider_script, upstreams

__all__ = ["ask", "request_of"]
INI = "[pytest]\naddopts = -p no:randomly -p no:cacheprovider\n"


@pytest.fixture
def upstream_script():
    """The script of the stand-in; a test file may have another."""
    return provider_script()


@pytest.fixture
def upstream(monkeypatch, upstream_script):
    """A provider's stand-in at the user's address, with the user's key; it is gone when it is closed."""
    loop, ready, ended = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    found = {}

    async def main():
        async with provider(upstream_script) as server:
            found.update(upstreams(server))
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    ready.wait()
    for name in ("openai", "anthropic"):
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", found[name])
        monkeypatch.setenv(f"{name.upper()}_API_KEY", KEY)

    def close():
        if thread.is_alive():
            loop.call_soon_threadsafe(ended.set)
            thread.join()

    found["close"] = close
    with contextlib.closing(loop):
        yield found
        close()


@pytest.fixture
def inner(pytester, monkeypatch):
    """Runs a test file in a pytest of its own."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makeini(INI)

    def go(text, *options):
        if text:
            pytester.makepyfile(test_it=text)
        return pytester.runpytest_subprocess(*options)

    return go
