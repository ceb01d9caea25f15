"""This working tree against another commit: has anything that is measured become slower?

    git worktree add --detach FOLDER COMMIT
    python bench/pairs.py FOLDER                   # all, about ten minutes
    python bench/pairs.py FOLDER call wire         # what has one of these words in its name

Both trees take turns, each in processes of its own (`_side.py`; `soundstage serve` for the wire), with the same Python
and packages. Processor time is measured, of the side or of the server, so that both see the same machine whatever else
it does; real programs are measured by the clock on the wall. A ratio is taken of neighbouring turns and the median is
printed: above 1 this tree is slower, and above 1.10 the row says so. Linux only: the times of servers are in /proc.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import rows_wire
from _load import BenchError, Target, rate
from _pairs import interleave, median, ratio
from _servers import newest_child, server, soundstage, spent

W = TypeVar("W")
HERE = Path(__file__).resolve().parent
ROUNDS = 11
WORST = 1.10
ANSWERS = 600  # of a server, in one turn


class Work(NamedTuple):
    """A workload in process: an expression over modules of `bench`, and how it is measured.

    Args:
        seconds: the expression; its value are the seconds of one.
        wall: by the clock on the wall, where most of the work is somebody else's.
        rounds: fewer where a turn takes seconds.
    """

    seconds: str
    wall: bool = False
    rounds: int = ROUNDS


_FILE = "file, secrets known", "['hunter2-hunter2', 'correct-horse-9']"
WORKS: Mapping[str, Work] = {
    "call: scripted, in process, journaled": Work("rows_call._turn(rows_call._ours, 2000)()"),
    "console: a test in process": Work("rows_console._per_test(rows_console._ours, 100)"),
    "console: 200 hosts at once": Work("rows_console._at_once(200)"),
    "team: a turn of an agent": Work("rows_team._turn(rows_team._ours, 500)()"),
    "team: a trace of 20,000 events": Work("rows_team._trace_seconds(20_000)"),
    "team: 300 conversations": Work("timed(rows_team._conversations_row)", rounds=3),
    **{
        f"append: {kind}, {where}": Work(f"_appends.once({kind!r}, {secrets})")
        for where, secrets in (("memory", None), ("file", "[]"), _FILE)
        for kind in ("message", "chunk", "call", "note", "request of 21 messages")
    },
    "discord: a message and its echo": Work("1 / rows_discord.asyncio.run(rows_discord._measure(1, 100))"),
    "claude: a run of the real CLI": Work("rows_claude._driven()", wall=True, rounds=5),
    "claude: a plugin test": Work("rows_claude._driven_plugin()", wall=True, rounds=5),
}
IMPORTS = {
    "import: soundstage": ["-c", "import soundstage"],
    "import: every public name": ["-c", "from soundstage import *"],
    "import: the idle pytest plugin": ["-m", "pytest", "--version"],
}
SERVED = {
    "wire: chat, no stream, 10 rules": "few",
    "wire: chat, no stream, 10,000 rules": "many",
    "wire: chat, stream of 20 chunks": "stream",
}


def main() -> None:
    """Measure what is asked for, and print a line for each."""
    other, *words = sys.argv[1:]
    trees = {"ours": HERE.parent, "theirs": Path(other).resolve()}
    with contextlib.ExitStack() as stack:
        sides = {name: stack.enter_context(_side(tree)) for name, tree in trees.items()}
        for what, work in _wanted(WORKS, words):
            turns = {name: partial(_worked, side, work) for name, side in sides.items()}
            print(compared(what, turns, work.rounds), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            for what, arguments in _wanted(IMPORTS, words):
                turns = {
                    name: partial(_process, arguments, tree, Path(folder)) for name, tree in trees.items()
                }
                print(compared(what, turns), flush=True)
            for what, kind in _wanted(SERVED, words):
                print(_served(what, kind, trees, Path(folder)), flush=True)


def _wanted(works: Mapping[str, W], words: list[str]) -> Iterator[tuple[str, W]]:
    return ((what, work) for what, work in works.items() if not words or any(word in what for word in words))


def compared(what: str, turns: Mapping[str, Callable[[], float]], rounds: int = ROUNDS) -> str:
    """The line of one comparison; the first turn of each side warms up."""
    try:
        interleave(turns, 1)
        times = interleave(turns, rounds)
    except BenchError as problem:
        return f"{what:42} not measured: {problem}"
    found = ratio(times["ours"], times["theirs"])
    micros = " : ".join(f"{median(times[name]) * 1e6:,.1f}" for name in ("ours", "theirs"))
    return f"{what:42} {found:.2f} {'SLOWER' if found > WORST else '':6}  {micros} us"


@contextlib.contextmanager
def _side(tree: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, str(HERE / "_side.py"), str(tree)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as side:
        yield side
        assert side.stdin is not None
        side.stdin.close()


def _worked(side: subprocess.Popen[str], work: Work) -> float:
    assert side.stdin is not None
    assert side.stdout is not None
    side.stdin.write(json.dumps([work.seconds, work.wall]) + "\n")
    side.stdin.flush()
    answer = json.loads(side.stdout.readline())
    if "problem" in answer:
        raise BenchError(answer["problem"])
    if not answer["source"]:
        raise BenchError("another Soundstage than that of the folder was loaded")
    return float(answer["seconds"])


def _environment(tree: Path, folder: Path) -> dict[str, str]:
    """Variables for a process of a tree. Its byte code is cached, as it is for users."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(tree / "src"), "PYTHONPYCACHEPREFIX": str(folder / "cache")}


def _process(arguments: list[str], tree: Path, folder: Path) -> float:
    """Processor seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments],
        env=_environment(tree, folder),
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _served(what: str, kind: str, trees: Mapping[str, Path], folder: Path) -> str:
    """Processor seconds of a server for one answer."""
    script = rows_wire._write(folder / f"{kind}.json", rows_wire._files()[kind])
    with contextlib.ExitStack() as stack:
        turns: dict[str, Callable[[], float]] = {}
        for name, tree in trees.items():
            port = stack.enter_context(
                server(soundstage(script), core=None, environment=_environment(tree, folder))
            )
            turns[name] = partial(_answered, rows_wire._target(port, kind), newest_child())
        return compared(what, turns)


def _answered(target: Target, process: int) -> float:
    before = spent(process)
    rate(target, answers=ANSWERS)
    return (spent(process) - before) / ANSWERS


if __name__ == "__main__":
    main()
