"""What must hold at the end of every run, whoever made it."""

from __future__ import annotations

from soundstage.errors import ExpectationError, ScriptError
from soundstage.journal import EgressTried, Journal, ModelFailed
from soundstage.models import Rule, ScriptedModel


def check_end(
    journal: Journal, scripted: ScriptedModel, *, allow_egress: bool = False, after: int = 0
) -> None:
    """Check that nothing tried to leave, and that a strict script answered every request and used every rule.

    Args:
        journal: the journal of the run.
        scripted: the model with its script.
        allow_egress: whether the app may have tried to leave.
        after: position in the journal after which the run begins; a file may hold earlier ones.

    Raises:
        ExpectationError: naming the hosts that the app tried to reach.
        ScriptError: with the nearest rules of a request that none answered, even if the app swallowed the
            error; or naming the rules that were never used.
    """
    tried = sorted({f"{event.host}:{event.port}" for event in journal.events(EgressTried, after)})
    if tried and not allow_egress:
        raise ExpectationError(
            "the app tried to leave the closed set",
            expected="no host but those of this run",
            seen=", ".join(tried),
            hint="turn the call off in the app, or allow it: allow_egress() on the builder, egress='allow' on the mark",
        )
    failures = journal.events(ModelFailed, after)
    misses = [event.message for event in failures if event.reason == "no_match"]
    if misses and scripted.script.strict:
        raise ScriptError(
            f"{len(misses)} request(s) had no rule in a strict script",
            seen=misses[0],
            hint="the app got an error and may have swallowed it; script the request, or use strict=False",
        )
    unused = scripted.unused() if scripted.script.strict else []
    if unused:
        raise ScriptError(
            f"{len(unused)} rule(s) of a strict script were never used",
            seen=list_rules(unused),
            hint="remove them, or look at the trace: the app did not get there",
        )


def list_rules(rules: list[Rule]) -> str:
    """One line a rule."""
    return "\n".join(f"{rule.label} [{rule.describe()}]" for rule in rules)
