"""Requirements at the end of every run: no egress, no unanswered request, no unused rule, no work cut off."""

from __future__ import annotations

import re
from typing import Final

from soundstage.errors import ExpectationError, MatchError, NoMatchError, ScriptError
from soundstage.host._work import Cut, describe_cut, dropped
from soundstage.journal import (
    EgressTried,
    Journal,
    ModelFailed,
    ModelRequested,
    RequestRefused,
    RequestServed,
)
from soundstage.models import ScriptedModel
from soundstage.scripts import Rule, never_used


def require_clean_end(
    journal: Journal,
    scripted: ScriptedModel,
    *,
    allow_egress: bool = False,
    allow_unfinished: bool = False,
    after: int = 0,
    cut: Cut | None = None,
) -> None:
    """Check what must hold: nothing left, a strict script answered every request and used every rule, and no work
    was cut off.

    Args:
        journal: the journal of the run.
        scripted: the model with its script.
        allow_egress: whether the app may have tried to leave.
        allow_unfinished: whether the end may have cut off replies and tools that were under way.
        after: position in the journal after which the run begins; a file may hold earlier ones.
        cut: what was under way when the run was ended, if it has an app of which we know the end.

    Raises:
        ExpectationError: naming the hosts that the app tried to reach, or the work that was cut off.
        ScriptError: with the nearest rules of a request that none answered, or the mistake of a rule, even if the
            app swallowed the error; or naming the rules that were never used, and why, if they name what there is not.
    """
    if not allow_egress:
        require_no_egress(journal, after)
    mistake = mistake_of_script(journal, scripted, after)
    if mistake is not None:
        raise mistake
    if not allow_unfinished:
        _check_unfinished(journal, after, cut)
    unused = scripted.unused() if scripted.script.strict else []
    if unused:
        scripted.script.validate_names(only=unused)
        raise never_used(
            unused,
            "a strict script",
            expected="every rule serves a request",
            seen=list_rules(unused, scripted, journal, after),
            hint="remove them, or look at the trace: the app did not get there",
        )


def mistake_of_script(journal: Journal, scripted: ScriptedModel, after: int = 0) -> ScriptError | None:
    """The first request that a strict script did not answer, or that met a mistake of a rule, as an error.

    It fails the run even if the app has swallowed the error that it got.
    """
    kinds = (
        {"script": ScriptError, "no_match": NoMatchError}
        if scripted.script.strict
        else {"script": ScriptError}
    )
    failures = [event for event in journal.events(ModelFailed, after) if event.reason in kinds]
    if not failures:
        return None
    error = kinds[failures[0].reason](failures[0].message)
    if len(failures) > 1:
        error.add_note(f"and {len(failures) - 1} more such request(s); the trace shows all")
    return error


_PROVIDER: Final = re.compile(r"(^|\.)(openai|anthropic|googleapis)\.com:")
_TO_US: Final = (
    "let the app ask the script: use the fixture `model_server` (`with_server()` on a builder), and make the client "
    "while the test runs and without an address of its own: one that was made before keeps the provider's"
)
_ELSEWHERE: Final = (
    "turn the call off in the app; let it try: allow_egress() on the builder, egress='allow' on the mark; "
    "or let it through: allow_hosts(...), hosts=[...]"
)


def require_no_egress(journal: Journal, after: int = 0) -> None:
    """Check that nothing tried to leave after a position in the journal.

    Raises:
        ExpectationError: naming the hosts that the app tried to reach.
    """
    tried = sorted({f"{event.host}:{event.port}" for event in journal.events(EgressTried, after)})
    if tried:
        raise ExpectationError(
            "the app tried to leave the closed set",
            expected="no host but those of this run",
            seen=", ".join(tried),
            hint=_TO_US if any(_PROVIDER.search(one) for one in tried) else _ELSEWHERE,
        )


def _check_unfinished(journal: Journal, after: int, cut: Cut | None) -> None:
    allow = "or allow it: allow_unfinished() on the builder, unfinished='allow' on the mark"
    if cut is None:  # nobody can tell the app from the test, which may have its own reasons
        return
    if lines := describe_cut(journal, cut):
        raise ExpectationError(
            "the end of the run cut off work that was under way",
            expected="every request has its reply, and every tool has returned, before the test ends",
            seen="\n".join(lines),
            hint=f"wait for what it leads to, {allow}",
        )
    if lines := dropped(journal, after, cut.at):
        raise ExpectationError(
            "a reply was dropped: its client went away while it was being made, and the app did nothing more",
            expected="the app gets the reply, or goes on without it",
            seen="\n".join(lines),
            hint=f"look at what ended the request in the app, {allow}",
        )


def require_request(journal: Journal, after: int = 0) -> None:
    """Check that a model server was asked at all.

    Raises:
        ExpectationError: if no request has arrived.
    """
    if not any(journal.events(kind, after) for kind in (ModelRequested, RequestServed, RequestRefused)):
        raise ExpectationError(
            "the model server was never asked",
            expected="at least one request, since the test uses a model server and its script is strict",
            seen="no request at all: the app asked another address, or no model",
            hint="let the app ask it; if there is to be no request, say so: assert_model_requests(trace(), 0)",
        )


def list_rules(rules: list[Rule], scripted: ScriptedModel, journal: Journal, after: int = 0) -> str:
    """One line a rule that was not used: its conditions, and the rule that took a request in its place."""
    takers = _takers(scripted, journal, after)
    return "\n".join(f"{rule.label} [{rule.describe()}]" + takers.get(rule.number, "") for rule in rules)


def _takers(scripted: ScriptedModel, journal: Journal, after: int) -> dict[int, str]:
    """By the number of a rule that came too late: the first request that it fits, and who took that."""
    asked = [
        (r.position, r.event.request) for r in journal.read(after) if isinstance(r.event, ModelRequested)
    ]
    try:
        served = scripted.replayed(request for _, request in asked)
    except MatchError:  # a condition that raises has its own error
        return {}
    takers: dict[int, str] = {}
    for (position, _), (rule, shadowed) in zip(asked, served, strict=True):
        if rule is None:
            continue
        took = f": {rule.label} [{rule.describe()}] took the request @{position}, which it fits as well"
        for late in shadowed:
            takers.setdefault(late.number, took)
    return takers
