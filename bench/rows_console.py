"""A complete console test in process: build, start, send, expect, stop.

Two peers: the same app between two bare asyncio queues, which is the least that any harness could do; and the
same app as a program on pipes, started, written to, read and waited for, which is what people do without one.
The app is a coroutine that echoes lines, on the machine's time in all three, so that only the harness differs.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from _load import BenchError
from _pairs import interleave, median, ratio
from _servers import CLIENT_CORE, on_core
from _settings import Settings
from _table import Row, micros, millis

NAME = "console"
SENT, ECHOED = "hello", "you said hello"
WHAT = "a console test in process: build, start, send, expect, stop"
PROGRAM = """
import asyncio
import sys

async def main():
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(f"you said {line.strip()}", flush=True)

asyncio.run(main())
"""


async def echo(context: Any) -> None:
    """The app under test."""
    while (line := await context.console.read_line()) is not None:
        context.console.write_line(f"you said {line}")


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    turns = {
        "ours": lambda: _per_test(_ours, settings.scaled(400, least=50)),
        "queues": lambda: _per_test(_queues, settings.scaled(400, least=50)),
        "program": lambda: _per_test(_program, settings.scaled(10, least=2)),
    }
    with on_core(CLIENT_CORE):
        times = interleave(turns, settings.rounds, settings.tell)
        many = _per_test(_ours, settings.scaled(1000, least=200))
        at_once = _at_once(200)
    ours = times["ours"]
    yield Row(
        WHAT,
        "the same app between two bare asyncio queues",
        f"{micros(ours)} : {micros(times['queues'])}",
        ratio(ours, times["queues"]),
        5,
        "at most",
    )
    yield Row(
        WHAT,
        "the same app as a program on pipes",
        f"{micros(ours)} : {millis(median(times['program']))}",
        ratio(times["program"], ours),
        50,
    )
    yield Row("1,000 console tests in a row", "-", f"{many * 1e6:.0f} us each")
    yield Row("200 hosts at once in one process", "-", f"{at_once * 1000:.0f} ms for all, every one answered")


def _per_test(test: Callable[[], str], count: int) -> float:
    """Seconds for one test."""
    if test() != ECHOED:
        raise BenchError(f"expected {ECHOED!r}, got {test()!r}")
    gc.collect()
    start = time.perf_counter()
    for _ in range(count):
        test()
    return (time.perf_counter() - start) / count


def _ours() -> str:
    from soundstage.host import HostBuilder

    async def body(host: Any) -> str:
        await host.console.send(SENT)
        return await host.console.expect(ECHOED)

    return HostBuilder().with_console().with_app(echo).run(body)


class _Queues:
    """The app's side of two queues."""

    def __init__(self) -> None:
        self.console = self
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.written: asyncio.Queue[str] = asyncio.Queue()

    async def read_line(self) -> str | None:
        return await self.lines.get()

    def write_line(self, text: str) -> None:
        self.written.put_nowait(text)


def _queues() -> str:
    async def main() -> str:
        queues = _Queues()
        app = asyncio.create_task(echo(queues))
        queues.lines.put_nowait(SENT)
        said = await asyncio.wait_for(queues.written.get(), 5)
        queues.lines.put_nowait(None)
        await app
        return said

    return asyncio.run(main())


def _program() -> str:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        said, _ = program.communicate(f"{SENT}\n")
    return said.strip()


def _at_once(count: int) -> float:
    """Seconds for so many hosts in one event loop, all alive at the same time."""
    from soundstage.clock import VirtualClock, run
    from soundstage.host import HostBuilder

    async def one(number: int, all_up: asyncio.Barrier) -> str:
        async with HostBuilder(seed=number).with_console().with_app(echo).build() as host:
            await all_up.wait()
            await host.console.send(str(number))
            return await host.console.expect(f"you said {number}")

    async def main() -> list[str]:
        all_up = asyncio.Barrier(count)
        return await asyncio.gather(*(one(number, all_up) for number in range(count)))

    start = time.perf_counter()
    said = run(main(), clock=VirtualClock())
    elapsed = time.perf_counter() - start
    if said != [f"you said {number}" for number in range(count)]:
        raise BenchError(f"{count} hosts at once mixed up their answers")
    return elapsed
