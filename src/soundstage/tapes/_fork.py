"""Forks: a run that goes along a tape up to one step, has one thing changed there, and goes on with a model.

How it works. What the tape has before the step is played. A request that is on the tape at the step or behind it goes
to the model, so which requests are played does not depend on which agent is faster. Until the step has been asked for,
a request that is not on the tape is a divergence, as in a replay: the program is not the recorded one. Behind it,
everything that is new goes to the model.

A changed reply is played in the place of the recorded one. A change of what the model is given is made in every
request that goes on and carries the original.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models import Model
from soundstage.tapes._change import Change, ForkOrigin, ReplyChange, change_of, step_of
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._playback import Playback
from soundstage.tapes._recording import RecordingModel
from soundstage.tapes._replay import ReplayModel
from soundstage.tapes._rewrite import RequestEdit, edited
from soundstage.tapes._surroundings import NOWHERE, Surroundings
from soundstage.tapes._tape import Tape, TapeHead
from soundstage.tapes._verdict import Verdict


class ForkTurn(NamedTuple):
    """The way that a request takes.

    Args:
        plays: whether the tape answers it.
        leaves: whether it is the step at which the branch leaves the tape.
        edit: what is changed in it before the model gets it.
    """

    plays: bool
    leaves: bool = False
    edit: RequestEdit | None = None


class Fork:
    """A tape that is left at a step.

    Args:
        tape: it.
        at: the step, from 1: a call of a model, as `soundstage show` counts them.
        change: what is another there; a text such as `llm.system+= Be brief.`, or a change.
        said: the change in words, for the head of the branch; the text unless given.
        here: folders and the day of this run.

    Raises:
        TapeError: if there is no such step.
        UnknownNameError: if nothing of this name can be changed there.

    Attributes:
        left: whether the step has been asked for.
        given: requests that have gone to the model.
        changed: those of them that were changed.
    """

    def __init__(
        self, tape: Tape, at: int, change: str | Change, *, said: str = "", here: Surroundings = NOWHERE
    ) -> None:
        self.step = step_of(tape.exchanges, at, tape.name)
        self.change = change_of(change, self.step) if isinstance(change, str) else change
        request_change = None if isinstance(self.change, ReplyChange) else self.change
        told = said or (change if isinstance(change, str) else "")
        self.origin = ForkOrigin(tape=tape.name, at=at, said=told, change=request_change)
        self.playback = Playback(_played_tape(tape, self.step, self.change), here=here)
        self.left = False
        self.given = self.changed = 0
        self._lock = threading.Lock()

    def branch(self, path: str = "", *, recorded: str = "") -> Tape:
        """A new tape for the branch, in memory or in a file."""
        tape = self.playback.tape
        made = Tape.create(path, redactor=tape.redactor) if path else Tape(redactor=tape.redactor)
        made.head = TapeHead(
            recorded=recorded, places=self.playback.here, masks=tape.head.masks, fork=self.origin
        )
        self.playback.mcp.branch = made
        return made

    def turn(self, request: ModelRequest) -> ForkTurn:
        """The way that a request takes. Any thread may ask.

        Raises:
            DivergenceError: if it was not recorded, and the step has not come yet.
        """
        with self._lock:
            return self._turn(request)

    def _turn(self, request: ModelRequest) -> ForkTurn:
        found = self.playback.find(request)
        if found is None and not self.left:
            self.playback.take(request)  # raises
        number = found.number if found is not None else self.step.number + 1
        leaves = number == self.step.number
        self.left = self.left or leaves
        if number < self.step.number or (leaves and isinstance(self.change, ReplyChange)):
            return ForkTurn(plays=True, leaves=leaves)
        if leaves:
            self.playback.take(request)
        edit = (
            None
            if isinstance(self.change, ReplyChange)
            else self.change.edit_of(request, self.playback.normal)
        )
        self.given += 1
        self.changed += edit is not None
        return ForkTurn(plays=False, leaves=leaves, edit=edit)

    def finish(self) -> Verdict | None:
        """The verdict on a run that has ended: it has to have asked for all that is on the tape up to the step."""
        return self.playback.finish(until=self.step.number)


def _played_tape(tape: Tape, step: RecordedExchange, change: Change) -> Tape:
    """The tape, with the changed reply if it is one."""
    if not isinstance(change, ReplyChange):
        return tape
    records = [
        change.exchange(exchange) if exchange.number == step.number else exchange
        for exchange in tape.exchanges
    ]
    return Tape(records, name=tape.name, redactor=tape.redactor, head=tape.head, mcp_lines=tape.mcp_lines)


class ForkModel:
    """Answers from a tape up to a step, then with another model, and keeps the branch on a tape.

    Args:
        tape: the tape that is left.
        at: the step, from 1: a call of a model.
        change: what is another there: `llm.system+=`, `llm.system=`, `tool.NAME.result=` or `llm.reply=`, and the text.
        inner: the model that goes on.
        here: folders and the day of this run, which count as those of the recording.

    Raises:
        TapeError: if there is no such step.
        UnknownNameError: if nothing of this name can be changed there.

    Attributes:
        branch: the tape of the branch; `branch.save(path)` writes it.

    Example:
        >>> from soundstage.clock import run
        >>> from soundstage.messages import ModelResponse, Text, user
        >>> from soundstage.models import Script, ScriptedModel, complete
        >>> asked = ModelRequest(model="m", messages=(user("hello"),))
        >>> tape = Tape([RecordedExchange(number=1, request=asked, response=ModelResponse(parts=(Text(text="hi"),)))])
        >>> model = ForkModel(tape, at=1, change="llm.reply=good day", inner=ScriptedModel(Script()))
        >>> run(complete(model, asked)).text
        'good day'
    """

    def __init__(
        self, tape: Tape, *, at: int, change: str | Change, inner: Model, here: Surroundings = NOWHERE
    ) -> None:
        self.fork = Fork(tape, at, change, here=here)
        self.branch = self.fork.branch()
        playback = self.fork.playback
        self._playing = RecordingModel(ReplayModel(playback.tape, playback=playback), self.branch)
        self._going_on = RecordingModel(inner, self.branch)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The recorded reply, or that of the model that goes on.

        Raises:
            DivergenceError: if the request was not recorded, and the step has not come yet.
        """
        turn = self.fork.turn(request)
        if turn.edit is not None:
            request = edited(request, turn.edit)
        model = self._playing if turn.plays else self._going_on
        async for chunk in model.stream(request):
            yield chunk

    def finish(self) -> Verdict | None:
        """The verdict on a run that has ended: why it did not come as far as the step, if it did not."""
        return self.fork.finish()


def renumbered(exchange: RecordedExchange, number: int, request: ModelRequest) -> RecordedExchange:
    """A played exchange as a branch has it: with its number there, and what was asked this time."""
    return msgspec.structs.replace(exchange, number=number, request=request)
