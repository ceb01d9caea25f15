"""Assertions on a transcript: who said what in a conversation, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from soundstage.errors import ExpectationError, ScriptError, did_you_mean
from soundstage.match import Anything, Matcher, matcher, preview
from soundstage.messages import Message
from soundstage.trace._finding import Finding
from soundstage.trace._format import excerpt
from soundstage.trace._names import name_condition, need_one_conversation
from soundstage.trace._sequences import ComparedLists, Order, comparison
from soundstage.trace._trace import Trace
from soundstage.trace._types import MessageLine

_WORLD_SIDES = {"in": "user", "out": "app"}


class _TranscriptLine(NamedTuple):
    """A turn: who, what, and where in the journal if that is known."""

    speaker: str
    text: str
    position: int | None = None

    def describe(self) -> str:
        return f"{self.speaker}: {preview(self.text)}"


class _WantedLine(NamedTuple):
    """A turn that is expected."""

    speaker: Matcher
    text: Matcher

    def describe(self) -> str:
        if isinstance(self.speaker, Anything):
            return self.text.describe()
        return f"{self.speaker.describe().strip(chr(39))}: {self.text.describe()}"

    def explain(self, said: _TranscriptLine) -> str | None:
        reason = self.speaker.explain(said.speaker)
        return f"the speaker: {reason}" if reason is not None else self.text.explain(said.text)


def check_transcript(turns: Iterable[Any] | Trace, *expected: Any, order: Order = "exact") -> Finding:
    """These turns were taken in a conversation.

    Args:
        turns: the conversation: pairs of speaker and text, or things that have a `text` and a `role` or
            `sender`, such as messages, the turns of a transcript, `trace.messages`, the entries of a chat. Of a
            `Trace`, what the last request of its conversation carried, and the reply. A message without text,
            such as the result of a tool, counts with all that can be read of it.
        expected: for each turn a pair of speaker and text, or a text alone, whoever says it. Speakers are names
            (upper and lower case alike); both may be any condition of `soundstage.match`.
        order: `exact`: these turns and no others; `in_order`: others may come between; `any_order`: others may
            be there, and the order does not matter.

    Raises:
        ScriptError: if no turn is expected, something is no turn, or a trace has several conversations.
        MatchError: if a condition cannot be evaluated.
    """
    if not expected:
        raise ScriptError("no turn is expected", hint="write the turns: ('user', 'hello')")
    compare = comparison(order)
    wanted = [_wanted(item) for item in expected]
    said = _of_trace(turns) if isinstance(turns, Trace) else [_turn(item) for item in turns]
    speakers = tuple(dict.fromkeys(turn.speaker for turn in said))
    named = [
        (item[0], one.speaker) for item, one in zip(expected, wanted, strict=True) if isinstance(item, tuple)
    ]
    unknown = next((name for name, speaker in named if not any(map(speaker.matches, speakers))), None)
    return compare(
        ComparedLists(
            what="turn",
            expected=[one.describe() for one in wanted],
            seen=[turn.describe() for turn in said],
            positions=[turn.position for turn in said],
            explain=lambda left, right: wanted[left].explain(said[right]),
        ),
        hint=did_you_mean(unknown, speakers),
    )


def _wanted(item: Any) -> _WantedLine:
    if not isinstance(item, tuple):
        return _WantedLine(Anything(), matcher(item))
    if len(item) != 2:
        raise ScriptError(
            "an expected turn is a text, or a speaker and a text",
            seen=preview(item),
            hint="write ('user', 'hello')",
        )
    return _WantedLine(name_condition(item[0], "the speaker"), matcher(item[1]))


def _turn(item: Any) -> _TranscriptLine:
    if isinstance(item, MessageLine):
        return _TranscriptLine(item.sender or _WORLD_SIDES[item.direction], item.text, item.position)
    if isinstance(item, Message):
        return _of_message(item)
    if isinstance(item, tuple) and len(item) == 2 and all(isinstance(part, str) for part in item):
        return _TranscriptLine(*item)
    speaker = getattr(item, "role", None) or getattr(item, "sender", None)
    text = getattr(item, "text", None)
    if speaker is None or not isinstance(text, str):
        raise ScriptError(
            "this is no turn of a conversation",
            expected="a pair of speaker and text, or something with `text` and `role` or `sender`",
            seen=preview(item),
        )
    return _TranscriptLine(str(speaker), text)


def _of_trace(trace: Trace) -> list[_TranscriptLine]:
    """The longest that the model was told: the messages of the last request, and the reply."""
    need_one_conversation(trace, "transcripts")
    steps = trace.main_steps
    if not steps:
        return []
    last = steps[-1]
    told = [_of_message(message, last.position) for message in last.request.messages]
    return told if last.response is None else [*told, _of_message(last.response.message(), last.answered_at)]


def _of_message(message: Message, position: int | None = None) -> _TranscriptLine:
    return _TranscriptLine(message.role, message.text or message.everything, position)


def assert_transcript(turns: Iterable[Any] | Trace, *expected: Any, order: Order = "exact") -> None:
    """Assert: these turns were taken in a conversation. See `check_transcript`.

    Raises:
        ExpectationError: if they were not, with both side by side.
        ScriptError: if no turn is expected, something is no turn, or a trace has several conversations.
        MatchError: if a condition cannot be evaluated.

    Example:
        >>> assert_transcript([("user", "hi"), ("assistant", "hello")], ("user", "hi"), "/hel+o/")
    """
    __tracebackhide__ = True
    finding = check_transcript(turns, *expected, order=order)
    if not finding:
        around = ["in the trace:", excerpt(turns, finding.at)] if isinstance(turns, Trace) else []
        raise ExpectationError(
            finding.message,
            expected=finding.expected,
            seen="\n".join([finding.diff or finding.seen, *around]),
            hint=finding.hint,
        )
