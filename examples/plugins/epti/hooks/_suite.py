"""Runs the tests of a project with the tool that the project uses.

The variable EPTI_TEST_COMMAND, or the first line of the file `.epti-tests` in the project, names the command where
the guess below is not right. A run that takes too long counts as failed: a hook that is cut off by its own time
limit would let the action through.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

WITHIN = 90.0  # seconds; hooks.json gives the hook more
SHOWN = 25  # lines of the output that the agent sees
NOTHING = re.compile(r"^(?:Ran 0 tests|\S tests 0$)", re.MULTILINE)  # unittest, node


class Outcome(NamedTuple):
    """How the tests went: whether all passed, with which command, and the end of what it printed."""

    passed: bool
    command: str
    tail: str


def command(project: Path) -> list[str] | None:
    """The command that runs the tests of a project; none if nothing is known about it."""
    given = os.environ.get("EPTI_TEST_COMMAND") or _first_line(project / ".epti-tests")
    if given:
        return shlex.split(given)
    if (project / "go.mod").is_file():
        return ["go", "test", "./..."]
    if (project / "package.json").is_file():
        scripts = json.loads((project / "package.json").read_text()).get("scripts", {})
        npm = "test" in scripts and shutil.which("npm")
        return ["npm", "test", "--silent"] if npm else ["node", "--test"]
    if importlib.util.find_spec("pytest") is not None:
        return [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return [sys.executable, "-B", "-m", "unittest", "discover", "-q"] if any(project.rglob("*.py")) else None


def _first_line(file: Path) -> str:
    return (file.read_text().splitlines() or [""])[0].strip() if file.is_file() else ""


def run(project: Path) -> Outcome | None:
    """The outcome; none if nothing is known about how this project is tested."""
    words = command(project)
    if words is None:
        return None
    shown = shlex.join(words)
    try:
        process = subprocess.Popen(
            words,
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # what the tests have started ends with them
        )
    except OSError as error:
        return Outcome(passed=False, command=shown, tail=f"it cannot be started: {error}")
    try:
        output, _ = process.communicate(timeout=WITHIN)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Outcome(passed=False, command=shown, tail=f"not finished after {WITHIN:g} seconds")
    text = output.decode("utf-8", "replace").rstrip()
    tail = "\n".join(text.splitlines()[-SHOWN:])
    if NOTHING.search(text):  # which is a success for some tools
        return Outcome(
            passed=False, command=shown, tail=f"{tail}\nNo test was found: name the command in .epti-tests"
        )
    return Outcome(passed=process.returncode == 0, command=shown, tail=tail)
