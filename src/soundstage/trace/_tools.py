"""Joining tool calls with their results.

A call is known from the reply that asked for it, from a `ToolCalled` of an in-process runtime, or from both;
its result from a later request that brings it, from a `ToolReturned`, or from both. Each call is listed once.

Ids join them, within a conversation. Apps with hand-written ids use one id again and again, and every request
repeats the whole history, so an id alone is not enough:

- A new call supersedes an unanswered one with the same id of the same agent. Calls of one reply that share an
  id are answered in their order.
- A result after the model's last message is new and answers the open call with its id. Some clients do not
  send ids back: a result with an id that no call ever had answers the first open call of the agent's newest
  reply to a tool of its name.
- A result before the model's last message is history. It counts only for calls that this agent has not had a
  request for since they were asked, and only if the id was never used twice in the conversation.

The second rule is the usual case and looks at the end of a request only; the third looks back as far as the
oldest call it seeks, once for each call and agent. So the work grows with the journal, not with its square.
"""

from __future__ import annotations

from typing import Any

from soundstage.journal import Record, ToolCalled, ToolReturned
from soundstage.messages import ModelRequest, ToolCall, ToolResult
from soundstage.trace._types import ToolUse, shown


class ToolUseDraft:
    """A tool use in the making."""

    __slots__ = ("call", "called", "conversation", "facts", "reply")

    def __init__(self, call: ToolCall, agent: str, conversation: str, record: Record) -> None:
        self.call = call
        self.conversation = conversation
        self.reply: int | None = None  # position of the reply that asked
        self.called: int | None = None  # position of the `ToolCalled`
        self.facts: dict[str, Any] = {"agent": agent, "asked_at": record.position, "started": record.time}

    @property
    def agent(self) -> str:
        agent: str = self.facts["agent"]
        return agent

    @property
    def answered(self) -> bool:
        return "result" in self.facts

    def answer(self, text: str, record: Record, *, is_error: bool) -> None:
        self.facts.update(result=text, is_error=is_error, returned_at=record.position, ended=record.time)

    def freeze(self) -> ToolUse:
        call = self.call
        return ToolUse(
            call_id=call.id,
            name=call.name,
            arguments=call.arguments,
            raw=call.raw,
            conversation=self.conversation,
            **self.facts,
        )


class _ConversationTools:
    """The calls of one conversation."""

    __slots__ = ("calls", "newest", "open", "seen_by", "times")

    def __init__(self) -> None:
        self.calls: list[ToolUseDraft] = []
        self.open: dict[str, list[ToolUseDraft]] = {}  # by call id, without an answer
        self.times: dict[str, int] = {}  # how often a call id was used
        self.seen_by: dict[str, int] = {}  # agent -> number of calls there were at its last request
        self.newest: dict[str, list[ToolUseDraft]] = {}  # agent -> the calls of its newest reply

    def add(self, use: ToolUseDraft) -> None:
        self.calls.append(use)
        identity = use.call.id
        self.times[identity] = self.times.get(identity, 0) + 1
        alive = [
            other
            for other in self.open.get(identity, ())
            if other.agent != use.agent or (use.reply is not None and other.reply == use.reply)
        ]
        self.open[identity] = [*alive, use]

    def asked(self, use: ToolUseDraft) -> None:
        """A reply asked for `use`, which is among the calls."""
        newest = self.newest.setdefault(use.agent, [])
        if newest and newest[0].reply != use.reply:
            newest.clear()
        newest.append(use)

    def close(self, use: ToolUseDraft) -> None:
        alive = [other for other in self.open.get(use.call.id, ()) if other is not use]
        if alive:
            self.open[use.call.id] = alive
        else:
            self.open.pop(use.call.id, None)

    def waiting(self, result: ToolResult, agent: str) -> ToolUseDraft | None:
        """The open call that a result answers: the agent's own, before anybody else's."""
        if result.call_id not in self.times:
            newest = self.newest.get(agent, ())
            return next((use for use in newest if not use.answered and use.call.name == result.name), None)
        alive = self.open.get(result.call_id, [])
        return next((use for use in alive if use.agent == agent), alive[0] if alive else None)

    def sought(self, agent: str) -> set[str]:
        """Ids of open calls that were asked since the agent's last request."""
        seen = self.seen_by.get(agent, len(self.calls))
        return {use.call.id for use in self.calls[seen:] if not use.answered and self.times[use.call.id] == 1}


