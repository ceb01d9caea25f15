"""Runs of a program with a tape: recorded, replayed, or both, by mode. What the commands call."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from soundstage.clock import SystemClock
from soundstage.drivers import AnyIsolation
from soundstage.errors import ConfigError
from soundstage.journal import EgressTried, Journal, Redactor, RunFinished, RunStarted
from soundstage.models import ScriptedModel, load_script
from soundstage.scripts import shown
from soundstage.tapes._mcp_stand_ins import McpStandIns
from soundstage.tapes._playback import Playback
from soundstage.tapes._program import KEPT_ON_RECORD, best_isolation, run_program
from soundstage.tapes._seen import keep_seen
from soundstage.tapes._server import TapeServer
from soundstage.tapes._surroundings import Mask, Surroundings
from soundstage.tapes._tape import OldTapeError, Tape, TapeHead
from soundstage.tapes._verdict import Verdict, verdict_on_old
from soundstage.wire import ModelServer

Mode = Literal["once", "new", "all", "none"]
FAILED: Final = 1
MODES: Final = ("once", "new", "all", "none")


class RunOptions(NamedTuple):
    """A run of a program with a tape.

    Args:
        tape: the file.
        command: the program and its arguments.
        mode: `once` records if there is no tape, else replays; `new` replays and records what is not there; `all`
            records anew; `none` replays.
        upstreams: base URLs of providers.
        mcp: the program's MCP servers, as `.mcp.json` has them; a replay takes them from the tape.
        speed: of a replay: 1 keeps the recorded pace; none unless given.
        relaxed: go on after a divergence with the nearest exchange.
        isolation: how far a replay is kept apart; as far as the system allows unless given.
        tools: of a replay: `closed` lets the program reach nothing, `real` leaves its tools the network.
        journal: a file for the journal of the run.
        script: a script that answers in the place of the providers while it records.
        cwd: the program's folder; ours unless given.
        environment: variables that the program gets besides ours.
    """

    tape: Path
    command: tuple[str, ...]
    mode: Mode = "once"
    upstreams: Mapping[str, str] = {}
    mcp: Mapping[str, Mapping[str, Any]] = {}
    speed: float | None = None
    relaxed: bool = False
    isolation: AnyIsolation | None = None
    tools: Literal["closed", "real"] = "closed"
    journal: Path | None = None
    script: Path | None = None
    cwd: Path | None = None
    environment: Mapping[str, str] = {}


class RunOutcome(NamedTuple):
    """The end of such a run.

    Args:
        code: the program's exit code.
        recorded: exchanges that were recorded.
        played: exchanges that were played.
        verdicts: divergences, in order.
        problems: what went wrong besides: providers that cannot be reached, secrets that cannot be taken out.
        tried: hosts that the program tried to reach in a replay.
        redacted: what was taken out of answers, because it was secret.
        mcp_recorded: lines of MCP servers that were recorded.
        mcp_played: exchanges with MCP servers that were played.
    """

    code: int
    recorded: int = 0
    played: int = 0
    verdicts: tuple[Verdict, ...] = ()
    problems: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    mcp_recorded: int = 0
    mcp_played: int = 0


def run_with_tape(options: RunOptions) -> RunOutcome:
    """Run a program, record or replay what it asks models, and tell how it ended.

    Raises:
        TapeError: if the tape cannot be read.
        EnvironmentProblem: if the program cannot be run, or the tape not be written.
    """
    try:
        with asyncio.Runner() as runner:
            return runner.run(_run(options) if options.script is None else _scripted(options, options.script))
    except OldTapeError as error:
        return RunOutcome(code=FAILED, verdicts=(verdict_on_old(error, shown(options.tape)),))


async def _scripted(options: RunOptions, file: Path) -> RunOutcome:
    """A recording whose provider is a script."""
    async with script_upstreams(file) as bases:
        return await _run(options._replace(upstreams=bases))


@contextlib.asynccontextmanager
async def script_upstreams(file: Path) -> AsyncIterator[Mapping[str, str]]:
    """The base URLs of a provider that is a script."""
    server = ModelServer(ScriptedModel(load_script(file)), Journal())
    await server.start()
    try:
        yield {"openai": server.openai_url, "anthropic": server.anthropic_url, "gemini": server.gemini_url}
    finally:
        await server.stop()


async def _run(options: RunOptions) -> RunOutcome:
    clock = SystemClock()
    redactor = Redactor.from_environment(os.environ)
    recording = options.mode in ("new", "all") or (options.mode == "once" and not options.tape.exists())
    replaying = not (options.mode == "all" or (options.mode == "once" and recording))
    here = Surroundings.here(clock.wall(), options.cwd)
    tape = _tape(
        options,
        redactor,
        here,
        anew=recording and not (replaying and options.tape.exists()),
        now=clock.wall().isoformat(),
    )
    playback = Playback(tape, here=here, relaxed=options.relaxed) if replaying else None
    journal = Journal(options.journal, clock=clock, run="tape", redactor=redactor)
    try:
        journal.append(RunStarted(name=tape.name, wall=clock.wall().isoformat(), seed=0), source="tape")
        server = TapeServer(
            tape,
            journal,
            playback=playback,
            upstreams=options.upstreams if recording else None,
            clock=clock,
            speed=options.speed,
        )
        servers = McpStandIns(
            tape,
            journal,
            playback=playback,
            entries=options.mcp,
            recording=recording,
            environment=os.environ,
            cwd=options.cwd if options.cwd is not None else Path.cwd(),
        )
        closed = not recording or options.script is not None
        async with AsyncExitStack() as last:
            for one in (server, servers):
                await one.start()
                last.push_async_callback(one.stop)
            code = await program_at(server, options, journal, closed=closed, servers=servers)
        journal.append(RunFinished(), source="tape")
    finally:
        journal.close()
    return _outcome(code, server, servers, playback, journal)


def _tape(options: RunOptions, redactor: Redactor, here: Surroundings, *, anew: bool, now: str) -> Tape:
    if not anew:
        return Tape.load(options.tape, redactor=redactor)
    masks: tuple[Mask, ...] = ()
    with contextlib.suppress(OldTapeError):
        masks = (
            Tape.load(options.tape).head.masks if options.tape.exists() else ()
        )  # reviewed, so they are kept
    tape = Tape.create(options.tape, redactor=redactor)
    tape.head = TapeHead(recorded=now, places=here, masks=masks)
    return tape


async def program_at(
    server: TapeServer,
    options: RunOptions,
    journal: Journal,
    *,
    closed: bool,
    servers: McpStandIns | None = None,
) -> int:
    """Run the program on a server; its exit code.

    Args:
        server: that it finds.
        options: the program, its folder, its isolation.
        journal: where its start and exit go.
        closed: whether it reaches nothing else, and has stand-ins for keys.
        servers: the MCP servers that it finds.
    """
    environment: dict[str, str] = {**os.environ, **KEPT_ON_RECORD, **options.environment}
    isolation: AnyIsolation | None = None
    if closed:
        given = server.stand_ins(os.environ)
        environment.update({name: value for name, value in given.items() if value is not None})
        for name in (name for name, value in given.items() if value is None):
            environment.pop(name, None)
        if options.tools == "closed":
            isolation = options.isolation if options.isolation is not None else best_isolation()
    else:
        environment.update(server.addresses())
    if servers is not None:
        environment.update(servers.environment())
    return await run_program(
        options.command,
        journal,
        environment=environment,
        isolation=isolation,
        cwd=options.cwd,
        reads=servers.reads if servers is not None else (),
    )


def _outcome(
    code: int, server: TapeServer, servers: McpStandIns, playback: Playback | None, journal: Journal
) -> RunOutcome:
    tape = server.tape
    verdicts: tuple[Verdict, ...] = ()
    recorded = server.recorded + servers.recorded
    if playback is not None:
        last = playback.finish() if recorded == 0 else None
        keep_seen(playback)
        verdicts = tuple(playback.verdicts) or ((last,) if last is not None else ())
    return RunOutcome(
        code=code,
        recorded=server.recorded,
        played=len(tape.exchanges) - server.recorded - len(playback.unplayed) if playback is not None else 0,
        verdicts=verdicts,
        problems=(*server.unreachable, *servers.problems, *tape.problems),
        tried=tried_hosts(journal),
        redacted=tuple(tape.redacted),
        mcp_recorded=servers.recorded,
        mcp_played=playback.mcp.played if playback is not None else 0,
    )


def tried_hosts(journal: Journal) -> tuple[str, ...]:
    """The hosts that the program has tried to reach, each once."""
    found = dict.fromkeys(record.event.host for record in journal.read(type=EgressTried))  # type: ignore[attr-defined]
    return tuple(found)


def upstreams_of(given: Sequence[str]) -> dict[str, str]:
    """The base URLs in options such as `openai=https://gateway.example/v1`.

    Raises:
        ConfigError: for another name, or no URL.
    """
    found: dict[str, str] = {}
    for text in given:
        name, _, url = text.partition("=")
        if name not in ("openai", "anthropic", "gemini") or not url.startswith(("http://", "https://")):
            raise ConfigError(
                "this is no upstream",
                expected="openai=URL, anthropic=URL or gemini=URL, the URL as that SDK takes it",
                seen=text,
            )
        found[name] = url
    return found


def as_json(outcome: RunOutcome) -> str:
    """The outcome as JSON, for other programs."""
    fields = {**outcome._asdict(), "verdicts": [msgspec.to_builtins(one) for one in outcome.verdicts]}
    for place, verdict in enumerate(outcome.verdicts):
        fields["verdicts"][place]["line"] = verdict.line
    return msgspec.json.format(msgspec.json.encode(fields)).decode()
