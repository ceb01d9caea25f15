"""`soundstage serve`: a scripted model on a port until a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.clock import IdSource, SystemClock
from soundstage.journal import Journal, Redactor, RunFinished, RunStarted
from soundstage.lifecycle import termination_requested
from soundstage.models import ScriptedModel, load_script
from soundstage.net import LOOPBACK
from soundstage.wire import ModelServer

RECORDS: Final = 10_000  # that are kept in memory at least; a file has all
ANSWERS: Final = 1_000  # of the Responses format that may be continued
CONVERSATIONS: Final = 10_000  # that conditions such as `iteration` ask for


class ServeOptions(NamedTuple):
    """Options of `serve`."""

    script: Path
    host: str = LOOPBACK
    port: int = 0
    journal: Path | None = None
    strict: bool = False
    seed: int = 0
    token: str = ""
    control_token: str = ""


def serve(options: ServeOptions, *, say: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Serve until SIGTERM, SIGHUP or SIGINT; before it returns, requests in flight are finished, the journal is closed.

    Args:
        options: what to serve, and where.
        say: gets two lines once connections are accepted: `serving URL`, and the header for `/_soundstage/`.
        warn: gets remarks: rules that can never fire, at the end rules that were never used.

    Raises:
        ScriptLoadError: if the script is wrong.
        EnvironmentProblem: if the port is in use, or the journal cannot be written.
    """
    script = load_script(options.script)
    for problem in script.problems():
        warn(str(problem))
    script.strict = script.strict or options.strict
    with _handlers_as_they_were(), asyncio.Runner(loop_factory=_fast_loop) as runner:
        model = ScriptedModel(script, ids=IdSource(options.seed), conversations=CONVERSATIONS)
        unused = runner.run(_serve(options, model, say))
    for label in unused:
        warn(f"never used: {label}")


@contextlib.contextmanager
def _handlers_as_they_were() -> Iterator[None]:
    """Put back the handlers of signals: a closed uvloop keeps its own, and Ctrl-C would do nothing."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _fast_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # not made for this platform
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _serve(options: ServeOptions, model: ScriptedModel, say: Callable[[str], None]) -> list[str]:
    stop = termination_requested()
    clock = SystemClock()
    redactor = Redactor.from_environment(os.environ)
    run = f"serve-{options.seed}"
    journal = Journal(options.journal, clock=clock, run=run, redactor=redactor, keep=RECORDS)
    try:
        server = ModelServer(
            model,
            journal,
            host=options.host,
            port=options.port,
            token=options.token,
            control_token=options.control_token,
            clock=clock,
            ids=IdSource(options.seed + 1),
            answers=ANSWERS,
        )
        journal.append(
            RunStarted(name=options.script.name, wall=clock.wall().isoformat(), seed=options.seed),
            source="serve",
        )
        await server.start()
        say(f"serving {server.url}")
        [(header, value)] = server.control_headers.items()
        say(
            f"for tests, not for the program under test: {server.url}/_soundstage/journal with `{header}: {value}`"
        )
        await stop.wait()
        await server.stop()
        journal.append(RunFinished(), source="serve")
    finally:
        journal.close()
    if journal.problem is not None:
        raise journal.problem  # somebody was told by an answer; the file is not the whole run
    return [rule.label for rule in model.unused()]
