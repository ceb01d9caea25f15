"""One line for every event."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from soundstage.journal import HookFired, ModelFailed, ModelResponded, Noted, ToolReturned
from soundstage.journal._words import LINE
from soundstage.messages import ModelResponse, Text
from soundstage.report._payload import concerns, line


@given(st.text(max_size=2000))
def test_a_line_is_one_line_and_not_too_long(text):
    shown = line(Noted(text=text))
    assert len(shown) <= LINE
    assert len(shown.splitlines()) <= 1


def test_an_answer_names_the_rule_that_gave_it_however_long_it_is():
    answer = ModelResponse(parts=(Text(text="x" * 500),), served_by="rule 1 [user 'go']")
    for event in (
        ModelResponded(response=answer),
        ModelFailed(reason="cut", message="x" * 500, served_by="rule 1 [user 'go']"),
    ):
        assert line(event).endswith(" · by rule 1 [user 'go']")
        assert len(line(event)) <= LINE
    assert " by " not in line(ModelResponded(response=ModelResponse()))


def test_a_hook_that_fails_and_a_tool_that_fails_are_worth_a_look():
    assert concerns(ToolReturned(call_id="1", is_error=True))
    assert concerns(HookFired(hook="h", exit_code=2))
    assert not concerns(HookFired(hook="h", exit_code=0))
    assert not concerns(Noted(text="fine"))
