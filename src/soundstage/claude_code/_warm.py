"""Claude Code for synchronous tests: a pool of warm processes, each used by one test after the other.

How it works. A `WarmProcess` is one CLI with its home, its folder and a model server, in a thread of its own;
`WarmPool` keeps them, by isolation level and options. A test takes one: the test's script answers, and what the process
puts into its journal is copied into the journal of the test, so that trace, failure report and checks are those of any
other test. Afterwards the conversation is cleared with `session.fresh()`, which refuses when anything has been left
behind, and the folder is emptied. A process that has been refused, or that a test has changed or broken, is closed, and
the next test gets a new one.

The session of a new process is opened when it is needed for the first time, so that it has from its beginning what has
been installed before. In a container it could not see that otherwise.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import uuid
from collections.abc import AsyncIterator, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

from soundstage.claude_code import ClaudeCode, bundled_cli
from soundstage.clock import SystemClock, run
from soundstage.drivers import isolation_problem
from soundstage.errors import InvalidStateError, SoundstageError
from soundstage.host import Composition
from soundstage.journal import Journal, ModelRequested, Noted
from soundstage.lifecycle import LoopThread, remove_tree
from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models import Script, ScriptedModel, Wrapper
from soundstage.worlds import Workspace

if TYPE_CHECKING:
    from soundstage.claude_code import ClaudeSession, ClaudeTurn
    from soundstage.host import Setup

T = TypeVar("T")
WARM: Final = 4  # processes that are kept; each takes some hundred megabytes
WITHIN: Final = 50.0  # seconds for a turn; a test has a minute by default


class _ModelOfTest(Wrapper):
    """The model of the test that uses the process."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        return self.inner.stream(request)


class WarmProcess:
    """A CLI that tests use one after the other.

    Args:
        isolation: how far it is kept apart.
        options: as for `ClaudeCode`.
    """

    def __init__(self, isolation: str, options: Mapping[str, Any]) -> None:
        self.journal = Journal(clock=SystemClock())
        self._nobody = ScriptedModel(Script(name="no test uses this process"))
        self.model = _ModelOfTest(self._nobody)
        self._parts = Composition(self.journal)
        server, self.workspace = self._parts.serve(self.model), self._parts.add(Workspace)
        given = {"session_id": str(uuid.uuid4()), "isolation": isolation, **options}
        self.claude = self._parts.add(
            lambda journal: ClaudeCode(journal, server, self.workspace, opens=False, **given)
        )
        self._session: ClaudeSession | None = None
        self._end = contextlib.ExitStack()

    def open(self) -> None:
        """Start everything but the session.

        Raises:
            EnvironmentProblem: if the CLI is missing, or cannot be kept apart like that.
        """
        with contextlib.ExitStack() as stack:
            self.thread = stack.enter_context(LoopThread("soundstage claude code"))
            self.thread.call(self._parts.start())
            stack.callback(lambda: self.thread.call(self._parts.stop()))
            self._end = stack.pop_all()

    def close(self) -> None:
        """Stop everything. Harmless when repeated."""
        self._end.close()

    @property
    def session(self) -> ClaudeSession:
        """The session; opened when it is asked for."""
        if self._session is None:
            self._session = self.thread.call(self.claude.open())
        return self._session

    def load_plugins(self, *, begun: bool) -> None:
        """Let the session have what has been installed.

        One that cannot see it is ended, and opened again when it is needed; not if the conversation has begun.
        """
        if self._session is None:
            return
        try:
            self.thread.call(self._session.reload_plugins())
        except InvalidStateError:
            if begun:
                raise
            session, self._session = self._session, None
            self.thread.call(session.end())

    def clear(self) -> None:
        """End the conversation, and empty the folder.

        Raises:
            InvalidStateError: if something of it is left.
        """
        if self._session is not None:
            self.thread.call(self._session.fresh())
        self.model.inner = self._nobody
        empty(self.workspace.root)


