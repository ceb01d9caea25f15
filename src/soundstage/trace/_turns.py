"""Turns of agents: groups requests by caller, headers, spans and histories, as the journal has them.

Agents of one conversation may be at work at the same time, so who spoke last says little. What is known, the surest
first:

1. `AgentStarted` and `AgentFinished`: what an agent asks between them is its turn. Of several that are open the
   cause of the request tells, else its history.
2. The history: a request that brings the results of calls goes on with the turn whose last reply made them.
3. Else the agent goes on if nobody else of the conversation has asked since, and its request goes on with the history
   of the last one: begins with the same messages, or has the last reply as the last thing that the model said.

A turn in which an agent starts another one and waits for it ends there, and what it does with the result is a new
turn: `main`, `reviewer`, `main`. That it has started it is known from the name of the parent, from the cause, or from
the texts: the call has the task that the other one is asked, and its result has what the other one said.

Every request looks at the end of its own history and at the turns that have begun since the one it goes on with, so the
work grows with the journal and not with its square.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from soundstage.journal import AgentFinished, AgentStarted, Record
from soundstage.messages import Message, ModelRequest, ModelResponse, ToolCall, ToolResult
from soundstage.trace._types import AgentRun, Step, shown


class StepDraft:
    """A step in the making: its request, and its facts as they come."""

    __slots__ = ("facts", "record", "request", "run", "uses")

    def __init__(self, record: Record, request: ModelRequest) -> None:
        self.record = record
        self.request = request
        self.run: RunDraft | None = None  # side requests have none
        self.uses: list[Any] = []
        self.facts: dict[str, Any] = {"model": request.model}

    @property
    def position(self) -> int:
        return self.record.position

    @property
    def closed(self) -> bool:
        return "answered_at" in self.facts

    @property
    def response(self) -> ModelResponse | None:
        found: ModelResponse | None = self.facts.get("response")
        return found

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the reply."""
        return self.response.tool_calls if self.response is not None else ()

    def close(self, record: Record, **facts: Any) -> None:
        self.facts.update(facts, answered_at=record.position, ended=record.time)


class RunDraft:
    """A run in the making. `left` says that the agent has started another one and waits for it."""

    __slots__ = ("agent", "conversation", "finished", "finished_at", "left", "parent", "steps")

    def __init__(self, agent: str, conversation: str, parent: str) -> None:
        self.agent = agent
        self.conversation = conversation
        self.parent = parent
        self.left = False
        self.steps: list[StepDraft] = []
        self.finished: AgentFinished | None = None
        self.finished_at: float | None = None

    @property
    def last(self) -> StepDraft:
        return self.steps[-1]

    @property
    def goes_on(self) -> bool:
        return not self.left and self.finished is None

    @property
    def text(self) -> str:
        """The agent's last words, if its last reply has any."""
        return self.last.response.text if self.last.response is not None else ""

    def freeze(self, steps: dict[int, Step]) -> AgentRun:
        own = tuple(steps[draft.record.position] for draft in self.steps)
        return AgentRun(
            agent=self.agent,
            conversation=self.conversation,
            parent=self.parent,
            phase=own[0].phase,
            steps=own,
            started=own[0].started,
            ended=self.finished_at if self.finished is not None else own[-1].ended,
            finished=self.finished,
        )


class _AnnouncedTurn:
    """A turn that an `AgentStarted` announced, until the agent says that it is done."""

    __slots__ = ("asker", "parent", "run")

    def __init__(self, event: AgentStarted, asker: RunDraft | None) -> None:
        self.parent = event.parent
        self.asker = asker  # the turn with the reply that led to it
        self.run: RunDraft | None = None


