"""The nearest miss: why no rule answered, in the order of how close each came. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from soundstage.errors import MatchError, NoMatchError
from soundstage.scripts._index import Facts
from soundstage.scripts._rule import Rule

SHOWN: Final = 3


def no_match(
    asked: str,
    rules: Sequence[Rule],
    facts: Facts,
    exhausted: Callable[[Rule], bool],
    *,
    without: str,
    instead: str,
) -> NoMatchError:
    """The error for what no rule answers: what was asked, and the nearest rules with their reasons.

    Args:
        asked: what was asked, in words.
        rules: those that might have answered.
        facts: what their conditions look at.
        exhausted: whether a rule has served all its times.
        without: what is seen where there are no rules.
        instead: how an answer is given that needs no rule.
    """
    misses = sorted(
        ((_reasons(rule, facts), exhausted(rule), rule) for rule in rules),
        key=lambda miss: (len(miss[0]) + miss[1], miss[2].number),
    )
    lines = []
    for reasons, used_up, rule in misses[:SHOWN]:
        why = [f"it has served its {rule.times} time(s)"] if used_up else []
        lines.append(f"{rule}: {'; '.join(why + reasons)}")
    return NoMatchError(
        f"no rule answers {asked}",
        expected="a rule whose conditions all hold",
        seen="\n".join(["the nearest rules:", *lines]) if lines else without,
        hint=f"add a rule, loosen a condition, or {instead}",
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
