"""The services of a compose file, for synchronous tests.

How it works. The services belong to an event loop in a thread of its own, as everything does that tests share: their
lines and their health go into the journal while a test runs. Whatever ends a start, Ctrl-C too, the thread is left
only when the daemon has taken everything down again: stopping waits for its turn.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import pytest

from soundstage.clock import SystemClock
from soundstage.containers import Compose, Container, Health, engine_problem
from soundstage.errors import AppError, ScriptError
from soundstage.journal import DaemonChanged, Journal, Redactor
from soundstage.lifecycle import Finished, LoopThread

T = TypeVar("T")
NAMES: Final = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
SHOWN: Final = 60  # events in a failure report
COMMAND_WITHIN: Final = 30.0
OVERRIDE: Final = "or override the fixture `docker_compose_file`, with scope='session'"


def find_compose_file(beside: Iterable[Path], tests: Path) -> Path:
    """The compose file of a test run.

    Args:
        beside: the folders of the tests that use it.
        tests: where it is otherwise.

    Raises:
        ScriptError: if there is none, or more than one beside the tests.
    """
    folders = dict.fromkeys(beside)
    found = [file for folder in folders if (file := _compose_file_in(folder))]
    if len(found) > 1:
        raise ScriptError(
            "there are several compose files beside the tests",
            expected="one for the whole run",
            seen=", ".join(map(str, found)),
            hint=f"run their tests apart, {OVERRIDE}",
        )
    file = found[0] if found else _compose_file_in(tests)
    if file is None:
        raise ScriptError(
            "there is no compose file for `docker_environment`",
            expected=" or ".join(NAMES),
            seen="none in " + ", ".join(map(str, dict.fromkeys((*folders, tests)))),
            hint=f"write one there, {OVERRIDE}",
        )
    return file


def _compose_file_in(folder: Path) -> Path | None:
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


@contextlib.contextmanager
def open_services(file: Path | str, environment: Mapping[str, str]) -> Iterator[DockerEnvironment]:
    """The services of a file, started and removed. What is wrong with the file is an error on every machine.

    Raises:
        ScriptError: if the file is wrong.
    """
    services = DockerEnvironment(file, environment)
    problem = engine_problem()
    if problem is not None:
        pytest.skip(str(problem))
    with contextlib.ExitStack() as opened:
        if told := _enter(services, opened):
            pytest.fail(told, pytrace=False)
        yield services


def _enter(services: DockerEnvironment, opened: contextlib.ExitStack) -> str:
    """Start the services; what to tell if that failed. Returned, so that pytest shows no chain of exceptions."""
    try:
        opened.enter_context(services)
    except AppError as error:
        return services.journal.redactor.text(f"{error}\n\nwhat was said last:\n{services.said()}")
    return ""


class DockerEnvironment:
    """The services of a compose file, for synchronous tests. Got as `docker_environment`.

    Attributes:
        compose: the services as a daemon; `call` runs what it offers.
        journal: their lines, health and exits.

    Example:
        ::

            def test_it(docker_environment):
                page = httpx.get(f"http://127.0.0.1:{docker_environment.port('web', 8080)}/")
                assert docker_environment.run("web", "cat", "/var/log/web").stdout == ""
    """

    def __init__(self, file: Path | str, environment: Mapping[str, str]) -> None:
        redactor = Redactor.from_environment({**os.environ, **environment})
        self.journal = Journal(clock=SystemClock(), redactor=redactor)
        self.compose = Compose(file, self.journal, environment=environment)
        self._thread = LoopThread("soundstage services")

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opening:
            opening.enter_context(self._thread)
            opening.callback(self._stop)
            self.call(self.compose.start())
            self._end = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    def _stop(self) -> None:
        self.call(self.compose.stop())

    def service(self, name: str) -> Container:
        """The container of a service; its coroutines are run by `call`.

        Raises:
            InvalidStateError: if there is none of that name.
        """
        return self.compose.service(name)

    def port(self, service: str, inside: int) -> int:
        """The port of 127.0.0.1 that leads to a port of a service.

        Raises:
            InvalidStateError: if the file does not publish that port.
        """
        return self.service(service).port(inside)

    def run(
        self,
        service: str,
        *argv: str,
        within: float = COMMAND_WITHIN,
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run a command in a service, beside what it runs: its `code`, `stdout` and `stderr`.

        Raises:
            WaitTimeout: if it takes longer than `within` seconds.
        """
        return self.call(self.service(service).run(*argv, within=within, environment=environment))

    def health(self, service: str) -> Health:
        """How a service is: `.status`, `.running`, `.exit_code`."""
        return self.service(service).health

    def states(self) -> dict[str, str]:
        """Of each service, how it is, in words."""
        return self.compose.states()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the services: `docker_environment.call(docker_environment.journal.wait_for(...))`."""
        return self._thread.call(work)

    def said(self) -> str:
        """Return the last lines of the services, and their states."""
        events = [record.event for record in self.journal.read()]
        told = [str(event) for event in events if not isinstance(event, DaemonChanged)]
        return self.journal.redactor.text("\n".join(told[-SHOWN:]))

    def report(self) -> str:
        """How they are and what they have said last, for a test that has failed."""
        return "\n".join([*(f"{name}: {state}" for name, state in self.states().items()), "", self.said()])
