"""A program is recorded once, played without its provider, and told by its cause what an edited prompt changes.

The provider is a script on a port of its own, which is closed before the first replay: what answers then is the tape.
The program is the same three times; what changes in between is one word of its prompt file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from soundstage.demo._scenario import DemoScenario
from soundstage.drivers import Command
from soundstage.errors import ExpectationError
from soundstage.host import Host, HostBuilder
from soundstage.journal import Journal, Noted
from soundstage.models import CallSpec, Script
from soundstage.tapes import Playback, Tape, TapeServer
from soundstage.trace import assert_model_requests, assert_no_egress
from soundstage.wire import ModelServer

PROMPT: Final = "You help people to pack. Name three things."
EDITED: Final = "You help people to pack. Name five things."
ANSWER: Final = "A raincoat, a warm sweater, shoes that may get wet."
TAPE: Final = "packing.tape"


def _script() -> Script:
    script = Script(strict=True)
    forecast = CallSpec(name="forecast", arguments={"city": "Bergen"})
    script.on(system="three things", user="Bergen", iteration=1).reply(tool_calls=[forecast])
    script.on(tool_result="rain from noon").reply(ANSWER)
    return script


def setup(builder: HostBuilder) -> HostBuilder:
    """A folder, and the script of the provider."""
    return builder.with_script(_script()).with_workspace()


async def body(host: Host) -> None:
    """Record the program, play it, edit its prompt, play it again."""
    folder = host.workspace
    folder.write("prompt.txt", PROMPT)
    path = folder.root / TAPE
    provider = ModelServer(host.scripted, Journal())
    await provider.start()
    try:
        recording = TapeServer(
            Tape.create(path), host.journal, upstreams={"anthropic": provider.anthropic_url}
        )
        recorded = await _lines(host, recording)
    finally:
        await provider.stop()
    _note(host, f"the provider is gone, {TAPE} has {recording.recorded} exchanges: run again")
    played = await _lines(host, _playing(host, path))
    if not recorded == played == [ANSWER]:
        raise ExpectationError("a replay is the recorded run", expected=str(recorded), seen=str(played))
    folder.write("prompt.txt", EDITED)
    _note(host, "prompt.txt is edited, three is now five: run again")
    edited = _playing(host, path)
    await _lines(host, edited, code=1)
    _require_verdict(edited)
    folder.record_changes()
    assert_model_requests(host.trace, 5)
    assert_no_egress(host.trace)


def _note(host: Host, text: str) -> None:
    host.journal.append(Noted(text=text), source="demo")


def _playing(host: Host, path: Path) -> TapeServer:
    tape = Tape.load(path)
    tape.name = TAPE  # verdicts call it so; the folder lives no longer than the run
    return TapeServer(tape, host.journal, playback=Playback(tape))


async def _lines(host: Host, server: TapeServer, *, code: int = 0) -> list[str]:
    """Run the program with a server between it and the model; the lines that it prints."""
    await server.start()
    program = Command(
        [sys.executable, "-m", "soundstage.demo.packing_agent", "Bergen"],
        host.journal,
        name="agent",
        cwd=host.workspace.root,
        environment=server.environment(),
        code=code,
    )
    try:
        await program.start()
        await program.wait(code, within=30)
        return program.lines()
    finally:
        await program.stop()
        await server.stop()


def _require_verdict(server: TapeServer) -> None:
    assert server.playback is not None
    verdicts = server.playback.verdicts
    told = "\n".join(verdict.text() for verdict in verdicts)
    if [verdict.cause for verdict in verdicts] != ["system prompt edited"] or PROMPT not in told:
        raise ExpectationError(
            "the verdict names what was edited", expected="system prompt edited", seen=told or "no verdict"
        )


SCENARIO = DemoScenario(
    "a program is recorded, its prompt edited",
    "Recorded once and played without its provider; when one word of its prompt has changed, the verdict says so.",
    setup,
    body,
)
