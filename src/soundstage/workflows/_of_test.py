"""The workflow of a pytest test: one context, and the stages that the test's body gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from soundstage.host import Setup
from soundstage.workflows._context import Fixture, WorkflowContext
from soundstage.workflows._reporters import Reporter
from soundstage.workflows._result import WorkflowResult
from soundstage.workflows._stage import Stage
from soundstage.workflows._workflow import After, Before, Workflow


class WorkflowOfTest:
    """Runs the stages of a test.

    Attributes:
        context: of the test.
    """

    def __init__(
        self,
        title: str,
        stage: Setup,
        fixtures: Sequence[Fixture],
        *,
        reporters: Sequence[Reporter],
    ) -> None:
        self.context = WorkflowContext(
            stage.journal, title=title, reporters=reporters, judge_model=lambda: stage.answers
        )
        self._stage = stage
        self._fixtures = fixtures

    async def __call__(
        self,
        *stages: Stage,
        target: Any = None,
        start: str = "",
        before: Iterable[Before] = (),
        after: Iterable[After] = (),
        **options: Any,
    ) -> WorkflowResult:
        """Run the stages, in order.

        Args:
            *stages: each with a name of its own.
            target: the agent of prompts that name no other.
            start: the stage to begin with.
            before: hooks that are awaited at the begin of each stage.
            after: hooks that are awaited at the end of each stage.
            **options: of `AgentRunner`, for the agents of this test.

        Raises:
            WorkflowFailedError: if a stage fails.
        """
        fixtures, self._fixtures = self._fixtures, ()
        self.context.workspace = self._stage.made_workspace  # a fixture behind this one may have asked for it
        await self.context.take(*fixtures)
        if target is not None:
            self.context.target = target
        if options:
            self.context.configure(**options)
        flow = Workflow(*stages, before=before, after=after)
        return await flow.run(self.context, start=start)
