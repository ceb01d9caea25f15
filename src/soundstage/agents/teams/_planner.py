"""The plan orchestrator: plans once, then has everything done.

The orchestrator agent gets the request and answers with a plan or with the answer itself. A plan is checked as a whole
before anything runs, and carried out with all that can run at the same time running at the same time. If code has been
written and the rule says so, the change goes through review and tests. Failures of agents are results; the summary
names them.

Every task is a conversation of its own (`<conversation>/<index>`) within the plan's, because it has a history of its
own and several run at once. The plan itself, reviews, fixes and tests follow one another in the plan's conversation.
Calls of an agent are counted over all of them: its second try is `iteration` 2, wherever it is made.

In plan mode somebody looks at the plan first: `create` keeps it, `edit` changes a task, `approve` carries it out,
`reject` drops it; a new request drops it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from soundstage.agents.runtime import AgentDefinition, AgentOutcome, AgentTask, TaskRunner
from soundstage.agents.teams._bind import bind_script
from soundstage.agents.teams._errors import EmptyMessageError, PlanError, PlanProblem, RoutingError
from soundstage.agents.teams._events import GateJudged, PlanDecided, PlanMade, TaskSkipped
from soundstage.agents.teams._gates import GateRule
from soundstage.agents.teams._plan import Plan, parse_plan, validate_plan
from soundstage.agents.teams._quality import MAX_FIXES, GateResult, Gates, Roles
from soundstage.agents.teams._schedule import TaskResult, carry_out
from soundstage.agents.teams._summary import summarise
from soundstage.clock import IdSource
from soundstage.journal import Event, Journal, MessageReceived

SOURCE: Final = "planner"
ORCHESTRATOR: Final = "orchestrator"


class PlanDraft(msgspec.Struct, frozen=True, kw_only=True):
    """The reply of the orchestrator: a plan, or the answer itself.

    Args:
        request: what was asked.
        conversation: the conversation that it belongs to.
        plan: the plan, if it is one.
        answer: the orchestrator's words.
    """

    request: str
    conversation: str
    plan: Plan | None
    answer: str


class PlanResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a request.

    Args:
        request: what was asked.
        conversation: the conversation that it belongs to.
        plan: the plan; None if it was answered directly.
        tasks: what became of each task, in the order of the plan.
        quality: what review and tests found.
        summary: all of it in words; the answer itself if there was no plan.
    """

    request: str
    conversation: str
    plan: Plan | None
    tasks: tuple[TaskResult, ...] = ()
    quality: GateResult = GateResult()
    summary: str = ""


class PlanOrchestrator:
    """Plans a request once and has it carried out.

    Args:
        runner: runs one agent's task: the agent loop, or whatever takes its place.
        agents: who can be planned for; the orchestrator may be among them.
        journal: gets plans, decisions, verdicts.
        orchestrator: the slug of the agent that plans.
        rule: when a change needs review and tests.
        roles: who writes, reviews and tests code. A team without one of them has no gates, and is warned.
        max_fixes: so often the code is fixed; there is one review more.
        ids: where ids of conversations come from.

    Example:
        ::

            planner = PlanOrchestrator(AgentLoop(...), team, journal)
            result = await planner.run("Rename the function")
            print(result.summary)
    """

    def __init__(
        self,
        runner: TaskRunner,
        agents: Sequence[AgentDefinition],
        journal: Journal,
        *,
        orchestrator: str = ORCHESTRATOR,
        rule: GateRule | None = None,
        roles: Roles | None = None,
        max_fixes: int = MAX_FIXES,
        ids: IdSource | None = None,
    ) -> None:
        self.runner = runner
        self.journal = journal
        self.orchestrator = orchestrator
        self.slugs = tuple(agent.slug for agent in agents if agent.slug != orchestrator)
        self.rule = rule if rule is not None else GateRule()
        self.roles = roles if roles is not None else Roles()
        self.max_fixes = max_fixes
        self._ids = ids if ids is not None else IdSource()
        self._pending: PlanDraft | None = None
        self._script = bind_script(runner, (orchestrator, *self.slugs))

    @property
    def pending(self) -> PlanDraft | None:
        """The plan that waits for a decision."""
        return self._pending

    async def run(self, request: str) -> PlanResult:
        """Plan a request and carry it out at once. A plan that was waiting is dropped.

        Raises:
            EmptyMessageError: for an empty request.
            UnknownNameError: if a rule of the script names an agent or a tool that the team does not have.
            RoutingError: if the orchestrator fails.
            PlanError: if the plan cannot be carried out; nothing has been run then.
        """
        self._drop()
        return await self._finish(await self._draft(request))

    async def create(self, request: str) -> PlanDraft:
        """Plan a request and let the plan wait for a decision. A direct answer does not wait.

        Raises:
            EmptyMessageError: for an empty request.
            UnknownNameError: if a rule of the script names an agent or a tool that the team does not have.
            RoutingError: if the orchestrator fails.
            PlanError: if the plan cannot be carried out.
        """
        self._drop()
        draft = await self._draft(request)
        self._pending = draft if draft.plan is not None else None
        return draft

    def edit(self, index: int, *, agent: str = "", description: str = "") -> Plan | None:
        """Change a task of the plan that waits; None if none does.

        Args:
            index: the task, from 0.
            agent: who is to do it instead.
            description: what is to be done instead.

        Raises:
            PlanError: for a task that the plan does not have, or an agent that nobody knows. The plan stays.
        """
        draft = self._pending
        if draft is None or draft.plan is None:
            return None
        tasks = list(draft.plan.tasks)
        if not 0 <= index < len(tasks):
            raise PlanError([PlanProblem(index, f"there is no such task; there are 0 to {len(tasks) - 1}")])
        old = tasks[index]
        tasks[index] = msgspec.structs.replace(
            old, agent=agent or old.agent, description=description or old.description
        )
        plan = msgspec.structs.replace(draft.plan, tasks=tuple(tasks))
        validate_plan(plan, self.slugs)
        self._pending = msgspec.structs.replace(draft, plan=plan)
        self._decided("edited", draft, f"task {index}: {tasks[index].agent}: {tasks[index].description}")
        return plan

    async def approve(self) -> PlanResult | None:
        """Carry out the plan that waits; None if none does."""
        draft, self._pending = self._pending, None
        if draft is None:
            return None
        self._decided("approved", draft)
        return await self._finish(draft)

    def reject(self) -> bool:
        """Drop the plan that waits; returns whether one did."""
        draft, self._pending = self._pending, None
        if draft is not None:
            self._decided("rejected", draft)
        return draft is not None

    def _drop(self) -> None:
        draft, self._pending = self._pending, None
        if draft is not None:
            self._decided("dropped", draft, "there is a new request")

    def _decided(self, decision: Any, draft: PlanDraft, detail: str = "") -> None:
        self._note(PlanDecided(decision=decision, detail=detail, conversation=draft.conversation))

    def _note(self, event: Event) -> int:
        return self.journal.append(event, source=SOURCE)

    async def _draft(self, request: str) -> PlanDraft:
        if not request.strip():
            raise EmptyMessageError("an empty request cannot be planned", expected="what is to be done")
        if self._script is not None:
            self._script.validate_names()
        conversation = self._ids.draw("plan_", 12)
        self._note(MessageReceived(text=request, channel=conversation, sender="user"))
        task = AgentTask(
            id=f"{conversation}/plan", agent=self.orchestrator, prompt=request, conversation=conversation
        )
        outcome = await self.runner.run(task)
        if not outcome.success:
            raise RoutingError(
                "the orchestrator failed", raw=outcome.output, seen=outcome.error or outcome.reason
            )
        plan = parse_plan(outcome.output)
        if plan is not None:
            validate_plan(plan, self.slugs)
            tasks = tuple(_told(index, plan) for index in range(len(plan.tasks)))
            self._note(PlanMade(text=plan.text, tasks=tasks, conversation=conversation))
        return PlanDraft(request=request, conversation=conversation, plan=plan, answer=outcome.output)

    async def _finish(self, draft: PlanDraft) -> PlanResult:
        if draft.plan is None:
            return PlanResult(
                request=draft.request, conversation=draft.conversation, plan=None, summary=draft.answer
            )
        carrier = _Carrier(self, draft, draft.plan)
        tasks = await carrier.tasks()
        quality = await carrier.quality(tasks)
        return PlanResult(
            request=draft.request,
            conversation=draft.conversation,
            plan=draft.plan,
            tasks=tasks,
            quality=quality,
            summary=summarise(draft.plan, tasks, quality),
        )


