"""The transcript: what a model is told about the conversation so far. Pure: records in, messages out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from soundstage.agents._entries import AgentPrompt, AgentResponse
from soundstage.journal import Record
from soundstage.messages import Message, assistant, system, user


class TranscriptTurn(NamedTuple):
    """Something that was said before: by the user side, or by the assistant."""

    role: Literal["user", "assistant"]
    text: str


class TranscriptInput(NamedTuple):
    """The parts of a transcript.

    Args:
        system: the instructions of the agent; may be empty.
        history: the turns so far, oldest first, already clipped.
        prompt: what the agent is asked now; it is not in the history.
    """

    system: str
    history: tuple[TranscriptTurn, ...]
    prompt: AgentPrompt


TranscriptBuilder = Callable[[TranscriptInput], Sequence[Message]]


def build_transcript(conversation: TranscriptInput) -> tuple[Message, ...]:
    """The usual transcript: instructions, turns, the newest prompt.

    Example:
        >>> conversation = TranscriptInput("Be brief.", (TranscriptTurn("user", "hi"),), AgentPrompt(text="and?"))
        >>> [message.role for message in build_transcript(conversation)]
        ['system', 'user', 'user']
    """
    head = (system(conversation.system),) if conversation.system else ()
    turns = [
        user(turn.text) if turn.role == "user" else assistant(turn.text) for turn in conversation.history
    ]
    return (*head, *turns, user(conversation.prompt.text))


def read_turns(records: Sequence[Record], prompt: int, clip: int | None) -> tuple[TranscriptTurn, ...]:
    """The turns before the prompt at position `prompt`.

    A response stands behind the prompt that it answers, even if other prompts came in between, and the outputs
    of one streamed response are one turn again.

    Args:
        records: the entries of the agent's family, oldest first.
        prompt: position of the prompt that is answered now; later prompts are left out.
        clip: how many turns at most, the newest ones; `None` for all.
    """
    by_position = {record.position: record for record in records}
    said: dict[_Place, list[str]] = {}
    for record in records:
        if type(record.event) is AgentPrompt and record.position < prompt:
            said[_Place(record.position, is_response=False, sender="")] = [record.event.text]
        elif type(record.event) is AgentResponse:
            asked = _asked(record, by_position)
            if asked is None or asked < prompt:
                place = _Place(asked or record.position, is_response=True, sender=record.event.sender)
                said.setdefault(place, []).append(record.event.text)
    turns = [
        TranscriptTurn("assistant" if place.is_response else "user", "".join(said[place]))
        for place in sorted(said)
    ]
    return tuple(turns if clip is None else turns[len(turns) - min(clip, len(turns)) :])


class _Place(NamedTuple):
    """Where a turn stands, in the order of its fields: the response to a prompt right behind it."""

    position: int
    is_response: bool
    sender: str


def _asked(record: Record, by_position: dict[int, Record]) -> int | None:
    """The position of the prompt that led to `record`, as far as these entries tell."""
    while record.cause is not None and record.cause < record.position and record.cause in by_position:
        record = by_position[record.cause]
        if type(record.event) is AgentPrompt:
            return record.position
    return None
