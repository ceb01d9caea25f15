"""The workspace world: a project tree that an agent works in and a test looks at.

The tree is made at start and removed at stop. The test side writes files, makes it a git repository, and asks
what changed; the app side is the folder itself, `workspace.root`. What the test itself writes is no change:
`record_changes` puts only what somebody else did into the journal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from soundstage.errors import EnvironmentProblem, ExpectationError, InvalidStateError, ScriptError
from soundstage.journal import Committed, FactMissed, Journal, file_changed
from soundstage.lifecycle import Daemon, ScratchFolder, read_beneath, remove_tree, write_beneath
from soundstage.worlds._git import Commit, Git, git_environment
from soundstage.worlds._head_log import HeadLog, commits_between, head_log
from soundstage.worlds._tree import LEFT_OUT, Change, FileState, Snapshot, difference, state_of, take

SHOWN: Final = 20  # files that a message lists


class Workspace(Daemon):
    """A project tree for one run.

    Args:
        journal: where changes go.
        root: the folder; a new one in the temporary folder unless given. A folder that exists already is used
            as it is and stays; one that is made at start is removed at stop.
        name: how messages call it.
        on_demand: whether a new folder is made when it is first asked for, by `root` or by a file, and not at start.
            Ask first in the main thread: signals that end the process remove it then.

    Raises:
        EnvironmentProblem: from `start`, if the folder cannot be made; on demand, from whatever asks for it.

    Example:
        ::

            workspace = Workspace(journal)
            await workspace.start()
            workspace.write("src/app.py", "print('hello')\\n")
            workspace.git()
            workspace.commit("first version")
            ...  # an agent works in workspace.root
            assert [change.path for change in workspace.record_changes()] == ["src/app.py"]
            await workspace.stop()
    """

    real_time = True

    def __init__(
        self, journal: Journal, root: Path | None = None, *, name: str = "workspace", on_demand: bool = False
    ) -> None:
        super().__init__(name, journal)
        self._wanted = root
        self._on_demand = on_demand and root is None
        self._may_make = False
        self._root: Path | None = None
        self._scratch: ScratchFolder | None = None
        self._settings: ScratchFolder | None = None
        self._git: Git | None = None
        self._ours = True
        self._known: dict[str, FileState] = {}
        self._log = HeadLog()
        self._own: set[str] = set()  # commits of the test

    @property
    def root(self) -> Path:
        """The folder, without symbolic links in its path.

        Raises:
            InvalidStateError: before `start` and after `stop`.
        """
        if self._may_make:
            self._make_root()
        if self._root is None:
            raise InvalidStateError(
                f"{self.name} has no folder", seen=f"it is {self.status.value}", hint="start it first"
            )
        return self._root

    async def _start(self) -> None:
        if self._on_demand:
            self._may_make = True
        else:
            self._make_root()

    def _make_root(self) -> None:
        try:
            self._root = self._make()
        except OSError as error:
            raise EnvironmentProblem(
                f"the folder of {self.name} cannot be made",
                seen=f"{error.filename or self._wanted}: {error.strerror}",
                hint="choose a folder that you may write to",
            ) from None
        self._git = Git(self._root)
        self._known = dict(take(self._root))
        self._log = head_log(self._root)
        self._may_make = False

    def _make(self) -> Path:
        if self._wanted is None:
            self._scratch = ScratchFolder("workspace")
            return self._scratch.path
        self._ours = not self._wanted.exists()
        self._wanted.mkdir(parents=True, exist_ok=True)
        return self._wanted.resolve()

    async def _stop(self) -> None:
        root, self._root, self._may_make = self._root, None, False
        if root is None:
            return
        if self._settings is not None:
            self._settings.close()
            self._settings = None
        if self._scratch is not None:
            self._scratch.close()
        elif self._ours:
            remove_tree(root)

    def path(self, path: str | Path) -> Path:
        """The full path of a file in the workspace, which need not be there.

        Raises:
            ScriptError: if `path` leads out of the workspace, by `..`, as an absolute path or over a link.
        """
        root = self.root
        try:
            inside = (root / path).resolve()
        except (ValueError, RuntimeError) as error:  # a NUL, a loop of links
            raise ScriptError(f"{str(path)!r} is not a path", seen=str(error)) from None
        if not inside.is_relative_to(root) or inside == root:
            raise ScriptError(
                f"{str(path)!r} is not a file of {self.name}",
                expected=f"a path below {root}",
                seen=str(inside),
                hint="give a path relative to the workspace",
            )
        return inside

    def write(self, path: str | Path, text: str | bytes) -> Path:
        """Write a file, with the folders that it needs. Returns its full path."""
        target = self.path(path)
        inside = target.relative_to(self.root)
        write_beneath(self.root, inside, text if isinstance(text, bytes) else text.encode())
        state = state_of(target)
        if state is not None and not LEFT_OUT.intersection(inside.parts):
            self._known[inside.as_posix()] = state
        return target

    def read(self, path: str | Path) -> str:
        """The text of a file.

        Raises:
            ExpectationError: if it is not there, or is not UTF-8.
        """
        target = self.path(path)
        try:
            return read_beneath(self.root, target.relative_to(self.root)).decode()
        except UnicodeDecodeError as error:
            raise ExpectationError(
                f"{path} is not text",
                seen=f"{error.reason} at byte {error.start}",
                hint="use path().read_bytes()",
            ) from None
        except OSError as error:
            raise ExpectationError(
                f"{path} cannot be read from {self.name}",
                expected="a file",
                seen=f"{error.strerror}; the files are: {self._listing()}",
            ) from None

    def _listing(self) -> str:
        files = self.files()
        more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
        return (", ".join(files[:SHOWN]) or "none") + more

    def files(self) -> list[str]:
        """The paths of all files, sorted, with `/` between folders; `.git` is left out."""
        return list(self.snapshot())

    def snapshot(self) -> Snapshot:
        """Every file, now: path to hash and text."""
        return take(self.root)

    def changes(self, since: Snapshot) -> tuple[Change, ...]:
        """The differences from an earlier snapshot, by path."""
        return difference(since, self.snapshot())

    def record_changes(self, *, cause: int | None = None) -> tuple[Change, ...]:
        """Append a `FileChanged` for everything that changed since `start`, or since the last call, then the commits.

        Files that the test wrote itself with `write` do not count, unless they changed afterwards; commits that it made
        with `commit`, or that the journal has, do not either. A repository that cannot be read is a `FactMissed`.

        Args:
            cause: position of the event that led to the changes, if one is known.
        """
        if self._may_make:
            return ()  # nobody has asked for the folder
        now = self.snapshot()
        found = difference(self._known, now)
        self._known = dict(now)
        for change in found:
            states = [state.content if state else None for state in (change.before, change.after)]
            event = file_changed(self.journal.contents, change.path, *states)
            if event is not None:
                self.journal.append(event, source=self.name, cause=cause)
        self._record_commits(cause)
        return found

    def _record_commits(self, cause: int | None) -> None:
        before, self._log = self._log, head_log(self.root)
        commits = commits_between(before, self._log)
        known = self._own.union(event.hash for event in (self.journal.events(Committed) if commits else ()))
        for commit in commits:
            if commit.hash not in known:
                self.journal.append(commit, source=self.name, cause=cause)
        if self._log.problem and self._log.problem != before.problem:
            self.journal.append(
                FactMissed(what="commits", reason=self._log.problem), source=self.name, cause=cause
            )

    def git(self) -> None:
        """Make the workspace a git repository, on a branch `main`, with a local identity.

        Raises:
            EnvironmentProblem: if git is missing or fails.
        """
        self._repository().init()

    def commit(self, message: str) -> Commit:
        """Commit every change. The same files, messages and order give the same hashes everywhere.

        Raises:
            InvalidStateError: if the workspace is not a repository.
            ScriptError: if there is nothing to commit.
            AppError: if what lies in `.git` would lead git out of the workspace.
        """
        made = self._repository().commit(message)
        self._own.add(made.hash)
        return made

    def commits(self) -> tuple[Commit, ...]:
        """All commits of the current branch, the agent's too, newest first.

        Raises:
            InvalidStateError: if the workspace is not a repository.
        """
        return self._repository().commits()

    def _repository(self) -> Git:
        if self._may_make:
            self._make_root()
        if self._git is None or self._root is None:
            raise InvalidStateError(f"{self.name} is {self.status.value}", hint="start it first")
        return self._git

    def environment(self, *, own_home: bool = False) -> dict[str, str]:
        """Variables for an agent that works here: git without the machine's settings, on a fixed date.

        Args:
            own_home: whether the agent has a throw-away home, as every program of a driver has. What it writes with
                `git config --global` goes there then; else into a throw-away file of the workspace.
        """
        if own_home:
            return git_environment(self.root)
        if self._settings is None:
            self._settings = ScratchFolder("settings")
        return git_environment(self.root, settings=self._settings.path / "gitconfig")