def _told(index: int, plan: Plan) -> str:
    task = plan.tasks[index]
    after = f" (after {', '.join(map(str, task.depends_on))})" if task.depends_on else ""
    return f"{task.agent}: {task.description}{after}"


class _Carrier:
    """One plan that is being carried out."""

    def __init__(self, planner: PlanOrchestrator, draft: PlanDraft, plan: Plan) -> None:
        self._planner = planner
        self._draft = draft
        self._plan = plan
        self._asked = 0

    async def tasks(self) -> tuple[TaskResult, ...]:
        results = await carry_out(self._plan, self._task)
        for result in results:
            if result.status == "skipped":
                event = TaskSkipped(
                    task=result.index,
                    agent=result.task.agent,
                    reason=result.error,
                    conversation=self._draft.conversation,
                )
                self._planner.journal.append(event, source=SOURCE)
        return results

    async def _task(self, index: int, context: Mapping[str, str]) -> AgentOutcome:
        task, conversation = self._plan.tasks[index], f"{self._draft.conversation}/{index}"
        return await self._planner.runner.run(
            AgentTask(
                id=conversation,
                agent=task.agent,
                prompt=task.description,
                conversation=conversation,
                within=self._draft.conversation,
                parent=self._planner.orchestrator,
                context=context,
            )
        )

    async def quality(self, results: tuple[TaskResult, ...]) -> GateResult:
        """The result of the gates, if code has been written."""
        planner, roles = self._planner, self._planner.roles
        written = [r for r in results if r.task.agent == roles.code and r.status == "completed"]
        if not written:
            return GateResult()
        files = tuple(dict.fromkeys(path for r in written if r.outcome for path in r.outcome.files))
        description = "; ".join([self._draft.request, *(result.task.description for result in written)])
        reason = planner.rule.reason(files, description)
        missing = [slug for slug in (roles.review, roles.qa) if slug not in planner.slugs]
        if reason and missing:
            warning = f"not reviewed, though {reason}: the team has no {' and no '.join(missing)}"
            return GateResult(reason=reason, files=files, warnings=(warning,))
        gates = Gates(planner.rule, roles, self._ask, self._judge, planner.max_fixes)
        return await gates.pass_through(description, files)

    async def _ask(self, agent: str, prompt: str, context: Mapping[str, str]) -> AgentOutcome:
        self._asked += 1
        conversation = self._draft.conversation
        return await self._planner.runner.run(
            AgentTask(
                id=f"{conversation}/{agent}-{self._asked}",
                agent=agent,
                prompt=prompt,
                conversation=conversation,
                parent=self._planner.orchestrator,
                context=context,
            )
        )

    def _judge(self, gate: str, detail: str) -> None:
        event = GateJudged(gate=gate, passed=not detail, detail=detail, conversation=self._draft.conversation)
        self._planner.journal.append(event, source=SOURCE)
