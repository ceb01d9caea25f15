"""A tape in the place of a test's script: recorded with the user's own keys, or replayed without any.

The app has stand-ins for keys and addresses, as in every test. While a tape is recorded, the server between the app
and the provider asks with the user's own (`_accounts`), and may reach the provider, which the app may not.

One tape per test, beside its file: `__tapes__/<test file>/<test>.tape`. Folders that each run has anew (the workspace,
`tmp_path`) are known when the body begins; the replay puts them in the place of the recorded ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, cast

import pytest

from soundstage.errors import EnvironmentProblem, ExpectationError, ScriptError, SoundstageError, TapeError
from soundstage.guard import real_environment
from soundstage.host import Setup
from soundstage.journal import Redactor
from soundstage.live import LiveModel
from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models import Model, Wrapper
from soundstage.pytest_plugin import name_of_test
from soundstage.scripts import shown
from soundstage.tapes._accounts import Account, accounts_of
from soundstage.tapes._fixtures import RECORD, SOURCE, TAPES
from soundstage.tapes._mcp_stand_ins import McpStandIns, entries_of
from soundstage.tapes._passing import UPSTREAMS
from soundstage.tapes._playback import Playback
from soundstage.tapes._recording import RecordingModel
from soundstage.tapes._replay import ReplayModel
from soundstage.tapes._run import MODES
from soundstage.tapes._seen import keep_seen
from soundstage.tapes._server import TapeServer
from soundstage.tapes._surroundings import Surroundings
from soundstage.tapes._tape import FOLDER, OldTapeError, Tape, TapeHead
from soundstage.tapes._verdict import DivergenceError, verdict_on_old

SUFFIX: Final = ".tape"
_RECORDED = pytest.StashKey[dict[Path, str]]()
_LIVE: Final = {  # format of a request -> a live model's, and its provider
    "openai-chat": ("openai", "openai"),
    "openai": ("openai", "openai"),
    "openai-responses": ("openai-responses", "openai"),
    "anthropic": ("anthropic", "anthropic"),
    "gemini": ("gemini", "gemini"),
}
_BY_NAME: Final = (  # of models, for requests that are made in process
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"(models/)?gemini"), "gemini"),
    (re.compile(r"gpt|chatgpt|o\d"), "openai"),
)


class TapeOptions(NamedTuple):
    """The mark of a test: `@pytest.mark.tape(...)`.

    Args:
        name: of the tape, in the folder of its test file; the test's unless given.
        path: of another tape, from the folder of the test file.
        mode: `once`, `new`, `all`, `none`.
        upstream: base URLs of providers, as their SDKs take them.
        speed: of a replay: 1 keeps the recorded pace; no delays unless given.
        inner: the model that is recorded in process: a model, a function that makes one, or the format of a live one.
        mcp: MCP servers that are recorded, by name: a command, a URL, or an entry of `.mcp.json`.
    """

    name: str = ""
    path: str | Path = ""
    mode: str = ""
    upstream: Mapping[str, str] = {}
    speed: float | None = None
    inner: Model | Callable[[], Model] | str | None = None
    mcp: Mapping[str, str | Mapping[str, Any]] = {}

    @classmethod
    def of(cls, mark: pytest.Mark) -> Self:
        """The options in a mark.

        Raises:
            ScriptError: for one that does not exist, or that has no such value.
        """
        unknown = sorted(set(mark.kwargs) - set(cls._fields))
        if unknown or mark.args:
            raise ScriptError(
                f"the mark `tape` has no option {unknown[0]!r}" if unknown else "options are named",
                expected=", ".join(cls._fields),
                seen=", ".join(map(repr, mark.args)) if mark.args else unknown[0],
            )
        made = cls(**{name: value for name, value in mark.kwargs.items() if value is not None})
        strange = sorted(set(made.upstream) - set(UPSTREAMS))
        if strange:
            raise ScriptError("this is no upstream", expected=", ".join(UPSTREAMS), seen=strange[0])
        if made.mode and made.mode not in MODES:
            raise ScriptError("this is no mode", expected=", ".join(MODES), seen=repr(made.mode))
        if made.name and Path(made.name).name != made.name:
            raise ScriptError("a tape's name has no folders", seen=repr(made.name), hint="use path=")
        return made


def tape_path(item: pytest.Item, options: TapeOptions) -> Path:
    """The tape of a test."""
    folder = item.path.parent
    if options.path:
        return folder / options.path
    name = options.name.removesuffix(SUFFIX) or name_of_test(item)
    return folder / FOLDER / item.path.stem / f"{name}{SUFFIX}"


def mode_of(config: pytest.Config, options: TapeOptions, environment: Mapping[str, str]) -> str:
    """How a tape is used: as the command line says, else the mark, else by `CI`."""
    otherwise = "none" if environment.get("CI") else "once"
    return str(config.getoption(RECORD) or options.mode or otherwise)


class TapeSource:
    """The tape of one test.

    Args:
        item: the test, with its mark.

    Raises:
        ScriptError: if its mark has no such option.
    """

    def __init__(self, item: pytest.Item) -> None:
        mark = item.get_closest_marker("tape")
        assert mark is not None
        self._item = item
        self._options = TapeOptions.of(mark)
        self.path = tape_path(item, self._options)
        mode = mode_of(item.config, self._options, os.environ)
        there = self.path.exists()
        self.recording = mode in ("new", "all") or (mode == "once" and not there)
        self.replaying = mode in ("new", "none") or (mode == "once" and there)
        self._missing = mode == "none" and not there
        self._anew = self.recording and not (self.replaying and there)
        self._relaxed = item.config.getoption(TAPES) == "warn"
        self._problem: SoundstageError | None = None
        self._playback: Playback | None = None
        self._server: TapeServer | None = None
        self._servers: McpStandIns | None = None
        self._accounts: Mapping[str, Account] = {}
        self.tape = Tape()
        self._before = 0
        if mode == "all":
            _check_once(item, self.path)
        item.stash[SOURCE] = self

    @property
    def real_time(self) -> bool:
        """Whether it needs the machine's time: providers have it."""
        return self.recording

    @property
    def _again(self) -> str:
        return f"pytest {RECORD}=all '{self._item.nodeid}'"

    def open(self, stage: Setup) -> None:
        """Open the tape."""
        self._stage = stage
        environment = real_environment()
        redactor = Redactor.from_environment(environment)
        self._accounts = accounts_of(environment)
        for account in self._accounts.values():
            redactor.add(account.key)
        try:
            self.tape = self._opened(redactor)
        except OldTapeError as error:
            self._problem = DivergenceError(verdict_on_old(error, shown(self.path), again=self._again))
        except SoundstageError as error:  # the test fails with it when its body begins
            self._problem = error
        self._before = len(self.tape)
        if self.replaying:
            self._playback = Playback(self.tape, here=self._here(), relaxed=self._relaxed, again=self._again)

    def _opened(self, redactor: Redactor) -> Tape:
        if self._missing:
            raise TapeError(
                "this test has no tape",
                expected=str(self.path),
                seen="no such file",
                hint=f"record it: pytest {RECORD}=once '{self._item.nodeid}'",
            )
        if not self._anew:
            return Tape.load(self.path, redactor=redactor)
        masks = _masks_of(self.path)
        tape = Tape.create(self.path, redactor=redactor)
        now = self._stage.journal.clock.wall().isoformat()
        tape.head = TapeHead(recorded=now, places=self._here(), masks=masks)
        return tape

    def _here(self) -> Surroundings:
        """The folders and the day of this test, as far as they are known."""
        arguments: dict[str, Any] = getattr(self._item, "funcargs", {})
        workspace, tmp_path = self._stage.project, arguments.get("tmp_path")
        plain = Surroundings.here(self._stage.journal.clock.wall())
        return plain.inside(
            workspace=str(workspace) if workspace is not None else "",
            tmp_path=str(tmp_path) if tmp_path is not None else "",
        )

    def model(self) -> Model:
        """The tape in process, played or recorded."""
        clock = self._stage.journal.clock
        playing = ReplayModel(self.tape, playback=self._playback, clock=clock, speed=self._options.speed)
        if not self.recording:
            return playing
        recording = RecordingModel(self._inner(), self.tape, clock=clock)
        return _PlayedElseRecorded(recording, playing) if self.replaying else recording

    def _inner(self) -> Model:
        given = self._options.inner
        if given is None or isinstance(given, str):
            return _LiveByFormat(given or "", self._options.upstream, self._accounts)
        if isinstance(given, type) or not hasattr(given, "stream"):
            return cast(Callable[[], Model], given)()
        return cast(Model, given)

    def server(self) -> TapeServer:
        """The tape on a port."""
        self._server = TapeServer(
            self.tape,
            self._stage.journal,
            playback=self._playback,
            upstreams=self._options.upstream if self.recording else None,
            accounts=self._accounts if self.recording else None,
            clock=self._stage.journal.clock,
            speed=self._options.speed,
        )
        return self._server

    def mcp_servers(self, environment: Mapping[str, str]) -> McpStandIns:
        """The MCP servers of the tape, not started.

        Args:
            environment: the user's variables, for real servers.

        Raises:
            ConfigError: for an option of the mark that names no server.
        """
        given = self._options.mcp
        texts = entries_of([f"{name}={entry}" for name, entry in given.items() if isinstance(entry, str)])
        self._servers = McpStandIns(
            self.tape,
            self._stage.journal,
            playback=self._playback,
            entries={name: texts[name] if isinstance(entry, str) else entry for name, entry in given.items()},
            recording=self.recording,
            environment=environment,
            cwd=self._item.path.parent,
        )
        return self._servers

    def begin(self) -> None:
        """The body begins, and all folders are known.

        Raises:
            TapeError: if there is no tape to play, or it cannot be read.
        """
        if self._problem is not None:
            raise self._problem
        here = self._here()
        if self._playback is not None:
            self._playback.settle(here)
        if self._anew:
            self.tape.head = self.tape.head.at(here)

    def require(self) -> None:
        """Require that the replay was the recorded run, or that all was recorded.

        Raises:
            DivergenceError: with the verdict.
            EnvironmentProblem: if a provider could not be asked, or a secret could not be taken out.
            ExpectationError: if nothing was asked while the tape was recorded.
        """
        if self._server is not None and self.recording:
            self._server.wait_until_idle()
        problem = self.cause()
        if problem is not None:
            raise problem
        recorded = (
            len(self.tape) - self._before + (self._servers.recorded if self._servers is not None else 0)
        )
        if self._anew and not recorded:
            raise ExpectationError(
                "nothing was recorded",
                expected="a request to a model, since the test has the mark `tape`",
                seen="none arrived",
                hint="let the app ask `model_server`, by OPENAI_BASE_URL and the like, or the fixture `model`",
            )
        if self._playback is None or recorded:
            return
        verdict = self._playback.finish()
        keep_seen(self._playback)
        if verdict is not None and not self._relaxed:
            raise DivergenceError(verdict)

    def cause(self) -> Exception | None:
        """The error of the tape that may have failed the body."""
        problems = [*(self._server.unreachable if self._server is not None else ()), *self.tape.problems]
        problems += self._servers.problems if self._servers is not None else ()
        if problems:
            return EnvironmentProblem(f"the tape {self.tape.name} is not complete", seen="\n".join(problems))
        if self._playback is None or self._relaxed or not self._playback.verdicts:
            return None
        keep_seen(self._playback)
        return DivergenceError(self._playback.verdicts[0])

    def listed(self) -> list[str]:
        """The differences that a replay in the mode `warn` went over, as texts."""
        if self._playback is None or not self._relaxed:
            return []
        redact = self._stage.journal.redactor.text
        return [redact(verdict.text()) for verdict in self._playback.verdicts]


