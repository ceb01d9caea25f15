"""Check that feedback of one agent has reached another: it must stand in a later request of the other.

The sender is informed once it has spoken of the feedback. Another agent is informed by a request with the keyword, if
an informed agent has said these words. The keyword in other words proves nothing: the user may have said it, the
receiver itself, or an agent that does not know of the feedback. So those words are taken out of a request before the
keyword is looked for in it. They are: every message in requests of the conversation before the sender spoke, the
words of uninformed agents, and those of the user. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from soundstage.errors import ScriptError
from soundstage.match import Matcher, preview
from soundstage.trace._finding import Finding, demand
from soundstage.trace._format import arguments_of
from soundstage.trace._names import agent_condition, listed
from soundstage.trace._trace import Trace
from soundstage.trace._types import Step, shown


class _Utterance(NamedTuple):
    """A saying of somebody, at a position: as it is shown, and the texts in it."""

    position: int
    agent: str  # empty for the user
    conversation: str
    text: str
    words: tuple[str, ...]


def check_feedback_propagated(trace: Trace, sender: Any, receiver: Any, keyword: str) -> Finding:
    """Check that `sender` mentions `keyword`, and that `receiver` was asked with these words after that.

    Said is what it replied, passed to a tool or sent to a world. Asked is what a request of the receiver in the same
    conversation has besides the words that others said without knowing of it: the user, the receiver itself, and
    agents whom it had not reached. Others may have passed it on, in words of their own that have the keyword too.
    Upper and lower case are alike.

    Args:
        trace: the trace.
        sender: who speaks of it.
        receiver: who is to act on it.
        keyword: the word that matters.

    Raises:
        ScriptError: for an empty keyword, or an agent that is not in the trace.
    """
    if not keyword.strip():
        raise ScriptError("the keyword is empty, so anything would mention it")
    speaking = agent_condition(trace, shown(sender))
    acting = agent_condition(trace, shown(receiver))
    assert speaking is not None
    assert acting is not None
    source, target = repr(shown(sender)), repr(shown(receiver))
    expected = f"{source} mentions {keyword!r}, then {target} is asked with it in the same conversation"
    said = [one for one in _sayings(trace) if one.agent and speaking.matches(one.agent)]
    mentions = [one for one in said if keyword.casefold() in one.text.casefold()]
    if not mentions:
        words = ", ".join(preview(one.text) for one in said[-3:])
        return Finding(
            passed=False,
            message=f"{source} never mentions {keyword!r}",
            expected=expected,
            seen="the last it said: " + (words or "nothing"),
            at=said[-1].position if said else None,
        )
    reached = _reached(trace, speaking, acting, keyword.casefold())
    if reached is not None:
        return Finding(
            passed=True,
            message=f"{target} is asked with what {source} said of {keyword!r}",
            expected=expected,
            seen=f"mentioned at @{mentions[0].position}, asked at @{reached.position}",
            at=mentions[0].position,
        )
    return _missed(trace, acting, mentions, (source, target), keyword, expected)


def _missed(
    trace: Trace,
    acting: Matcher,
    mentions: list[_Utterance],
    names: tuple[str, str],
    word: str,
    expected: str,
) -> Finding:
    """The receiver was not asked at all after a mention, or without the sender's words."""
    source, target = names
    first = {one.conversation: one.position for one in reversed(mentions)}
    later = [
        step
        for step in trace.main_steps
        if acting.matches(step.agent) and step.position > first.get(step.whole, step.position)
    ]
    said = f"mentioned at @{mentions[0].position}: {preview(mentions[0].text)}"
    if later:
        asked = later[-1].request.last_user_text or ", ".join(
            one.text for one in later[-1].request.tool_results
        )
        return Finding(
            passed=False,
            message=f"{target} is asked after {source} mentioned {word!r}, but not with these words",
            expected=expected,
            seen=f"{said}\nasked at "
            + ", ".join(f"@{step.position}" for step in later[:5])
            + f", the last time: {preview(asked, 200)}",
            hint=f"{word!r} in words of the user, of {target} itself or of others does not count",
            at=later[0].position,
        )
    work = listed(tuple(run.agent for run in trace.runs if run.steps[-1].position > mentions[0].position))
    return Finding(
        passed=False,
        message=f"{target} is never at work after {source} mentioned {word!r}",
        expected=expected,
        seen=f"{said}, at work then: {work}",
        at=mentions[0].position,
    )


