"""Runs the app on this terminal, with the journal in a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from examples._real import parser, run_real, start
from examples.file_journal_console import configure
from soundstage.agents import SystemConsole

ABOUT = """\
Keeps each line that you type as a note; `list` shows all of them, those of earlier runs too. Ctrl-D ends it.

  $ python -m examples.file_journal_console
  buy milk
  kept as 1

The notes are in the journal, notes.jsonl unless --journal names another file. It needs no key.
"""


async def main(options: argparse.Namespace) -> None:
    """Until the input ends."""
    await run_real(configure, console=SystemConsole(), journal=options.journal)


if __name__ == "__main__":
    arguments = parser("examples.file_journal_console", ABOUT)
    arguments.set_defaults(journal=Path("notes.jsonl"))
    start(arguments, main)
