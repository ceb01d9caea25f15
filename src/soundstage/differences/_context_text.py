"""The context of a step as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from soundstage.differences._context import ContextMessage, StepContext, context_of
from soundstage.differences._text import unified
from soundstage.match import preview
from soundstage.trace import Trace

_COLOURS: Final = {
    "INJECTED": "32",
    "DROPPED": "31",
    "CHANGED": "33",
    "TRUNCATED": "33",
    "NEW": "1",
    "KEPT": "2",
}
_GIST: Final = 60  # characters of a message


def context_text(trace: Trace, step: int, *, colour: bool = False) -> str:
    """The context of a step as `soundstage show --context` prints it.

    Args:
        trace: the run.
        step: position of the request or of its reply.
        colour: whether to colour it with ANSI escapes, for a terminal.

    Raises:
        ScriptError: if no request has this position.
    """
    return render_context(context_of(trace, step), colour=colour)


def render_context(context: StepContext, *, colour: bool = False) -> str:
    """The messages that a model was given at a step, and how that differs from the caller's last request.

    Args:
        context: what `context_of` gave.
        colour: whether to colour it with ANSI escapes, for a terminal.
    """
    return "\n".join(_lines(context, colour=colour))


def _lines(context: StepContext, *, colour: bool) -> Iterator[str]:
    count = sum(1 for one in context.messages if one.change != "DROPPED")
    many = f"{count} message{'' if count == 1 else 's'}"
    head = f"@{context.position} {context.lane}, step {context.number}: {many}, {context.size:,} characters"
    if context.previous:
        head += f"; at @{context.previous} it was {context.before:,}"
    yield head
    for one in context.messages:
        yield _line(one, colour=colour)
        if one.found and one.change == "CHANGED":
            yield from (f"      {line}" for line in unified(one.found, colour=colour).splitlines())
    if context.around:
        yield "tools, model and settings:"
        yield from (f"  {line}" for line in unified(context.around, colour=colour).splitlines())


def _line(one: ContextMessage, *, colour: bool) -> str:
    size = f"{one.before:,} -> {one.size:,}" if one.before else f"{one.size:,}"
    word = f"{one.change:<9}"
    word = f"\x1b[{_COLOURS[one.change]}m{word}\x1b[0m" if colour else word
    return f"  {word} {one.place:>3} {one.role:<9} {size:>15}  {preview(' '.join(one.text.split()), _GIST)}"
