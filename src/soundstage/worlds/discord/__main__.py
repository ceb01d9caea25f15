"""Run an unmodified discord.py bot against the Discord of `DISCORD_API_BASE`.

    DISCORD_API_BASE=... DISCORD_TOKEN=... python -m soundstage.worlds.discord bot.py [arguments]

The bot's program needs to know nothing: the library is pointed at the address before the program starts.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from soundstage.worlds.discord._discordpy import point_at


def main() -> None:
    """Point discord.py at the address, and run the program."""
    if len(sys.argv) < 2 or "DISCORD_API_BASE" not in os.environ:
        sys.exit("usage: DISCORD_API_BASE=URL python -m soundstage.worlds.discord PROGRAM [ARGUMENTS]")
    point_at(os.environ["DISCORD_API_BASE"])
    del sys.argv[0]
    sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
