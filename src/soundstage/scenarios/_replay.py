"""A recording in the place of the CLI: programs on the SDK run in this process as if it were there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

from soundstage.clock import VirtualClock, running_clock, validate_seconds
from soundstage.differences import Difference
from soundstage.errors import ReplayMismatchError
from soundstage.journal import Journal
from soundstage.lifecycle import write_beneath
from soundstage.runs import RunResult, build_result
from soundstage.scenarios._errors import ScenarioVersionError
from soundstage.scenarios._folder import ScenarioRecording, hash_of_files
from soundstage.scenarios._frame_log import FrameLog
from soundstage.scenarios._frames import FileEffect, RecordedFrame
from soundstage.scenarios._places import RunFolders
from soundstage.scenarios._player import FramePlayer, ReplayRules, mismatch_of
from soundstage.scenarios._seam import default_transport, sdk_version
from soundstage.scenarios._transport import ReplaySide, playback_transport

WITHIN: Final = 60.0


class ScenarioReplay:
    """A recording that answers programs on the Claude Agent SDK, while it is entered.

    Nobody starts a CLI, and nothing goes to a network. Hooks, permissions and tools of the program are called in the
    recorded order; files that tools had changed are changed in the workspace. Recorded delays are kept on virtual time.

    Args:
        recording: of `load_recording`.
        workspace: the folder in which the program works. Unless it has files, those of the recording are put there.
        journal: where what happens goes; one of its own unless given.
        relaxed: whether what the program sends may differ from what was recorded. Differences are in `differences`.
        speed: on the machine's time, how fast: 1 keeps the recorded delays; none unless given.
        within: seconds that the program may take before each thing that it is to send.

    Raises:
        ScenarioVersionError: if it was recorded with another version of the SDK, or the workspace has other files.

    Example:
        ::

            recording = load_recording(Path("examples/scenarios"), "simple-file-edit")
            with ScenarioReplay(recording, tmp_path / "work") as replay:
                asyncio.run(app.main(replay.workspace))
            assert replay.result.status == "complete"
    """

    def __init__(
        self,
        recording: ScenarioRecording,
        workspace: Path,
        *,
        journal: Journal | None = None,
        relaxed: bool = False,
        speed: float | None = None,
        within: float = WITHIN,
    ) -> None:
        self.recording = recording
        self.workspace = workspace
        self.journal = journal if journal is not None else Journal(run=recording.name)
        self.relaxed = relaxed
        self._pace = 0.0 if speed is None else 1 / validate_seconds(speed, "a speed")
        self._began = len(self.journal)
        self._log = FrameLog(self.journal, recording)
        self._players: list[FramePlayer] = []
        self._failed: ReplayMismatchError | None = None
        self._rules = ReplayRules(
            RunFolders(str(workspace.absolute()), str(Path.home()), tempfile.gettempdir()), relaxed
        )
        self._stack = contextlib.ExitStack()
        self._made = playback_transport(
            ReplaySide(self._player_of, self._played, self._delays, validate_seconds(within))
        )

    def __enter__(self) -> Self:
        if not self.relaxed:
            self._refuse_another_sdk()
        self.workspace.mkdir(parents=True, exist_ok=True)
        if not any(self.workspace.iterdir()):
            self._put(self.recording.workspace)
        elif not self.relaxed:
            self._refuse_other_files()
        self._stack.enter_context(default_transport(self._made))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stack.close()
        if kind is None:
            self.finish()

    @property
    def differences(self) -> tuple[Difference, ...]:
        """All that the program sent otherwise than recorded, so far; more than none only with `relaxed`."""
        return tuple(one for player in self._players for one in player.differences)

    @property
    def result(self) -> RunResult:
        """The result of the run so far, from its journal."""
        return build_result(tuple(self.journal.read(self._began)), objects=self.journal.contents)

    def finish(self) -> None:
        """Check that the program has sent all that was recorded, and that no difference was swallowed.

        Raises:
            ReplayMismatchError: otherwise.
        """
        if self._failed is not None:
            raise self._failed
        if self.relaxed:
            return
        for player in self._players:
            missing = player.missing()
            if missing is not None:
                raise player.mismatch(missing)
        opened = {player.number for player in self._players}
        unopened = [number for number in self.recording.sessions if number not in opened]
        if unopened:
            verdict = Difference(
                cause="missing call",
                where=f"session {unopened[0]}",
                recorded="opened by the program",
                seen="not opened",
            )
            raise mismatch_of(self.recording.name, [verdict])

    def _delays(self) -> float:
        """By what recorded delays are multiplied: virtual time costs nothing."""
        return 1.0 if isinstance(running_clock(), VirtualClock) else self._pace

    def _player_of(self, opening: dict[str, Any]) -> FramePlayer:
        """The next session that was not opened; if several are opened at once, the one with the same arguments."""
        opened = {player.number for player in self._players}
        left = [number for number in self.recording.sessions if number not in opened]
        if not left:
            verdict = Difference(
                cause="extra call",
                where=f"session {len(opened) + 1}",
                recorded=f"{len(opened)} sessions",
                seen="another one",
            )
            raise self._refused(mismatch_of(self.recording.name, [verdict]))
        made = [FramePlayer(self.recording, number, self._rules) for number in left]
        player = next((one for one in made if one.opens_as(opening)), made[0])
        self._players.append(player)
        player.on_mismatch = self._refused
        return player

    def _refused(self, error: ReplayMismatchError) -> ReplayMismatchError:
        """Keep the first error: the SDK may swallow it."""
        self._failed = self._failed or error
        return error

    def _played(self, frame: RecordedFrame, line: dict[str, Any]) -> None:
        self._log.played(frame, line)
        if frame.files:
            self._put(frame.files)

    def _put(self, files: tuple[FileEffect, ...]) -> None:
        """Bring files into the state in which a tool had left them."""
        for one in files:
            data = one.data
            if data is None:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(self.workspace / one.path)  # noqa: PTH107
            else:
                placed = self._rules.places.put_in(one.text) if one.text is not None else None
                write_beneath(self.workspace, one.path, placed.encode() if placed is not None else data)

    def _refuse_another_sdk(self) -> None:
        recorded, now = self.recording.metadata.sdk, sdk_version()
        if recorded != now:
            raise ScenarioVersionError(
                f"{self.recording.name!r} was recorded with claude-agent-sdk {recorded}",
                expected=f"version {recorded}",
                seen=f"version {now}",
                hint=f"soundstage scenario record {self.recording.name}; relaxed=True replays it nevertheless",
            )

    def _refuse_other_files(self) -> None:
        known = {one.path: one for one in self.recording.workspace}
        seen = tuple(_files_of(self.workspace, most=len(known) + 1))
        if hash_of_files(seen) != self.recording.metadata.workspace:
            others = sorted(
                {one.path for one in seen if known.get(one.path) != one}
                | {*known} - {one.path for one in seen}
            )
            raise ScenarioVersionError(
                f"the workspace is not that with which {self.recording.name!r} was recorded",
                expected=f"{len(known)} files: " + (", ".join(sorted(known)) or "none"),
                seen=f"in {self.workspace}: others are {', '.join(others[:5])}",
                hint="give an empty folder: the recorded files are put there",
            )


def _files_of(root: Path, *, most: int) -> Iterator[FileEffect]:
    """The files below a folder, no more than are asked for; `.git` is left out."""
    found = 0
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name != ".git")
        for name in sorted(files):
            path = Path(folder, name)
            yield FileEffect.of(path.relative_to(root).as_posix(), path.read_bytes())
            found += 1
            if found >= most:
                return
