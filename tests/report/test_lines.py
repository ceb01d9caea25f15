"""One line for every event."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from soundstage.journal import HookFired, Noted, ToolReturned
from soundstage.journal._words import LINE
from soundstage.report._lines import concerns, line


@given(st.text(max_size=2000))
def test_a_line_is_one_line_and_not_too_long(text):
    shown = line(Noted(text=text))
    assert len(shown) <= LINE
    assert len(shown.splitlines()) <= 1


def test_a_hook_that_fails_and_a_tool_that_fails_are_worth_a_look():
    assert concerns(ToolReturned(call_id="1", is_error=True))
    assert concerns(HookFired(hook="h", exit_code=2))
    assert not concerns(HookFired(hook="h", exit_code=0))
    assert not concerns(Noted(text="fine"))
