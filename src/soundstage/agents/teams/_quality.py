"""Quality gates: review, fixes, review again, then the tests. What an agent finds is data, never an exception."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from soundstage.agents.runtime import AgentOutcome
from soundstage.agents.teams._errors import ReplyError
from soundstage.agents.teams._gates import GateRule, QaReport, Review, parse_qa, parse_review

MAX_FIXES: Final = 2

Ask = Callable[[str, str, Mapping[str, str]], Awaitable[AgentOutcome]]
"""Has an agent do something: its slug, the prompt, results that it needs."""
Judge = Callable[[str, str], None]
"""Gets a gate's verdict: the agent, and why it did not pass; nothing if it did."""


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes code, who reviews it, who tests it: slugs."""

    code: str = "code"
    review: str = "review"
    qa: str = "qa"


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of the gates.

    Args:
        reason: why the change needed them; empty if it did not.
        reviews: in order.
        fixes: how often the code was fixed.
        qa: the testers' report, if it came to that.
        files: what has changed, fixes included.
        warnings: what people should know.
    """

    reason: str = ""
    reviews: tuple[Review, ...] = ()
    fixes: int = 0
    qa: QaReport | None = None
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Gates:
    """The gates of one change.

    Args:
        rule: when a change needs them.
        roles: who does what.
        ask: has an agent do something.
        judge: gets each verdict.
        max_fixes: so often the code is fixed; there is one review more.
    """

    def __init__(self, rule: GateRule, roles: Roles, ask: Ask, judge: Judge, max_fixes: int) -> None:
        self._rule = rule
        self._roles = roles
        self._ask = ask
        self._judge = judge
        self._max_fixes = max_fixes
        self._reviews: list[Review] = []
        self._warnings: list[str] = []
        self._fixes = 0
        self._qa: QaReport | None = None

    async def pass_through(self, description: str, files: tuple[str, ...]) -> GateResult:
        """Take a change through the gates, if it needs them."""
        reason = self._rule.reason(files, description)
        if not reason:
            return GateResult(files=files)
        changed = dict.fromkeys(files)
        if await self._approved(description, changed):
            await self._test(description, changed)
        return GateResult(
            reason=reason,
            reviews=tuple(self._reviews),
            fixes=self._fixes,
            qa=self._qa,
            files=tuple(changed),
            warnings=tuple(self._warnings),
        )

    async def _approved(self, description: str, changed: dict[str, None]) -> bool:
        """Review, and fix what the review finds, until it is approved or the fixes are used up."""
        while True:
            review = await self._review(description, changed)
            if review is None or review.approved:
                return review is not None
            if self._fixes == self._max_fixes:
                self._warn(self._roles.review, f"not approved after {self._fixes} fixes; QA was not run")
                return False
            self._judge(self._roles.review, _found(review))
            if not await self._fix(review, changed):
                return False

    async def _review(self, description: str, changed: dict[str, None]) -> Review | None:
        prompt = f"Review this change: {description}\nFiles:\n{_listed(changed)}\nAnswer with JSON."
        outcome = await self._ask(self._roles.review, prompt, {})
        try:
            review = parse_review(_words(outcome))
        except ReplyError as error:
            self._warn(self._roles.review, f"no verdict, so the gates end here: {error.summary}")
            return None
        self._reviews.append(review)
        if review.approved:
            self._judge(self._roles.review, "")
        return review

    async def _fix(self, review: Review, changed: dict[str, None]) -> bool:
        self._fixes += 1
        prompt = f"Fix what the review found:\n{_found(review)}\nFiles:\n{_listed(changed)}"
        outcome = await self._ask(self._roles.code, prompt, {"review_result": _found(review)})
        if not outcome.success:
            self._warn(self._roles.code, f"fix {self._fixes} failed: {outcome.error or outcome.reason}")
            return False
        changed.update(dict.fromkeys(outcome.files))
        return True

    async def _test(self, description: str, changed: dict[str, None]) -> None:
        prompt = f"Test this change: {description}\nFiles:\n{_listed(changed)}\nAnswer with JSON."
        outcome = await self._ask(self._roles.qa, prompt, {})
        try:
            self._qa = parse_qa(_words(outcome))
        except ReplyError as error:
            self._warn(self._roles.qa, f"no verdict: {error.summary}")
            return
        if self._qa.passed:
            self._judge(self._roles.qa, "")
        else:
            self._warn(self._roles.qa, "not passed: " + ("; ".join(self._qa.blockers) or "no reason given"))

    def _warn(self, agent: str, text: str) -> None:
        self._warnings.append(f"{agent}: {text}")
        self._judge(agent, text)


def _words(outcome: AgentOutcome) -> str:
    """The answer; one that failed has none."""
    if not outcome.success:
        raise ReplyError(
            f"the agent failed: {outcome.error or outcome.reason}",
            raw=outcome.output,
            expected="an answer",
        )
    return outcome.output


def _found(review: Review) -> str:
    issues = "\n".join(f"- {issue}" for issue in review.issues)
    return "\n".join(filter(None, (review.summary, issues))) or "no reason given"


def _listed(files: Mapping[str, None]) -> str:
    return "\n".join(f"- {path}" for path in files) or "- none"
