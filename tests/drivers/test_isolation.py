"""The part of the machine that a program gets to see, and what is left of it, however the run ends."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from soundstage.drivers import Command, isolation_problem
from soundstage.drivers._isolation import FIXED, FOLDERS, INHERITED, Sandbox, isolated
from soundstage.errors import ScriptError
from soundstage.journal import Journal
from soundstage.worlds import Workspace

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


@pytest.fixture(params=["process", "netns"])
def level(request: pytest.FixtureRequest) -> str:
    if request.param == "netns":
        request.getfixturevalue("netns")
    return request.param


def output_of(code: str, **options: object) -> list[str]:
    journal = Journal()

    async def main() -> list[str]:
        command = Command([sys.executable, "-c", code], journal, **options)  # type: ignore[arg-type]
        await command.start()
        try:
            assert await command.wait(within=30) == 0
            return command.lines()
        finally:
            await command.stop()

    return asyncio.run(main())


def test_no_variable_of_ours_reaches_a_program_unless_it_is_on_the_list(level, monkeypatch):
    planted = {
        "ANTHROPIC_API_KEY": "sk-live",
        "HTTPS_PROXY": "http://corp",
        "PYTHONPATH": "/x",
        "LD_PRELOAD": "",
    }
    for name, value in planted.items():
        monkeypatch.setenv(name, value)
    [line] = output_of(SHOW, isolation=level)
    seen = json.loads(line)
    proxies = {f"{kind}_{end}" for kind in ("HTTP", "HTTPS", "ALL", "NO") for end in ("PROXY",)}
    known = {
        *INHERITED,
        *FIXED,
        *FOLDERS,
        *proxies,
        *map(str.lower, proxies),
        "NODE_USE_ENV_PROXY",
        "LC_CTYPE",
    }
    assert set(seen) <= known
    assert seen["HTTPS_PROXY"].startswith("http://127.0.0.1:")
    assert "sk-live" not in line


def test_what_a_program_may_write_to_is_in_its_throw_away_folders_and_git_is_no_exception(level, tmp_path):
    code = """
import json, os, subprocess
subprocess.run(["git", "config", "--global", "user.name", "agent"], check=True)
print(json.dumps([dict(os.environ), open(os.path.expanduser("~/.gitconfig")).read()]))
"""

    async def main() -> list[str]:
        workspace = Workspace(Journal())
        await workspace.start()
        try:
            variables = workspace.environment(own_home=True)
            return await asyncio.to_thread(output_of, code, isolation=level, environment=variables)
        finally:
            await workspace.stop()

    [line] = asyncio.run(main())
    seen, written = json.loads(line)
    assert "agent" in written
    folders = {name: value for name, value in seen.items() if value.startswith("/") and name not in INHERITED}
    root = Path(folders["HOME"]).parent
    read_only = {"GIT_CEILING_DIRECTORIES"}
    assert {name for name, value in folders.items() if not Path(value).is_relative_to(root)} == read_only


def test_home_and_temporary_folders_are_empty_its_own_and_gone_after_it(level):
    code = """
import os, pathlib, tempfile
home, temporary = pathlib.Path.home(), pathlib.Path(tempfile.gettempdir())
print(home, temporary, os.getcwd(), len(list(home.iterdir())), len(list(temporary.iterdir())))
(home / ".config").mkdir()
(home / ".config" / "settings").write_text("x")
(temporary / "t").write_text("x")
"""
    [first], [second] = output_of(code, isolation=level), output_of(code, isolation=level)
    for line in (first, second):
        home, temporary, cwd, *counts = line.split()
        assert cwd == home
        assert counts == ["0", "0"]
        assert not Path(home).exists()
        assert not Path(temporary).exists()
    assert first.split()[0] != second.split()[0]


def test_a_module_that_is_changed_within_the_second_runs_as_it_is_then(tmp_path):
    """Python takes a compiled file for current when second and size are the same: what is repaired at once is not."""
    (tmp_path / "answer.py").write_text("print(1)")
    code = """
