"""The command `soundstage demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page and the journals.")] = Path(
        "soundstage-demo"
    ),
) -> None:
    """Run eight scenarios: a console chat, a team of agents, a program on a terminal, a Discord bot, an agent on an
    SDK over the wire, a tape and the verdict on an edited prompt, a workflow recorded and replayed, the real Claude
    Code fixing a bug.

    Shows progress, then a table and the path of an HTML page. A scenario that needs what is not installed is
    skipped. Exit code 1 if one failed.
    """
    from soundstage.demo._run import run_demo

    raise typer.Exit(0 if run_demo(out) else 1)
