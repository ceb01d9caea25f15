"""The peers of evals: pydantic-evals and inspect_ai, in an environment of their own, each with a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from _load import BenchError
from _servers import HERE

PACKAGES = ("pydantic-evals==2.62.0", "inspect-ai==0.3.285")
FOLDER = HERE.parent / "build" / "peers" / "evals-2.62.0-0.3.285"
PYTHON = FOLDER / "bin" / "python"
READY = FOLDER / "ready"
PROGRAMS = {"pydantic-evals": "evals_pydantic.py", "inspect_ai": "evals_inspect.py"}


def missing() -> str:
    """Why they cannot run here, or nothing. Installs them if need be, without touching our environment."""
    if READY.exists():
        return ""
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
    for command in ([sys.executable, "-m", "venv", "--clear", str(FOLDER)], install):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            return f"{Path(command[0]).name} {' '.join(command[1:4])} failed: {done.stderr.strip()[-300:]}"
    READY.touch()
    return ""


def seconds(peer: str, cases: int) -> float:
    """Seconds that a peer takes for so many cases, without the start of its interpreter and its imports.

    Raises:
        BenchError: if it fails, or a case does not pass.
    """
    command = [str(PYTHON), str(HERE / PROGRAMS[peer]), str(cases)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    words = done.stdout.split()
    if done.returncode or len(words) != 2 or int(words[1]) != cases:
        raise BenchError(f"{peer} ended with {done.returncode}: {done.stdout[-200:]} {done.stderr[-500:]}")
    return float(words[0])