def _reached(trace: Trace, speaking: Matcher, acting: Matcher, word: str) -> Step | None:
    """The first request that brings the words to the receiver."""
    knowing = {step.whole: _InformedAgents(word) for step in trace.main_steps}
    happened: list[Step | _Utterance] = [*trace.main_steps, *_sayings(trace)]
    for what in sorted(happened, key=lambda one: one.position):
        if isinstance(what, _Utterance):
            for place in [what.conversation] if what.conversation in knowing else knowing:
                knowing[place].hear(what, speaks=bool(what.agent) and speaking.matches(what.agent))
        elif knowing[what.whole].learns(what) and acting.matches(what.agent):
            return what
    return None


class _InformedAgents:
    """The agents of one conversation that know the feedback, and texts with the keyword from elsewhere."""

    def __init__(self, word: str) -> None:
        self._word = word
        self._informed: set[str] = set()
        self._elsewhere: set[str] = set()  # texts with the keyword
        self._said: list[str] = []  # by those who know of it

    def hear(self, saying: _Utterance, *, speaks: bool) -> None:
        """Somebody says something."""
        words = [text for text in map(str.casefold, saying.words) if self._word in text]
        if words and speaks:
            self._informed.add(saying.agent)
        if saying.agent in self._informed:
            self._said += words
        else:
            self._elsewhere.update(words)

    def learns(self, step: Step) -> bool:
        """Whether a request brings the words of somebody who knows."""
        texts = [message.everything.casefold() for message in step.request.messages]
        texts = [text for text in texts if self._word in text]
        if not self._informed:
            self._elsewhere.update(texts)
            return False
        foreign = sorted(self._elsewhere, key=len, reverse=True)
        foreign = [text for text in foreign if not any(text in said for said in self._said)]
        if not any(self._word in _without(text, foreign) for text in texts):
            return False
        self._informed.add(step.agent)
        return True


def _without(text: str, parts: list[str]) -> str:
    for part in parts:
        text = text.replace(part, " ")
    return text


def _sayings(trace: Trace) -> list[_Utterance]:
    """All that was said, in order: replies and arguments of tools, messages of the app to worlds and to the app."""
    found = []
    whole = {step.conversation: step.whole for step in trace.main_steps}
    for step in trace.main_steps:
        if step.text:
            place = step.answered_at or step.position
            found.append(_Utterance(place, step.agent, step.whole, step.text, (step.text,)))
    for use in trace.tools:
        text = f"{use.name}({arguments_of(use)})"
        words = (text, use.raw, *_texts(use.arguments))
        conversation = whole.get(use.conversation, use.conversation)
        found.append(_Utterance(use.asked_at, use.agent, conversation, text, tuple(filter(None, words))))
    where = {step.agent: step.whole for step in reversed(trace.main_steps)}
    for line in trace.messages:
        conversation = whole.get(line.channel) or where.get(line.sender, line.channel)
        sender = line.sender if line.direction == "out" and line.sender in where else ""
        found.append(_Utterance(line.position, sender, conversation, line.text, (line.text,)))
    return sorted(found, key=lambda one: one.position)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a JSON value, also as JSON writes them."""
    if isinstance(value, str):
        yield from {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def assert_feedback_propagated(trace: Trace, sender: Any, receiver: Any, keyword: str) -> bool:
    """Assert what `check_feedback_propagated` checks; returns `True`, for those who assert on the result.

    Raises:
        ExpectationError: if it does not hold; the message names the half that is missing.
        ScriptError: for an empty keyword, or an agent that is not in the trace.
    """
    __tracebackhide__ = True
    demand(trace, check_feedback_propagated(trace, sender, receiver, keyword))
    return True
