"""The records of a recording: what the SDK and the CLI sent each other, in order, with times. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from soundstage.journal import Committed
from soundstage.scenarios._errors import FixtureError

FrameKind = Literal["open", "send", "answer", "end", "say", "ask", "change", "exit"]
OF_THE_SDK: Final = frozenset({"open", "send", "answer", "end"})
"""The kinds that come from the program; the others come from the CLI."""


class FileEffect(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of the workspace as a tool has left it. Without content it is gone."""

    path: str
    text: str | None = None
    base64: str | None = None

    @classmethod
    def of(cls, path: str, data: bytes | None) -> FileEffect:
        """The effect that leaves `data` at `path`."""
        if data is None:
            return cls(path=path)
        try:
            return cls(path=path, text=data.decode())
        except UnicodeDecodeError:
            return cls(path=path, base64=base64.b64encode(data).decode())

    @property
    def data(self) -> bytes | None:
        """The content; `None` if the file is gone."""
        if self.text is not None:
            return self.text.encode()
        return base64.b64decode(self.base64) if self.base64 is not None else None


class RecordedFrame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened on the line between SDK and CLI.

    Args:
        at: seconds since the session was opened.
        kind: `open`, `send`, `answer` and `end` come from the program: a session with its arguments, a line, the answer
            of a hook, the end of its input. `say`, `ask`, `change` and `exit` come from the CLI: a line, a hook, files
            that a tool has changed, its exit.
        session: its number; a program may open several.
        line: the JSON line of `send` and `say`; the arguments and settings of `open`.
        hook: of `ask` and `answer`, the name of the file below `hooks/`, without its ending.
        files: of `change`.
        commits: of `change`, those that were made.
        code: of `exit`.
    """

    at: float
    kind: FrameKind
    session: int = 1
    line: dict[str, Any] | None = None
    hook: str = ""
    files: tuple[FileEffect, ...] = ()
    commits: tuple[Committed, ...] = ()
    code: int = 0

    @property
    def of_the_sdk(self) -> bool:
        """Whether it comes from the program."""
        return self.kind in OF_THE_SDK


class HookFile(msgspec.Struct, frozen=True, kw_only=True):
    """A hook or a permission, as one file: the CLI's question and the program's answer, both as JSON lines."""

    question: dict[str, Any]
    answer: dict[str, Any] | None = None

    @property
    def request(self) -> dict[str, Any]:
        """The question without its envelope."""
        found = self.question.get("request")
        return found if isinstance(found, dict) else {}


PERMISSION: Final = "CanUseTool"


def hook_type(line: dict[str, Any]) -> str:
    """The word in the name of a hook's file; empty for a line that asks for no hook and no permission.

    >>> hook_type({"type": "control_request", "request": {"subtype": "can_use_tool"}})
    'CanUseTool'
    """
    request = line.get("request") if line.get("type") == "control_request" else None
    if not isinstance(request, dict):
        return ""
    if request.get("subtype") == "can_use_tool":
        return PERMISSION
    asked = request.get("input")
    if request.get("subtype") != "hook_callback" or not isinstance(asked, dict):
        return ""
    return str(asked.get("hook_event_name") or "Hook")


def encode_frames(frames: Iterable[RecordedFrame]) -> bytes:
    """The frames as JSON lines."""
    return b"".join(msgspec.json.encode(frame) + b"\n" for frame in frames)


def decode_frames(data: bytes, where: str) -> tuple[RecordedFrame, ...]:
    """Read JSON lines.

    Raises:
        FixtureError: for a line that is no frame; the message has its number.
    """
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            found.append(msgspec.json.decode(line, type=RecordedFrame))
        except msgspec.DecodeError as error:
            raise FixtureError(f"{where}, line {number}, is no frame", seen=str(error)) from None
    return tuple(found)
