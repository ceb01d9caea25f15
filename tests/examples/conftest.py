"""The examples are programs of their own, beside the package: the project's root has to be on the path.

`hosted` gives a builder that runs an example in process, on virtual time, or as the program that a person starts;
a test that takes it runs in both ways, and its body is the same. `on_discord` is that for bots.
"""

import sys
from pathlib import Path

import pytest

from support import ways_discord
from support.ways import WAYS

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture(params=WAYS)
def hosted(request):
    """A fresh `HostBuilder` for an example: `hosted(console_chat).run(body)`, in both ways.

    `journal` is the file in which the app keeps its journal: the run's own in process, `--journal` for a program.
    """
    return WAYS[request.param]


@pytest.fixture(params=ways_discord.WAYS)
def on_discord(request):
    """A fresh `HostBuilder` for a bot: `on_discord(discord_chat).run(body)`, in both ways; `journal` as above."""
    return ways_discord.WAYS[request.param]
