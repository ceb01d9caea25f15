"""Puts the team to work: `python -m examples.coding_team "Find out why the login fails and fix it"`.

A real model is asked, with the key in OPENAI_API_KEY or ANTHROPIC_API_KEY; that costs money. The team works in the
current folder and asks before it writes a file or runs a command.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from examples.coding_team.agents import AGENTS
from examples.coding_team.team import describe, make_loop, make_planner
from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentTask, PermissionMode
from soundstage.clock import SystemClock, run
from soundstage.errors import EnvironmentProblem, SoundstageError
from soundstage.journal import Journal, Redactor
from soundstage.live import LiveModel
from soundstage.messages import ToolCall

Provider = Literal["openai", "anthropic"]
KEYS: dict[Provider, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
MODELS: dict[Provider, str] = {"openai": "gpt-4.1", "anthropic": "claude-sonnet-4-5"}
KNOWS_SUFFIXES = "openrouter.ai"


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.coding_team",
        description="A team of agents that works on the project in a folder.",
        epilog="agents:\n" + "\n".join(f"  {describe(agent)}" for agent in AGENTS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", help="what is to be done")
    parser.add_argument("--agent", choices=[agent.slug for agent in AGENTS], help="one agent, without a plan")
    parser.add_argument("--plan", action="store_true", help="show the plan and ask before it is carried out")
    parser.add_argument(
        "--yes", action="store_true", help="do not ask before files are written and commands run"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path(), help="the project; the current folder unless given"
    )
    parser.add_argument(
        "--provider", choices=sorted(KEYS), help="whose model; the one whose key is there unless given"
    )
    parser.add_argument(
        "--model", default="", help="its name; " + ", ".join(f"{MODELS[name]} for {name}" for name in KEYS)
    )
    parser.add_argument(
        "--base-url", default="", help="where a compatible server is, e.g. https://openrouter.ai/api/v1"
    )
    parser.add_argument("--journal", type=Path, help="a file for the record of the run")
    return parser.parse_args(given)


def provider_of(options: argparse.Namespace) -> Provider:
    """The provider whose model is asked."""
    wanted: list[Provider] = [options.provider] if options.provider else list(KEYS)
    found = [name for name in wanted if os.environ.get(KEYS[name])]
    if not found:
        names = " or ".join(KEYS[name] for name in wanted)
        raise EnvironmentProblem(
            "there is no key for a real model",
            expected=f"{names} in the environment",
            seen="none",
            hint=f"export {KEYS[wanted[0]]}=...; calls cost money",
        )
    return found[0]


async def ask(agent: AgentDefinition, call: ToolCall) -> bool:
    """Ask the person at the terminal; no answer is a no."""
    return await _yes(f"{agent.slug} wants to use {call.name}: {call.arguments_json[:500]}")


async def _yes(question: str) -> bool:
    print(f"{question}\nGo ahead? [y/N] ", end="", file=sys.stderr, flush=True)
    return (await _line()).strip().lower() in ("y", "yes")


async def _line() -> str:
    """One line from the person, without holding up the loop; empty if there is nobody."""
    loop, ready, line = asyncio.get_running_loop(), asyncio.Event(), b""
    descriptor = sys.stdin.fileno()
    try:
        loop.add_reader(descriptor, ready.set)
    except OSError:  # a file or nothing at all: nobody is there
        return ""
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return line.decode(errors="replace")


async def main(options: argparse.Namespace) -> int:
    """Do the task; 0 if it was done."""
    provider = provider_of(options)
    with closing(Journal(options.journal, redactor=Redactor.from_environment(os.environ))) as journal:
        loop = make_loop(
            LiveModel(provider, base_url=options.base_url, allow=True),
            options.folder,
            journal,
            model_name=options.model or MODELS[provider],
            suffixes=(urlsplit(options.base_url).hostname or "").endswith(KNOWS_SUFFIXES),
            mode=PermissionMode("auto") if options.yes else PermissionMode("ask", ask),
        )
        return await (_one(loop, options) if options.agent else _planned(loop, options))


async def _one(loop: AgentLoop, options: argparse.Namespace) -> int:
    outcome = await loop.run(AgentTask(id="task", agent=options.agent, prompt=options.task))
    print(outcome.output)
    if not outcome.success:
        print(outcome.error, file=sys.stderr)
    return 0 if outcome.success else 1


async def _planned(loop: AgentLoop, options: argparse.Namespace) -> int:
    planner = make_planner(loop)
    draft = await planner.create(options.task)
    if draft.plan is None:
        print(draft.answer)
        return 0
    print(f"Plan: {draft.plan.text}", file=sys.stderr)
    for number, task in enumerate(draft.plan.tasks):
        after = f" (after {', '.join(map(str, task.depends_on))})" if task.depends_on else ""
        print(f"  {number} {task.agent}: {task.description}{after}", file=sys.stderr)
    if options.plan and not await _yes("That is the plan."):
        planner.reject()
        return 1
    result = await planner.approve()
    if result is None:
        return 1
    print(result.summary)
    return (
        0 if all(task.status == "completed" for task in result.tasks) and not result.quality.warnings else 1
    )


if __name__ == "__main__":
    try:
        sys.exit(run(main(arguments()), clock=SystemClock()))
    except SoundstageError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
