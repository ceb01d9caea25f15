"""Two ways to run an example: in process, on virtual time, and as the program that a person starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from soundstage import Script
from soundstage.agents import configured_app
from soundstage.host import HostBuilder

ROOT = Path(__file__).resolve().parents[2]
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")


def in_process(example, *more, journal=None):
    """The example's own configuration, and what a test changes in it, with a strict script."""
    builder = (
        HostBuilder().with_app(configured_app(example.configure, *more)).with_script(Script(strict=True))
    )
    return builder if journal is None else builder.with_journal(journal)


def as_program(example, *arguments, journal=None, **options):
    """`python -m examples...`, with a strict script on a port."""
    kept = [] if journal is None else ["--journal", journal]
    argv = [sys.executable, "-m", example.__name__, *arguments, *kept]
    return HostBuilder().with_script(Script(strict=True)).with_program(argv, cwd=ROOT, **options)


def start_alone(example, *arguments, typed="", **environment):
    """The program without a host, as a shell starts it: no key unless it is given. What it said, and its exit code."""
    bare = {name: value for name, value in os.environ.items() if name not in KEYS}
    return subprocess.run(
        [sys.executable, "-m", example.__name__, *map(str, arguments)],
        input=typed,
        cwd=ROOT,
        env={**bare, **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


WAYS = {"in process": in_process, "program": as_program}
