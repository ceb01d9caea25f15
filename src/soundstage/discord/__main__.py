"""Run an unmodified discord.py bot against the Discord of `DISCORD_API_BASE`.

    DISCORD_API_BASE=... DISCORD_TOKEN=... python -m soundstage.discord bot.py [arguments]
    DISCORD_API_BASE=... DISCORD_TOKEN=... python -m soundstage.discord -m my_bot [arguments]

The bot's program needs to know nothing: the library is pointed at the address before the program starts.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Final

from soundstage.discord._discordpy import point_at

USAGE: Final = "usage: DISCORD_API_BASE=URL python -m soundstage.discord PROGRAM|-m MODULE [ARGUMENTS]"


def main() -> None:
    """Point discord.py at the address, and run the program as `python` would."""
    arguments = sys.argv[1:]
    is_module = arguments[:1] == ["-m"]
    if len(arguments) < (2 if is_module else 1) or "DISCORD_API_BASE" not in os.environ:
        sys.exit(USAGE)
    point_at(os.environ["DISCORD_API_BASE"])
    if is_module:
        sys.argv = arguments[1:]  # the current folder is on the path already
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
