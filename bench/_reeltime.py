"""The peer: reeltime, a recorder that patches HTTP clients within a Python program, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from _servers import HERE

VERSION = "1.0.0"
FOLDER = HERE.parent / "build" / "peers" / f"reeltime-{VERSION}"


def missing() -> str:
    """Why it cannot run here, or nothing. Installs it if need be, without touching our environment."""
    if (FOLDER / "reeltime").exists():
        return ""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command = [*install, "--target", str(FOLDER), f"reeltime=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return "" if done.returncode == 0 else f"pip install failed: {done.stderr.strip()[-300:]}"


def environment() -> dict[str, str]:
    """Variables with which our Python finds it, and no other does."""
    return {**os.environ, "PYTHONPATH": str(FOLDER)}


def command(*words: str) -> list[str]:
    """Its command line."""
    return [sys.executable, "-m", "reeltime.cli", *words]


def size_of_tape(folder: Path) -> int:
    """Bytes of all that it has recorded in a folder."""
    return sum(file.stat().st_size for file in (folder / ".tape").rglob("*") if file.is_file())
