"""Applications that nobody adapted run from recordings without a network, without a CLI in PATH, and with the SDK's own
program made unexecutable. The same child without a recording shows that none of these can be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from soundstage.claude_code import bundled_cli
from soundstage.drivers import isolation_problem

TESTS = Path(__file__).resolve().parents[1]
DATA = TESTS / "scenarios" / "data"
CHILD = """
import asyncio, importlib, os, shutil, socket, sys
from pathlib import Path

from soundstage.scenarios import ScenarioReplay, load_recording

name, module, function, root, work = sys.argv[1:]
assert shutil.which("claude") is None
try:
    socket.create_connection(("192.0.2.1", 443), timeout=5)
except OSError as error:
    print("network:", error.strerror)
main = getattr(importlib.import_module(module), function)
if root:
    with ScenarioReplay(load_recording(Path(root), name), Path(work)) as replay:
        sys.exit(asyncio.run(main(str(replay.workspace))))
sys.exit(asyncio.run(main(work)))
"""


@pytest.fixture
def closed(tmp_path):
    """Runs a child in namespaces of its own: no network, and nothing that can be executed in the place of the CLI."""
    problem = isolation_problem("netns")
    if problem is not None:
        pytest.skip(str(problem))
    nothing = tmp_path / "no-program"
    nothing.write_text("")
    nothing.chmod(0o444)
    work = tmp_path / "work"

    def call(name, module, function, root):
        child = [
            sys.executable,
            "-c",
            CHILD,
            name,
            f"support.{module}",
            function,
            root and str(DATA),
            str(work),
        ]
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        return subprocess.run(
            ["unshare", "-rmn", "sh", "-c", script, "sh", nothing, bundled_cli(), *child],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(TESTS), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return call


@pytest.mark.parametrize(
    ("name", "module", "function", "last"),
    [
        ("reviewer", "sdk_reviewer_agent", "review", "turns: 2, cost: $0.0075"),
        ("shop", "sdk_shop_agent", "work", "prices.txt: pear: 5"),
    ],
)
def test_an_application_runs_from_its_recording_where_no_cli_and_no_network_can_be_had(
    closed, tmp_path, name, module, function, last
):
    done = closed(name, module, function, "root")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "network: Network is unreachable"
    assert lines[-1] == last
    (tmp_path / "work").exists() and shutil.rmtree(tmp_path / "work")
    (tmp_path / "work").mkdir()
    without = closed(name, module, function, "")
    assert without.returncode != 0
    assert "Permission denied" in without.stderr
    assert os.access(bundled_cli(), os.X_OK), "ours is as it was"
