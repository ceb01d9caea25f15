"""The options before a command: the version, and what a shell is told about the rest of a word."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).with_name("soundstage"))


def asked(home, *arguments, **variables):
    return subprocess.run(
        [PROGRAM, *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(home), **variables},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    ).stdout


def test_the_version_is_that_of_the_installed_package(tmp_path):
    assert asked(tmp_path, "--version") == f"soundstage {importlib.metadata.version('soundstage')}\n"


@pytest.mark.parametrize(
    ("words", "completed"),
    [("soundstage ser", "serve"), ("soundstage eval ru", "run"), ("soundstage tape che", "check")],
)
def test_a_shell_completes_commands_also_those_of_wings(tmp_path, words, completed):
    variables = {"_SOUNDSTAGE_COMPLETE": "complete_bash", "COMP_WORDS": words}
    out = asked(tmp_path, **variables, COMP_CWORD=str(len(words.split()) - 1))
    assert out.split() == [completed]


def test_the_script_of_completion_names_this_program_and_touches_no_file(tmp_path):
    out = asked(tmp_path, "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_SOUNDSTAGE_COMPLETE=complete_bash" in out
    assert list(tmp_path.iterdir()) == []
