"""The words of a command that must reach the model, whatever the CLI puts into it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.claude_code.plugin_check._expansion import first_gap


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ("Say hello.", "Say hello.\n\nARGUMENTS: alpha beta"),
        ("Say\r\n\thello.  \r\n", "Say\n\thello.\n\nARGUMENTS: alpha beta"),
        ("Hello $0, $1, $ARGUMENTS[1], $7!", "Hello alpha, beta, beta, $7!"),
        (r"It is \$ARGUMENTS or \$1. $ARGUMENTS", "It is $ARGUMENTS or $1. alpha beta"),
        ("Hello $who and $whoever.", "Hello alpha and $whoever."),
        ("On !`git branch` now", "On main now\n\nARGUMENTS: alpha beta"),
        ("A\n```!\ngit status\n```\nB $ARGUMENTS", "A\nclean\nB alpha beta"),
        ("In ${CLAUDE_PLUGIN_ROOT}/x: $0", "In /plugin/x: alpha"),
        ("Empty !`` marks $0", "Empty !`` marks alpha"),
        ("Asked !`true $ARGUMENTS` now", "Asked  now"),
    ],
)
def test_what_has_arrived_has_no_gap(body: str, sent: str) -> None:
    assert first_gap(body, sent, names=("who",)) is None


@pytest.mark.parametrize(
    ("body", "sent", "offset", "said"),
    [
        ("Hello $0. Bye.", "Hello alpha.", 8, "'. Bye.'"),
        ("One $0 two", "two alpha One", 4, "'alpha'"),
        ("One `$0` two", "two alpha One", 0, "'One `'"),
        ("Say $1 twice.", "Say alpha twice.", 4, "'beta'"),
        ("Say hello.", "Say hello.", 0, "without its arguments"),
        ("Say $ARGUMENTS!", "Say !", 4, "without its arguments"),
        ("In ${CLAUDE_PLUGIN_ROOT}: $0", "In ${CLAUDE_PLUGIN_ROOT}: alpha", 5, "as it is written"),
        ("Long", "", 0, "'Long'"),
    ],
)
def test_what_has_not_arrived_is_named_with_its_place(body: str, sent: str, offset: int, said: str) -> None:
    gap = first_gap(body, sent)
    assert gap is not None
    assert gap.offset == offset
    assert said in gap.message


@given(st.text(alphabet="ab $`!\n\\{}", max_size=40))
def test_a_text_without_placeholders_has_arrived_when_it_is_sent_as_it_is(body: str) -> None:
    assert first_gap(body, f"{body}\n\nARGUMENTS: alpha beta") is None or "!`" in body or "```!" in body
