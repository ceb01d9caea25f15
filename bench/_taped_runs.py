"""Whole runs of one Python program: plain, recorded and replayed, by us and by a peer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import _reeltime
from _load import BenchError
from _pairs import interleave, median, ratio
from _servers import HERE, constant, server
from _settings import Settings
from _table import Row, millis

TURNS = 200
REPLY = "Because the wind comes from the west, and the hills are high. " * 4
AGENT = (sys.executable, str(HERE / "taped_agent.py"), str(TURNS))
PEER = f"reeltime {_reeltime.VERSION}"


def peer_rows(settings: Settings) -> Iterator[Row]:
    """The rows against the peer. Each run is a process with all that it starts, from its start to its exit."""
    problem = _reeltime.missing()
    if problem:
        yield Row("a Python agent, recorded and replayed", PEER, problem, target=1)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "reply.json").write_text(json.dumps(_reply()))
        with server(constant(folder / "reply.json", "application/json"), core=None) as port:
            turns = _turns(folder, f"http://127.0.0.1:{port}/v1")
            times = interleave(turns, min(settings.rounds, 5), settings.tell)
        sizes = {"ours": (folder / "t.tape").stat().st_size, "peer": _reeltime.size_of_tape(folder)}
    yield from _of_times(times)
    figures = f"{sizes['ours']:,} : {sizes['peer']:,} bytes"
    what = f"the tape of a conversation of {TURNS} turns"
    yield Row(what, f"{PEER}, its folder", figures, sizes["peer"] / sizes["ours"], 5)


def _of_times(times: Mapping[str, Sequence[float]]) -> Iterator[Row]:
    plain = median(times["plain"])
    for what, verb in (("recorded", "record"), ("replayed", "replay")):
        ours, peer = times[f"our {verb}"], times[f"peer {verb}"]
        figures = f"{millis(median(ours))} : {millis(median(peer))}, plain {millis(plain)}"
        yield Row(f"a Python agent of {TURNS} turns, {what}", PEER, figures, ratio(peer, ours), 1)


def _turns(folder: Path, url: str) -> dict[str, Callable[[], float]]:
    key = {"OPENAI_API_KEY": "sk-bench-000000-000000"}
    plain = {**os.environ, **key, "OPENAI_BASE_URL": url}
    theirs = {**_reeltime.environment(), **key, "OPENAI_BASE_URL": url}
    ours = [sys.executable, "-m", "soundstage.cli"]
    tape = ("--tape", "t.tape")

    def timed(argv: Sequence[str], environment: Mapping[str, str]) -> Callable[[], float]:
        return lambda: _timed(argv, environment, folder)

    def peer_record() -> float:
        shutil.rmtree(folder / ".tape", ignore_errors=True)
        return _timed(_reeltime.command("run", *AGENT), theirs, folder)

    return {
        "plain": timed(AGENT, plain),
        "our record": timed(
            [*ours, "record", *tape, "--mode", "all", "--upstream", f"openai={url}", "--", *AGENT], plain
        ),
        "our replay": timed([*ours, "replay", *tape, "--", *AGENT], plain),
        "peer record": peer_record,
        "peer replay": timed(_reeltime.command("replay"), theirs),
    }


def _timed(argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> float:
    """Seconds of a run whose agent has been told all."""
    begun = time.perf_counter()
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    took = time.perf_counter() - begun
    if done.returncode or str(TURNS * len(REPLY)) not in done.stdout:
        raise BenchError(f"{' '.join(argv[1:4])} ended with {done.returncode}: {done.stderr[-500:]}")
    return took


def _reply() -> dict[str, object]:
    message = {"role": "assistant", "content": REPLY}
    usage = {"prompt_tokens": 900, "completion_tokens": 60, "total_tokens": 960}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1767225600, "model": "gpt-4.1"}
    return {**head, "choices": [choice], "usage": usage}
