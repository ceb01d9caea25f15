"""An agent on the official OpenAI SDK, with tools and streaming, as a subprocess on the wire."""

from __future__ import annotations

import importlib.util
import sys
from typing import Final

from soundstage.demo._scenario import DemoScenario
from soundstage.drivers import Command
from soundstage.errors import ExpectationError
from soundstage.host import Host, HostBuilder
from soundstage.models import CallSpec, Script
from soundstage.net import EgressProxy
from soundstage.trace import assert_no_egress, assert_tool_calls

TASK: Final = "Write an index of the folder."
INDEX: Final = "letter.txt: a letter\nmap.txt: a map\n"


def missing() -> str:
    """The packages to install before this can run."""
    found = importlib.util.find_spec("openai") is not None
    return "" if found else "the OpenAI SDK is not installed: pip install openai"


def _script() -> Script:
    script = Script(strict=True)
    script.agent("archivist", system="You are an archivist")
    script.on(user=TASK, iteration=1).reply(text="Let me look.", tool_calls=[CallSpec(name="list_files")])
    script.on(tool_result="map.txt", iteration=2).reply(
        tool_calls=[
            CallSpec(name="read_file", arguments={"name": "letter.txt"}),
            CallSpec(name="read_file", arguments={"name": "map.txt"}),
        ]
    )
    write = CallSpec(name="write_file", arguments={"name": "index.txt", "text": INDEX})
    script.on(tool_result="Dear friend", iteration=3).reply(tool_calls=[write])
    script.on(tool_result="written").reply(
        "The index is in index.txt: two files, a letter and a map.", tokens_per_second=400
    )
    return script


def setup(builder: HostBuilder) -> HostBuilder:
    """A folder, the wire, a proxy that refuses every way out."""
    return (
        builder.with_script(_script())
        .with_workspace()
        .with_server()
        .with_daemon(lambda host: EgressProxy(host.journal))
    )


async def body(host: Host) -> None:
    """Run the program to its end; check its output, its files, its tools and that it stayed inside."""
    host.workspace.write("letter.txt", "Dear friend, ...")
    host.workspace.write("map.txt", "x marks the spot")
    program = Command(
        [sys.executable, "-m", "soundstage.demo.sdk_agent", str(host.workspace.root), TASK],
        host.journal,
        environment=host.server.environment() | host.get(EgressProxy).environment(),
    )
    await program.start()
    try:
        await program.expect("two files, a letter and a map", within=60)
        code = await program.wait(within=30)
    finally:
        await program.stop()
    host.workspace.record_changes()
    if code != 0 or host.workspace.read("index.txt") != INDEX:
        raise ExpectationError("the agent did not do its work", seen=f"exit code {code}")
    assert_tool_calls(
        host.trace,
        "list_files",
        ("read_file", {"name": "letter.txt"}),
        ("read_file", {"name": "map.txt"}),
        "write_file",
        agent="archivist",
    )
    assert_no_egress(host.trace)


SCENARIO = DemoScenario(
    "agent on the OpenAI SDK, subprocess, over the wire",
    "A program on the official SDK streams answers and runs tools; it knows nothing of the test.",
    setup,
    body,
    missing,
)
