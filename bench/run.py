"""Measures Soundstage against peers and limits, in one run, and prints a table of ratios.

    make bench                       everything, about four minutes; writes bench/results.md
    make bench ARGS="--only wire"    one group: wire, call, journal, start, claude, console...
    make bench ARGS=--quick          a fifth of the repetitions

A missed target is marked SHORT and is no error: the exit code is 0 unless something could not be run.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import rows_call
import rows_claude
import rows_console
import rows_discord
import rows_eval_page
import rows_evals
import rows_executors
import rows_faults
import rows_fields
import rows_journal
import rows_kept
import rows_results
import rows_runs
import rows_scenarios
import rows_start
import rows_tapes
import rows_team
import rows_wire
from _aimock import version
from _load import CONNECTIONS, BenchError
from _reeltime import VERSION as REELTIME
from _servers import can_pin
from _settings import Settings
from _table import Row, render, summary

RESULTS = Path(__file__).resolve().parent / "results.md"
GROUPS = {
    module.NAME: module
    for module in (
        rows_call,
        rows_journal,
        rows_kept,
        rows_start,
        rows_wire,
        rows_fields,
        rows_claude,
        rows_console,
        rows_discord,
        rows_team,
        rows_faults,
        rows_tapes,
        rows_runs,
        rows_executors,
        rows_results,
        rows_eval_page,
        rows_scenarios,
        rows_evals,
    )
}


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Ratios against peers and limits.")
    parser.add_argument("--only", choices=sorted(GROUPS), help="measure one group; results.md stays as it is")
    parser.add_argument(
        "--quick", action="store_true", help="a fifth of the repetitions; results.md stays as it is"
    )
    options = parser.parse_args()
    started = time.monotonic()
    busy = _busy()
    chosen = [options.only] if options.only else list(GROUPS)
    try:
        found = list(_measure(chosen, quick=options.quick))
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    table = render(found)
    print(f"\n{table}\n\n{summary(found)}; {time.monotonic() - started:.0f} s")
    if not options.only and not options.quick:
        RESULTS.write_text(_page(table, summary(found), busy))
        print(f"written to {RESULTS.parent.name}/{RESULTS.name}")
    return 0


def _measure(names: list[str], *, quick: bool) -> Iterator[Row]:
    for name in names:
        settings = Settings(
            rounds=3 if quick else 9,
            seconds=0.3 if quick else 0.7,
            quick=quick,
            tell=lambda text, name=name: _tell(f"{name}: {text}"),
        )
        yield from GROUPS[name].rows(settings)


def _tell(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def _page(table: str, met: str, busy: str) -> str:
    return "\n".join(
        (
            "# Benchmark results",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, {_machine()}{busy}. {met}.",
            "",
            table,
            "",
            _HOW.format(pinned=_pinned(), connections=CONNECTIONS),
        )
    )


def _machine() -> str:
    node = "no node"
    if shutil.which("node"):
        node = (
            "node "
            + subprocess.run(
                ["node", "--version"], capture_output=True, text=True, check=False
            ).stdout.strip()
        )
    optimized = "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS"))
    build = "" if optimized else " (built without profile-guided optimization)"
    python = f"{platform.python_implementation()} {platform.python_version()}{build}"
    return f"{python}, {node}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def _busy() -> str:
    """The load of the machine before the start, where it is known."""
    return f", load average {os.getloadavg()[0]:.1f} before the run" if hasattr(os, "getloadavg") else ""


def _pinned() -> str:
    if can_pin():
        return "The client has one core, the server another, the same two for all contestants."
    return "Client and server share the cores; this machine does not let us pin them."


_HOW = f"""## How it was measured

`make bench`, one run. Contestants take turns (A B A B ...); a ratio is taken within each round and the median
over the rounds is reported, so that a noisy machine hits all alike. In `figures` the first number is ours.
Ratios are speed: 2x means twice as fast as what it is compared with.

- **wire**: every server is a process of its own: `soundstage serve --script FILE --port 0`, with its journal in
  memory, as it is by default; uvicorn with httptools and uvloop and a raw ASGI app that sends constant bytes
  as long as our answer; `@copilotkit/aimock` {version()} on Node, at its default log level, which logs no
  requests. {{pinned}} One closed-loop client for all: {{connections}} connections, each sends its next request when
  the answer is complete. Every status is checked, and on each connection the first answer is compared with
  the expected text. All servers get the same warm-up, long enough for a JIT.
- **fields**: processor time of two servers of ours, one of which has the look at fields taken out of it; Linux only.
- **call**: `complete()` of a journaled scripted model, and `FunctionModel.request()`.
- **journal**: records of one message; each contestant starts with an empty list or file.
- **kept**: what a journal file takes, and the resident memory of `soundstage serve` with its journal in memory.
- **start**: whole processes; the minimum counts.
- **claude**: whole runs of the Claude Code CLI with one prompt; the bare CLI gets the same arguments, the same
  environment and a server that sends constant bytes.
- **executors**: one eval with a scripted model, from its first run that is kept to its last, so without the start of
  workers; two workers each.
- **tapes**: whole commands on one Python agent, a conversation of 200 turns on httpx, against a server of
  constant bytes: `soundstage record` and `replay`, and `tape run` and `tape replay` of reeltime {REELTIME}, which
  works inside of the agent's process.
"""


if __name__ == "__main__":
    sys.exit(main())
