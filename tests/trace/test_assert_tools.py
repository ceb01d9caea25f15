"""Assertions on tools."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import ExpectationError, MatchError, ScriptError
from soundstage.journal import ToolCalled
from soundstage.match import Equals
from soundstage.trace import (
    assert_no_tool,
    assert_tool_calls,
    assert_tool_count,
    assert_tools_offered,
    build_trace,
    check_tool_calls,
    check_tool_count,
)


@pytest.fixture
def called(tape):
    """A trace of tool calls: names, with the number of the call as argument `n`."""

    def make(*names, agent="a"):
        for number, name in enumerate(names):
            tape.add(ToolCalled(call_id=str(number), name=name, arguments={"n": number}, agent=agent))
        return build_trace(tape.records)

    return make


@pytest.mark.parametrize(
    "read",
    [
        "Read",
        "read",
        "/^re/i",
        ["Read", "Open"],
        ("Read", {"path": "auth"}),
        ("Read", {"path": "/\\.py$/"}),
        ("Read", {"path": {"equals": "src/auth.py"}}),
        ("Read", {"path": lambda path: path.startswith("src")}),
        ("Read", {"path": {"not": "tests"}}),
        ("Read", Equals({"path": "src/auth.py"})),
        ("Read", lambda arguments: len(arguments) == 1),
    ],
)
def test_calls_match_by_name_and_by_conditions_on_arguments(routed, read):
    assert_tool_calls(routed, read, "Bash")
    assert_tool_calls(routed, read, ("Bash", {"limits": {"equals": {"seconds": 5}}}), agent="executor")


def test_the_agent_may_be_named_first(routed):
    assert_tool_calls(routed, "executor", "Read", "Bash")
    assert_tool_calls(routed, "Executor", ("Bash", {"command": "ls"}), order="in_order")
    with pytest.raises(ExpectationError, match="tool call 1"):
        assert_tool_calls(routed, "orchestrator", "Read", "Bash")
    with pytest.raises(ExpectationError, match="did you mean 'executor'"):
        assert_tool_calls(routed, "exekutor", "Read", "Bash")
    with pytest.raises(ScriptError, match="no tool call is expected"):
        assert_tool_calls(routed, "executor")


def test_a_tool_that_is_named_like_an_agent_is_a_tool(called):
    trace = called("deploy", "look", agent="deploy")
    assert_tool_calls(trace, "deploy", "look")
    assert_tool_calls(trace, "deploy", "look", agent="deploy")
    with pytest.raises(ExpectationError, match="tool call 1"):
        assert_tool_calls(trace, "look", agent="deploy")


@pytest.mark.parametrize(
    ("bash", "why"),
    [
        ("Write", "expected 'Write', got 'Bash'"),
        (("Bash", {"command": "rm"}), "Bash: command: 'rm' is not in 'ls -l'"),
        (("Bash", {"command": {"equals": "ls"}}), "Bash: command: expected 'ls', got 'ls -l'"),
        (("Bash", {"cmd": {"not": "rm"}}), "there is no argument 'cmd', only 'command', 'limits'"),
        (("Bash", {"cmd": None}), "there is no argument 'cmd'"),
    ],
)
def test_a_call_that_is_not_as_expected_is_explained(routed, bash, why):
    with pytest.raises(ExpectationError) as caught:
        assert_tool_calls(routed, "Read", bash)
    assert str(caught.value).startswith("tool call 2: ")
    assert why in str(caught.value)
    assert "> 2. executor [execute] in c\n" in str(caught.value)


@pytest.mark.parametrize("tools", [("Read",), ("Bash", "Read"), ("Read", "Bash", "Bash"), ("Bash",)])
def test_exact_means_these_calls_and_no_others(routed, tools):
    assert not check_tool_calls(routed, *tools)


def test_arguments_that_are_no_json_match_no_condition(traced):
    async def body(scene):
        scene.script.on(iteration=1).reply(tool_calls=[{"name": "Read", "raw": "{path"}])
        await scene.ask("clerk")

    trace = traced(body)
    assert_tool_calls(trace, "Read")
    with pytest.raises(ExpectationError, match=r"the arguments are not a JSON object: '{path'"):
        assert_tool_calls(trace, ("Read", {"path": {"not": "x"}}))


def test_in_order_lets_others_come_between(called):
    trace = called("a", "x", "b", "x", "c")
    assert_tool_calls(trace, "a", "b", "c", order="in_order")
    assert_tool_calls(trace, "x", "x", order="in_order")
    with pytest.raises(
        ExpectationError, match=r"^tool call a\(n=0\) came first, expected after b\(n=2\), which came third"
    ):
        assert_tool_calls(trace, "b", "a", order="in_order")
    with pytest.raises(ExpectationError, match=r"^tool call x is missing after"):
        assert_tool_calls(trace, "x", "x", "x", order="in_order")
    assert check_tool_calls(trace, "a", "b", "d", "c", order="in_order").diff.splitlines() == [
        "  expected | seen",
        "= a        | a(n=0)",
        "           | x(n=1)",
        "= b        | b(n=2)",
        "! d        | x(n=3)",
        "= c        | c(n=4)",
    ]


def test_a_long_list_of_names_is_cut(called):
    with pytest.raises(ScriptError, match=r"'t19' and 2 more"):
        assert_no_tool(called(*[f"t{number}" for number in range(22)]), "other")


def test_any_order_wants_another_call_for_each(called):
    trace = called("a", "b", "a")
    assert_tool_calls(trace, "b", "a", order="any_order")
    assert_tool_calls(trace, "a", ("a", {"n": 0}), "b", order="any_order")
    with pytest.raises(ExpectationError, match=r"^tool call b is missing"):
        assert_tool_calls(trace, "b", "b", order="any_order")
    assert check_tool_calls(trace, "b", "b", order="any_order").diff.splitlines() == [
        "  expected | seen",
        "- b        |",
        "= b        | b(n=1)",
        "           | a(n=0)",
        "           | a(n=2)",
    ]


def test_a_misspelt_tool_gets_the_nearest_name(routed):
    with pytest.raises(ExpectationError, match=r"did you mean 'Write'\?"):
        assert_tool_calls(routed, "Wriet", order="any_order")


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), min_size=1, max_size=6))
def test_the_three_orders_agree_with_their_definitions(new_tape, seen, expected):
    tape = new_tape()
    for name in seen:
        tape.add(ToolCalled(call_id="1", name=name))
    trace = build_trace(tape.records)
    rest = iter(seen)
    subsequence = all(name in rest for name in expected)
    assert check_tool_calls(trace, *expected).passed == (seen == expected)
    assert check_tool_calls(trace, *expected, order="in_order").passed == subsequence
    assert check_tool_calls(trace, *expected, order="any_order").passed == all(
        expected.count(name) <= seen.count(name) for name in expected
    )


@pytest.mark.parametrize(
    ("tools", "options", "message"),
    [
        ((), {}, "no tool call is expected"),
        (("",), {}, "the name of the tool is empty"),
        ((("Read", {}),), {}, "written as its name alone"),
        ((("Read", "auth"),), {}, "written as its name alone"),
        ((("Read",),), {}, "a name, or a name and conditions"),
        (("Read",), {"agent": "exec"}, "no agent 'exec' is in the trace"),
        (("Read",), {"order": "sorted"}, "unknown order 'sorted'"),
    ],
)
def test_what_would_hold_or_fail_by_accident_is_an_error(routed, tools, options, message):
    with pytest.raises(ScriptError, match=message):
        check_tool_calls(routed, *tools, **options)


def test_a_condition_that_raises_is_an_error_and_no_result(routed):
    with pytest.raises(MatchError, match="KeyError"):
        check_tool_calls(routed, ("Read", lambda arguments: arguments["file"]), "Bash")


def test_calls_are_counted(called):
    trace = called("a", "b", "a")
    assert_tool_count(trace, "A", 2)
    assert_tool_count(trace, "b", 1, agent="a")
    with pytest.raises(ExpectationError) as caught:
        assert_tool_count(trace, "a", 1)
    assert str(caught.value).startswith("'a' was called 2 times, expected once\n  expected: 1 call of 'a'\n")
    assert "@1 a(n=0)\n    @3 a(n=2)" in str(caught.value)
    assert not check_tool_count(trace, "a", 3)


@pytest.mark.parametrize("times", [-1, True, 1.0, "2"])
def test_a_count_is_a_whole_number(called, times):
    with pytest.raises(ScriptError, match="whole number"):
        check_tool_count(called("a"), "a", times)


def test_a_tool_that_was_offered_and_not_called_holds(routed):
    assert_no_tool(routed, "Write")
    assert_no_tool(routed, "Bash", agent="tester")
    with pytest.raises(ExpectationError, match=r"^'Bash' was called once, expected never(.|\n)*@\d+ Bash\("):
        assert_no_tool(routed, "Bash")


@pytest.mark.parametrize("check", [assert_no_tool, lambda trace, tool: assert_tool_count(trace, tool, 0)])
def test_a_tool_that_never_was_there_does_not_hold_by_accident(routed, check):
    with pytest.raises(
        ScriptError, match=r"no tool 'Wriet'(.|\n)*'Read', 'Bash', 'Write'(.|\n)*mean 'Write'"
    ):
        check(routed, "Wriet")
    with pytest.raises(ScriptError, match="the trace is empty"):
        check(build_trace([]), "Write")


def test_an_unknown_agent_does_not_hold_by_accident(routed):
    with pytest.raises(ScriptError, match="no agent 'reviewer'"):
        assert_no_tool(routed, "Bash", agent="reviewer")


def test_tools_on_offer_are_those_of_one_step(routed):
    assert_tools_offered(routed, 1, "read", "Write")
    assert_tools_offered(routed, -4, "Bash")
    with pytest.raises(ExpectationError, match=r"^step 0 offers no 'Read'(.|\n)*none at all"):
        assert_tools_offered(routed, 0, "Read")
    with pytest.raises(
        ExpectationError, match=r"offers no 'Rad', no 'Edit'(.|\n)*'Read', 'Bash', 'Write'(.|\n)*did you"
    ):
        assert_tools_offered(routed, -3, "Rad", "Edit", "Bash")


def test_a_step_that_is_not_there_and_no_tools_are_errors(routed):
    with pytest.raises(ExpectationError, match="offers no 'Read'"):
        assert_tools_offered(routed, -5, "Read")
    for index in (5, -6):
        with pytest.raises(ScriptError, match=rf"no step {index}(.|\n)*from 0 to 4"):
            assert_tools_offered(routed, index, "Read")
    with pytest.raises(ScriptError, match="no tool is expected"):
        assert_tools_offered(routed, 1)
