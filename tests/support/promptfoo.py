"""promptfoo itself, for tests that compare: it runs a configuration, and what it found is set beside our report."""

from __future__ import annotations

import json
import math
import os
from typing import NamedTuple

from soundstage.evals import load_suite, run_suite
from soundstage.lifecycle import Execution
from soundstage.runs import RunStore
from support.node import CACHE, NODE, need

PLACE = CACHE / "promptfoo"
MAIN = PLACE / "node_modules/promptfoo/dist/src/entrypoint.js"
SWITCHES = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
}
AMOUNTS = ("cost", "latency")  # our grades have the amount as their score


class Judged(NamedTuple):
    """One assertion: whether it holds, and its score."""

    holds: bool
    score: float


class Outcome(NamedTuple):
    """One test: whether it passes, and its assertions."""

    passed: bool
    assertions: tuple[Judged, ...]
    words: str = ""


def need_promptfoo():
    """Skip if it is not installed; CI fails on a skipped test."""
    need("promptfoo")


async def theirs(path, scratch, variables):
    """The outcome of each test in promptfoo, in our order."""
    out = scratch / "out.json"
    words = [
        "eval",
        "--no-cache",
        "-c",
        path.name,
        "-o",
        str(out),
        "--no-write",
        "--no-table",
        "--no-progress-bar",
    ]
    environment = {**_environment(scratch), **variables}
    done = await Execution([str(NODE), str(MAIN), *words], cwd=path.parent, environment=environment).finish(
        within=200
    )
    assert out.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    found = json.loads(out.read_text())["results"]["results"]
    found.sort(key=lambda one: (one["testIdx"], one["promptIdx"]))
    return [_their_outcome(one) for one in found]


def _environment(scratch):
    return {
        "PATH": f"{NODE.parent}:{os.environ['PATH']}",
        "HOME": str(scratch),
        "PROMPTFOO_CONFIG_DIR": str(scratch / "promptfoo"),
        **SWITCHES,
    }


async def in_library(code, asked, scratch):
    """The end of a program on node that gets the address of promptfoo's library, and a text on standard input."""
    argv = [str(NODE), "--input-type=module", "-e", code, str(MAIN.parent / "index.js")]
    return await Execution(argv, cwd=scratch, environment=_environment(scratch), stdin=asked.encode()).finish(
        within=100
    )


def _their_outcome(one):
    parts = (one.get("gradingResult") or {}).get("componentResults") or ()
    words = f"{one.get('error')} {[(part.get('assertion'), part['reason']) for part in parts]}"
    return Outcome(one["success"], tuple(Judged(part["pass"], part["score"] or 0) for part in parts), words)


async def ours(path, scratch):
    """The outcome of each test here."""
    store = RunStore(scratch / "store")
    try:
        report = await run_suite(load_suite(path), store=store)
    finally:
        store.close()
    assert not report.errors, report.errors[0].reason
    return [(case.name, _our_outcome(case.runs[0])) for case in report.cases]


def _our_outcome(run):
    grades = [one for one in run.grades if one.evaluator not in ("agent", "no_failures: true", "no_failures")]
    flat = tuple(piece for one in grades for piece in (_judged(one), *map(_part, one.parts)))
    return Outcome(run.outcome == "passed", flat, "; ".join(one.reason for one in grades))


def _judged(one):
    kind = one.evaluator.partition(":")[0]
    told = one.score if one.score is not None and not one.absent and kind not in AMOUNTS else float(one.holds)
    return Judged(one.holds, told)


def _part(part):
    return Judged(part.holds, part.score)


async def differences(path, scratch, variables):
    """All that is not the same, in words, and how many assertions were compared.

    Tests with a threshold, weights or names are a single evaluator here, whose parts are the assertions.
    """
    found, compared = [], 0
    one, other = await theirs(path, scratch, variables), await ours(path, scratch)
    assert len(one) == len(other), (len(one), [name for name, _ in other])
    for wanted, (name, seen) in zip(one, other, strict=True):
        if wanted.passed != seen.passed:
            found.append(f"{name}: {wanted} but here {seen}")
        judged = seen.assertions[-len(wanted.assertions) :] if wanted.assertions else ()
        if len(seen.assertions) - len(judged) > 1 or len(judged) != len(wanted.assertions):
            if wanted.assertions:
                found.append(f"{name}: {len(wanted.assertions)} assertions but here {len(seen.assertions)}")
            continue
        for number, (there, here) in enumerate(zip(wanted.assertions, judged, strict=True)):
            compared += 1
            if there.holds != here.holds or not math.isclose(there.score, here.score, abs_tol=1e-9):
                found.append(
                    f"{name}: assertion {number}: {there} but here {here}: {wanted.words} / {seen.words}"
                )
    return found, compared
