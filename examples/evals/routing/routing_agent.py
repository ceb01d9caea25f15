"""The orchestrator of the coding team, as far as its plan: nobody of the team goes to work."""

from __future__ import annotations

import sys
from pathlib import Path

from soundstage.evals import EvalPlace

ROOT = str(Path(__file__).resolve().parents[3])
if ROOT not in sys.path:  # an eval can be started from any folder
    sys.path.insert(0, ROOT)


async def answer(prompt: str, place: EvalPlace) -> str:
    """The words of the orchestrator: a plan in JSON, or the answer itself."""
    from examples.coding_team.team import make_loop, make_planner

    loop = make_loop(place.model, place.workspace.root, place.journal, model_name="gpt-4.1")
    return (await make_planner(loop).create(prompt)).answer
