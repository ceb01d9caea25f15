"""A program in a service that runs already: its streams, its end, the servers of its run, and a service that is silent.

The service is a program in a network of its own, so that the addresses of the run's servers are free there.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from soundstage.drivers import Command, as_isolation, isolation_problem
from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.isolation import InService
from soundstage.isolation._service_isolator import SERVICE, _ask
from soundstage.journal import Journal
from soundstage.net import Exchange, HttpRequest, HttpServer
from soundstage.terminal import Terminal

FETCH = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())"


def sh(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def in_service(
    argv: Sequence[str],
    body: Callable[[Command], Awaitable[Any]],
    folder: Path,
    *,
    journal: Journal | None = None,
    **options: Any,
) -> Any:
    """Run `body` with a program in a service that is there for it. Returns its result."""

    async def main() -> Any:
        place = folder / "service.sock"
        serve = [sys.executable, "-I", "-S", str(SERVICE), "serve", str(place)]
        service = Command(serve, Journal(), isolation="netns", environment={"PATH": f"{folder}:{os.defpath}"})
        await service.start()
        try:
            await service.expect(f"waiting at {place}")
            command = Command(
                argv, Journal() if journal is None else journal, isolation=InService(place), **options
            )
            await command.start()
            try:
                return await body(command)
            finally:
                await command.stop()
        finally:
            await service.stop()

    return asyncio.run(main())


async def until_its_end(command: Command) -> tuple[int, list[str], list[str]]:
    return await command.wait(None, within=40), command.lines(), command.lines("stderr")


def test_its_streams_folder_variables_and_exit_code_are_those_of_any_program(netns, tmp_path):
    async def body(command: Command) -> Any:
        await command.send("hello")
        command.end_input()
        return await until_its_end(command)

    script = 'read -r word; echo "$word $MINE"; pwd; echo "$PATH" >&2; exit 7'
    code, said, errors = in_service(sh(script), body, tmp_path, cwd=tmp_path, environment={"MINE": "mine"})
    assert (code, said) == (7, ["hello mine", str(tmp_path)])
    assert errors == [f"{tmp_path}:{os.defpath}"]  # the service's: programs are looked for there


def test_a_program_is_looked_for_in_the_service_and_one_that_is_not_there_says_so(netns, tmp_path):
    (tmp_path / "its-own").write_text("#!/bin/sh\necho found\n")
    (tmp_path / "its-own").chmod(0o755)
    assert in_service(["its-own"], until_its_end, tmp_path) == (0, ["found"], [])
    code, said, errors = in_service(["nowhere"], until_its_end, tmp_path)
    assert (code, said) == (127, [])
    assert errors == ["nowhere cannot be run in the service: No such file or directory"]


def test_a_server_of_the_run_is_reached_in_the_network_of_the_service(netns, tmp_path):
    journal = Journal()

    async def hello(request: HttpRequest, exchange: Exchange) -> None:
        await exchange.reply(200, {}, f"hello {request.path}".encode())

    server = HttpServer(hello, journal)

    async def main() -> Any:
        await server.start()
        try:
            return await asyncio.to_thread(
                in_service,
                [sys.executable, "-c", FETCH, f"{server.url}/a"],
                until_its_end,
                tmp_path,
                journal=journal,
            )
        finally:
            await server.stop()

    assert asyncio.run(main()) == (0, ["hello /a"], [])


def test_two_programs_of_a_run_reach_its_servers_and_the_first_to_end_takes_none_away(netns, tmp_path):
    journal = Journal()

    async def hello(request: HttpRequest, exchange: Exchange) -> None:
        await exchange.reply(200, {}, b"hello")

    async def body(first: Command) -> Any:
        server = HttpServer(hello, journal)
        await server.start()
        argv = [sys.executable, "-c", f"input(); {FETCH}", f"{server.url}/"]
        second = Command(argv, journal, isolation=first.isolation)
        await second.start()
        try:
            await first.stop()
            await second.send("go on")
            return await until_its_end(second)
        finally:
            await second.stop()
            await server.stop()

    assert in_service(["cat"], body, tmp_path, journal=journal) == (0, ["hello"], [])


def test_a_signal_reaches_it_and_what_has_ended_it_is_told(netns, tmp_path):
    async def body(command: Command) -> int:
        await command.expect("ready")
        os.kill(command.pid, signal.SIGUSR1)
        await command.expect("heard")
        os.kill(command.pid, signal.SIGTERM)
        return await command.wait(None, within=40)

    os.mkfifo(tmp_path / "never")
    waits = f"trap 'echo heard' USR1; echo ready; while :; do read -r word <{tmp_path}/never; done"
    assert in_service(sh(waits), body, tmp_path) == -signal.SIGTERM


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "what stands for it is killed"])
def test_nothing_of_it_is_left_in_the_service(netns, tmp_path, killed):
    os.mkfifo(tmp_path / "held")

    async def body(command: Command) -> str:
        pipe = await asyncio.to_thread((tmp_path / "held").open)  # opens when the other end does
        with pipe:
            if killed:
                os.kill(command.pid, signal.SIGKILL)
                await command.wait(None, within=40)
            else:
                await command.stop()
            return await asyncio.to_thread(pipe.read)  # ends when nobody holds the other end any more

    leaves = f"setsid sh -c 'trap \"\" TERM HUP; exec sleep 1000' >{tmp_path}/held & wait"
    assert in_service(sh(leaves), body, tmp_path) == ""


def test_an_address_that_the_service_has_taken_is_an_error_that_says_so(netns, tmp_path):
    taken = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"

    async def body(command: Command) -> None:
        port = int(await command.expect("/^[0-9]+$/"))
        with pytest.raises(EnvironmentProblem, match="no program can be run in the service") as caught:
            await asyncio.to_thread(_ask, tmp_path / "service.sock", [("127.0.0.1", port)])
        assert caught.value.seen == "Address already in use"

    in_service([sys.executable, "-c", taken], body, tmp_path)


def test_a_service_that_is_silent_is_an_error_that_says_what_to_start(tmp_path):
    problem = isolation_problem(InService(tmp_path / "nobody.sock"))
    assert problem is not None
    assert problem.seen == "No such file or directory"
    assert f"serve {tmp_path}/nobody.sock" in str(problem)


def test_a_service_is_named_by_its_socket_too():
    assert as_isolation("service:/sessions/agent.sock") == InService(Path("/sessions/agent.sock"))
    with pytest.raises(ScriptError, match="no isolation level"):
        as_isolation("service")


def test_a_terminal_in_a_service_is_refused(netns, tmp_path):
    async def body(command: Command) -> None:
        with pytest.raises(ScriptError, match="no terminal"):
            await Terminal(["true"], Journal(), isolation=command.isolation).start()

    in_service(["true"], body, tmp_path)
