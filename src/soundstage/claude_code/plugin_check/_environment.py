"""Where the parts of a plugin are run: a copy of it, a project with one commit, and folders that go afterwards.

The copy keeps what runs from writing into the author's folder. Parts are run one after the other, so that every
record of the journal between the start and the end of a run belongs to the part that was run: a host that it
tried to reach, a process that it left behind.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Final, NamedTuple, Self

from soundstage.claude_code.plugin_check._findings import Entry
from soundstage.drivers import AnyIsolation, Command
from soundstage.errors import EnvironmentProblem, WaitTimeout
from soundstage.journal import EgressTried, Journal, Noted
from soundstage.lifecycle import ScratchFolder
from soundstage.worlds import Workspace

SESSION: Final = "00000000-0000-4000-8000-000000000001"
FILE: Final = "hello.py"
_LEFT_OUT: Final = (".git", "__pycache__")
GRACE: Final = 0.5  # seconds that a program gets to end; nobody waits for its good-bye


class ProgramExit(NamedTuple):
    """How a program ended. `code` is `None` for one that had to be ended."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float


class PluginEnvironment:
    """The surroundings of one plugin; also a context manager that makes and removes them.

    Args:
        original: the plugin's folder.
        called: what findings call that folder.
        isolation: how far programs are kept apart.
        within: seconds that a hook or a server may take.
    """

    def __init__(self, original: Path, called: str, isolation: AnyIsolation, within: float) -> None:
        self.original = original
        self._called = PurePosixPath(called)
        self.isolation = isolation
        self.within = within
        self.journal = Journal()
        self.workspace = Workspace(self.journal)
        self._exits = AsyncExitStack()
        self._root = Path()
        self._tried: set[str] = set()

    @property
    def plugin(self) -> Path:
        """The copy of the plugin."""
        return self._root / "plugin"

    @property
    def project(self) -> Path:
        """The project that it is used in."""
        return self.workspace.root

    @property
    def transcript(self) -> Path:
        """A transcript, for hooks that read it."""
        return self._root / "transcript.jsonl"

    async def __aenter__(self) -> Self:
        try:
            self._root = self._exits.enter_context(ScratchFolder()).path
            self._copy()
            await self.workspace.start()
            self._exits.push_async_callback(self.workspace.stop)
            self.workspace.write(FILE, "print('hello')\n")
            self.workspace.git()
            self.workspace.commit("feat: say hello")
            self.transcript.write_text("")
            (self._root / "data").mkdir()
        except BaseException:
            await self._exits.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exits.aclose()

    def _copy(self) -> None:
        try:
            shutil.copytree(
                self.original, self.plugin, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT)
            )
        except (OSError, shutil.Error) as error:
            raise EnvironmentProblem(
                f"{self.original} cannot be copied",
                seen=str(error),
                hint="plugins are run in a copy: free some space, or let the files be read",
            ) from None

    def variables(self) -> dict[str, str]:
        """The variables that Claude Code sets for hooks and servers of a plugin."""
        return {
            "CLAUDE_PLUGIN_ROOT": str(self.plugin),
            "CLAUDE_PLUGIN_DATA": str(self._root / "data"),
            "CLAUDE_PROJECT_DIR": str(self.project),
            "CLAUDE_CODE_SESSION_ID": SESSION,
            "CLAUDECODE": "1",
        }

    def command(self, argv: Sequence[str], environment: Mapping[str, str], stdin: str | None) -> Command:
        """A program of the plugin, in the project."""
        return Command(
            argv,
            self.journal,
            cwd=self.project,
            environment={**self.workspace.environment(own_home=True), **self.variables(), **environment},
            stdin=stdin,
            isolation=self.isolation,
            grace=GRACE,
            code=None,  # the checks judge it
        )

    async def run(self, argv: Sequence[str], *, stdin: str, within: float, **environment: str) -> ProgramExit:
        """Run a program to its end, or end it after `within` seconds.

        Raises:
            EnvironmentProblem: if it cannot be started.
        """
        program = self.command(argv, environment, stdin)
        began = time.perf_counter()
        await program.start()
        try:
            code: int | None = await program.wait(within=within)
        except WaitTimeout:
            code = None
        finally:
            await program.stop()
        out, err = ("\n".join(program.lines(channel)) for channel in ("stdout", "stderr"))
        return ProgramExit(code, out, err, time.perf_counter() - began)

    def mark(self) -> int:
        """Where the journal is now; see `tell_since`."""
        records = self.journal.read()
        return records[-1].position if records else 0

    def tell_since(self, mark: int, entry: Entry, *, only_new: bool = False) -> None:
        """Write down for a part what happened around it since `mark`: hosts it tried, processes that it left.

        Args:
            mark: what `mark` returned before.
            entry: the part.
            only_new: leave out hosts that another part has tried already.
        """
        known = frozenset(self._tried) if only_new else frozenset()
        for record in self.journal.read(mark, EgressTried):
            assert isinstance(record.event, EgressTried)
            where = f"{record.event.host}:{record.event.port}" if record.event.port else record.event.host
            self._tried.add(where)
            if where not in known:
                entry.add("egress", f"{entry.name} tries to reach {where}")
        for record in self.journal.read(mark, Noted):
            if isinstance(record.event, Noted) and "left processes behind" in record.event.text:
                names = ", ".join(map(str, record.event.data.get("names", ())))
                entry.add("leftover", f"{entry.name} leaves processes behind: {names}")

    def called(self, inner: str) -> str:
        """A file of the plugin as findings call it."""
        return (self._called / inner).as_posix()

    def untouched(self, text: str) -> str:
        """`text` with the folders of this run called by their own names."""
        return text.replace(str(self.plugin), "${CLAUDE_PLUGIN_ROOT}").replace(str(self.project), "PROJECT")