import os, pathlib, subprocess, sys
show = [sys.executable, "-c", "import answer"]
path = pathlib.Path("answer.py")
subprocess.run(show, check=True)
moment = path.stat().st_mtime
path.write_text("print(2)")
os.utime(path, (moment, moment))
subprocess.run(show, check=True)
"""
    assert output_of(code, cwd=tmp_path) == ["1", "2"]


def test_what_the_caller_adds_wins_and_what_he_allows_is_passed_on(tmp_path):
    ours = {"PATH": "/bin", "KEY": "1", "OTHER": "2"}
    made = isolated(ours, tmp_path, proxy={"HTTP_PROXY": "p"}, extra={"TZ": "Asia/Tokyo"}, allow=["KEY"])
    assert made["KEY"] == "1"
    assert made["TZ"] == "Asia/Tokyo"
    assert made["PATH"] == "/bin"
    assert "OTHER" not in made


def test_the_levels_that_every_machine_has_have_no_problem_and_others_do_not_exist():
    assert isolation_problem("process") is None
    with pytest.raises(ScriptError, match="chroot"):
        isolation_problem("chroot")


def test_a_sandbox_that_cannot_be_opened_leaves_nothing(level, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def main() -> None:
        sandbox = Sandbox(Journal(), isolation=level)
        monkeypatch.setattr("soundstage.net.EgressProxy._start", _fail)
        with pytest.raises(OSError, match="no socket"):
            await sandbox.open()

    asyncio.run(main())
    assert list(tmp_path.iterdir()) == []


async def _fail(self: object) -> None:
    raise OSError("no socket left")


# A run is killed at some moment, and the next one starts.

RUN = """
import asyncio, sys
from soundstage.drivers import Command
from soundstage.journal import Journal
from soundstage.worlds import Workspace
from soundstage.net import EgressProxy

PROGRAM = '''
import os, subprocess, sys
held = open(sys.argv[1], "w")
subprocess.Popen(["sleep", "1000"], start_new_session=True, pass_fds=[held.fileno()])
os.makedirs(os.path.expanduser("~/a/b"))
print("ready", flush=True)
sys.stdin.read()
'''

async def tell(journal):
    async for record in journal.tail():
        print(record.position, flush=True)

async def main():
    journal = Journal()
    telling = asyncio.create_task(tell(journal))
    await asyncio.sleep(0)
    for number in range(2):
        command = Command([sys.executable, "-c", PROGRAM, sys.argv[1]], journal, isolation=sys.argv[2])
        await command.start()
        await command.expect("ready")
        await command.stop()
    telling.cancel()

asyncio.run(main())
"""
READY = 4  # the event with which the first program says that it has started something
MOMENTS = sorted({READY, *random.Random(7).sample(range(14), 4)})  # of the 14 events that such a run tells


def processes_with(text: str) -> list[int]:
    """Who has a text in its variables or arguments; the processes of the test itself have it in neither."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            about = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in about and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("with_launcher", [False, True], ids=["the run alone", "with its launchers"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_is_killed_at_any_moment_leaves_nothing_after_the_next_start(
    level, moment, with_launcher, tmp_path
):
    fifo, temporary = tmp_path / "fifo", tmp_path / "tmp"
    os.mkfifo(fifo)
    temporary.mkdir()
    holding = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    environment = {**os.environ, "TMPDIR": str(temporary)}
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(fifo), level], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    for _ in range(moment):
        run.stdout.readline()
    for pid in [*(children(run.pid) if with_launcher else []), run.pid]:
        os.kill(pid, signal.SIGKILL)
    run.communicate()

    subprocess.run(
        [sys.executable, "-c", "from soundstage.lifecycle import ScratchFolder as S; S().close()"],
        env=environment,
        check=True,
    )
    os.set_blocking(holding, True)
    with os.fdopen(holding) as held:
        assert held.read() == ""  # comes when the last process that has it is gone
    assert processes_with(str(temporary)) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_leaves_nothing_at_all(level, number, tmp_path):
    fifo, temporary = tmp_path / "fifo", tmp_path / "tmp"
    os.mkfifo(fifo)
    temporary.mkdir()
    with os.fdopen(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)) as held:
        run = subprocess.Popen(
            [sys.executable, "-c", RUN, str(fifo), level],
            env={**os.environ, "TMPDIR": str(temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert run.stdout is not None
        for _ in range(6):
            run.stdout.readline()
        run.send_signal(number)
        run.communicate()
        os.set_blocking(held.fileno(), True)
        assert held.read() == ""
    if number == signal.SIGINT:  # Python turns it into an exception, so what is open is closed in order
        assert list(temporary.iterdir()) == []
