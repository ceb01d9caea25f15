"""One real run of each kind: what a principle says of all runs is tested on these.

`python -m support.kinds NAME JOURNAL` does one in a process of its own.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from soundstage import Script
from soundstage.agents import configured_app
from soundstage.clock import Clock, SystemClock, VirtualClock, run
from soundstage.demo._run import SCENARIOS
from soundstage.discord import VirtualDiscordGateway, discord_of
from soundstage.drivers import Command
from soundstage.host import Host, HostBuilder
from soundstage.journal import Record

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

NOSTR_CLIENT = """
import asyncio, os
import nostr_sdk as nostr

async def main():
    client = nostr.ClientBuilder().build()
    await client.add_relay(nostr.RelayUrl.parse(os.environ["NOSTR_RELAY"]), and_connect=True)
    keys = nostr.Keys.parse("11" * 32)
    event = nostr.EventBuilder(nostr.Kind(1), "good morning").finalize(keys)
    while (await client.send_event(event)).failed:
        pass
    await client.shutdown()

asyncio.run(main())
"""


class Kind(NamedTuple):
    """A run: what it consists of, what is done in it, and whether it needs the machine's time."""

    setup: Callable[[HostBuilder], HostBuilder]
    body: Callable[[Host], Awaitable[Any]]
    real: bool = False

    @property
    def clock(self) -> Clock:
        """The time of the run."""
        return SystemClock() if self.real else VirtualClock()


class Ended(NamedTuple):
    """The remains of a run."""

    records: list[Record]
    tasks: list[str]


def perform(kind: Kind, journal: Path | None = None, *, seed: int = 0) -> Ended:
    """Do a run from beginning to end."""

    async def main() -> Ended:
        builder = kind.setup(HostBuilder("a run", seed=seed))
        if journal is not None:
            builder.with_journal(journal)
        host = builder.build()
        async with host:
            await kind.body(host)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        return Ended(host.journal.read(), [task.get_name() for task in tasks])

    return run(main(), clock=kind.clock)


# console, in process and as a program


def _chatty() -> Script:
    script = Script(strict=True)
    script.on(user="hello", iteration=1).reply("good morning", first_token_after=0.3, tokens_per_second=20)
    script.on(user="and now", iteration=2).reply("good night")
    return script


def _console(builder: HostBuilder) -> HostBuilder:
    from examples import console_agent_streaming

    return builder.with_script(_chatty()).with_app(configured_app(console_agent_streaming.configure))


def _program(builder: HostBuilder) -> HostBuilder:
    argv = [sys.executable, "-m", "examples.console_agent"]
    return builder.with_script(_chatty()).with_program(argv, cwd=ROOT)


async def _chat(host: Host) -> None:
    await host.console.send("hello")
    await host.console.expect("morning", within=20)
    await host.console.send("and now")
    await host.console.expect("night")


# Discord in process


def _bot(builder: HostBuilder) -> HostBuilder:
    from examples import discord_agent

    return (
        builder.with_script(_chatty())
        .add(VirtualDiscordGateway)
        .with_app(configured_app(discord_agent.configure(1001)))
    )


async def _on_discord(host: Host) -> None:
    await discord_of(host).user("ann").says("hello", channel="general")
    await discord_of(host).expect("good morning", channel="general")
    await discord_of(host).user("bob").says("and now", channel="general")
    await discord_of(host).expect("good night", channel="general")


# Nostr, with a real client


def _relay(builder: HostBuilder) -> HostBuilder:
    from soundstage.nostr import NostrRelay

    return builder.add(NostrRelay)


async def _publish(host: Host) -> None:
    from soundstage.nostr import NostrRelay

    relay = host.get(NostrRelay)
    client = Command([sys.executable, "-c", NOSTR_CLIENT], host.journal, environment=relay.environment())
    await client.start()
    try:
        await relay.expect("good morning", kind=1, within=20)
        assert await client.wait(within=20) == 0
    finally:
        await client.stop()


# spans, with the real SDK and its thread


def _receiver(builder: HostBuilder) -> HostBuilder:
    from soundstage.otel import OtlpReceiver

    return builder.add(OtlpReceiver)


async def _export(host: Host) -> None:
    from soundstage.otel import OtlpReceiver

    await asyncio.to_thread(_spans, host.get(OtlpReceiver).url)
    assert host.trace.steps[0].agent == "researcher"


def _spans(url: str) -> None:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces")))
    tracer = provider.get_tracer("test")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "researcher"}
    with tracer.start_as_current_span("invoke_agent researcher", attributes=agent):
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            pass
    provider.shutdown()


CONSOLE_DEMO, TEAM, TERMINAL, DISCORD, SDK, TAPE, WORKFLOW, CLAUDE = SCENARIOS

IN_PROCESS: dict[str, Kind] = {
    "console": Kind(_console, _chat),
    "console demo": Kind(CONSOLE_DEMO.setup, CONSOLE_DEMO.body),
    "team": Kind(TEAM.setup, TEAM.body),
    "discord in process": Kind(_bot, _on_discord),
}
PROGRAMS: dict[str, Kind] = {
    "program": Kind(_program, _chat, real=True),
    "terminal": Kind(TERMINAL.setup, TERMINAL.body, real=True),
    "discord": Kind(DISCORD.setup, DISCORD.body, real=True),
    "sdk": Kind(SDK.setup, SDK.body, real=True),
    "tape": Kind(TAPE.setup, TAPE.body, real=True),
    "nostr": Kind(_relay, _publish, real=True),
    "otel": Kind(_receiver, _export, real=True),
}
KINDS = IN_PROCESS | PROGRAMS

if __name__ == "__main__":
    perform(KINDS[sys.argv[1]], Path(sys.argv[2]))