def empty(folder: Path) -> None:
    """Remove what is in a folder; the folder stays, because a process works in it."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            remove_tree(path)
        else:
            path.unlink()


class WarmPool:
    """The warm processes of a test run."""

    def __init__(self) -> None:
        self._warm: dict[str, WarmProcess] = {}

    def take(self, isolation: str, options: Mapping[str, Any]) -> tuple[WarmProcess, bool]:
        """A process, and whether a test has used it before."""
        key = _key(isolation, options)
        process = self._warm.pop(key, None)
        if process is not None:
            return process, True
        process = WarmProcess(isolation, options)
        process.open()
        return process, False

    def give_back(self, isolation: str, options: Mapping[str, Any], process: WarmProcess) -> None:
        """Keep a process; the one that has not been used for longest goes if there are too many."""
        self._warm[_key(isolation, options)] = process
        while len(self._warm) > WARM:
            self._warm.pop(next(iter(self._warm))).close()

    def close(self) -> None:
        """Close all of them."""
        with contextlib.ExitStack() as all_of_them:
            for process in self._warm.values():
                all_of_them.callback(process.close)
        self._warm.clear()


def _key(isolation: str, options: Mapping[str, Any]) -> str:
    return repr((isolation, sorted((name, repr(value)) for name, value in options.items())))


class WarmSession:
    """A conversation with the real CLI, for a synchronous test. Got as `test_session`.

    Attributes:
        workspace: the folder that the agent works in, empty at first.
        claude: the driver; `call` runs what it offers.
        used: whether the process has had other conversations before.
    """

    def __init__(self, stage: Setup, pool: WarmPool, isolation: str, options: Mapping[str, Any]) -> None:
        self._stage, self._pool, self._kept_by = stage, pool, (isolation, options)
        self._process, self.used = pool.take(isolation, options)
        self._process.model.inner = stage.answers
        self._told = len(self._process.journal) if self.used else 0
        self._began = self._told
        self._shift = stage.journal.clock.now() - self._process.journal.clock.now()
        self._positions: dict[int, int] = {}
        self._changed = False
        self.claude: ClaudeCode = self._process.claude
        self.workspace = Workspace(stage.journal, self._process.workspace.root)
        run(self.workspace.start(), clock=SystemClock())
        stage.work_in(self.workspace.root)
        self._name = ""
        self._tell()

    @property
    def name(self) -> str:
        """`test_session_<8 hex>`; the digits are those of the conversation's first id."""
        self._name = self._name or f"test_session_{self.id[:8]}"
        return self._name

    @property
    def session(self) -> ClaudeSession:
        """The driver's session; it is opened when it is asked for."""
        try:
            return self._process.session
        finally:
            self._tell()

    @property
    def id(self) -> str:
        """The conversation's id, as the CLI has it."""
        return self.session.id

    @property
    def root(self) -> Path:
        """The folder that the agent works in."""
        return self.workspace.root

    def prompt(self, text: str, *, within: float = WITHIN) -> ClaudeTurn:
        """Send a prompt and wait for the result."""
        return self.call(self.session.prompt(text, within=within))

    def run_command(self, command: str, arguments: str = "", *, within: float = WITHIN) -> ClaudeTurn:
        """Run a slash command, with the name of its plugin, and wait for the result."""
        return self.call(self.session.run_command(command, arguments, within=within))

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the driver: `test_session.call(test_session.session.commands())`."""
        try:
            return self._process.thread.call(work)
        finally:
            self._tell()

    def change(self) -> None:
        """Say that the process will not be what it was; the next test gets another one."""
        self._changed = True

    def load_plugins(self) -> None:
        """Let the conversation have what has been installed.

        Raises:
            InvalidStateError: in a container, if it has begun already: it cannot see the plugin's folder.
        """
        begun = any(self._process.journal.read(self._began, ModelRequested))
        try:
            self._process.load_plugins(begun=begun)
        finally:
            self._tell()

    def _tell(self) -> None:
        """Tell the journal of the test what the process has seen since the last time."""
        for record in self._process.journal.read(self._told):
            self._told = record.position
            self._positions[record.position] = self._stage.journal.append(
                record.event,
                source=record.source,
                cause=self._positions.get(record.cause or 0),
                at=record.time + self._shift,
            )

    def end(self) -> None:
        """End the conversation; keep the process, if it is as it was."""
        run(self.workspace.stop(), clock=SystemClock())
        try:
            if self._changed:
                self._process.close()
            else:
                self._clear()
        finally:
            self._tell()

    def _clear(self) -> None:
        try:
            self._process.clear()
        except (SoundstageError, OSError) as error:  # it is broken, or not as it was: nobody else gets it
            data = {"why": str(error)}
            self._stage.journal.append(
                Noted(text="the process is not used again", data=data), source="pytest"
            )
            self._process.close()
        else:
            self._pool.give_back(*self._kept_by, self._process)


def skip_without(isolation: str) -> None:
    """Skip the test, with the reason, where the CLI is missing or cannot be kept apart like that."""
    if bundled_cli() is None:
        pytest.skip("needs the Claude Code CLI: pip install 'soundstage[claude]'")
    problem = isolation_problem(isolation)
    if problem is not None:
        pytest.skip(str(problem))


def begin_session(item: pytest.Function, stage: Setup, pool: WarmPool) -> WarmSession:
    """The conversation of a test; its mark `claude_code` has the options.

    Raises:
        InvalidStateError: if the test is asynchronous; it would stand still.
    """
    mark = item.get_closest_marker("claude_code")
    options = dict(mark.kwargs) if mark else {}
    if inspect.iscoroutinefunction(item.obj):
        raise InvalidStateError(
            "`test_session` is for synchronous tests", hint="use `claude_code`, or leave out `async`"
        )
    level = str(options.pop("isolation", stage.isolation))
    skip_without(level)
    return WarmSession(stage, pool, level, {"environment": {"PATH": own_path()}, **options})


def own_path() -> str:
    """Our PATH, with the Python that runs the tests as the first one: hooks call it `python3`."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
