"""Contestants that are processes: started, awaited by what they print, pinned to a core, stopped by pid."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from _load import BenchError

HERE = Path(__file__).resolve().parent
START_WITHIN = 60.0
STOP_WITHIN = 10.0
PORT = re.compile(r"http://127\.0\.0\.1:(\d+)")
CLIENT_CORE, SERVER_CORE = 0, 1


def can_pin() -> bool:
    """Whether client and server can get a core each."""
    return hasattr(os, "sched_setaffinity") and {CLIENT_CORE, SERVER_CORE} <= os.sched_getaffinity(0)


@contextlib.contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """Run on one core, and start processes that do; anywhere, if None or if the machine has only one."""
    if core is None or not can_pin():
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def server(
    argv: Sequence[str], *, core: int | None = SERVER_CORE, environment: Mapping[str, str] | None = None
) -> Iterator[int]:
    """Start a server that prints its URL when it is ready; gives its port; stops it at the end.

    Raises:
        BenchError: if it ends, or says nothing within a minute.
    """
    with tempfile.TemporaryFile() as errors:
        with on_core(core):
            process = subprocess.Popen(
                argv, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        try:
            yield _port(process, argv, errors)
        finally:
            _stop(process)


def _port(process: subprocess.Popen[str], argv: Sequence[str], errors: object) -> int:
    too_late = threading.Timer(START_WITHIN, process.kill)
    too_late.start()
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := PORT.search(line):
                return int(found.group(1))
    finally:
        too_late.cancel()
    errors.seek(0)  # type: ignore[attr-defined]
    said = errors.read().decode(errors="replace")  # type: ignore[attr-defined]
    raise BenchError(f"{Path(argv[0]).name} {argv[1]} did not start: {said[-1000:]}")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout is not None
    process.stdout.close()


def newest_child() -> int:
    """The process that this one has started last. Linux only."""
    return int(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[-1])


def spent(process: int) -> float:
    """Processor seconds of all threads of a process so far. Linux only."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def soundstage(script: Path, *more: str) -> list[str]:
    """Ours."""
    return [
        str(Path(sys.executable).parent / "soundstage"),
        "serve",
        "--script",
        str(script),
        "--port",
        "0",
        *more,
    ]


def constant(body: Path, media_type: str) -> list[str]:
    """The limit: the same HTTP library answering the bytes of a file."""
    return [sys.executable, str(HERE / "constant_server.py"), str(body), media_type]
