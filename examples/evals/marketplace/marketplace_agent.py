"""The real Claude Code CLI with the plugins of examples/plugins, installed from their marketplace, in a repository."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from soundstage.claude_code import ClaudeCode
from soundstage.evals import EvalPlace

MARKETPLACE = Path(__file__).resolve().parents[2] / "plugins"
ALWAYS = "promptctl"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # hooks need `python3`


async def answer(prompt: str, place: EvalPlace) -> str:
    """Install plugins in a new home, open a session in the repository, and give it the prompt.

    Hooks of two plugins for one event run side by side, and end in any order. So the one whose command is in the prompt
    is installed, and the one with the rules.
    """
    named = re.match(r"/([a-z-]+):", prompt)
    place.workspace.git()
    place.workspace.commit("first")
    claude = ClaudeCode(
        place.journal,
        place.server,
        place.workspace,
        environment={"PATH": PATH},
        permission_mode="acceptEdits",
        allowed_tools=("Bash",),
        opens=False,
    )
    await claude.start()
    try:
        place.settled(claude.home)
        market = shutil.copytree(
            MARKETPLACE, claude.home / "marketplace"
        )  # hooks name their folder, as the tape does
        for plugin in (*([named[1]] if named else []), ALWAYS):
            await claude.plugins.install(plugin, marketplace=market)
        session = await claude.open()
        return (await session.prompt(prompt, within=120)).text
    finally:
        await claude.stop()
