"""Begins and ends that belong together: tool calls with results, hooks before tools with hooks after them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from soundstage.journal import HookFired, Record, ToolCalled, ToolReturned
from soundstage.trace import ToolUse, Trace

_BEFORE = "PreToolUse"
_AFTER = ("PostToolUse", "PostToolUseFailure")
_ENDED = ""  # among the events of a tool use: that it has ended


def without_repeats(records: Iterable[Record]) -> tuple[tuple[Record, ...], int]:
    """The records without those that are told twice, and how many those are.

    A record is told twice if it has the position of an earlier one, and is equal to it; a call, a result, or a hook
    around a tool, if the same stands before it in one tool use: an id may be used again after its end.
    """
    kept: list[Record] = []
    by_position: dict[int, Record] = {}
    last: dict[tuple[str, str], set[str]] = {}
    repeated = 0
    for record in records:
        again = by_position.setdefault(record.position, record) is not record
        if (again and by_position[record.position] == record) or _told(record, last):
            repeated += 1
        else:
            kept.append(record)
    return tuple(kept), repeated


def _told(record: Record, last: dict[tuple[str, str], set[str]]) -> bool:
    """Whether an event of a tool use is equal to an earlier one of that use."""
    event = record.event
    if not isinstance(event, ToolCalled | ToolReturned | HookFired) or not event.call_id:
        return False
    use = last.setdefault((record.source, event.call_id), set())
    begins = isinstance(event, ToolCalled) or (isinstance(event, HookFired) and event.event == _BEFORE)
    if begins and _ENDED in use:
        use.clear()  # the id is used again
    told = repr(event)
    if told in use:
        return True
    use.update((told,) if begins else (told, _ENDED))
    return False


def missing_ends(trace: Trace) -> tuple[str, ...]:
    """Ids of tool calls without a result, and of those without the hook that had to follow; each once, in order."""
    uses = {use.call_id: use for use in trace.tools}
    hooks = [record.event for record in trace.records if isinstance(record.event, HookFired)]
    ended = {hook.call_id for hook in hooks if hook.event in _AFTER}
    unpaired = [
        hook.call_id
        for hook in hooks
        if hook.event == _BEFORE
        and hook.paired
        and hook.call_id not in ended
        and _ran(uses.get(hook.call_id))
    ]
    unanswered = [use.call_id for use in trace.tools if use.result is None]
    return tuple(dict.fromkeys([*unanswered, *unpaired]))


def _ran(use: ToolUse | None) -> bool:
    """Whether a tool was run, as far as is known: one that was blocked or failed has no hook for its success."""
    return use is None or not use.is_error
