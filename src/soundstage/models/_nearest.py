"""The nearest miss: why no rule answered, in the order of how close each came. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from soundstage.errors import MatchError, NoMatchError
from soundstage.match import preview
from soundstage.models._conditions import Facts
from soundstage.models._rule import Rule

SHOWN: Final = 3


def no_match(facts: Facts, rules: Sequence[Rule], exhausted: Callable[[Rule], bool]) -> NoMatchError:
    """The error for a request that no rule answers: the request, and the nearest rules with their reasons."""
    misses = sorted(
        ((_reasons(rule, facts), exhausted(rule), rule) for rule in rules),
        key=lambda miss: (len(miss[0]) + miss[1], miss[2].number),
    )
    lines = []
    for reasons, used_up, rule in misses[:SHOWN]:
        why = [f"it has served its {rule.times} time(s)"] if used_up else []
        lines.append(f"{rule.label} [{rule.describe()}]: {'; '.join(why + reasons)}")
    return NoMatchError(
        f"no rule answers this request: {_describe(facts)}",
        expected="a rule whose conditions all hold",
        seen="\n".join(["the nearest rules:", *lines] if lines else ["the script has no rules"]),
        hint="add a rule, loosen a condition, or give the script a default reply",
    )


def _reasons(rule: Rule, facts: Facts) -> list[str]:
    found = []
    for name, condition in rule.conditions:
        try:
            reason = condition.explain(facts.get(name))
        except MatchError as error:  # the rule was never asked, so this is only why it is far
            reason = error.summary
        if reason is not None:
            found.append(f"{name}: {reason}")
    return found


def _describe(facts: Facts) -> str:
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
    if facts.request.purpose != "main":
        parts.append(f"purpose {facts.request.purpose!r}")
    return ", ".join(part for part in parts if part)
