"""How far a real program is kept apart from the machine that it runs on.

At the level `process` a program gets a home, a configuration and a temporary folder that are thrown away
afterwards, and an environment that is built from nothing: the variables below, those of a recording proxy,
and what the caller adds. No variable of ours reaches it unless it is on the list, so no key, no proxy and no
setting of the machine leaks into a run. It may still read and write all files that its user may, and open sockets by
itself.

Wings bring other levels (`Level`), by name or with options: a network of its own, a view of the files, a container.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import ClassVar, Final, Protocol, runtime_checkable

import msgspec

from soundstage.errors import EnvironmentProblem, InvalidStateError, ScriptError
from soundstage.journal import Journal
from soundstage.lifecycle import Isolator, Launch, LoopThread, ScratchFolder
from soundstage.net import EgressProxy
from soundstage.wings import load_target, wings


@runtime_checkable
class Level(Protocol):
    """An isolation level. A wing brings its own by its record's `levels`."""

    @property
    def reads(self) -> tuple[Path, ...]:
        """Files and folders of ours that the program may read."""
        ...

    @property
    def entry_tells(self) -> bool:
        """Whether only a program that enters tells if this machine can isolate it; `isolation_problem` enters then."""
        ...

    def hidden(self) -> Iterable[Path]:
        """The folders whose files the program does not see."""
        ...

    def make_isolator(self, journal: Journal, root: Path, reads: Sequence[Path]) -> Isolator | None:
        """Make what keeps the programs of one sandbox apart; `None` if folders and variables are all of it.

        Args:
            journal: where tries to leave go.
            root: the sandbox's folder, which has the throw-away folders.
            reads: what programs may read; it grows while the isolator is there.
        """
        ...

    async def remove_volumes(self) -> list[str]:
        """Remove what this process has left on the machine outside of its folders; what is still there, by name."""
        ...


PROCESS: Final = "process"
"""The level of every program that is not said to have another."""


class ProcessLevel(msgspec.Struct, frozen=True):
    """The level `process`: throw-away folders, a bare environment, a proxy that refuses and records."""

    reads: ClassVar[tuple[Path, ...]] = ()
    entry_tells: ClassVar = False

    def hidden(self) -> Iterable[Path]:
        """None: it sees all files."""
        return ()

    def make_isolator(self, journal: Journal, root: Path, reads: Sequence[Path]) -> None:
        """Nothing beyond folders and variables."""

    async def remove_volumes(self) -> list[str]:
        """Nothing is left outside of its folders."""
        return []


AnyIsolation = Level | str
"""A level, or its name."""


def _makers() -> dict[str, str]:
    """How levels are named, each with `module:name` of what makes it."""
    return {name: target for wing in wings() for name, target in wing.levels.items()}


def level_names() -> tuple[str, ...]:
    """The names of all levels, those of wings too, such as `service:SOCKET`, which takes what is behind the colon."""
    return (PROCESS, *_makers())


def as_isolation(isolation: AnyIsolation) -> Level:
    """The level that is meant.

    Raises:
        ScriptError: if there is no such level.
    """
    if isinstance(isolation, Level):
        return isolation
    if isolation == PROCESS:
        return ProcessLevel()
    name, colon, option = isolation.partition(":")
    for named, target in _makers().items():
        if named.partition(":")[:2] == (name, colon):
            level: Level = load_target(target)(*([option] if colon else []))
            return level
    raise ScriptError(
        f"there is no isolation level {isolation!r}",
        expected=", ".join(level_names())
        + ", or one with options such as soundstage.isolation.InSandbox(...)",
    )


@functools.cache
def isolation_problem(isolation: AnyIsolation) -> EnvironmentProblem | None:
    """The reason why this machine cannot isolate programs at this level; `None` if it can.

    For tests that are to be skipped where they cannot run.

    Example:
        >>> isolation_problem("process") is None
        True
    """
    with LoopThread("soundstage isolation") as beside:
        try:
            beside.call(_try(as_isolation(isolation)))
        except EnvironmentProblem as problem:
            return problem
    return None


async def _try(isolation: Level) -> None:
    sandbox = Sandbox(Journal(), isolation=isolation)
    await sandbox.open()
    try:
        if isolation.entry_tells and sandbox.isolator is not None:
            await sandbox.isolator.enter(Launch((sys.executable,), sandbox.home, {}))
    finally:
        await sandbox.close()


INHERITED: Final = (
    "PATH",  # programs are found
    "LD_LIBRARY_PATH",  # some builds of Python find their library by it
    "DYLD_LIBRARY_PATH",  # the same on macOS
)

FIXED: Final = {
    "LANG": "C.UTF-8",  # texts and sort order are the same everywhere
    "TZ": "UTC",  # times too
    "PYTHONUNBUFFERED": "1",  # lines come when they are written, although they go into a pipe
    "PYTHONDONTWRITEBYTECODE": "1",  # what an agent repairs within the second would run as it was compiled before
}

