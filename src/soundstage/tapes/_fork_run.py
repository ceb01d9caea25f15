"""A run of a program that leaves its tape. What the command `fork` calls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from soundstage.clock import SystemClock
from soundstage.drivers import AnyIsolation
from soundstage.errors import ConfigError
from soundstage.journal import Journal, RunFinished, RunStarted
from soundstage.tapes._change import Change
from soundstage.tapes._fork import Fork
from soundstage.tapes._fork_server import ForkServer
from soundstage.tapes._mcp_stand_ins import McpStandIns
from soundstage.tapes._run import RunOptions, program_at, script_upstreams, tried_hosts
from soundstage.tapes._surroundings import Surroundings
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import Verdict


class ForkOptions(NamedTuple):
    """A run of a program that leaves its tape.

    Args:
        tape: what is played.
        at: the step at which it is left.
        change: what is another there.
        command: the program and its arguments.
        branch: the file for the tape of the branch.
        said: the change in words; the text of the change unless given.
        script: a script that goes on.
        upstreams: base URLs of providers that go on; their keys are the program's.
        mcp: MCP servers that go on, as `.mcp.json` has them; those of the tape are played.
        isolation: how far the program is kept apart where a script goes on.
        journal: a file for the journal of the run.
    """

    tape: Tape
    at: int
    change: str | Change
    command: tuple[str, ...]
    branch: Path
    said: str = ""
    script: Path | None = None
    upstreams: Mapping[str, str] = {}
    mcp: Mapping[str, Mapping[str, Any]] = {}
    isolation: AnyIsolation | None = None
    journal: Path | None = None


class ForkOutcome(NamedTuple):
    """The end of such a run.

    Args:
        code: the program's exit code.
        left: whether it came to the step.
        played: exchanges that the tape has answered.
        made: exchanges that have come after it.
        given: requests that have gone to the model.
        changed: those of them that carry the change.
        verdict: why the program is not the recorded one, if it is not.
        problems: what went wrong on the way to a provider, or with a secret.
        tried: hosts that the program tried to reach.
    """

    code: int
    left: bool
    played: int
    made: int
    given: int
    changed: int
    verdict: Verdict | None = None
    problems: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()


def run_fork(options: ForkOptions) -> ForkOutcome:
    """Run a program along a tape, change one thing at a step, and go on.

    Raises:
        TapeError: if there is no such step.
        UnknownNameError: if nothing of this name can be changed there.
        ConfigError: if there is nothing to go on with.
        EnvironmentProblem: if the program cannot be run, or the branch not be written.
    """
    if bool(options.script) == bool(options.upstreams):
        raise ConfigError(
            "a branch goes on with a script or with a provider",
            expected="--script FILE, or --upstream openai=URL, anthropic=URL, gemini=URL",
            seen="both" if options.script else "neither",
        )
    clock = SystemClock()
    fork = Fork(
        options.tape, options.at, options.change, said=options.said, here=Surroundings.here(clock.wall())
    )
    with asyncio.Runner() as runner:
        return runner.run(_run(options, fork, clock))


async def _run(options: ForkOptions, fork: Fork, clock: SystemClock) -> ForkOutcome:
    branch = fork.branch(str(options.branch), recorded=clock.wall().isoformat())
    journal = Journal(options.journal, clock=clock, run="fork", redactor=branch.redactor)
    going_on = script_upstreams(options.script) if options.script else nullcontext(options.upstreams)
    try:
        journal.append(RunStarted(name=branch.name, wall=clock.wall().isoformat(), seed=0), source="tape")
        async with going_on as upstreams:
            server = ForkServer(fork, branch, journal, upstreams=upstreams, clock=clock)
            servers = McpStandIns(
                fork.playback.tape,
                journal,
                playback=fork.playback,
                entries=options.mcp,
                recording=True,
                environment=os.environ,
                cwd=Path.cwd(),
                branch=branch,
            )
            async with AsyncExitStack() as last:
                for one in (server, servers):
                    await one.start()
                    last.push_async_callback(one.stop)
                run = RunOptions(options.branch, options.command, isolation=options.isolation)
                code = await program_at(
                    server, run, journal, closed=options.script is not None, servers=servers
                )
        journal.append(RunFinished(), source="tape")
    finally:
        journal.close()
    return ForkOutcome(
        code=code,
        left=fork.left,
        played=server.played,
        made=server.recorded,
        given=fork.given,
        changed=fork.changed,
        verdict=fork.finish(),
        problems=(*server.unreachable, *servers.problems, *branch.problems),
        tried=tried_hosts(journal),
    )


def branch_path(tape: Path) -> Path:
    """A new file beside a tape: `weather.fork-1.tape` for `weather.tape`."""
    number = 1
    while (found := tape.with_name(f"{tape.stem}.fork-{number}{tape.suffix}")).exists():
        number += 1
    return found
