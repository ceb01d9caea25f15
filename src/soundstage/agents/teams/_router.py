"""The turn router: before every round of work the orchestrator decides who goes next.

One run of a conversation:

1. The orchestrator gets the conversation as it is (the user's words once, its own decisions, what agents did).
2. Its reply is read as a `RoutingDecision`. If it names an agent that the team does not have, it is told the agents
   that there are and asked once more. The decision goes to the journal, then the conversation enters its phase.
3. The agents named before `END` work, one after the other; each one sees what the earlier ones did.
4. The run ends with `END`, with a successful call of the tool `complete` by the orchestrator or a verifier, or after
   `max_iterations` rounds; else it goes on with 1. The reason is a `FlowEnded` event, and the trace's `stop_reason`.

The tool `continue` ends an agent's turn. A phase in its arguments is a proposal: only the orchestrator's decision
changes the phase. Whoever runs the agents journals their start and end; everything else is journaled here.
Conversations share nothing but the journal, so any number of them may run side by side.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from soundstage.agents.runtime import AgentDefinition, AgentOutcome, AgentTask, TaskRunner
from soundstage.agents.teams._bind import bind_script
from soundstage.agents.teams._conversation import TeamTurn, history_for, turn_of
from soundstage.agents.teams._coordinator import SOURCE, ConversationCoordinator
from soundstage.agents.teams._errors import AgentNotFoundError, RoutingError
from soundstage.agents.teams._routing import RoutingDecision, parse_routing, resolve
from soundstage.agents.teams._tools import COMPLETE, called
from soundstage.errors import InvalidStateError, ScriptError
from soundstage.journal import FlowEnded, Journal, MessageReceived, Routed
from soundstage.messages import reminder
from soundstage.models import working_on

ORCHESTRATOR: Final = "orchestrator"
MAX_ITERATIONS: Final = 20
EVERY_ROUND: Final = (
    "a rule on the user's words holds in every round: give the orchestrator's rules iteration=1, 2, ..."
)
FOR_ALL: Final = (
    "everybody in a team hears the user, the orchestrator first: say who is meant, agent='executor', and give the "
    "orchestrator rules of its own"
)

OnAgent = Callable[[str, str], Any]


class TurnRouter:
    """Runs conversations of a team, whose orchestrator routes every turn.

    Args:
        coordinator: the conversations.
        runner: runs one agent's task: the agent loop, or whatever takes its place.
        agents: the team. The orchestrator may be among them; it is not a target.
        orchestrator: its slug.
        verifiers: who may end a conversation with `complete` besides the orchestrator; those agents that are
            offered this tool, unless given.
        max_iterations: rounds of one run, unless the run is given another number.

    Raises:
        ScriptError: for a team without agents, a verifier who is not in it, or less than one round.

    Example:
        ::

            router = TurnRouter(coordinator, AgentLoop(...), team)
            conversation = coordinator.create("Implement auth")
            ended = await router.run(conversation)
            ended.reason  # "complete"
    """

    def __init__(
        self,
        coordinator: ConversationCoordinator,
        runner: TaskRunner,
        agents: Sequence[AgentDefinition],
        *,
        orchestrator: str = ORCHESTRATOR,
        verifiers: Collection[str] | None = None,
        max_iterations: int = MAX_ITERATIONS,
    ) -> None:
        self.coordinator = coordinator
        self.runner = runner
        self.agents = tuple(agent for agent in agents if agent.slug != orchestrator)
        self.orchestrator = orchestrator
        self.max_iterations = max_iterations
        self.slugs = tuple(agent.slug for agent in self.agents)
        if verifiers is None:
            verifiers = [agent.slug for agent in self.agents if COMPLETE in agent.tools]
        self.verifiers = frozenset(verifiers)
        self._check()
        self._busy: set[str] = set()
        self._script = bind_script(runner, (orchestrator, *self.slugs), phases=coordinator.phases.names)

    def _check(self) -> None:
        if not self.agents:
            raise ScriptError("the team has no agent besides the orchestrator", hint="name at least one")
        strangers = sorted(self.verifiers - set(self.slugs))
        if strangers:
            raise ScriptError(
                "a verifier is not in the team", expected=", ".join(self.slugs), seen=", ".join(strangers)
            )
        _check_rounds(self.max_iterations)

    @property
    def scripted(self) -> bool:
        """Whether a script answers the agents."""
        return self._script is not None

    @property
    def journal(self) -> Journal:
        """Where everything goes."""
        return self.coordinator.journal

    async def run(
        self,
        conversation: str,
        message: str = "",
        *,
        max_iterations: int | None = None,
        on_agent_execution: OnAgent | None = None,
        on_phase_transition: OnAgent | None = None,
    ) -> FlowEnded:
        """Let the agents work until the conversation ends. It may be run again, with another message.

        Args:
            conversation: its id.
            message: more words of the user; the same words as those that nobody has answered yet are one message.
            max_iterations: rounds of this run.
            on_agent_execution: called before each agent with its slug and the phase; may be asynchronous.
            on_phase_transition: called at each change of phase with the phase left and the one entered.

        Returns:
            How it ended, as the journal has it.

        Raises:
            ConversationNotFoundError: for an unknown id.
            RoutingError: if the orchestrator fails, or its reply is no decision.
            AgentNotFoundError: if it names an agent whom the team does not have, twice.
            UnknownPhaseError: if it names a phase that there is not.
            InvalidStateError: if the conversation is being run already.
            UnknownNameError: if a rule of the script names an agent, phase or tool that the team does not have.
            ScriptError: for less than one round.

        What a callback raises comes out of here. The journal keeps what has happened, and why it ended.
        """
        rounds = self.max_iterations if max_iterations is None else max_iterations
        _check_rounds(rounds)
        if self._script is not None:
            self._script.validate_names()
        flow = _Flow(self, conversation, rounds, on_agent_execution, on_phase_transition)
        with self._alone(conversation), _restored():
            if message:
                self.coordinator.say(conversation, message)
            try:
                reason = await flow.run()
            except BaseException as error:
                aborted = isinstance(error, asyncio.CancelledError)
                flow.end("aborted" if aborted else "error", f"{type(error).__name__}: {error}")
                raise
            return flow.end(reason, flow.advice(reason))

    @contextmanager
    def _alone(self, conversation: str) -> Iterator[None]:
        self.coordinator.get(conversation)
        if conversation in self._busy:
            raise InvalidStateError(
                f"the conversation {conversation!r} is being run", hint="wait until its run has ended"
            )
        self._busy.add(conversation)
        try:
            yield
        finally:
            self._busy.discard(conversation)


def _check_rounds(rounds: int) -> None:
    if rounds < 1:
        raise ScriptError("a run has at least one round", seen=f"max_iterations={rounds}")


@contextmanager
def _restored() -> Iterator[None]:
    token = working_on.set(working_on.get())
    try:
        yield
    finally:
        working_on.reset(token)


class _Flow:
    """One run of one conversation."""

    def __init__(
        self,
        router: TurnRouter,
        conversation: str,
        rounds: int,
        on_agent: OnAgent | None,
        on_phase: OnAgent | None,
    ) -> None:
        self._router = router
        self._coordinator = router.coordinator
        self._id = conversation
        self._rounds = rounds
        self._on_agent = on_agent
        self._on_phase = on_phase
        self._cause: int | None = None  # position of the event that the next request is due to
        self._iterations = 0
        self._decisions: set[RoutingDecision] = set()

    async def run(self) -> str:
        """Rounds until one of them ends the run; returns the reason."""
        self._follow(self._last_words())
        for _ in range(self._rounds):
            self._iterations += 1
            routing = await self._decision(self._coordinator.count_iteration(self._id))
            if routing is None:
                return "complete"
            for agent in routing.targets:
                outcome = await self._work(agent, routing.reason)
                if agent in self._router.verifiers and called(outcome, COMPLETE):
                    return "complete"
            if routing.ends:
                return "end"
        return "max_iterations"

    def advice(self, reason: str) -> str:
        """Why all rounds were used up, if every one was decided the same: that is rarely meant."""
        if reason != "max_iterations" or self._iterations < 2 or len(self._decisions) > 1:
            return ""
        told = f"the orchestrator decided the same in all {self._iterations} rounds"
        return f"{told}; {EVERY_ROUND}" if self._router.scripted else told

    def end(self, reason: str, detail: str = "") -> FlowEnded:
        """Write down why it ended."""
        event = FlowEnded(reason=reason, conversation=self._id, iterations=self._iterations, detail=detail)
        self._router.journal.append(event, source=SOURCE, cause=self._cause)
        return event

    def _last_words(self) -> int | None:
        said = self._router.journal.read(type=MessageReceived)
        own = (r.position for r in reversed(said) if getattr(r.event, "channel", "") == self._id)
        return next(own, None)

    def _follow(self, cause: int | None) -> None:
        """From now on requests are due to the event at `cause`."""
        self._cause = cause
        working_on.set(cause)

    async def _decision(self, iteration: int) -> RoutingDecision | None:
        """Who goes next; None if the orchestrator calls it complete."""
        for attempt in (1, 2):
            outcome = await self._work(self._router.orchestrator)
            if called(outcome, COMPLETE):
                return None
            if not outcome.success:
                raise RoutingError(
                    "the orchestrator failed", raw=outcome.output, seen=outcome.error or outcome.reason
                )
            routing = self._read(outcome.output)
            try:
                routing = resolve(routing, self._router.slugs)
            except AgentNotFoundError as error:
                if attempt == 2:
                    raise
                self._correct(error)
                continue
            await self._routed(routing, iteration)
            self._decisions.add(routing)
            return routing
        raise AssertionError("the second attempt returns or raises")

    def _read(self, text: str) -> RoutingDecision:
        try:
            return parse_routing(text)
        except RoutingError as error:
            if self._router.scripted:
                error.add_note(f"  in a script: {FOR_ALL}")
            raise

    def _correct(self, error: AgentNotFoundError) -> None:
        """Tell the orchestrator which agents there are."""
        listed = "\n".join(f"- {agent.slug}: {agent.description}" for agent in self._router.agents)
        text = f"{error.summary}. Decide again. The agents are:\n{listed}"
        phase = self._coordinator.get(self._id).phase
        self._coordinator.add_turn(self._id, TeamTurn(role="router", phase=phase, text=text))

    async def _routed(self, routing: RoutingDecision, iteration: int) -> None:
        """Write the decision down, and enter its phase."""
        before = self._coordinator.get(self._id).phase
        phase = self._coordinator.phases.resolve(routing.phase) if routing.phase else before
        event = Routed(
            agents=routing.agents,
            phase=phase,
            reason=routing.reason,
            conversation=self._id,
            left=before,
            iteration=iteration,
        )
        self._follow(self._router.journal.append(event, source=SOURCE, cause=self._cause))
        if self._coordinator.enter(self._id, phase, cause=self._cause):
            await _tell(self._on_phase, before, phase)

    async def _work(self, agent: str, reason: str = "") -> AgentOutcome:
        """Let an agent work on the conversation, and add what it did."""
        conversation = self._coordinator.get(self._id)
        await _tell(self._on_agent, agent, conversation.phase)
        orchestrator = self._router.orchestrator
        task = AgentTask(
            id=f"{self._id}/{len(conversation.turns) + 1}",
            agent=agent,
            prompt="" if agent == orchestrator else _asked(conversation.phase, reason),
            conversation=self._id,
            phase=conversation.phase,
            parent="" if agent == orchestrator else orchestrator,
            history=history_for(conversation, agent, orchestrator),
        )
        outcome = await self._router.runner.run(task)
        self._coordinator.add_turn(self._id, turn_of(outcome, conversation.phase))
        return outcome


def _asked(phase: str, reason: str) -> str:
    """The task of an agent: its turn, in which phase, and why."""
    return reminder(f"It is your turn. Phase: {phase}." + (f" {reason}" if reason else ""))


async def _tell(callback: OnAgent | None, first: str, second: str) -> None:
    if callback is None:
        return
    result = callback(first, second)
    if inspect.isawaitable(result):
        await result
