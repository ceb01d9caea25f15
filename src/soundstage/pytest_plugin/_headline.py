"""The cause of a failure, where it is another than the error that came out of the test.

An app whose model call failed raises what its SDK made of it, or ends, and then an expectation of the test is not met:
neither says why. The journal does. What it tells then becomes the error of the test, at the line of the test where the
other came out, and the other one is told in a note. `--full-trace` shows everything as it was.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, Final

import pytest

from soundstage.errors import ExpectationError, MatchError, ScriptError
from soundstage.host import (
    ENDED_WITH,
    ended_with,
    errors_of,
    hide_frames,
    is_ours,
    mistake_of_script,
    require_no_egress,
)
from soundstage.journal import ModelRequested, ModelResponded
from soundstage.models import Reply
from soundstage.pytest_plugin._runs import Ran

_STANDARD: Final = str(Path(os.__file__).parent)
OURS: Final = re.compile(r"^soundstage(\.\w+)+: ")


def explain(call: pytest.CallInfo[None], item: pytest.Item, runs: Sequence[Ran]) -> None:
    """Put the cause in the place of what a test has raised, and leave out frames that say nothing to a user.

    Args:
        call: what pytest knows of the test's failure; its error is replaced.
        item: the test.
        runs: the runs that it made.
    """
    info = call.excinfo
    assert info is not None
    error = info.value
    if not (runs or is_ours(error)) or not isinstance(error, Exception | pytest.fail.Exception):
        return
    hide_frames(error)
    cause = None if item.get_closest_marker("xfail") else _cause(error, runs)
    if cause is not None and cause is not error:
        cause.__traceback__ = _upto_user(error.__traceback__)
        for note in _outcome(error, cause):
            cause.add_note(note)
        cause.__suppress_context__ = True
        error = cause
    if error.__traceback__ is None:
        error.__traceback__ = _at_test(item)
    if isinstance(error, ExpectationError) and len(runs) == 1:
        error.leave_around_out()
    if error.__traceback__ is not None:  # a test that is no function has no frame of its user's
        call.excinfo = pytest.ExceptionInfo.from_exception(error)


def tidy(longrepr: Any) -> None:
    """Leave out what pytest shows of our fixtures' values, and the path of our errors in the summary of the run."""
    for reprtraceback, crash, _ in getattr(longrepr, "chain", ()):
        if crash is not None:
            crash.message = OURS.sub("", crash.message)
        for entry in reprtraceback.reprentries:
            arguments = getattr(entry, "reprfuncargs", None)
            if arguments is not None:
                arguments.args = [
                    (name, value) for name, value in arguments.args if "<soundstage." not in value
                ]


def _cause(error: BaseException, runs: Sequence[Ran]) -> BaseException | None:
    errors = errors_of(error)
    for run in runs:
        if not run.led_to(errors):
            continue
        mistake = run.source.cause() if run.source is not None else None
        mistake = mistake or mistake_of_script(run.journal, run.scripted, run.after)
        found = mistake or _egress(error, run) or _delay(error, run)
        if found is not None:
            return found
    return None


def _egress(error: BaseException, run: Ran) -> BaseException | None:
    """The try to leave that an error of the network comes from."""
    if not run.closed or not any(isinstance(each, OSError) for each in errors_of(error)):
        return None
    try:
        require_no_egress(run.journal, run.after)
    except ExpectationError as tried:
        return tried.with_traceback(None)
    return None


def _delay(error: BaseException, run: Ran) -> BaseException | None:
    """The rule that makes a request wait for longer than its client does; a wait of ours that failed gets a note."""
    if not any(
        isinstance(each, TimeoutError) or "timeout" in type(each).__name__.lower()
        for each in errors_of(error)
    ):
        return None
    slow = _slow_rule(run)
    if not slow:
        return None
    if isinstance(error, ExpectationError):
        error.add_note(f"a reply was still under way: {slow}")
        return None
    return ScriptError(
        f"the app's client gave up on the model: {slow}",
        expected="a reply before the time-out of the client",
        seen=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}",
        hint="give the client more time or the rule less delay; if the time-out is what you test, expect it: "
        "pytest.raises(...)",
    )


def _slow_rule(run: Ran) -> str:
    """The last request that has no reply because its rule takes time, and how long; empty without one."""
    records = run.journal.read(run.after)
    asked = [(r.position, r.event.request) for r in records if isinstance(r.event, ModelRequested)]
    answered = {record.cause for record in records if isinstance(record.event, ModelResponded)}
    try:
        served = run.scripted.replayed(request for _, request in asked)
    except MatchError:  # a condition that raises has its own error
        return ""
    for (position, _), (rule, _) in zip(reversed(asked), reversed(served), strict=True):
        if position in answered or rule is None or not isinstance(rule.reply, Reply):
            continue
        if not rule.reply.instant:
            return f"{rule.label} [{rule.describe()}] {_slow(rule.reply)} (request @{position})"
    return ""


def _slow(reply: Reply) -> str:
    if reply.wait:
        return f"answers after {reply.wait:g} s"
    if reply.fault:
        return f"does not complete its answer ({type(reply.fault).__name__})"
    return f"answers with {reply.tokens_per_second:g} tokens per second"


def _outcome(error: BaseException, cause: BaseException) -> list[str]:
    """The end that the test came to because of that, as notes: what a failure of the app says of it, or the error."""
    noted = [note for note in getattr(error, "__notes__", ()) if note.startswith(ENDED_WITH)]
    if noted or str(cause) in str(error):
        return noted
    return [ended_with(error, str(cause).partition("\n")[0])]


def _upto_user(first: TracebackType | None) -> TracebackType | None:
    """A traceback without what comes after the last frame of the user's."""
    entries = []
    while first is not None:
        entries.append(first)
        first = first.tb_next
    users = [place for place, entry in enumerate(entries) if not _is_library(entry.tb_frame.f_code)]
    chain: TracebackType | None = None
    for entry in reversed(entries[: users[-1] + 1] if users else []):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return chain


def _is_library(code: CodeType) -> bool:
    return (
        "site-packages" in code.co_filename
        or code.co_filename.startswith(_STANDARD)
        or code.co_filename[:1] == "<"
    )


def _at_test(item: pytest.Item) -> TracebackType | None:
    """A traceback that points at the test, for errors that come from none of its lines.

    The line is raised from code that carries the name and the place of the test, as templates do it for theirs.
    """
    test: Any = getattr(item, "function", None)
    code = getattr(test, "__code__", None)
    while hasattr(test, "__wrapped__"):
        test = test.__wrapped__
        code = test.__code__
    if code is None:
        return None
    raising = compile("raise AssertionError", code.co_filename, "exec")
    place = raising.replace(co_name=code.co_name, co_firstlineno=code.co_firstlineno)
    try:
        exec(place, {})  # noqa: S102  (one line of ours)
    except AssertionError as error:
        first = error.__traceback__
        return None if first is None else first.tb_next
    return None
