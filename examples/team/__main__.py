"""Puts the team to work: `python -m examples.team "Implement auth"`.

A real model is asked, with the key in OPENAI_API_KEY; that costs money. OPENAI_BASE_URL points to a compatible server.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import closing
from pathlib import Path

from examples.team.team import make_router
from soundstage.clock import SystemClock
from soundstage.errors import SoundstageError
from soundstage.journal import Journal, Redactor
from soundstage.live import LiveModel


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m examples.team", description="A team that implements and verifies."
    )
    parser.add_argument("message", help="what the team is to do")
    parser.add_argument("--model", default="gpt-4.1", help="the model to ask for")
    parser.add_argument("--journal", type=Path, help="a file for the record of the run")
    parser.add_argument("--rounds", type=int, default=20, help="decisions of the orchestrator, at most")
    return parser.parse_args(given)


async def work(options: argparse.Namespace, journal: Journal) -> str:
    """Let the team work; returns why it stopped."""
    live = LiveModel("openai", base_url=os.environ.get("OPENAI_BASE_URL", ""), allow=True)
    router = make_router(live, journal, name=options.model)
    router.max_iterations = options.rounds
    conversation = router.coordinator.create(options.message)
    ended = await router.run(
        conversation, on_agent_execution=lambda agent, phase: print(f"{agent} [{phase}]", flush=True)
    )
    last = router.coordinator.get(conversation).turns[-1]
    print(last.text)
    return ended.reason


def main() -> int:
    options = arguments()
    redactor = Redactor.from_environment(os.environ)
    try:
        with closing(Journal(options.journal, clock=SystemClock(), redactor=redactor)) as journal:
            print(f"stopped: {asyncio.run(work(options, journal))}")
    except SoundstageError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
