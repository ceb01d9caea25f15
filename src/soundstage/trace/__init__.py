"""The trace of a run, and assertions on it: a read-only view over the records of a journal.

`build_trace(records)` or `Trace.of(journal)` gives the agents' runs, their steps and tool calls, messages,
routes, phases, usage and cost. Every assertion is a pair: `check_x(trace, ...)` returns a `Finding`,
`assert_x(trace, ...)` raises `ExpectationError` with the difference and the trace around it.
"""

from soundstage.trace._assert_agents import (
    assert_agent_count,
    assert_agent_sequence,
    assert_phase_transitions,
    check_agent_count,
    check_agent_sequence,
    check_phase_transitions,
)
from soundstage.trace._assert_journal import (
    EventSource,
    assert_eventually,
    assert_ordered,
    assert_quiet,
    check_eventually,
    check_ordered,
    check_quiet,
)
from soundstage.trace._assert_run import (
    assert_model_requests,
    assert_no_egress,
    assert_no_failures,
    assert_text,
    check_model_requests,
    check_no_egress,
    check_no_failures,
    check_text,
    silences_asserted,
)
from soundstage.trace._assert_tools import (
    assert_no_tool,
    assert_tool_calls,
    assert_tool_count,
    assert_tools_offered,
    check_no_tool,
    check_tool_calls,
    check_tool_count,
    check_tools_offered,
)
from soundstage.trace._assert_transcript import assert_transcript, check_transcript
from soundstage.trace._cost import PRICES, Cost, Price, Prices, PricingError
from soundstage.trace._diff import diff
from soundstage.trace._feedback import assert_feedback_propagated, check_feedback_propagated
from soundstage.trace._finding import Finding, assertion_of, checking, checking_now, name_of_check
from soundstage.trace._format import format_trace as format  # noqa: A004  (soundstage.trace.format reads well)
from soundstage.trace._money import USD, Currency, over_budget
from soundstage.trace._normalise import masks_of, normalise
from soundstage.trace._trace import Trace, build_trace
from soundstage.trace._types import AgentRun, Failure, HandOver, MessageLine, Step, ToolUse

__all__ = [
    "PRICES",
    "USD",
    "AgentRun",
    "Cost",
    "Currency",
    "EventSource",
    "Failure",
    "Finding",
    "HandOver",
    "MessageLine",
    "Price",
    "Prices",
    "PricingError",
    "Step",
    "ToolUse",
    "Trace",
    "assert_agent_count",
    "assert_agent_sequence",
    "assert_eventually",
    "assert_feedback_propagated",
    "assert_model_requests",
    "assert_no_egress",
    "assert_no_failures",
    "assert_no_tool",
    "assert_ordered",
    "assert_phase_transitions",
    "assert_quiet",
    "assert_text",
    "assert_tool_calls",
    "assert_tool_count",
    "assert_tools_offered",
    "assert_transcript",
    "assertion_of",
    "build_trace",
    "check_agent_count",
    "check_agent_sequence",
    "check_eventually",
    "check_feedback_propagated",
    "check_model_requests",
    "check_no_egress",
    "check_no_failures",
    "check_no_tool",
    "check_ordered",
    "check_phase_transitions",
    "check_quiet",
    "check_text",
    "check_tool_calls",
    "check_tool_count",
    "check_tools_offered",
    "check_transcript",
    "checking",
    "checking_now",
    "diff",
    "format",
    "masks_of",
    "name_of_check",
    "normalise",
    "over_budget",
    "silences_asserted",
]
