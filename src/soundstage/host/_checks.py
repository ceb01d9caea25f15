"""What must hold at the end of every run, whoever made it."""

from __future__ import annotations

from soundstage.errors import ExpectationError, ScriptError
from soundstage.host._work import Cut, describe_cut, dropped
from soundstage.journal import (
    EgressTried,
    Journal,
    ModelFailed,
    ModelRequested,
    RequestRefused,
    RequestServed,
)
from soundstage.models import Rule, ScriptedModel


def check_end(
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
            app swallowed the error; or naming the rules that were never used.
    """
    if not allow_egress:
        check_egress(journal, after)
    strict = bool(scripted.script.strict)
    failures = journal.events(ModelFailed, after)
    wrong = [event.message for event in failures if event.reason == "script"]
    if wrong:
        raise ScriptError(
            f"{len(wrong)} request(s) met a mistake of the script",
            seen=wrong[0],
            hint="the app got an error and may have swallowed it; correct the script",
        )
    misses = [event.message for event in failures if event.reason == "no_match"]
    if misses and strict:
        raise ScriptError(
            f"{len(misses)} request(s) had no rule in a strict script",
            seen=misses[0],
            hint="the app got an error and may have swallowed it; script the request, or use strict=False",
        )
    if not allow_unfinished:
        _check_unfinished(journal, after, cut)
    unused = scripted.unused() if strict else []
    if unused:
        raise ScriptError(
            f"{len(unused)} rule(s) of a strict script were never used",
            seen=list_rules(unused),
            hint="remove them, or look at the trace: the app did not get there",
        )


def check_egress(journal: Journal, after: int = 0) -> None:
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
            hint="turn the call off in the app; let it try: allow_egress() on the builder, egress='allow' on the mark; "
            "or let it through: allow_hosts(...), hosts=[...]",
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


def check_asked(journal: Journal, after: int = 0) -> None:
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


def list_rules(rules: list[Rule]) -> str:
    """One line a rule."""
    return "\n".join(f"{rule.label} [{rule.describe()}]" for rule in rules)
