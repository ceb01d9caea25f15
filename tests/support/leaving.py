"""Remains of runs in their process, measured in one of their own: in that of the tests, what other tests have
started comes and goes.

`python -m support.leaving MEASURE NAME ROOT` prints what changed, as JSON.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from soundstage.errors import ExpectationError
from support.footprint import Place, changed
from support.kinds import KINDS, Kind, perform

TESTS = Path(__file__).resolve().parents[1]
Tidy = list[Callable[[], Any]]
Changed = dict[str, tuple[Any, Any]]


def measured(measure: Callable[[str, Place], Any], name: str, root: Path) -> Any:
    """The measured remains of a kind of runs, or of an untidy app, in a new process and a place of its own."""
    place = Place(root)
    argv = [sys.executable, "-m", "support.leaving", measure.__name__, name, str(root)]
    variables = {**os.environ, **place.environment(), "PYTHONPATH": str(TESTS)}
    ended = subprocess.run(
        argv, check=False, capture_output=True, text=True, cwd=place.folders["current"], env=variables
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


# measures


def left_by_two_runs(name: str, place: Place) -> tuple[Changed, Changed, list[str]]:
    """The remains of a first run, those of a second, and the tasks of the second."""
    before = place.footprint()
    perform(KINDS[name])
    first = place.footprint()
    ended = perform(KINDS[name])
    return changed(before, first), changed(first, place.footprint()), ended.tasks


def left_by_a_failure(name: str, place: Place) -> Changed:
    """The remains of a failing run, the second time."""

    async def wrong(host: Any) -> None:
        await host.console.send("hello")
        await host.console.expect("good", within=20)
        raise ExpectationError("the test is not content")

    def fail() -> None:
        with suppress(ExpectationError):
            perform(KINDS[name]._replace(body=wrong))
            raise RuntimeError("the run did not fail")

    fail()
    before = place.footprint()
    fail()
    return changed(before, place.footprint())


def left_by_an_untidy_app(name: str, place: Place) -> tuple[Changed, Changed]:
    """The differences when the app has left something, and when that has been put away."""
    after: Tidy = []

    async def untidy(app: Any) -> None:
        LEAVING[name](after, place)
        app.console.write_line("done")

    kind = Kind(lambda b: b.with_console().with_app(untidy), lambda host: host.console.expect("done"))
    before = place.footprint()
    perform(kind)
    found = changed(before, place.footprint())
    for tidy in after:
        tidy()
    return found, changed(before, place.footprint())


# what an app may leave


def _a_thread(after: Tidy, _: Place) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    after += [stop.set, thread.join]


def _a_process(after: Tidy, _: Place) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    after += [process.kill, process.wait]


def _a_folder(after: Tidy, _: Place) -> None:
    folder = tempfile.TemporaryDirectory(prefix="left-")
    after += [folder.cleanup]


def _a_file(after: Tidy, place: Place) -> None:
    path = place.folders["current"] / "left.txt"
    path.write_text("left")
    after += [path.unlink]


def _a_variable(after: Tidy, _: Place) -> None:
    os.environ["LEFT"] = "1"
    after += [lambda: os.environ.pop("LEFT")]


def _a_handler(after: Tidy, _: Place) -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    after += [lambda: signal.signal(signal.SIGUSR1, before)]


def _an_open_file(after: Tidy, _: Place) -> None:
    opened = socket.socket()
    after += [opened.close]


def _a_log_handler(after: Tidy, _: Place) -> None:
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    after += [lambda: logging.getLogger().removeHandler(handler)]


def _another_folder(after: Tidy, place: Place) -> None:
    os.chdir(place.folders["home"])
    after += [lambda: os.chdir(place.folders["current"])]


LEAVING: dict[str, Callable[[Tidy, Place], None]] = {
    "a thread": _a_thread,
    "a process": _a_process,
    "a folder": _a_folder,
    "a file": _a_file,
    "a variable": _a_variable,
    "a handler": _a_handler,
    "an open file": _an_open_file,
    "a log handler": _a_log_handler,
    "another folder": _another_folder,
}

if __name__ == "__main__":
    named, argument, folder = sys.argv[1:]
    json.dump(globals()[named](argument, Place(Path(folder))), sys.stdout, default=repr)
