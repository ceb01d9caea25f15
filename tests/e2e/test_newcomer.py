"""A newcomer reads the README: empty folder, new environment, its commands, its files, and the first test is green."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = re.compile(r"<!-- commands: first green test -->\n```sh\n(.*?)```", re.DOTALL)
FILES = re.compile(
    r"call (?:this|it) (?:one )?`([\w.]+)`:\n\n<!-- [^\n]+ -->\n```python\n(.*?)```", re.DOTALL
)
NO_INDEX = "No matching distribution found for hatchling"  # the first that a machine without an index misses

pytestmark = pytest.mark.full


def newcomer(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell that knows nothing of this environment, of its keys and addresses least of all."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not re.match(r"VIRTUAL_ENV|PYTHON|PYTEST|OPENAI_|ANTHROPIC_|SOUNDSTAGE_", name)
    }
    return subprocess.run(
        command.replace("path/to/soundstage", str(ROOT)),
        shell=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_green_test_takes_at_most_three_commands(tmp_path):
    commands = "".join(COMMANDS.findall(README)).splitlines()
    assert len(commands) <= 3
    files = dict(FILES.findall(README))
    assert len(files) == 2, "the app and its test, each with the name that the text gives it"
    for name, code in files.items():
        (tmp_path / name).write_text(code)
    for command in commands:
        done = newcomer(tmp_path, command)
        if NO_INDEX in done.stderr:
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert re.search(r"\b1 passed in", done.stdout), done.stdout

    elsewhere = newcomer(Path("/"), f"{tmp_path}/.venv/bin/pytest {tmp_path} -p no:cacheprovider")
    assert "1 passed in" in elsewhere.stdout, elsewhere.stdout + elsewhere.stderr

    broken = files["weather.py"].replace(": 4 C", ": 5 C")  # an app that has changed
    (tmp_path / "weather.py").write_text(broken)
    red = newcomer(tmp_path, commands[-1])
    assert red.returncode == 1
    assert "tool_result: '4 C' is not one of 'Oslo: 5 C'" in red.stdout
