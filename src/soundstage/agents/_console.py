"""The console branch: lines become `ChatReceived`, each `ChatReply` becomes a line.

It knows nothing but two methods of what it is given (`LineConsole`), so it cannot tell a virtual console from a
real one. A reply is on record as said, by an ack, once it has been written.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from soundstage.agents._entries import (
    ChatAck,
    ChatReceived,
    ChatReply,
)
from soundstage.agents._errors import SettingError
from soundstage.agents._manifest import BranchManifest, chat_manifest
from soundstage.agents._pump import Pump, acked
from soundstage.agents._scope import AppScope, BranchDaemons
from soundstage.journal import Record
from soundstage.lifecycle import TaskDaemon
from soundstage.models import working_on

LINE_FORMAT: Final = "[{sender}]: {text}"


@runtime_checkable
class LineConsole(Protocol):
    """The app's side of a console."""

    async def read_line(self) -> str | None:
        """The next line without its line end; `None` at the end of input."""
        ...

    def write_line(self, text: str = "") -> None:
        """Write a line."""
        ...


class ConsoleBranch(msgspec.Struct, frozen=True, kw_only=True):
    """A console. Lines of white space alone are neither taken nor written.

    Args:
        name: unique in an app.
        sender: whose words the lines are.
        line_format: how a reply is written; `{sender}` and `{text}` are filled in.

    Raises:
        SettingError: if `line_format` asks for anything else.
    """

    name: str = "console"
    sender: str = "user"
    line_format: str = LINE_FORMAT

    def __post_init__(self) -> None:
        try:
            self.line_format.format(sender="", text="")
        except (LookupError, ValueError, AttributeError) as error:
            raise SettingError(
                "a line format holds {sender} and {text}, and no other field",
                seen=f"{self.line_format!r} ({type(error).__name__}: {error})",
                hint="write {{ and }} for braces",
            ) from None

    @property
    def manifest(self) -> BranchManifest:
        """It writes what was said, and reads replies, whole or to be cut."""
        return chat_manifest(self.name)

    def daemons(self, scope: AppScope) -> BranchDaemons:
        """One that writes, one that reads."""
        console: LineConsole = scope.part("console", self.name)

        def say(record: Record) -> None:
            reply: Any = record.event
            if reply.text.strip():
                line = self.line_format.format(sender=reply.sender, text=reply.text)
                console.write_line(line.rstrip("\r\n"))
            scope.journal.append(ChatAck(position=record.position), source=self.name, cause=record.position)

        async def listen() -> None:
            while (line := await console.read_line()) is not None:
                if line.strip():
                    scope.journal.append(
                        ChatReceived(text=line, sender=self.sender), source=self.name, cause=working_on.get()
                    )

        said = acked(scope.followers, ChatAck, self.name)
        writer = Pump(f"{self.name}.out", scope.followers, (ChatReply,), say, done=said)
        return BranchDaemons((writer,), (TaskDaemon(f"{self.name}.in", scope.journal, listen),))
