"""A transport that keeps what it passes on, and the frames that come of it.

It is the SDK's own transport with the real CLI behind it: each line is noted before it goes on, so the CLI waits
while the files of the workspace are looked at. Files are looked at when a tool is done: before the hook that says so
is asked, and before its result is told.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

from soundstage.errors import EnvironmentProblem
from soundstage.journal import Committed
from soundstage.lifecycle import read_beneath
from soundstage.scenarios._errors import RecordingIncompleteError
from soundstage.scenarios._frames import FileEffect, RecordedFrame, hook_type
from soundstage.scenarios._seam import sdk_transport
from soundstage.scenarios._transport import opening_of
from soundstage.worlds import Workspace

_OF_THE_SDK: Final = (
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
)


class FrameRecorder:
    """Collects the frames of all sessions of one run.

    Args:
        workspace: where the program works.
        cli: the real CLI.
        environment: all variables that the CLI gets, but for those that the program gives it.
        scratch: a folder for the scripts that start it.
    """

    def __init__(
        self, workspace: Workspace, cli: Path, environment: Mapping[str, str], scratch: Path
    ) -> None:
        self.frames: list[RecordedFrame] = []
        self.lines: list[dict[str, Any] | None] = []  # of each frame, hooks too
        self._workspace = workspace
        self._files = workspace.snapshot()
        self._known = {one.hash for one in self._commits()}
        self._cli = cli
        self._environment = dict(environment)
        self._scratch = scratch
        self._began: dict[int, float] = {}
        self._asked: dict[str, str] = {}  # id of a hook's question -> its file
        self._hooks = 0

    def transport(self) -> Any:
        """The class that takes the place of the SDK's own transport."""
        recorder = self

        class RecordingTransport(sdk_transport()):  # type: ignore[misc]
            """The SDK's own transport, with each line noted."""

            def __init__(self, prompt: Any, options: Any) -> None:
                super().__init__(prompt=prompt, options=options)
                self._session = recorder.begin()
                self._cli_path = str(recorder.starter(self._session, dict(options.env or {})))

            async def connect(self) -> None:
                recorder.note(self._session, "open", line=opening_of(self._build_command(), self._options))
                await super().connect()

            async def write(self, data: str) -> None:
                for line in data.splitlines():
                    recorder.sent(self._session, json.loads(line))
                await super().write(data)

            async def end_input(self) -> None:
                recorder.note(self._session, "end")
                await super().end_input()

            def read_messages(self) -> AsyncIterator[dict[str, Any]]:
                return self._noted(super().read_messages())

            async def _noted(self, lines: AsyncIterator[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
                try:
                    async for line in lines:
                        recorder.said(self._session, line)
                        yield line
                except Exception as error:
                    recorder.note(self._session, "exit", code=getattr(error, "exit_code", None) or 1)
                    raise
                recorder.note(self._session, "exit")  # unless the program has gone before

        return RecordingTransport

    def begin(self) -> int:
        """The number of the next session."""
        number = len(self._began) + 1
        self._began[number] = time.monotonic()
        return number

    def starter(self, session: int, own: dict[str, str]) -> Path:
        """A script that starts the CLI with the variables of this run and of the program alone."""
        variables = {**self._environment, **own}
        words = [f"{name}={value}" for name, value in variables.items() if name not in _OF_THE_SDK]
        kept = " ".join(f'{name}="${{{name}-}}"' for name in _OF_THE_SDK)
        path = self._scratch / f"claude-{session}"
        path.write_text(
            f'#!/bin/sh\nexec env -i {shlex.join(words)} {kept} {shlex.quote(str(self._cli))} "$@"\n'
        )
        path.chmod(0o700)
        return path

    def sent(self, session: int, line: dict[str, Any]) -> None:
        """Note a line of the program."""
        response = line.get("response") if line.get("type") == "control_response" else None
        hook = self._asked.pop(str(response.get("request_id")), "") if isinstance(response, dict) else ""
        self.note(session, "answer" if hook else "send", line=line, hook=hook)

    def said(self, session: int, line: dict[str, Any]) -> None:
        """Note a line of the CLI, after the files that a tool has changed before it."""
        kind = hook_type(line)
        if kind.startswith("PostToolUse") or line.get("type") in ("user", "result"):
            self._look_at_files(session)
        if kind:
            self._hooks += 1
            hook = f"{self._hooks:03d}-{kind}"
            self._asked[str(line.get("request_id"))] = hook
            self.note(session, "ask", line=line, hook=hook)
        else:
            self.note(session, "say", line=line)

    def note(
        self,
        session: int,
        kind: Any,
        *,
        line: dict[str, Any] | None = None,
        hook: str = "",
        files: tuple[FileEffect, ...] = (),
        commits: tuple[Committed, ...] = (),
        code: int = 0,
    ) -> None:
        """Note a frame; the line of a hook goes into a file of its own."""
        at = round(time.monotonic() - self._began[session], 3)
        kept = None if hook else line
        self.frames.append(
            RecordedFrame(
                at=at,
                kind=kind,
                session=session,
                line=kept,
                hook=hook,
                files=files,
                commits=commits,
                code=code,
            )
        )
        self.lines.append(line)

    def _look_at_files(self, session: int) -> None:
        now = self._workspace.snapshot()
        changed = sorted(path for path in {*self._files, *now} if self._files.get(path) != now.get(path))
        self._files = now
        commits = self._new_commits()
        if changed or commits:
            effects = tuple(
                FileEffect.of(path, self._data(path) if path in now else None) for path in changed
            )
            self.note(session, "change", files=effects, commits=commits)

    def _commits(self) -> list[Any]:
        """All commits, the newest first; none without a repository."""
        return list(self._workspace.commits()) if (self._workspace.root / ".git").is_dir() else []

    def _new_commits(self) -> tuple[Committed, ...]:
        found = self._commits()
        new = [one for one in reversed(found) if one.hash not in self._known]
        self._known |= {one.hash for one in found}
        return tuple(
            Committed(hash=one.hash, subject=one.subject, author=one.author, files=one.files) for one in new
        )

    def _data(self, path: str) -> bytes:
        return file_data(self._workspace.root, path)


def file_data(root: Path, path: str) -> bytes:
    """The content of a file of a workspace.

    Raises:
        RecordingIncompleteError: if it is a link, or cannot be read: a recording keeps regular files.
    """
    try:
        return read_beneath(root, path)
    except OSError as error:
        raise RecordingIncompleteError(
            f"the file {path} of the workspace cannot be recorded",
            expected="a regular file that we may read",
            seen=error.strerror or str(error),
            hint="leave it out of the workspace",
        ) from None


def require_cli(line: Mapping[str, Any] | None) -> str:
    """The version of the CLI, from the first line that says so.

    Raises:
        EnvironmentProblem: if there is none.
    """
    version = str((line or {}).get("claude_code_version", ""))
    if not version:
        raise EnvironmentProblem("the CLI has not said its version", expected="claude_code_version in `init`")
    return version
