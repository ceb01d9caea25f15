"""The command of a program: mistakes are told before anything starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from soundstage.drivers import Command
from soundstage.errors import ScriptError
from soundstage.host import HostBuilder
from soundstage.journal import Journal
from soundstage.terminal import Terminal


@pytest.fixture(autouse=True)
def bot(tmp_path, monkeypatch):
    """A script in the folder of the tests."""
    (tmp_path / "bot.py").write_text("print('hello')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "bot.py"


@pytest.mark.parametrize("driver", [Command, Terminal])
@pytest.mark.parametrize("program", [sys.executable, "python3", "node"])
def test_a_script_of_the_tests_folder_is_not_looked_for_in_the_throw_away_home(driver, program):
    with pytest.raises(ScriptError, match=r"(?s)bot\.py is in the folder of the tests.*cwd=Path") as refused:
        driver([program, "bot.py"], Journal())
    assert "next step" in str(refused.value)


@pytest.mark.parametrize("driver", [Command, Terminal])
def test_a_command_in_one_text_is_refused(driver):
    with pytest.raises(ScriptError, match="a list of words"):
        driver("python3 bot.py", Journal())


@pytest.mark.parametrize(
    ("argv", "cwd"),
    [
        (["python3", "bot.py"], "."),
        (["python3", Path("bot.py").absolute], None),
        (["python3", "other.py"], None),
        (
            ["my-agent", "bot.py"],
            None,
        ),  # a name that a program gets may be one of a file that is not there yet
        (["python3", "-c", "bot.py"], None),
    ],
)
def test_what_can_be_meant_is_taken(argv, cwd):
    words = [word() if callable(word) else word for word in argv]
    assert Command(words, Journal(), cwd=None if cwd is None else Path(cwd).absolute()).argv == tuple(
        map(str, words)
    )


def test_a_body_that_is_not_asynchronous_is_refused():
    with pytest.raises(ScriptError, match="asynchronous"):
        HostBuilder().with_console().run(lambda host: None)


def test_a_script_with_its_folder_runs(bot):
    async def body(host):
        return await host.console.expect("hello")

    assert HostBuilder().with_program([sys.executable, "bot.py"], cwd=bot.parent).run(body) == "hello"