class ToolUseCollector:
    """Collects tool uses from the records of a journal, which are given to it in order."""

    def __init__(self) -> None:
        self.uses: list[ToolUseDraft] = []
        self._conversations: dict[str, _ConversationTools] = {}
        self._called: dict[int, ToolUseDraft] = {}  # by position of the `ToolCalled`
        self._newest: dict[str, ToolUseDraft] = {}  # by call id, in whatever conversation

    def _conversation(self, name: str) -> _ConversationTools:
        found = self._conversations.get(name)
        if found is None:
            found = self._conversations[name] = _ConversationTools()
        return found

    def _add(self, use: ToolUseDraft) -> None:
        self.uses.append(use)
        self._newest[use.call.id] = use
        self._conversation(use.conversation).add(use)

    def asked(self, record: Record, call: ToolCall, request: ModelRequest, requested_at: int) -> ToolUseDraft:
        """A reply asks for a tool. A runtime that is quick may have begun before the reply was complete."""
        agent, conversation = shown(request.caller.agent), request.caller.conversation
        early = self._newest.get(call.id)
        if early is not None and _began_early(early, requested_at, conversation):
            self._adopt(early, record, call, agent, conversation)
            return early
        use = ToolUseDraft(call, agent, conversation, record)
        use.reply = record.position
        self._add(use)
        self._conversation(conversation).asked(use)
        return use

    def _adopt(
        self, use: ToolUseDraft, record: Record, call: ToolCall, agent: str, conversation: str
    ) -> None:
        """The reply that asked for `use` is complete; it knows better who asked for what."""
        use.call = call
        use.reply = record.position
        use.facts.update(agent=agent, asked_at=record.position)
        if use.conversation != conversation:
            self._conversation(use.conversation).close(use)
            use.conversation = conversation
            self._conversation(conversation).add(use)
            if use.answered:
                self._conversation(conversation).close(use)
        self._conversation(conversation).asked(use)

    def called(self, record: Record, event: ToolCalled) -> None:
        """A runtime runs a tool."""
        use = self._asked_before(event)
        if use is None:
            call = ToolCall(id=event.call_id, name=event.name, arguments=event.arguments)
            use = ToolUseDraft(call, shown(event.agent), event.conversation, record)
            self._add(use)
        use.called = record.position
        use.facts["started"] = record.time
        self._called[record.position] = use

    def _asked_before(self, event: ToolCalled) -> ToolUseDraft | None:
        """The call of a reply that `event` carries out. An event may leave its conversation out."""
        alive = self._conversation(event.conversation).open.get(event.call_id, [])
        fitting = [use for use in alive if use.called is None]
        own = [use for use in fitting if use.agent == shown(event.agent)]
        if own or fitting:
            return (own or fitting)[0]
        newest = self._newest.get(event.call_id) if not event.conversation else None
        return newest if newest is not None and newest.called is None and not newest.answered else None

    def returned(self, record: Record, event: ToolReturned) -> None:
        """A runtime has the result of a tool."""
        use = self._called.get(record.cause or 0) or self._newest.get(event.call_id)
        if use is not None and not use.answered:
            self._answer(use, event.text, record, is_error=event.is_error)

    def _answer(self, use: ToolUseDraft, text: str, record: Record, *, is_error: bool) -> None:
        use.answer(text, record, is_error=is_error)
        self._conversation(use.conversation).close(use)

    def sent(self, record: Record, request: ModelRequest) -> None:
        """A request brings results."""
        conversation = self._conversation(request.caller.conversation)
        agent = shown(request.caller.agent)
        if conversation.open:
            for result in _results(request, conversation.sought(agent)):
                use = conversation.waiting(result, agent)
                if use is not None:
                    self._answer(use, result.text, record, is_error=result.is_error)
        conversation.seen_by[agent] = len(conversation.calls)


def _began_early(use: ToolUseDraft, requested_at: int, conversation: str) -> bool:
    """Whether `use` is known from an event only, and began while the reply was still coming."""
    began: int = use.facts["asked_at"]
    return use.reply is None and began > requested_at and use.conversation in ("", conversation)


def _results(request: ModelRequest, sought: set[str]) -> list[ToolResult]:
    """The results after the model's last message, and before it those with an id in `sought`."""
    found: list[ToolResult] = []
    strangers = 0  # new results with other ids; each may be one that is sought
    new = True
    for message in reversed(request.messages):
        new = new and message.role != "assistant"
        if not new and len(sought) <= strangers:
            break
        for part in reversed(message.parts):
            if isinstance(part, ToolResult):
                if new or part.call_id in sought:
                    found.append(part)
                strangers += new and part.call_id not in sought
                sought.discard(part.call_id)
            elif isinstance(part, ToolCall):
                sought.discard(part.id)
    found.reverse()
    return found
