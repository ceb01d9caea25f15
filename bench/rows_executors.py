"""Evals on two workers of a Ray cluster on this machine, against two processes, and these against one process."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator

from _pairs import median
from _settings import Settings
from _table import Row
from soundstage.evals import Case, ModelAgent, Suite, evaluator_of, executor_of, run_suite
from soundstage.models import Script, ScriptedModel
from soundstage.runs import RunStore

NAME = "executors"
KINDS = {"local": None, "processes": 2, "ray": 2}


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    suite = _suite(400)
    rounds = [
        {kind: _rate(suite, kind, workers) for kind, workers in KINDS.items()}
        for _ in range(max(1, settings.rounds // 2))
    ]
    for kind, other in (("ray", "processes"), ("processes", "local")):
        figures = [median([one[name] for one in rounds]) for name in (kind, other)]
        yield Row(
            f"runs of an eval, executor {kind}",
            f"executor {other}",
            f"{figures[0]:.0f} / {figures[1]:.0f} runs/s",
            median([one[kind] / one[other] for one in rounds]),
        )


def _suite(cases: int) -> Suite:
    script = Script()
    script.on(user="weather").reply("It is sunny.")
    model: Callable[[], ScriptedModel] = lambda: ScriptedModel(script, shared=True)  # noqa: E731
    expect = (evaluator_of("contains", "sunny"),)
    return Suite(
        name="executors",
        agent=ModelAgent("m"),
        model=model,
        cases=[Case(name=f"c{number}", input="weather", expect=expect) for number in range(cases)],
    )


def _rate(suite: Suite, kind: str, workers: int | None) -> float:
    """Runs per second, from the first that is kept to the last."""
    ends: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(folder)
        executor = executor_of(kind, workers=workers)
        told = lambda _: ends.append(time.perf_counter())  # noqa: E731
        report = asyncio.run(run_suite(suite, store=store, executor=executor, on_run=told))
        store.close()
    assert report.passed
    return (len(ends) - 1) / (ends[-1] - ends[0])
