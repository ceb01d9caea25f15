"""Names of agents and tools in assertions: conditions on them, and help with misspelt ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soundstage.errors import ScriptError, did_you_mean
from soundstage.match import Matcher, same_text
from soundstage.trace._types import TraceFields, shown


def name_condition(spec: Any, what: str) -> Matcher:
    """The condition for a name: a whole name, upper and lower case alike, or what `soundstage.match` knows.

    Raises:
        ScriptError: for an empty name.
    """
    if spec is None or spec == "":
        raise ScriptError(f"the name of {what} is empty", hint="write the whole name, or /an expression/")
    return same_text(spec)


def agent_condition(trace: TraceFields, agent: Any) -> Matcher | None:
    """The condition for the agent of an assertion; `None` for all agents.

    Raises:
        ScriptError: if no agent of the trace fits; the message lists them.
    """
    if agent is None:
        return None
    wanted = name_condition(shown(agent) if isinstance(agent, str) else agent, "the agent")
    if any(wanted.matches(name) for name in trace.agents):
        return wanted
    raise ScriptError(
        f"no agent {wanted.describe()} is in the trace",
        expected="one of " + listed(trace.agents),
        hint=did_you_mean(agent, trace.agents) or "trace.format() shows who was at work",
    )


def need_records(trace: TraceFields) -> None:
    """Refuse to say that something did not happen in a trace in which nothing did.

    Raises:
        ScriptError: if the trace has no records.
    """
    if not trace.records:
        raise ScriptError(
            "the trace is empty, so this would hold by accident",
            expected="the records of a run",
            seen="none",
            hint="build the trace after the run, from the journal that the model and the worlds write to",
        )


def need_one_conversation(trace: TraceFields, what: str) -> None:
    """Refuse to take what several conversations have for one order.

    Raises:
        ScriptError: if the agents of the trace have several. Parts of one, such as a plan's tasks, are one.
    """
    conversations = tuple(dict.fromkeys(step.whole for step in trace.steps if step.purpose == "main"))
    if len(conversations) > 1:
        raise ScriptError(
            f"the trace has several conversations, so it has several {what}",
            expected="one conversation",
            seen=listed(conversations, 10),
            hint="choose one: trace.only(conversation=...)",
        )


def listed(names: Sequence[str], limit: int = 20) -> str:
    """Names in a message."""
    if not names:
        return "none at all"
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(repr, names[:limit])) + more
