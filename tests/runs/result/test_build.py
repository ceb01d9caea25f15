"""The result of a run, out of the records of its journal."""

from __future__ import annotations

from soundstage.journal import Journal, MessageSent, RunAborted, UsageReported
from soundstage.messages import Usage
from soundstage.runs import build_result


def test_a_run_without_records_is_idle_and_has_nothing():
    result = build_result([])
    assert (result.status, result.files, result.tools, result.timeline) == ("idle", (), (), ())
    assert (result.cost, result.usage.total_tokens, result.duration, result.positions) == (
        None,
        0,
        0.0,
        (0, 0),
    )


def test_a_run_that_was_aborted_is_partial_and_says_why():
    journal = Journal()
    journal.append(MessageSent(text="I begin"), source="agent")
    journal.append(RunAborted(reason="budget", detail="$2 of $1"), source="runner")
    result = build_result(journal.read())
    assert (result.status, result.abort, result.reasons) == ("partial", "budget", ("budget · $2 of $1",))
    assert result.output == "I begin"


def test_tokens_and_dollars_that_the_agent_reports_count_where_no_request_was_seen():
    journal = Journal()
    journal.append(UsageReported(usage=Usage(input_tokens=5, output_tokens=2), cost=0.25))
    journal.append(UsageReported(usage=Usage(input_tokens=1), cost=0.5))
    result = build_result(journal.read())
    assert (result.usage.total_tokens, result.cost.usd) == (8, 0.75)
