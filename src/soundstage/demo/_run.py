"""Runs the scenarios one after the other, shows them as they go, writes the journals and the page."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from soundstage.clock import SystemClock
from soundstage.demo import _claude_fix, _console_chat, _sdk
from soundstage.demo._progress import progress_line
from soundstage.demo._scenario import Scenario
from soundstage.host import Host, HostBuilder
from soundstage.journal import Record, Redactor, read_journal
from soundstage.report import Section, SummaryRow, summary_table, write_page
from soundstage.trace import build_trace

SCENARIOS = (_console_chat.SCENARIO, _sdk.SCENARIO, _claude_fix.SCENARIO)


class Result(NamedTuple):
    """How a scenario went. `seconds` are the machine's; a run on virtual time has more of its own."""

    scenario: Scenario
    seconds: float
    error: Exception | None
    records: list[Record]


def run_demo(out: Path, *, scenarios: Sequence[Scenario] = SCENARIOS) -> bool:
    """Run all scenarios. Returns whether all passed.

    Args:
        out: folder for `demo.html` and one journal a scenario; made if it is not there.
        scenarios: what to run.
    """
    redactor = Redactor.from_environment(os.environ)
    results = []
    for number, scenario in enumerate(scenarios, 1):
        _say(f"{number}/{len(scenarios)} {scenario.title}")
        result = run_scenario(scenario, out / f"{number}.jsonl", redactor, say=_say)
        _say(f"    {'passed' if result.error is None else 'FAILED'} in {result.seconds:.2f} s")
        if result.error is not None:
            _say("\n".join(f"    {line}" for line in str(result.error).splitlines()))
        results.append(result)
    page = out / "demo.html"
    write_page(page, [_section(result) for result in results], title="Soundstage demo", redactor=redactor)
    _say("")
    _say(summary_table([_row(result) for result in results]))
    _say(f"\npage: {page.resolve()}")
    return all(result.error is None for result in results)


def run_scenario(
    scenario: Scenario, path: Path, redactor: Redactor, *, say: Callable[[str], None], seed: int = 0
) -> Result:
    """Run one scenario and keep its journal in `path`. A failure is a result, not an exception."""
    path.unlink(missing_ok=True)
    builder = HostBuilder(scenario.title, seed=seed).with_journal(path).with_redactor(redactor)
    builder = scenario.setup(builder)
    error: Exception | None = None
    clock = SystemClock()
    try:
        builder.run(lambda host: _watched(scenario, host, say))
    except Exception as found:  # noqa: BLE001  (whatever it is, the demo shows it and goes on)
        error = found
    seconds = clock.now()
    return Result(scenario, seconds, error, read_journal(path) if path.exists() else [])


async def _watched(scenario: Scenario, host: Host, say: Callable[[str], None]) -> None:
    """Run the body, and show what the journal gets while it does."""
    shown = 0

    def show(record: Record) -> None:
        nonlocal shown
        shown = record.position
        line = progress_line(record)
        if line:
            say(host.journal.redactor.text(line))

    async def watch() -> None:
        async for record in host.journal.tail():
            show(record)

    watcher = asyncio.create_task(watch())
    try:
        await scenario.body(host)
    finally:
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher
        for record in host.journal.read(shown):
            show(record)


def _section(result: Result) -> Section:
    return Section(
        title=result.scenario.title,
        records=result.records,
        outcome="passed" if result.error is None else "failed",
        note=result.scenario.about,
    )


def _row(result: Result) -> SummaryRow:
    return SummaryRow(
        scenario=result.scenario.title,
        outcome="passed" if result.error is None else "failed",
        seconds=result.seconds,
        trace=build_trace(result.records),
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
