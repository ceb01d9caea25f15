"""The model calls of a run, and the tools that it has run: read from its journal. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from soundstage.journal import ModelChunked, ModelFailed, ModelRequested, ModelResponded, Record
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest, ToolCall, ToolResult


class ModelCall(NamedTuple):
    """One call of a model.

    Args:
        number: from 1, in the order in which they came.
        request: as it came.
        chunks: the reply, with its end; empty if it failed.
        began: seconds on the clock of the run.
        failed: why the model gave no reply, if it gave none.
    """

    number: int
    request: ModelRequest
    chunks: tuple[ModelChunk, ...]
    began: float
    failed: str = ""


class ToolAction(NamedTuple):
    """A tool that the app says it has run, in a later request."""

    name: str
    arguments: str
    result: str


def calls_of(records: Iterable[Record]) -> list[ModelCall]:
    """The model calls of a journal."""
    asked: dict[int, Record] = {}
    pieces: dict[int, list[ModelChunk]] = {}
    failures: dict[int, str] = {}
    for record in records:
        event, cause = record.event, record.cause or 0
        if isinstance(event, ModelRequested):
            asked[record.position], pieces[record.position] = record, []
        elif isinstance(event, ModelChunked) and cause in pieces:
            pieces[cause].append(event.chunk)
        elif isinstance(event, ModelResponded) and cause in pieces:
            reply = event.response
            pieces[cause].append(FinishChunk(finish=reply.finish, usage=reply.usage, model=reply.model))
        elif isinstance(event, ModelFailed):
            failures[cause] = event.message
    return [
        ModelCall(
            number,
            record.event.request,  # type: ignore[attr-defined]
            tuple(pieces[position]),
            record.time,
            failures.get(position, ""),
        )
        for number, (position, record) in enumerate(asked.items(), 1)
    ]


def asks_the_same(one: ModelRequest, other: ModelRequest) -> bool:
    """Whether a request says what an earlier one has said: it is sent again. Headers may differ."""
    return one.messages == other.messages and one.tools == other.tools and one.model == other.model


def actions_of(calls: Sequence[ModelCall]) -> tuple[ToolAction, ...]:
    """The tools that were run, in the order in which requests first bring their results.

    Each request repeats the history, so an action counts as often as the request has it that has it most often.
    """
    found: list[ToolAction] = []
    for call in calls:
        had = Counter(found)
        for action, times in Counter(_actions_in(call.request)).items():
            found.extend([action] * (times - had[action]))
    return tuple(found)


def _actions_in(request: ModelRequest) -> Iterable[ToolAction]:
    asked: dict[str, ToolCall] = {}
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                asked[part.id] = part
            elif isinstance(part, ToolResult):
                call = asked.get(part.call_id)
                name, arguments = (call.name, call.arguments_json) if call else (part.name, "")
                yield ToolAction(name, arguments, part.text)
