"""The sweep of an agent in process: each run on virtual time, with a journal and a clock of its own.

Waits take none of the machine's time: `retry-after` says half a minute, a stalled reply is waited for as long as the
app likes, up to a limit in virtual seconds. Runs go one after the other, so a sweep is a pure function of agent, script
and seed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from json import JSONDecodeError
from typing import Any, Final

from soundstage.clock import VirtualClock, run
from soundstage.errors import DeadlockError
from soundstage.faults._calls import actions_of, calls_of
from soundstage.faults._cases import Injection, Terms
from soundstage.faults._kinds import cases_of, kinds_named
from soundstage.faults._model import SweptModel
from soundstage.faults._outcome import Outcome, Verdict, counted
from soundstage.faults._source import ModelSource, scripted
from soundstage.faults._sweep import chosen, require_good
from soundstage.faults._table import ALLOWED, Sweep, row_of
from soundstage.journal import Journal
from soundstage.models import JournaledModel, Model, Script

SweptAgent = Callable[[Model], Awaitable[Any]]
"""An app in process: it gets a model, and what it returns is its result."""

WITHIN: Final = 3600.0  # virtual seconds
MORE: Final = 20  # requests beyond those of the good run
MISTAKES: Final = (  # of a programmer: an app that meant to give up raises something of its own, or what it was given
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RecursionError,
    TypeError,
    ValueError,
)


def sweep(
    agent: SweptAgent,
    source: Script | ModelSource,
    *,
    kinds: Sequence[str] = (),
    seed: int = 0,
    only: str = "",
    allow: Sequence[Verdict] = ALLOWED,
    within: float = WITHIN,
    more: int = MORE,
    again: str = "",
) -> Sweep:
    """Run an agent well, then once for each model call and each kind of fault, on virtual time.

    An agent that raises has given up, unless the exception is a mistake of Python's own kinds, such as a `KeyError`:
    then it has crashed. What it returns is held against what it returns in the good run, by `==`.

    Args:
        agent: an asynchronous function that gets a model.
        source: the script of a good run, or a function that gives a model for each run.
        kinds: names of kinds of faults; all unless given.
        seed: of what is drawn.
        only: one case, such as `2:cut-tool`.
        allow: verdicts that are no findings.
        within: virtual seconds that a run may take; then it hangs.
        more: requests that a faulty run may make beyond those of the good one; then it hangs.
        again: how to run one case again, for the table; `CASE` stands for it.

    Raises:
        AppError: if the good run fails, or asks no model.
        UnknownNameError: if there is no such kind, or no such case.

    Example:
        >>> from soundstage.messages import ModelRequest, user
        >>> from soundstage.models import complete
        >>> script = Script()
        >>> _ = script.on(user="hello").reply("hi")
        >>> async def agent(model):
        ...     return (await complete(model, ModelRequest(model="m", messages=(user("hello"),)))).text
        >>> [row.case for row in sweep(agent, script, kinds=["empty"]).findings]
        ['1:empty']
    """
    chosen_kinds, models = kinds_named(kinds), scripted(source) if isinstance(source, Script) else source
    good = require_good(_run(agent, models(), None, within, 1_000_000))
    cases = chosen(cases_of(good.calls, chosen_kinds, Terms(), seed), only)
    limit = len(good.calls) + more
    rows = tuple(row_of(case, good, _run(agent, models(), case.injection, within, limit)) for case in cases)
    return Sweep(rows, len(good.calls), real=False, again=again, allow=tuple(allow))


def _run(agent: SweptAgent, model: Model, injection: Injection | None, within: float, limit: int) -> Outcome:
    journal = Journal(clock=VirtualClock())
    swept = SweptModel(model, injection, limit=limit)
    asked = JournaledModel(swept, journal, identify=getattr(model, "identify", None))
    ended = _end(agent, asked, journal, swept, within)
    calls = calls_of(journal.read())
    return ended._replace(calls=calls, tools=actions_of(calls), states=({},))


def _end(agent: SweptAgent, model: Model, journal: Journal, swept: SweptModel, within: float) -> Outcome:
    async def whole() -> Any:
        async with asyncio.timeout(within) as limit:
            limits.append(limit)
            return await agent(model)

    limits: list[asyncio.Timeout] = []
    try:
        return Outcome(run(whole(), clock=journal.clock))
    except DeadlockError as error:
        return Outcome(None, hung=error.summary)
    except Exception as error:  # noqa: BLE001  (what is under test fails as data)
        if swept.flooded:
            return Outcome(None, hung=f"asks without an end: stopped at request {swept.requests}")
        if limits and limits[0].expired():
            return Outcome(
                None,
                hung=f"still running after {within:g} virtual seconds, {counted(swept.requests, 'request')}",
            )
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        return Outcome(None, 1, said, crash=said if _is_mistake(error) else "")


def _is_mistake(error: Exception) -> bool:
    """Whether an exception is one that Python itself raises for a mistake; an app's own subclass is not."""
    return type(error) is JSONDecodeError or (
        isinstance(error, MISTAKES) and type(error).__module__ == "builtins"
    )