class _ConversationTurns:
    """The agents at work in one conversation."""

    __slots__ = ("asking", "latest", "made", "open", "parents", "runs", "said", "since")

    def __init__(self) -> None:
        self.runs: list[RunDraft] = []
        self.latest: dict[str, RunDraft] = {}  # by agent
        self.parents: dict[str, str] = {}  # by agent
        self.open: dict[str, list[_AnnouncedTurn]] = {}  # by agent, oldest first
        self.made: dict[str, list[RunDraft]] = {}  # by id of a call that nobody has brought the result of
        self.said: dict[tuple[str, str], RunDraft] = {}  # by agent and its reply
        self.asking = ""  # the agent that asked last
        self.since = 0  # position from which on nobody else has asked


class TurnGrouping:
    """Collects runs from the records of a journal, which are given to it in order."""

    def __init__(self) -> None:
        self.runs: list[RunDraft] = []
        self._conversations: dict[str, _ConversationTurns] = {}
        self._works: dict[int, _AnnouncedTurn] = {}  # by position of the `AgentStarted`
        self._replies: dict[int, RunDraft] = {}  # by position of the reply

    def _in(self, conversation: str) -> _ConversationTurns:
        found = self._conversations.get(conversation)
        if found is None:
            found = self._conversations[conversation] = _ConversationTurns()
        return found

    def started(self, record: Record, event: AgentStarted) -> None:
        """An agent says that it begins."""
        work = _AnnouncedTurn(event, self._replies.get(record.cause or 0))
        here, agent = self._in(event.conversation), shown(event.agent)
        self._works[record.position] = work
        here.open.setdefault(agent, []).append(work)
        here.parents[agent] = event.parent
        latest = here.latest.get(agent)
        if latest is not None and latest not in [other.run for other in here.open[agent]]:
            latest.left = True

    def finished(self, record: Record, event: AgentFinished) -> None:
        """An agent says that it is done."""
        here, agent = self._in(event.conversation), shown(event.agent)
        open_ = here.open.get(agent, [])
        work = self._works.get(record.cause or 0)
        if work not in open_:
            work = open_[-1] if open_ else None
        if work is not None:
            open_.remove(work)
        run = (work.run if work is not None else None) or here.latest.get(agent)
        if run is not None and run.finished is None:
            run.finished = event
            run.finished_at = record.time

    def asked(self, step: StepDraft) -> None:
        """An agent asks its model: the step becomes part of a turn."""
        caller = step.request.caller
        here, agent = self._in(caller.conversation), shown(caller.agent)
        brought = _brought(here, step.request)
        work = self._work(here, agent, step, brought)
        run = work.run if work is not None else _by_history(here, agent, step.request, brought)
        if run is not None and _waited(here, run, step.request):
            run.left = True
        if run is None or not run.goes_on:
            run = self._begin(here, step, work)
        for maker in brought:
            maker.left = maker.left or maker.agent != agent
        if here.asking != agent:
            here.asking, here.since = agent, step.position
        run.steps.append(step)
        step.run = run

    def answered(self, step: StepDraft, record: Record) -> None:
        """The reply to a step is complete."""
        run = step.run
        if run is None or run.last is not step or step.response is None:
            return
        here = self._in(run.conversation)
        self._replies[record.position] = run
        for call in step.calls:
            here.made.setdefault(call.id, []).append(run)
        if not step.calls:
            here.said[run.agent, run.text] = run

    def _begin(self, here: _ConversationTurns, step: StepDraft, work: _AnnouncedTurn | None) -> RunDraft:
        caller = step.request.caller
        agent = shown(caller.agent)
        parent = caller.parent or (work.parent if work is not None else here.parents.get(agent, ""))
        run = RunDraft(agent, caller.conversation, parent)
        askers = [
            here.latest.get(shown(parent)) if parent else None,
            self._replies.get(step.record.cause or 0),
        ]
        if work is not None:
            askers.append(work.asker)
            work.run = run
        for asker in askers:
            if asker is not None and asker.agent != agent and asker.conversation == run.conversation:
                asker.left = True
        self.runs.append(run)
        here.runs.append(run)
        here.latest[agent] = run
        return run

    def _work(
        self, here: _ConversationTurns, agent: str, step: StepDraft, brought: list[RunDraft]
    ) -> _AnnouncedTurn | None:
        """The announced work that a request is part of, if any is open."""
        open_ = here.open.get(agent)
        if not open_:
            return None
        cause = step.record.cause or 0
        caused = self._works.get(cause)
        if caused in open_:
            return caused
        known = [self._replies.get(cause), *(run for run in brought if run.agent == agent)]
        mine = next((work for work in open_ if work.run is not None and work.run in known), None)
        new = next((work for work in reversed(open_) if work.run is None), None)
        return mine or new or open_[-1]