FOLDERS: Final = {
    "HOME": "home",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
    "XDG_RUNTIME_DIR": "run",  # sockets; else some programs use those of the user, in /run
    "TMPDIR": "tmp",
    "TMP": "tmp",
    "TEMP": "tmp",
}
_PROXIES: Final = frozenset({"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"})


def own_folders(root: Path) -> list[Path]:
    """The throw-away folders of a sandbox, below its folder."""
    return [root / top for top in dict.fromkeys(name.partition("/")[0] for name in FOLDERS.values())]


def isolated(
    parent: Mapping[str, str],
    root: Path,
    *,
    proxy: Mapping[str, str],
    extra: Mapping[str, str],
    allow: Iterable[str] = (),
) -> dict[str, str]:
    """The environment of a program. Pure.

    Args:
        parent: our own variables; only those on the list are taken.
        root: where the throw-away folders are.
        proxy: what sends requests to the recording proxy.
        extra: what the caller adds; wins over everything else.
        allow: names that are taken from `parent` too.
    """
    taken = {name: parent[name] for name in (*INHERITED, *allow) if name in parent}
    folders = {name: str(root / folder) for name, folder in FOLDERS.items()}
    return {"PATH": os.defpath, **FIXED, **taken, **folders, **proxy, **extra}


class Sandbox:
    """The throw-away folders and the proxy of one program.

    Args:
        journal: where the proxy records.
        proxy: one that runs already; else one of its own, unless the caller's variables name a proxy.
        extra: variables that the caller adds.
        allow: names of our variables that the program may have.
        isolation: how far it is kept apart.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        proxy: EgressProxy | None = None,
        extra: Mapping[str, str] | None = None,
        allow: Iterable[str] = (),
        isolation: AnyIsolation = PROCESS,
    ) -> None:
        self._journal = journal
        self._isolation = as_isolation(isolation)
        self._reads: list[Path] = []
        self._extra = dict(extra or {})
        self._allow = tuple(allow)
        self._own = EgressProxy(journal) if proxy is None and not _PROXIES & self._extra.keys() else None
        self._proxy = proxy if proxy is not None else self._own
        self._folder: ScratchFolder | None = None
        self._isolator: Isolator | None = None

    @property
    def root(self) -> Path:
        """Where the folders are."""
        if self._folder is None:
            raise InvalidStateError("the throw-away folders are not there", hint="start the driver first")
        return self._folder.path

    @property
    def home(self) -> Path:
        """The program's home folder."""
        return self.root / FOLDERS["HOME"]

    @property
    def temporary(self) -> Path:
        """The program's folder for temporary files."""
        return self.root / FOLDERS["TMPDIR"]

    @property
    def isolator(self) -> Isolator | None:
        """The isolation beyond folders and variables; `None` if there is none."""
        return self._isolator

    def needs(self, *paths: Path) -> None:
        """Let the programs that start from now on read files outside of their folders."""
        self._reads += [path.absolute() for path in paths]

    def unseen(self) -> Callable[[], tuple[Path, ...]]:
        """Return a function: the files asked for from now on that are hidden from a program started now.

        Only containers and sandboxes see less than all: nothing can be added to one that runs.
        """
        began = len(self._reads)

        def added() -> tuple[Path, ...]:
            seen, new = self._reads[:began], dict.fromkeys(self._reads[began:])
            hidden = tuple(self._isolation.hidden())
            return tuple(
                path
                for path in new
                if any(path.resolve().is_relative_to(folder) for folder in hidden)
                and not any(path.is_relative_to(other) for other in seen)
            )

        return added

    async def open(self) -> None:
        """Make the folders, start the proxy, and make the network, if it is to be one of its own.

        Raises:
            EnvironmentProblem: if the system does not let us.
        """
        self._folder = ScratchFolder()
        self.home.mkdir()
        self.temporary.mkdir()
        (self.root / FOLDERS["XDG_RUNTIME_DIR"]).mkdir(mode=0o700)
        try:
            if self._own is not None:
                await self._own.start()
            self.needs(*self._isolation.reads)
            self._isolator = self._isolation.make_isolator(self._journal, self.root, self._reads)
            if self._isolator is not None:
                await self._isolator.open()
        except BaseException:
            await self.close()
            raise

    def environment(self, own: Mapping[str, str] | None = None) -> dict[str, str]:
        """The program's environment; `own` is what this kind of program needs, the caller's wins over it."""
        proxy = self._proxy.environment() if self._proxy is not None else {}
        extra = {**(own or {}), **self._extra}
        return isolated(os.environ, self.root, proxy=proxy, extra=extra, allow=self._allow)

    async def close(self) -> None:
        """Let go of the network, stop the proxy and remove the folders. Harmless when repeated."""
        async with AsyncExitStack() as last:  # runs all of it, in reverse, whatever one of them raises
            if self._folder is not None:
                last.callback(self._folder.close)
            if self._own is not None:
                last.push_async_callback(self._own.stop)
            if self._isolator is not None:
                last.push_async_callback(self._isolator.close)
        self._folder = None
