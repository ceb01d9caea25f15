"""A full-screen program on a terminal: keys in, screens with their colours out, its model on the wire.

The program puts the terminal into raw mode, draws on the alternate screen and asks its model with the standard
library. The test sees what a person would see, and waits for screens, never for time.
"""

from __future__ import annotations

import sys
from typing import Final

from soundstage.demo._scenario import DemoScenario
from soundstage.errors import ExpectationError
from soundstage.host import Host, HostBuilder
from soundstage.models import Script
from soundstage.terminal import Terminal, styled
from soundstage.trace import assert_model_requests, assert_no_egress

PROGRAM: Final = "soundstage.demo.terminal_app"
NOTES: Final = "This release brings a dark theme, and no file loses its last line anymore."


def _script() -> Script:
    script = Script(strict=True)
    script.on(user="/fix: the last line.*\\n- feat: a dark theme$/s", times=1).reply(
        NOTES, tokens_per_second=100
    )
    return script


def setup(builder: HostBuilder) -> HostBuilder:
    """The wire, and a folder for what the program keeps."""
    return builder.with_script(_script()).with_workspace().with_server()


async def body(host: Host) -> None:
    """Choose two entries, have the notes written, make the window smaller, leave."""
    terminal = Terminal(
        [sys.executable, "-m", PROGRAM, "NOTES.txt"],
        host.journal,
        columns=72,
        rows=14,
        cwd=host.workspace.root,
        environment=host.server.environment(),
    )
    await terminal.start()
    try:
        await _use(terminal)
    finally:
        await terminal.stop()
    host.workspace.record_changes()
    if host.workspace.read("NOTES.txt") != f"{NOTES}\n":
        raise ExpectationError("the notes were not kept", seen=host.workspace.read("NOTES.txt"))
    assert_model_requests(host.trace, 1)
    assert_no_egress(host.trace)


async def _use(terminal: Terminal) -> None:
    await terminal.expect("q quits", within=30)
    await terminal.press("Space", "Down", "Space")
    await terminal.expect("2 chosen")
    await terminal.expect(styled("a dark theme", bold=True))
    await terminal.snap("two entries are chosen")
    await terminal.press("Enter")
    await terminal.expect("written   up down")
    await terminal.expect(styled("This release brings a dark theme", fg="bright-green"))
    await terminal.snap("the model has written")
    await terminal.press("q")
    await terminal.expect_exit(0)


SCENARIO = DemoScenario(
    "full-screen program on a terminal",
    "Keys go in, screens come out, with their colours; the program's model is on the wire.",
    setup,
    body,
)
