"""A script for the agents of these tests, and sweeps of them."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from soundstage.faults._cases import Terms
from soundstage.faults._kinds import kinds_named
from soundstage.faults._program import ProgramSettings
from soundstage.faults._source import scripted
from soundstage.faults._sweep import SweepOptions, sweep_program
from soundstage.models import Script
from support.sweeps import ANSWER, NOTE

SUPPORT = Path(__file__).resolve().parent.parent / "support"


@pytest.fixture
def notes():
    """A script in which the model has one note taken, and says so."""
    script = Script(strict=True)
    script.on(tool_result="noted").reply(ANSWER)
    script.on(user="milk").reply(
        "I write that down.", tool_calls=[{"name": "append_note", "arguments": {"text": NOTE}}]
    )
    return script


@pytest.fixture
def sweep_agent(notes, tmp_path):
    """Sweeps a program of `tests/support`: `sweep_agent("plain_agent.py", kinds=["500"])`."""

    def sweep(program, *arguments, kinds=(), within=50.0, max_wait=0.01, cuts=4, **more):
        folder = tmp_path / "folder"
        folder.mkdir()
        shutil.copy(SUPPORT / program, folder)
        settings = ProgramSettings([sys.executable, program, *arguments], folder, within)
        terms = Terms(max_wait, wire=True, patience=within / 2, cuts=cuts)
        options = SweepOptions(kinds_named(kinds), terms, **more)
        return asyncio.run(sweep_program(scripted(notes), settings, options, str))

    return sweep
