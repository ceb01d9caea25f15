"""Two runs side by side: the first step at which they part, why, and what followed from it.

Steps are aligned by caller and content, in three stages. Each run falls into lanes, the requests that go on with each
other; lanes of two runs are paired by what they begin with; within a pair, steps are aligned by what is new in them. So
agents that take turns in another order are no divergence.

Every step repeats its history, so that one change shows in all that come after it. What a step is charged with is what
is new in it: messages that the step before had, settings that differ as they did before, and results of calls that only
one run has made are not. Of a step that has nothing of its own it is said that it follows; so of steps in which what
another step has said, and the other run has not, is handed on: to a sub-agent in its prompt, to its parent as a result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from soundstage.differences._compare import differences, reply_differences
from soundstage.differences._form import digest_of
from soundstage.differences._lane_pairs import LanePair, StepPair, lane_pairs, step_pairs
from soundstage.differences._lanes import LaneStep, lanes_of
from soundstage.differences._outside import outside_of
from soundstage.differences._run_types import RunDiff, StepDiff
from soundstage.differences._types import Cause, Difference, Normaliser
from soundstage.differences._volatile import volatile_of
from soundstage.journal import ModelFailed
from soundstage.match import preview
from soundstage.messages import ModelResponse, Text, ToolCall, ToolResult
from soundstage.trace import Step, Trace, masks_of

_SHORTEST: Final = 8  # characters; a shorter text may stand in two messages by chance
_Fact = tuple[str, str, str, str]


def compare_runs(a: Trace, b: Trace, *, mask: Mapping[str | re.Pattern[str], str] | None = None) -> RunDiff:
    """The differences of two runs. Times, ids, folders of runs and ports are not compared.

    Args:
        a: the trace of a run, such as the recorded one.
        b: that of the other.
        mask: what else is not compared, and what stands in its place; as `normalise` takes it.

    Raises:
        ScriptError: for a mask that is empty or no expression.

    Example:
        >>> from soundstage.trace import build_trace
        >>> compare_runs(build_trace([]), build_trace([])).same
        True
    """
    masks = masks_of(mask or {})
    comparison = _Comparison(volatile_of(a, b, masks=masks))
    normalise = comparison.normalise
    pairs = lane_pairs(lanes_of(a.steps, normalise), lanes_of(b.steps, normalise), normalise)
    rows = [row for pair in pairs for row in comparison.rows(pair)]
    rows.sort(key=lambda row: row[0])
    found = [diff for _, lane, pair in rows if (diff := comparison.step(lane, pair)) is not None]
    found += outside_of(a, b, normalise)
    return RunDiff(
        steps=(len(a.steps), len(b.steps)),
        alike=sum(1 for _, _, pair in rows if pair.both) - sum(1 for one in found if one.both),
        found=tuple(found),
    )


class _Comparison:
    """Compares steps in the order of the runs, and remembers what has differed so far."""

    def __init__(self, normalise: Normaliser) -> None:
        self.normalise = normalise
        self._facts: set[_Fact] = set()  # differences of tools and settings that have been told
        self._parted: set[int] = set()  # lanes that have differed, by number
        self._replies: set[int] = set()  # lanes whose last replies differed
        self._said: list[tuple[frozenset[str], frozenset[str]]] = []  # by replies that differ, on each side

    def rows(self, lane: LanePair) -> list[tuple[tuple[int, int], LanePair, StepPair]]:
        """The pairs of steps of a lane, each with its place in the order of all."""
        found = []
        last = (0, 0)
        for pair in step_pairs(lane):
            if pair.a is not None:
                last = (pair.a.step.position, 0)
            elif last == (0, 0) and pair.b is not None:
                last = (pair.b.step.position, 1)
            else:
                last = (last[0], last[1] + 1)
            found.append((last, lane, pair))
        return found

    def step(self, lane: LanePair, pair: StepPair) -> StepDiff | None:
        """The difference of two steps; nothing if there is none."""
        if pair.a is None or pair.b is None:
            return self._alone(lane, pair)
        own = self._own(lane, pair.a, pair.b)
        replies = _replies(pair.a.step, pair.b.step, self.normalise)
        differs = bool(own) or self._digest(pair.a.step) != self._digest(pair.b.step)
        follows = self._handed_on(pair) if own else differs
        self._replies.discard(lane.number)
        if replies:
            self._replies.add(lane.number)
            self._said.append(_only(_words_of(pair.a.step), _words_of(pair.b.step)))
        if not differs and not replies:
            return None
        self._parted.add(lane.number)
        if pair.moved and not own:
            own, follows = (_swapped(pair.a.step, pair.b.step),), False
        found = own or replies or _history(pair.a.step, pair.b.step, self.normalise)
        return _diff(lane, pair, found, follows=follows, replies=replies)

    def _alone(self, lane: LanePair, pair: StepPair) -> StepDiff:
        """A step that only one run has. After a divergence of its lane, it follows from that."""
        follows = lane.number in self._parted or self._handed_on(pair)
        self._parted.add(lane.number)
        cause: Cause = "missing call" if pair.b is None else "extra call"
        side = pair.a or pair.b
        assert side is not None
        told = _asked(side.step)
        words = (told, "no such call") if pair.b is None else ("no such call", told)
        found = Difference(cause=cause, where=lane.name, recorded=words[0], seen=words[1])
        self._said.append(
            _only(*(_words_of(one.step) if one is not None else frozenset() for one in pair[:2]))
        )
        return _diff(lane, pair, (found,), follows=follows, replies=())

    def _own(self, lane: LanePair, a: LaneStep, b: LaneStep) -> tuple[Difference, ...]:
        """The differences of two requests that no step before has had."""
        known = [set(a.known), set(b.known)]
        if lane.number in self._replies:
            for side, places in zip((a, b), known, strict=True):
                places.update(_first_reply(side))
        for side, other, places in ((a, b, known[0]), (b, a, known[1])):
            places.update(_results_of_other_calls(side, other, self.normalise))
        found = differences(
            a.step.request, b.step.request, normalise=self.normalise, known=(known[0], known[1])
        )
        own = [one for one in found if one.where.startswith("messages[") or _fact(one) not in self._facts]
        self._facts.update(map(_fact, found))
        return tuple(own)

    def _digest(self, step: Step) -> str:
        return digest_of(step.request, normalise=self.normalise)

    def _handed_on(self, pair: StepPair) -> bool:
        """Whether the news of both sides have what an earlier step has said on that side alone."""
        sides = [(one, number) for number, one in enumerate(pair[:2]) if one is not None]
        return any(
            all(_holds(side, said[number], self.normalise) for side, number in sides) for said in self._said
        )


def _diff(
    lane: LanePair,
    pair: StepPair,
    found: Sequence[Difference],
    *,
    follows: bool,
    replies: Sequence[Difference],
) -> StepDiff:
    return StepDiff(
        lane=lane.name,
        step=pair.number,
        a=pair.a.step.position if pair.a is not None else 0,
        b=pair.b.step.position if pair.b is not None else 0,
        follows=follows,
        found=tuple(found),
        reply=tuple(replies) if found is not replies else (),
    )


def _fact(one: Difference) -> _Fact:
    return one.cause, one.where, one.recorded, one.seen


def _history(a: Step, b: Step, normalise: Normaliser) -> tuple[Difference, ...]:
    """All differences of two requests that have none of their own."""
    return differences(a.request, b.request, normalise=normalise)


def _swapped(a: Step, b: Step) -> Difference:
    words = [f"{_asked(step)} at @{step.position}" for step in (a, b)]
    return Difference(cause="order swapped", where="the call", recorded=words[0], seen=words[1])


def _asked(step: Step) -> str:
    """The news of a request in a few words."""
    results = step.request.tool_results
    if results:
        return "result " + preview(results[-1].text)
    return "user " + preview(step.request.last_user_text or "")


def _replies(a: Step, b: Step, normalise: Normaliser) -> tuple[Difference, ...]:
    if a.failure is None and b.failure is None and a.response is not None and b.response is not None:
        return reply_differences(a.response, b.response, normalise=normalise)
    words = [_ended(step.failure, step.response) for step in (a, b)]
    if normalise(words[0]) == normalise(words[1]):
        return ()
    return (Difference(cause="reply differs", where="reply", recorded=words[0], seen=words[1]),)


def _ended(failure: ModelFailed | None, response: ModelResponse | None) -> str:
    """The end of a step in words."""
    if failure is not None:
        return f"failed: {failure}"
    return "no reply" if response is None else preview(" ".join(map(_part_words, response.parts)))


def _part_words(part: Any) -> str:
    return f"{part.name}({part.arguments_json})" if isinstance(part, ToolCall) else getattr(part, "text", "")


def _first_reply(side: LaneStep) -> list[int]:
    """The place of the first message of the model that is new: the reply of the step before, as the app kept it."""
    messages = side.step.request.messages
    news = [place for place in range(len(messages)) if place not in side.known]
    return [place for place in news if messages[place].role == "assistant"][:1]


def _results_of_other_calls(side: LaneStep, other: LaneStep, normalise: Normaliser) -> list[int]:
    """The places of results of calls that the other run has not made."""
    made = set(_calls(other.step, normalise).values())
    calls = _calls(side.step, normalise)
    found = []
    for place, message in enumerate(side.step.request.messages):
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        if results and all(calls.get(part.call_id, next(iter(made), "")) not in made for part in results):
            found.append(place)
    return found


def _calls(step: Step, normalise: Normaliser) -> dict[str, str]:
    return {
        part.id: normalise(f"{part.name}({part.arguments_json})")
        for message in step.request.messages
        for part in message.parts
        if isinstance(part, ToolCall) and part.id
    }


def _words_of(step: Step) -> frozenset[str]:
    """The texts that a reply hands on: its text, and the texts in the arguments of its calls."""
    if step.response is None:
        return frozenset()
    found: list[str] = [part.text for part in step.response.parts if isinstance(part, Text)]
    for call in step.response.tool_calls:
        found += _texts_in(call.arguments)
    return frozenset(text for text in map(str.strip, found) if len(text) >= _SHORTEST)


def _texts_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts_in(part)]


def _only(a: frozenset[str], b: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    return a - b, b - a


def _holds(side: LaneStep, said: frozenset[str], normalise: Normaliser) -> bool:
    if not said:
        return False
    news = [one for place, one in enumerate(side.step.request.messages) if place not in side.known]
    text = normalise("\n".join(message.everything for message in news))
    return any(normalise(words) in text for words in said)
