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
from soundstage.demo import _claude_fix, _console_chat, _discord, _sdk, _tape, _team, _terminal, _workflow
from soundstage.demo._progress import Progress
from soundstage.demo._scenario import DemoScenario
from soundstage.errors import SoundstageError
from soundstage.host import Host, HostBuilder
from soundstage.journal import Record, Redactor, read_journal
from soundstage.report import Section, SummaryRow, summary_table, write_page
from soundstage.trace import build_trace

SCENARIOS = (
    _console_chat.SCENARIO,
    _team.SCENARIO,
    _terminal.SCENARIO,
    _discord.SCENARIO,
    _sdk.SCENARIO,
    _tape.SCENARIO,
    _workflow.SCENARIO,
    _claude_fix.SCENARIO,
)


class DemoResult(NamedTuple):
    """How a scenario went.

    Args:
        scenario: which one.
        seconds: the machine's; a run on virtual time has more of its own.
        error: why it failed.
        records: its journal.
        skipped: why it was not run.
    """

    scenario: DemoScenario
    seconds: float
    error: Exception | None
    records: list[Record]
    skipped: str = ""

    @property
    def outcome(self) -> str:
        """`passed`, `failed` or `skipped`."""
        if self.skipped:
            return "skipped"
        return "passed" if self.error is None else "failed"


def run_demo(out: Path, *, scenarios: Sequence[DemoScenario] = SCENARIOS) -> bool:
    """Run all scenarios that can run here. Returns whether none failed.

    Args:
        out: folder for `demo.html` and one journal a scenario; made if it is not there.
        scenarios: what to run.
    """
    redactor = Redactor.from_environment(os.environ)
    results = []
    for number, scenario in enumerate(scenarios, 1):
        _say(f"{number}/{len(scenarios)} {scenario.title}")
        result = run_scenario(scenario, out / f"{number}.jsonl", redactor, say=_say)
        _say("\n".join(f"    {line}" for line in _verdict(result).splitlines()))
        results.append(result)
    page = out / "demo.html"
    write_page(page, [_section(result) for result in results], title="Soundstage demo", redactor=redactor)
    _say("")
    _say(summary_table([_row(result) for result in results]))
    _say(f"\npage: {page.resolve()}")
    return all(result.error is None for result in results)


def run_scenario(
    scenario: DemoScenario, path: Path, redactor: Redactor, *, say: Callable[[str], None], seed: int = 0
) -> DemoResult:
    """Run one scenario and keep its journal in `path`. A failure is a result, not an exception."""
    path.unlink(missing_ok=True)
    missing = scenario.missing()
    if missing:
        return DemoResult(scenario, 0.0, None, [], skipped=missing)
    builder = HostBuilder(scenario.title, seed=seed).with_journal(path).with_redactor(redactor)
    builder = scenario.setup(builder)
    error: Exception | None = None
    clock = SystemClock()
    try:
        builder.run(lambda host: _watched(scenario, host, say))
    except Exception as found:  # noqa: BLE001  (whatever it is, the demo shows it and goes on)
        error = found
    seconds = clock.now()
    return DemoResult(scenario, seconds, error, read_journal(path) if path.exists() else [])


async def _watched(scenario: DemoScenario, host: Host, say: Callable[[str], None]) -> None:
    """Run the body, and show what the journal gets while it does."""
    shown, progress = 0, Progress()

    def show(record: Record) -> None:
        nonlocal shown
        shown = record.position
        line = progress.line(record)
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


def _verdict(result: DemoResult) -> str:
    if result.skipped:
        return f"skipped: {result.skipped}"
    if result.error is None:
        return f"passed in {result.seconds:.2f} s"
    return f"FAILED in {result.seconds:.2f} s\n{told(result.error)}"


def told(error: BaseException) -> str:
    """An error in words, with those that it holds: a run may end with several."""
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    words = str(error) if isinstance(error, SoundstageError) else f"{type(error).__name__}: {error}"
    return "\n".join([words, *map(told, inner)])


def _section(result: DemoResult) -> Section:
    note = f"{result.scenario.about} Skipped: {result.skipped}" if result.skipped else result.scenario.about
    return Section(result.scenario.title, result.records, outcome=result.outcome, note=note)


def _row(result: DemoResult) -> SummaryRow:
    return SummaryRow(
        scenario=result.scenario.title,
        outcome=result.outcome,
        seconds=result.seconds,
        trace=build_trace(result.records),
    )


def _say(text: str) -> None:
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough; the page is written all the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
