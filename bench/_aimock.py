"""The peer: @copilotkit/aimock, a mock server for Node, installed beside this file."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from _servers import HERE

CLI = HERE / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
WARM_UP = 10_000  # requests until its JIT has settled


def version() -> str:
    """The version that package.json asks for."""
    pinned: str = json.loads((HERE / "package.json").read_text())["dependencies"]["@copilotkit/aimock"]
    return pinned


def missing() -> str:
    """Why it cannot run here, or nothing. Installs it if need be."""
    absent = [program for program in ("node", "npm") if shutil.which(program) is None]
    if absent:
        return f"no {' and no '.join(absent)} on this machine"
    if _installed() == version():
        return ""
    command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=120, check=False)
    return "" if _installed() == version() else f"npm install failed: {done.stderr.strip()[-300:]}"


def _installed() -> str:
    package = CLI.parent.parent / "package.json"
    return str(json.loads(package.read_text())["version"]) if package.exists() else ""


def command(fixtures: Path, *more: str) -> list[str]:
    """Its command line; it logs nothing per request at this level."""
    node = shutil.which("node") or "node"
    return [node, str(CLI), "--port", "0", "--fixtures", str(fixtures), *more]
