"""The cost of an installed Soundstage: the import, and the pytest plugin where it is not used.

Both are processes, and the fewest milliseconds of ten count: anything above is what else the machine did. The first run
keeps the byte code, as an installation does, whatever the environment says.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from _load import BenchError
from _pairs import interleave
from _settings import Settings
from _table import Row, millis

NAME = "start"
RUNS = 10
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pytest.ini").write_text("[pytest]\n")
        (Path(folder) / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        turns = {
            "bare": _turn(["-c", "pass"], folder),
            "import": _turn(["-c", "import soundstage"], folder),
            "all": _turn(["-c", "from soundstage import *"], folder),
            "without": _turn([*PYTEST, "-p", "no:soundstage"], folder),
            "with": _turn(PYTEST, folder),
        }
        times = interleave(turns, settings.scaled(RUNS), settings.tell)
    least = {name: min(values) for name, values in times.items()}
    for what, ours, against, theirs, target in (
        ("import soundstage", "import", "a bare interpreter", "bare", 60),
        ("from soundstage import * (every public name is loaded)", "all", "a bare interpreter", "bare", None),
        ("the idle pytest plugin", "with", "pytest without it", "without", 40),
    ):
        figures = f"{millis(least[ours])} : {millis(least[theirs])}, minimum of {len(times[ours])}"
        extra = (least[ours] - least[theirs]) * 1000
        yield Row(what, against, figures, extra, target, "at most", "ms")


def _turn(arguments: Sequence[str], folder: str) -> Callable[[], float]:
    """Seconds of one process."""

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "cache")

    def turn() -> float:
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        elapsed = time.perf_counter() - start
        if done.returncode:
            raise BenchError(
                f"python {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-500:]}"
            )
        return elapsed

    return turn
