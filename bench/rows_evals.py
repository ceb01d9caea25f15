"""Evals: cases per second with an instant scripted model, each case run once, graded, and kept in a store.

The bare loop makes the same calls, each journaled to a file of its own, and does nothing else: no workspace, no
grades, no store, and nothing is written back to the disk. pydantic-evals calls a function and keeps nothing.
inspect_ai asks its mockllm and writes one log. Four runs go at a time in all of them.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import _eval_peers
from _load import BenchError
from _pairs import interleave, ratio
from _settings import Settings
from _table import Row, per_second
from soundstage.evals import Case, ModelAgent, Suite, evaluator_of, run_suite
from soundstage.journal import Journal
from soundstage.messages import ModelRequest, user
from soundstage.models import JournaledModel, Script, ScriptedModel, complete
from soundstage.runs import RunStore

NAME = "evals"
CASES, ROUNDS = 1000, 3
WHAT, BARE = "eval cases, run, graded and kept", "a bare loop with the same journaled calls"
PEERS = {
    "pydantic-evals": "pydantic-evals Dataset.evaluate, nothing kept",
    "inspect_ai": "inspect_ai with mockllm",
}


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    count = settings.scaled(CASES)
    turns = {"ours": lambda: _ours(count), "bare": lambda: _bare(count)}
    absent = _eval_peers.missing()
    if not absent:
        turns |= {peer: _peer(peer, count) for peer in PEERS}
    times = interleave(turns, min(settings.rounds, ROUNDS), settings.tell)
    rates = {name: [count / seconds for seconds in values] for name, values in times.items()}
    for name, against, target in (
        ("bare", BARE, 0.3),
        *((peer, words, 3.0) for peer, words in PEERS.items()),
    ):
        if name not in times:
            yield Row(WHAT, against, absent, target=target)
            continue
        figures = f"{per_second(rates['ours'])} : {per_second(rates[name])}, {count} cases"
        yield Row(WHAT, against, figures, ratio(times[name], times["ours"]), target)


def _peer(peer: str, count: int) -> Callable[[], float]:
    return lambda: _eval_peers.seconds(peer, count)


def _script() -> Script:
    script = Script()
    script.on(user="question").reply("The answer is short.")
    return script


def _ours(count: int) -> float:
    """Seconds of an eval."""
    script = _script()
    expect = (evaluator_of("contains", "short"),)
    suite = Suite(
        name="suite",
        agent=ModelAgent("gpt-4o"),
        model=lambda: ScriptedModel(script, shared=True),
        cases=[
            Case(name=f"case {number}", input=f"question {number}", expect=expect) for number in range(count)
        ],
    )
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(folder)
        gc.collect()
        start = time.perf_counter()
        report = asyncio.run(run_suite(suite, store=store))
        taken = time.perf_counter() - start
        store.close()
    if not report.passed:
        raise BenchError(f"{report.rate.passed} of {count} cases passed")
    return taken


def _bare(count: int) -> float:
    """Seconds of the calls alone."""
    script = _script()

    async def ask(folder: Path, number: int) -> None:
        journal = Journal(folder / f"{number}.jsonl")
        model = JournaledModel(ScriptedModel(script, shared=True), journal)
        await complete(model, ModelRequest(model="gpt-4o", messages=(user(f"question {number}"),)))
        journal.close()

    async def work(folder: Path, numbers: Iterator[int]) -> None:
        for number in numbers:
            await ask(folder, number)

    async def everything(folder: Path) -> None:
        numbers = iter(range(count))
        await asyncio.gather(*(work(folder, numbers) for _ in range(4)))

    with tempfile.TemporaryDirectory() as folder:
        gc.collect()
        start = time.perf_counter()
        asyncio.run(everything(Path(folder)))
        return time.perf_counter() - start
