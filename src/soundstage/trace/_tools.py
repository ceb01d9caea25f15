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

Hooks of an agent tell of tools too. One before a tool makes the call known if nothing else has; one after it gives the
result if nothing else does. A result of a call that the journal does not have is an orphan, and kept apart.

The second rule is the usual case and looks at the end of a request only; the third looks back as far as the
oldest call it seeks, once for each call and agent. So the work grows with the journal, not with its square.
"""

from __future__ import annotations

from soundstage.journal import HookFired, Record, ToolCalled, ToolReturned
from soundstage.messages import MAIN, ModelRequest, ToolCall, ToolResult
from soundstage.trace._parent_calls import ParentCalls
from soundstage.trace._tool_drafts import AFTER, BEFORE, ToolUseDraft
from soundstage.trace._types import shown


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
        self._within = ParentCalls()
        self.orphans: dict[str, ToolUseDraft] = {}  # results alone, by call id

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
        use.facts["parent"] = self._within.call_of(request)
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
        self._move(use, conversation)
        self._conversation(conversation).asked(use)

    def _move(self, use: ToolUseDraft, conversation: str) -> None:
        """The conversation of a use is known better."""
        if use.conversation != conversation:
            self._conversation(use.conversation).close(use)
            use.conversation = conversation
            self._conversation(conversation).add(use)
            if use.answered:
                self._conversation(conversation).close(use)

    def called(self, record: Record, event: ToolCalled) -> None:
        """A runtime runs a tool."""
        use = self._asked_before(event)
        if use is None:
            call = ToolCall(id=event.call_id, name=event.name, arguments=event.arguments)
            use = self._newest.get(event.call_id)
            if use is not None and use.by_hook and use.called is None and not use.answered:
                use.call = call
                use.facts["agent"] = shown(event.agent)
                self._move(use, event.conversation)
            else:
                use = ToolUseDraft(call, shown(event.agent), event.conversation, record)
                self._add(use)
        if event.parent:
            use.facts["parent"] = event.parent
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
        if use is None:
            self._orphan(event.call_id, "", record).answer(event.text, record, is_error=event.is_error)
        elif not use.answered:
            self._answer(use, event.text, record, is_error=event.is_error)

    def hooked(self, record: Record, event: HookFired) -> None:
        """A hook before or after a tool ran."""
        name = str(event.input.get("tool_name") or "")
        use = self._newest.get(event.call_id)
        if not event.call_id or event.event not in (BEFORE, *AFTER):
            return
        if event.event == BEFORE:
            if use is None and name:
                arguments = event.input.get("tool_input")
                call = ToolCall(
                    id=event.call_id, name=name, arguments=arguments if isinstance(arguments, dict) else {}
                )
                made = ToolUseDraft(call, MAIN, "", record)
                made.by_hook = True
                self._add(made)
            return
        if use is None:
            use = self._orphan(event.call_id, name, record)
        if use.hooked is None:
            use.hooked = (event, record)

    def _orphan(self, call_id: str, name: str, record: Record) -> ToolUseDraft:
        use = self.orphans.get(call_id)
        if use is None:
            use = ToolUseDraft(ToolCall(id=call_id, name=name, arguments={}), MAIN, "", record)
            use.facts.update(orphan=True, started=None)
            self.orphans[call_id] = use
        return use

    def _answer(self, use: ToolUseDraft, text: str, record: Record, *, is_error: bool) -> None:
        use.answer(text, record, is_error=is_error)
        self._conversation(use.conversation).close(use)

    def sent(self, record: Record, request: ModelRequest) -> None:
        """A request brings results."""
        conversation = self._conversation(request.caller.conversation)
        agent = shown(request.caller.agent)
        if request.caller.parent:
            self._within.asked(request, conversation.open)
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