def _brought(here: _ConversationTurns, request: ModelRequest) -> list[RunDraft]:
    """The turns whose calls a request brings results of, the likeliest first; each only once."""
    found: list[RunDraft] = []
    for result in request.tool_results:
        makers = here.made.get(result.call_id, [])
        maker = next((run for run in reversed(makers) if _begins(run.last, request)), None)
        maker = maker or (makers[-1] if makers else None)
        if maker is not None:
            makers.remove(maker)
            found += [] if maker in found else [maker]
    return found


def _by_history(
    here: _ConversationTurns, agent: str, request: ModelRequest, brought: list[RunDraft]
) -> RunDraft | None:
    """The turn that a request goes on with, as far as its messages tell."""
    own = next((run for run in brought if run.agent == agent), None)
    latest = here.latest.get(agent)
    if own is not None or latest is None:
        return own
    if request.tool_results and not brought and latest.last.calls:
        return latest  # a client that does not send ids back
    if here.asking != agent:
        return None
    if _follows(latest.last, request):
        return latest
    other = here.said.get((agent, _last_words(request)))
    same = other is not None and other.last.position >= here.since and _follows(other.last, request)
    return other if same else None


def _follows(step: StepDraft, request: ModelRequest) -> bool:
    """Whether a request of the same agent goes on where an earlier one was."""
    if _begins(step, request):
        return True
    return (
        step.response is not None and bool(step.response.text) and _last_words(request) == step.response.text
    )


def _begins(step: StepDraft, request: ModelRequest) -> bool:
    """Whether the messages of a request begin with those of an earlier one; what the system says may change."""
    earlier, later = _history(step.request), _history(request)
    return later[: len(earlier)] == earlier


def _history(request: ModelRequest) -> tuple[Message, ...]:
    """The messages after those of the system, with which a request begins. Comparing them is no work of Python's."""
    heads = itertools.takewhile(lambda message: message.role == "system", request.messages)
    return request.messages[sum(1 for _ in heads) :]


def _last_words(request: ModelRequest) -> str:
    """The model's last message, as the request tells it."""
    said = (message.text for message in reversed(request.messages) if message.role == "assistant")
    return next(said, "")


def _waited(here: _ConversationTurns, run: RunDraft, request: ModelRequest) -> bool:
    """Whether the results of a turn's calls are the words of another agent, to which it had given a task."""
    asked_at = run.last.facts.get("answered_at")
    results = request.tool_results
    if asked_at is None or not results:
        return False
    for other in reversed(here.runs):
        if other.steps[0].position < asked_at:
            break
        if other.agent != run.agent and any(_quotes(run.last, result, other) for result in results):
            return True
    return False


def _quotes(step: StepDraft, result: ToolResult, other: RunDraft) -> bool:
    """Whether a call gave another agent its task, and its result is what that one said."""
    said = other.text.strip()
    if not said or not (said in result.text or json.dumps(said)[1:-1] in result.text):
        return False
    task = next((_task(call) for call in step.calls if call.id == result.call_id), "")
    return task in (other.steps[0].request.last_user_text or "")


def _task(call: ToolCall) -> str:
    """The longest text in a call."""
    return max((text for text in call.arguments.values() if isinstance(text, str)), key=len, default="")
