"""The scripted model: rules in, replies out.

Order of a request: the caller's conversation gives the context (who was at work before, which call of this
agent it is), the index gives the candidate rules, the first whose conditions all hold serves. Counters move
before matching and only for the agent's own steps: a side request (a title, a probe) neither counts nor takes
a queued reply, and gets a plain answer when no rule is for it.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, NamedTuple

from soundstage.clock import Clock, IdSource, running_clock
from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models._conditions import Context, Facts
from soundstage.models._identify import Identifier
from soundstage.models._index import RuleIndex
from soundstage.models._nearest import no_match
from soundstage.models._reply import Reply, as_reply, finish_chunk, paced, with_fault
from soundstage.models._rule import Answer, Rule, Script

SIDE_REPLY: Final = Reply(text="ok")


class _Answer(NamedTuple):
    """What serves a request. `key` is the same for answers whose chunks may be made once and used again."""

    reply: Answer
    served_by: str
    key: int | None


class _Conversation:
    """Counters of one conversation."""

    __slots__ = ("agent", "iterations", "previous")

    def __init__(self) -> None:
        self.agent = ""
        self.previous = ""
        self.iterations: Counter[str] = Counter()

    def step(self, agent: str, routers: frozenset[str]) -> Context:
        """Count a call of `agent`; another agent than last time means that the last one has finished."""
        if agent != self.agent:
            if self.agent and self.agent.casefold() not in routers:
                self.previous = self.agent
            self.agent = agent
        self.iterations[agent] += 1
        return Context(previous_agent=self.previous, iteration=self.iterations[agent])


class ScriptedModel:
    """A model that says what a script tells it to.

    Args:
        script: the rules; they may grow while the model is in use.
        clock: whose seconds delays are; the running loop's unless given.
        ids: where ids of tool calls come from.

    Example:
        >>> from soundstage.models import Script
        >>> script = Script()
        >>> _ = script.on(user="hello").reply("hi")
        >>> model = ScriptedModel(script)
        >>> [rule.label for rule in model.unused()]
        ['rule 1']
    """

    def __init__(self, script: Script, *, clock: Clock | None = None, ids: IdSource | None = None) -> None:
        self.script = script
        self._clock = clock
        self._ids = ids if ids is not None else IdSource()
        self._served: Counter[int] = Counter()
        self._conversations: dict[str, _Conversation] = {}
        self._made: dict[tuple[int | None, bool], list[ModelChunk]] = {}
        self._version = -1
        self._refresh()

    def _refresh(self) -> None:
        if self._version != self.script.version:
            self._version = self.script.version
            self.identify = Identifier(self.script.agents)
            self._index = RuleIndex(self.script.ordered())

    def unused(self) -> list[Rule]:
        """The rules that have not served yet, in the order of registration."""
        return [rule for rule in self.script.rules if not self._served[rule.number]]

    def reset(self) -> None:
        """Forget all conversations and what has been served; the rules stay."""
        self._served.clear()
        self._conversations.clear()
        self._version = -1

    def _choose(self, request: ModelRequest) -> _Answer:
        """The answer to `request`; it counts as served."""
        main = request.purpose == "main"
        facts = Facts(request, self._context(request) if main else Context())
        served = self._served
        rules = self._index.rules
        for rank in self._index.candidates(facts):
            rule = rules[rank]
            if rule.times is not None and served[rule.number] >= rule.times:
                continue
            for name, condition in rule.conditions:
                if not condition.matches(facts.get(name)):
                    break
            else:
                if main or rule.conditions:
                    return self._serve(rule, rank)
        if not main:
            return _Answer(SIDE_REPLY, "side request", None)
        if self.script.strict:
            raise no_match(facts, rules, self._used_up)
        return _Answer(self.script.default, "default", None)

    def _context(self, request: ModelRequest) -> Context:
        caller = request.caller
        conversation = self._conversations.get(caller.conversation)
        if conversation is None:
            conversation = self._conversations[caller.conversation] = _Conversation()
        return conversation.step(caller.agent, self.identify.routers)

    def _serve(self, rule: Rule, rank: int) -> _Answer:
        self._served[rule.number] += 1
        if self._used_up(rule):
            self._index.retire(rank)
        return _Answer(rule.reply, rule.label, rule.number)

    def _used_up(self, rule: Rule) -> bool:
        return rule.times is not None and self._served[rule.number] >= rule.times

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply of the first rule that matches; see `soundstage.models.Model`."""
        self._refresh()
        if not request.caller.agent:
            request = self.identify(request)
        answer = self._choose(request)
        reply = answer.reply if type(answer.reply) is Reply else await _call(answer.reply, request)
        if reply.error is not None:
            await self._now().sleep(reply.wait)
            raise reply.error.exception()
        chunks = self._chunks(answer, reply, pieces=request.stream or reply.tokens_per_second is not None)
        finish = finish_chunk(reply, request, chunks, answer.served_by)
        if reply.instant:
            for chunk in chunks:
                yield chunk
            yield finish
            return
        async for chunk in self._played(reply, [*chunks, finish]):
            yield chunk

    def _played(self, reply: Reply, chunks: list[ModelChunk]) -> AsyncIterator[ModelChunk]:
        stream = paced(reply, chunks, self._now())
        return with_fault(stream, reply.fault, self._now()) if reply.fault is not None else stream

    def _now(self) -> Clock:
        if self._clock is None:
            self._clock = running_clock()
        return self._clock

    def _chunks(self, answer: _Answer, reply: Reply, *, pieces: bool) -> list[ModelChunk]:
        """The reply as chunks; the same ones again, unless ids must be drawn or a function made it."""
        key = (answer.key, pieces)
        chunks = self._made.get(key)
        if chunks is None:
            chunks = reply.chunks_for(self._ids, pieces=pieces)
            if answer.key is not None and reply is answer.reply and not reply.draws_ids:
                self._made[key] = chunks
        return chunks


async def _call(function: Callable[[ModelRequest], Any], request: ModelRequest) -> Reply:
    result = function(request)
    return as_reply(await result if inspect.isawaitable(result) else result)
