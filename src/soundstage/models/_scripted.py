"""The scripted model: rules in, replies out.

Order of a request: the caller's conversation gives the context (who was at work before, which call of this
agent it is), the index gives the candidate rules, the first whose conditions all hold serves. Counters move
before matching and only for the agent's own steps: a side request (a title, a probe) neither counts nor takes
a queued reply, is answered by rules that name a purpose alone, and gets a plain answer when there is none.

Choosing a rule and counting it as served happen without an await between them, so requests that run side by
side cannot take the same queued reply.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final, NamedTuple

from soundstage.clock import Clock, IdSource, running_clock
from soundstage.match import preview
from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models._compacted import pause_for, with_edits
from soundstage.models._conditions import PastCall, RequestContext, RequestFacts
from soundstage.models._conversations import ScriptedConversations
from soundstage.models._identify import Identifier
from soundstage.models._limits import limited
from soundstage.models._loop import check_loop
from soundstage.models._offered import check_calls
from soundstage.models._play import PreparedReply, finish_chunk, make, paced, with_fault
from soundstage.models._protocol import Stream
from soundstage.models._reply import Answer, Reply, as_reply
from soundstage.models._script import Script
from soundstage.models._side import side_reply
from soundstage.scripts import Rule, Serving, no_match

COMPACTED: Final = "the pause after a compaction"
_NO_CONTEXT: Final = RequestContext()


class ServedRule(NamedTuple):
    """The reply that serves a request.

    Args:
        rule: the rule that does, if one does.
        shadowed: rules behind it that fit as well, in the order in which they would be asked.
    """

    rule: Rule | None
    shadowed: tuple[Rule, ...]


class _ChosenReply(NamedTuple):
    """The reply that was chosen for a request, and where it comes from.

    Args:
        reply: the answer, or the function that makes it.
        label: where it comes from, for errors.
        served_by: the same with the conditions, for the trace.
        key: the same for answers whose chunks may be made once and used again.
        instant: whether nothing of it has to be waited for.
    """

    reply: Answer
    label: str
    served_by: str
    key: int
    instant: bool


def _choice(reply: Answer, label: str, key: int, *, served_by: str = "") -> _ChosenReply:
    instant = isinstance(reply, Reply) and reply.error is None and reply.instant
    return _ChosenReply(reply, label, served_by or label, key, instant)


class ScriptedModel:
    """A model that says what a script tells it to.

    Args:
        script: the rules; they may grow while the model is in use.
        clock: whose seconds delays are; the running loop's unless given.
        ids: where ids of tool calls come from.
        shared: whether other models serve the same script, and what they served counts as used.
        conversations: for a server that runs for long: so many are remembered, those that were used last. Who asks
            for what has been let go is told, in `served_by` or in the error. All are, unless given.

    Example:
        >>> from soundstage.models import Script
        >>> script = Script()
        >>> _ = script.on(user="hello").reply("hi")
        >>> model = ScriptedModel(script)
        >>> [rule.label for rule in model.unused()]
        ['rule 1']
    """

    def __init__(
        self,
        script: Script,
        *,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        shared: bool = False,
        conversations: int | None = None,
    ) -> None:
        self.script = script
        self._shared = shared
        self._clock = clock
        self._ids = ids if ids is not None else IdSource()
        self._serving = Serving(script.rules)
        self._conversations = ScriptedConversations(conversations)
        self._refresh()

    def _refresh(self) -> None:
        """Take up what is new in the script."""
        self._version = self.script.version
        self._made: dict[tuple[int, bool], PreparedReply] = {}
        self._identifier = Identifier(self.script.agents)
        self._choices: dict[int, _ChosenReply] = {}
        self._default = _choice(self.script.default, "the default reply", 0)

    def identify(self, request: ModelRequest) -> ModelRequest:
        """`request` with what the script's `agents` say about its caller."""
        if self._version != self.script.version:
            self._refresh()
        return self._identifier(request)

    def unused(self) -> list[Rule]:
        """The rules that have not served yet, in the order of registration."""
        used = self.script.served if self._shared else ()
        return [rule for rule in self._serving.unused() if rule.number not in used]

    def replayed(self, requests: Iterable[ModelRequest]) -> list[ServedRule]:
        """The rule that serves each of some requests, as if this model got no others, and the rules that would
        have served it, had others not come first.

        Args:
            requests: in the order of the journal, as it holds them.
        """
        again = ScriptedModel(self.script)
        return [again._serve_again(request) for request in requests]

    def _serve_again(self, request: ModelRequest) -> ServedRule:
        if pause_for(request, self._ids):
            return ServedRule(None, ())
        fitting = self._serving.fitting(*self._asked(request))
        if fitting:
            self._remember(request, fitting[0].reply)
        return ServedRule(fitting[0] if fitting else None, tuple(fitting[1:]))

    def reset(self) -> None:
        """Forget all conversations and what has been served; the rules stay."""
        self._serving.reset()
        self._conversations.clear()
        self._refresh()

    def _choose(self, request: ModelRequest) -> _ChosenReply:
        """The answer to `request`; it counts as served."""
        if pause := pause_for(request, self._ids):
            return _choice(pause, COMPACTED, -1)
        facts, only = self._asked(request)
        rule = self._serving.choose(facts, only)
        choice = self._serve(rule) if rule is not None else self._without_rule(request, facts, only)
        lost = facts.lost
        return choice._replace(served_by=f"{choice.served_by}; {lost}") if lost else choice

    def _without_rule(self, request: ModelRequest, facts: RequestFacts, only: str) -> _ChosenReply:
        if only:
            return _choice(side_reply(request), "the answer to side requests", -1)
        if self.script.strict:
            raise no_match(
                f"this request: {_describe(facts)}",
                self.script.rules,
                facts,
                self._serving.used_up,
                without="the script has no rules",
                instead="give the script a default reply",
            )
        return self._default

    def _asked(self, request: ModelRequest) -> tuple[RequestFacts, str]:
        """The facts for conditions, and the condition that a rule needs: for a side request, its purpose."""
        if request.purpose == "main":
            return RequestFacts(request, self._conversations.step(request, self._identifier.routers)), ""
        return RequestFacts(request, _NO_CONTEXT), "purpose"

    def _remember(self, request: ModelRequest, reply: Answer) -> None:
        """Keep the calls of a reply for later requests of its conversation."""
        if request.purpose == "main" and isinstance(reply, Reply) and (reply.tool_calls or reply.blocks):
            agent, made = request.caller.agent, (block.tool_call for block in reply.ordered_blocks)
            calls = [PastCall(agent, call.name, call.arguments) for call in made if call is not None]
            self._conversations.remember(request, calls)

    def _serve(self, rule: Rule) -> _ChosenReply:
        number = rule.number
        self.script.served.add(number)
        choice = self._choices.get(number)
        if choice is None:
            choice = _choice(rule.reply, rule.label, number, served_by=rule.served_by)
            self._choices[number] = choice
        return choice

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply of the first rule that matches; see `soundstage.models.Model`."""
        return _Playing(self, request)

    def _begin(self, request: ModelRequest) -> tuple[ModelRequest, _ChosenReply]:
        """The request with its caller, and what answers it."""
        if self._version != self.script.version:
            self._refresh()
        if not request.caller.agent:
            request = self._identifier(request)
        return request, self._choose(request)

    def _chunks(self, request: ModelRequest, choice: _ChosenReply, reply: Reply) -> list[ModelChunk]:
        check_loop(request, reply, choice.label)
        check_calls(request, reply, choice.label)
        made = self._make(choice, reply, pieces=request.stream or reply.tokens_per_second is not None)
        made, stopped_by = limited(made, request.settings, reply.usage) if request.settings else (made, "")
        self._remember(request, reply)
        finish = finish_chunk(reply, request, made, choice.served_by, stopped_by)
        return with_edits(request, made.chunks, finish, self._ids)

    def _whole(self, request: ModelRequest, choice: _ChosenReply) -> list[ModelChunk] | None:
        """All chunks, if none has to be waited for."""
        reply = choice.reply
        return self._chunks(request, choice, reply) if choice.instant and isinstance(reply, Reply) else None

    async def _play(self, request: ModelRequest, choice: _ChosenReply) -> AsyncIterator[ModelChunk]:
        reply = choice.reply if isinstance(choice.reply, Reply) else await _call(choice.reply, request)
        if reply.error is not None:
            await self._now().sleep(reply.wait)
            raise reply.error.exception()
        chunks = self._chunks(request, choice, reply)
        if reply.instant:
            for chunk in chunks:
                yield chunk
            return
        async for chunk in self._played(reply, chunks):
            yield chunk

    def _played(self, reply: Reply, chunks: list[ModelChunk]) -> AsyncIterator[ModelChunk]:
        stream = paced(reply, chunks, self._now())
        return with_fault(stream, reply.fault, self._now()) if reply.fault is not None else stream

    def _now(self) -> Clock:
        return self._clock if self._clock is not None else running_clock()

    def _make(self, choice: _ChosenReply, reply: Reply, *, pieces: bool) -> PreparedReply:
        """The reply as chunks; the same ones again, unless ids must be drawn or a function made it."""
        kept = reply is choice.reply and choice.key >= 0  # each side request may have a reply of its own
        made = self._made.get((choice.key, pieces)) if kept else None
        if made is None:
            made = make(reply, reply.chunks_for(self._ids, pieces=pieces))
            if kept and not reply.draws_ids:
                self._made[choice.key, pieces] = made
        return made


def script_of(model: object) -> Script | None:
    """The script of the scripted model behind these wrappers, if there is one."""
    while model is not None and not isinstance(model, ScriptedModel):
        model = getattr(model, "inner", None)
    return model.script if model is not None else None


class _Playing(Stream):
    """The stream of one answer, which is chosen when it begins. One model in two classes."""

    _begun: tuple[ModelRequest, _ChosenReply] | None = None

    def __init__(self, model: ScriptedModel, request: ModelRequest) -> None:
        self._model = model
        self._request = request

    def take(self) -> list[ModelChunk] | None:
        return self._model._whole(*self._begin())  # noqa: SLF001

    def steps(self) -> AsyncIterator[ModelChunk]:
        return self._model._play(*(self._begun or self._begin()))  # noqa: SLF001

    def _begin(self) -> tuple[ModelRequest, _ChosenReply]:
        self._begun = self._model._begin(self._request)  # noqa: SLF001
        self.served_by = self._begun[1].served_by
        return self._begun


async def _call(function: Callable[[ModelRequest], Any], request: ModelRequest) -> Reply:
    result = function(request)
    return as_reply(await result if inspect.isawaitable(result) else result)


def _describe(facts: RequestFacts) -> str:
    """A request in words."""
    caller = facts.request.caller
    parts = [
        f"agent {caller.agent!r}" if caller.agent else "",
        f"phase {caller.phase!r}" if caller.phase else "",
        f"iteration {facts.get('iteration')}",
        f"user {preview(facts.get('user') or '')}",
    ]
    results = facts.get("tool_result")
    if results:
        parts.append(f"tool result {preview(results[-1])}")
    return "; ".join(filter(None, (", ".join(part for part in parts if part), facts.lost)))
