"""Find the cause of a call: the model's reply, or the agent's own step, that asked for this tool.

Clients may say which call of the model it is: Claude Code puts its id into `_meta`. Where they do not, the newest
call with this name and these arguments counts that no other call has been linked with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from soundstage.journal import Journal, ModelResponded, Record, ToolCalled
from soundstage.mcp._answer import Json
from soundstage.messages import ToolCall

FAR: Final = 5_000  # records; what is older led to nothing that happens now


class Asked(NamedTuple):
    """Where a call comes from: a position of the journal, and the id of the model's tool call."""

    position: int
    call_id: str


class Causes:
    """Finds what led to calls of one server's tools."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._taken: set[tuple[int, str]] = set()

    def of(self, tool: str, arguments: Json, meta: Json) -> Asked | None:
        """The position of the record that led to a call.

        Args:
            tool: its name on the server.
            arguments: of the call.
            meta: what the client sent besides (`_meta`).
        """
        told = {value for value in meta.values() if isinstance(value, str)}
        by_arguments: Asked | None = None
        for record in reversed(
            self._journal.read(max(len(self._journal) - FAR, 0), (ModelResponded, ToolCalled))
        ):
            for call in _calls(record):
                asked = Asked(record.position, call.id)
                if asked in self._taken or not _is(tool, call.name):
                    continue
                if call.id in told:
                    return self._take(asked)
                if by_arguments is None and call.arguments == arguments:
                    by_arguments = asked
        return None if by_arguments is None else self._take(by_arguments)

    def _take(self, asked: Asked) -> Asked:
        self._taken.add(asked)
        return asked


def _calls(record: Record) -> Iterator[ToolCall]:
    event = record.event
    if isinstance(event, ToolCalled):
        yield ToolCall(id=event.call_id, name=event.name, arguments=event.arguments)
    elif isinstance(event, ModelResponded):
        yield from reversed([part for part in event.response.parts if isinstance(part, ToolCall)])


def _is(tool: str, name: str) -> bool:
    """Whether an agent's name of a tool may be this one's: clients put the server's name before it."""
    return name == tool or (name.startswith("mcp__") and name.endswith(f"__{tool}"))
