"""Runs the app on this terminal."""

from __future__ import annotations

import argparse

from examples._real import parser, run_real, start
from examples.console_chat import configure
from soundstage.agents import SystemConsole

ABOUT = """\
Says again what you type, line by line; a blank line gets no answer. Ctrl-D ends it.

  $ echo "Hello, world!" | python -m examples.console_chat
  [echo]: Hello, world!

It asks no model and needs no key.
"""


async def main(options: argparse.Namespace) -> None:
    """Until the input ends."""
    await run_real(configure, console=SystemConsole(), journal=options.journal)


if __name__ == "__main__":
    start(parser("examples.console_chat", ABOUT), main)
