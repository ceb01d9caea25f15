"""The model calls of a run, and the tools that it has run: read from its journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from soundstage.journal import ModelChunked, ModelFailed, ModelRequested, ModelResponded, Record
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest, ToolCall

UNKNOWN: Final = ("no_match", "replay_mismatch")


class ModelCall(NamedTuple):
    """One call of a model.

    Args:
        number: from 1, in the order in which they came.
        request: as it came.
        chunks: the reply, with its end; empty if it failed.
        began: seconds on the clock of the run.
        failed: why the model gave no reply, if it gave none.
        unknown: whether no rule, and no line of a tape, had an answer.
    """

    number: int
    request: ModelRequest
    chunks: tuple[ModelChunk, ...]
    began: float
    failed: str = ""
    unknown: bool = False


class ToolAction(NamedTuple):
    """A tool that the app says it has run, in a later request."""

    name: str
    arguments: str
    result: str


def calls_of(records: Iterable[Record]) -> list[ModelCall]:
    """The model calls of a journal."""
    asked: dict[int, Record] = {}
    pieces: dict[int, list[ModelChunk]] = {}
    failures: dict[int, ModelFailed] = {}
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
            failures[cause] = event
    return [
        ModelCall(
            number,
            record.event.request,  # type: ignore[attr-defined]
            tuple(pieces[position]),
            record.time,
            failures[position].message if position in failures else "",
            position in failures and failures[position].reason in UNKNOWN,
        )
        for number, (position, record) in enumerate(asked.items(), 1)
    ]


def asks_the_same(one: ModelRequest, other: ModelRequest) -> bool:
    """Whether a request says what an earlier one has said: it is sent again. Headers may differ."""
    if len(one.messages) != len(other.messages) or one.messages[-1:] != other.messages[-1:]:
        return False  # the usual case, without a look at the whole history
    return one.messages == other.messages and one.tools == other.tools and one.model == other.model


def actions_of(calls: Sequence[ModelCall]) -> tuple[ToolAction, ...]:
    """The tools that were run, in the order in which requests bring their results. A request that is sent again has
    nothing new.
    """
    found: list[ToolAction] = []
    earlier: list[ModelRequest] = []
    for call in calls:
        if not any(asks_the_same(other, call.request) for other in earlier):
            found.extend(_new_actions(call.request))
        earlier.append(call.request)
    return tuple(found)


def _new_actions(request: ModelRequest) -> Iterable[ToolAction]:
    """The results that come after the model's last message, with the calls that they answer."""
    last = next((message for message in reversed(request.messages) if message.role == "assistant"), None)
    asked = {part.id: part for part in last.parts if isinstance(part, ToolCall)} if last is not None else {}
    for result in request.tool_results:
        call = asked.get(result.call_id)
        name, arguments = (call.name, call.arguments_json) if call else (result.name, "")
        yield ToolAction(name, arguments, result.text)
