"""`tools/podman.sh` says what it cannot do, and finds what runs already."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "podman.sh"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(SCRIPT), *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_an_action_that_does_not_exist_is_refused_with_those_that_do(tmp_path):
    done = run("begin", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == "tools/podman.sh: unknown action 'begin': start, images or stop\n"
    assert done.stdout == ""


def test_a_machine_that_is_no_debian_is_told_so(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("cat", "dirname", "flock", "mkdir", "sh"):
        for folder in ("/usr/bin", "/bin"):
            if Path(folder, name).exists() and not (tools / name).exists():
                (tools / name).symlink_to(Path(folder, name))
    done = run("start", str(tmp_path / "podman"), PATH=str(tools))
    assert done.returncode == 1
    assert "this is no Debian machine: install Podman 4 or Docker yourself" in done.stderr
    assert done.stdout == ""


def test_stopping_what_does_not_run_is_harmless(tmp_path):
    done = run("stop", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
