"""Runs the app on this terminal, with a real model."""

from __future__ import annotations

import argparse

from examples._real import live_model, model_parser, run_real, start
from examples.console_agent_streaming import configure
from soundstage.agents import SystemConsole

ABOUT = """\
Answers what you type with a model, and shows each paragraph of the answer when it is there. Ctrl-D ends it.

  $ export OPENAI_API_KEY=...
  $ python -m examples.console_agent_streaming
  Tell me of the fjords, in three paragraphs.
"""


async def main(options: argparse.Namespace) -> None:
    """Until the input ends."""
    model = live_model(options.model)
    await run_real(configure, model=model, console=SystemConsole(), journal=options.journal)


if __name__ == "__main__":
    start(model_parser("examples.console_agent_streaming", ABOUT), main)