def _masks_of(path: Path) -> Any:
    """The masks of a tape that is recorded anew: somebody has reviewed them."""
    try:
        return Tape.load(path).head.masks if path.exists() else ()
    except TapeError:
        return ()


def _check_once(item: pytest.Item, path: Path) -> None:
    """Refuse to record a second test onto the tape of a first one."""
    recorded = item.config.stash.setdefault(_RECORDED, {})
    first = recorded.setdefault(path, item.nodeid)
    if first != item.nodeid:
        raise ScriptError(
            f"two tests record the tape {path.name}",
            expected="a tape for each test",
            seen=f"{first} and {item.nodeid}",
            hint="give each a name of its own, or record one of them and replay the other",
        )


class _PlayedElseRecorded(Wrapper):
    """Plays what is on the tape, and records the rest."""

    def __init__(self, recording: Model, playing: ReplayModel) -> None:
        super().__init__(recording)
        self._playing = playing

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The recorded reply, or that of the recorded model."""
        model: Model = self._playing if self._playing.playback.find(request) else self.inner
        return model.stream(request)


class _LiveByFormat:
    """The live model of a request's format, else by the name of the model that it asks for."""

    def __init__(
        self,
        format: str,  # noqa: A002
        upstream: Mapping[str, str],
        accounts: Mapping[str, Account],
    ) -> None:
        self._format = format
        self._upstream = upstream
        self._accounts = accounts
        self._made: dict[str, LiveModel] = {}

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The provider's reply."""
        name = self._format or request.format or _format_by_name(request.model)
        if name not in _LIVE:
            raise ScriptError(
                "nobody knows which provider to record",
                expected=f"inner= in the mark: {', '.join(_LIVE)}, or a model",
                seen=f"a request for the model {request.model!r}, made in process",
                hint="@pytest.mark.tape(inner='openai')",
            )
        if name not in self._made:
            kind, provider = _LIVE[name]
            account = self._accounts.get(provider, Account())
            self._made[name] = LiveModel(
                cast(Any, kind), base_url=self._upstream.get(provider, "") or account.base, allow=True
            )
        return self._made[name].stream(request)


def _format_by_name(model: str) -> str:
    return next((name for pattern, name in _BY_NAME if pattern.match(model)), "")
