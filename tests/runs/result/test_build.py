"""The result of a run, out of the records of its journal."""

from __future__ import annotations

from typing import Any

import pytest

from soundstage.journal import (
    AgentFinished,
    Committed,
    Event,
    FactMissed,
    HookFired,
    Journal,
    MessageSent,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
    Notified,
    ProcessExited,
    RunAborted,
    RunFinished,
    Todo,
    TodosChanged,
    ToolCalled,
    ToolReturned,
    UnknownEvent,
    UsageReported,
    decode_record,
    file_changed,
)
from soundstage.messages import ModelRequest, ModelResponse, Text, Usage, user
from soundstage.runs import RunResult, build_result

REQUEST = ModelRequest(model="claude-opus-5-5", messages=(user("go"),))


def result_of(*events: Event) -> RunResult:
    journal = Journal()
    for event in events:
        journal.append(event, source="agent")
    return build_result(journal.read(), objects=journal.contents)


def hook(event: str, call_id: str, *, paired: bool = True, **given: Any) -> HookFired:
    given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, **given}
    return HookFired(
        hook=f"{event}:Bash", event=event, outcome="success", call_id=call_id, input=given, paired=paired
    )


def called(call_id: str, **more: Any) -> ToolCalled:
    return ToolCalled(call_id=call_id, name="look", **more)


def exchange(journal: Journal, *, usage: Usage | None = None, failed: ModelFailed | None = None) -> None:
    at = journal.append(ModelRequested(request=REQUEST), source="model")
    response = ModelResponse(model=REQUEST.model, parts=(Text(text="hello"),), usage=usage or Usage())
    journal.append(failed or ModelResponded(response=response), source="model", cause=at)


def test_a_run_without_records_is_idle_and_has_nothing():
    result = build_result([])
    assert (result.status, result.files, result.tools, result.timeline) == ("idle", (), (), ())
    assert (result.cost, result.usage.total_tokens, result.duration, result.positions) == (
        None,
        0,
        0.0,
        (0, 0),
    )


def test_all_that_a_run_has_done_is_in_its_result():
    journal = Journal()
    for event in (
        called("a"),
        ToolReturned(call_id="a", text="seen"),
        TodosChanged(todos=(Todo(text="look"),)),
        TodosChanged(todos=(Todo(text="look", status="completed"),)),
        Notified(text="may I?"),
        Committed(hash="c" * 40, subject="fix"),
        MessageSent(text="done"),
    ):
        journal.append(event, source="agent")
    result = build_result(journal.read())
    assert (result.status, result.reasons, result.missing, result.warnings) == ("complete", (), (), ())
    assert [(use.name, use.result) for use in result.tools] == [("look", "seen")]
    assert result.todos == (Todo(text="look", status="completed"),)
    assert ([one.text for one in result.notifications], [one.subject for one in result.commits]) == (
        ["may I?"],
        ["fix"],
    )
    assert (result.output, result.positions, result.timeline) == ("done", (1, 7), tuple(journal.read()))


def test_tokens_and_dollars_are_those_of_the_replies():
    journal = Journal()
    exchange(journal, usage=Usage(input_tokens=1_000_000, output_tokens=1_000_000))
    journal.append(UsageReported(usage=Usage(input_tokens=7), cost=99.0))
    result = build_result(journal.read())
    assert (result.usage.total_tokens, result.cost.usd, result.output) == (2_000_000, 24.0, "hello")


def test_tokens_and_dollars_that_the_agent_reports_count_where_no_request_was_seen():
    result = result_of(
        UsageReported(usage=Usage(input_tokens=5, output_tokens=2), cost=0.25),
        UsageReported(usage=Usage(input_tokens=1), cost=0.5),
    )
    assert (result.usage.total_tokens, result.cost.usd) == (8, 0.75)


def test_dollars_that_the_agent_reports_count_where_a_model_has_no_price():
    journal = Journal()
    at = journal.append(ModelRequested(request=ModelRequest(model="odd", messages=(user("go"),))))
    response = ModelResponse(model="odd", parts=(Text(text="x"),), usage=Usage(input_tokens=9))
    journal.append(ModelResponded(response=response), cause=at)
    assert build_result(journal.read()).cost.amount is None
    journal.append(UsageReported(cost=0.5))
    assert build_result(journal.read()).cost.amount == 0.5


STATUSES = {
    "a run that says something": ([MessageSent(text="hi")], "complete", ""),
    "an abort": ([RunAborted(reason="budget", detail="$2 of $1")], "partial", "budget · $2 of $1"),
    "an abort that kills the program": (
        [RunAborted(reason="timeout"), ProcessExited(code=1)],
        "partial",
        "timeout",
    ),
    "an agent that was aborted": ([AgentFinished(agent="a", outcome="aborted")], "partial", "a · aborted"),
    "a host that was aborted": (
        [RunFinished(outcome="aborted", reason="Ctrl-C")],
        "partial",
        "aborted · Ctrl-C",
    ),
    "a call without its end": ([called("c7")], "partial", "the end of look is missing: c7"),
    "a result without its call": (
        [ToolReturned(call_id="c8", text="x")],
        "partial",
        "the begin of a tool is missing: c8",
    ),
    "a fact that nobody could record": (
        [FactMissed(what="commits", reason="git is away")],
        "partial",
        "commits: git is away",
    ),
    "a request without its reply": (
        [ModelRequested(request=REQUEST)],
        "partial",
        "the reply to the request at 1 is missing",
    ),
    "a run that failed": ([RunFinished(outcome="failed", reason="wrong")], "failed", "failed: wrong"),
    "a program that failed": ([ProcessExited(code=3, stderr="no\n")], "failed", "exit code 3: no"),
    "a program that was ended by a signal": ([ProcessExited(code=-15)], "complete", ""),
    "an agent that failed": (
        [AgentFinished(agent="a", outcome="failure", text="no")],
        "failed",
        "a: failure: no",
    ),
    "an agent that failed before another went on": (
        [AgentFinished(agent="a", outcome="failure"), AgentFinished(agent="b")],
        "complete",
        "",
    ),
    "a record that cannot be processed at all": (
        [
            MessageSent(text="hi"),
            UnknownEvent(event_type="unreadable", line=b"{", problem="run.jsonl:2: cut"),
        ],
        "failed",
        "a line that cannot be read: run.jsonl:2: cut",
    ),
    "an event of another app": ([UnknownEvent(event_type="Tea", line=b"{}")], "complete", ""),
}


@pytest.mark.parametrize("case", STATUSES)
def test_the_status_is_that_of_what_happened_and_the_first_reason_says_so(case):
    events, status, reason = STATUSES[case]
    result = result_of(*events)
    assert (result.status, (result.reasons or ("",))[0]) == (status, reason)


def test_a_failure_of_the_model_that_the_run_got_over_is_a_warning_and_the_last_one_is_the_reason():
    journal = Journal()
    exchange(journal, failed=ModelFailed(reason="error", message="busy", status=529))
    exchange(journal)
    over = build_result(journal.read())
    assert (over.status, over.reasons, over.warnings) == ("complete", (), ("error 529: busy",))
    exchange(journal, failed=ModelFailed(reason="cut", message="gone"))
    assert (build_result(journal.read()).status, build_result(journal.read()).reasons) == (
        "failed",
        ("cut: gone",),
    )


def test_an_abort_says_why_and_keeps_what_there_is():
    result = result_of(MessageSent(text="I begin"), RunAborted(reason="session-timeout", detail="60 s"))
    assert (result.abort, result.output, result.reasons) == (
        "session-timeout",
        "I begin",
        ("session-timeout · 60 s",),
    )


def test_a_hook_that_has_to_follow_and_does_not_makes_the_run_partial_with_a_warning():
    whole = [hook("PreToolUse", "c"), hook("PostToolUse", "c", tool_response={"stdout": "a"})]
    result = result_of(*whole)
    assert (result.status, [(use.call_id, use.result) for use in result.tools]) == (
        "complete",
        [("c", '{"stdout":"a"}')],
    )
    cut = result_of(
        whole[0], called("c"), ToolReturned(call_id="c", text="a"), called("d"), ToolReturned(call_id="d")
    )
    assert (cut.status, cut.missing, cut.warnings) == (
        "partial",
        ("c",),
        ("the hook after Bash is missing: c",),
    )


@pytest.mark.parametrize("case", ["not paired", "failed", "another hook"])
def test_a_hook_that_need_not_follow_is_not_missed(case):
    before = hook("PreToolUse", "c", paired=case != "not paired")
    returned = ToolReturned(call_id="c", text="no", is_error=case == "failed")
    after = [hook("PostToolUseFailure", "c", error="no")] if case == "another hook" else []
    assert result_of(before, called("c"), returned, *after).status == "complete"


def test_a_hook_after_a_call_that_nobody_made_is_an_orphan_with_a_warning_and_its_result():
    result = result_of(hook("PostToolUse", "lost", tool_response="a.txt"))
    [use] = result.tools
    assert (use.orphan, use.call_id, use.name, use.result, use.duration) == (
        True,
        "lost",
        "Bash",
        "a.txt",
        None,
    )
    assert result.status == "partial"
    assert "a result of no known call: lost" in result.warnings


def test_hooks_alone_tell_a_tool_call_with_its_arguments_its_times_and_its_failure():
    journal = Journal()
    journal.append(hook("PreToolUse", "c"), at=1.0)
    journal.append(hook("PostToolUseFailure", "c", error="Exit code 3"), at=3.5)
    [use] = build_result(journal.read()).tools
    assert (use.name, use.arguments, use.duration) == ("Bash", {"command": "ls"}, 2.5)
    assert (use.result, use.is_error, use.error_class) == ("Exit code 3", True, "exit-code")


def test_calls_within_a_call_name_it():
    result = result_of(
        called("outer"),
        called("inner", parent="outer"),
        ToolReturned(call_id="inner"),
        ToolReturned(call_id="outer"),
    )
    assert [(use.call_id, use.parent) for use in result.tools] == [("outer", ""), ("inner", "outer")]


def test_what_is_told_twice_counts_once_and_a_warning_says_so():
    journal = Journal()
    for event in (
        hook("PreToolUse", "c"),
        hook("PreToolUse", "c"),
        called("c"),
        called("c"),
        ToolReturned(call_id="c", text="x"),
        ToolReturned(call_id="c", text="x"),
        hook("PostToolUse", "c"),
    ):
        journal.append(event, source="agent")
    records = journal.read()
    result = build_result([*records, records[-1]])
    assert (result.status, len(result.tools), [record.position for record in result.timeline]) == (
        "complete",
        1,
        [1, 3, 5, 7],
    )
    assert result.warnings == ("4 records were there twice and count once",)


def test_an_id_that_is_used_again_after_its_result_is_another_call():
    result = result_of(called("1"), ToolReturned(call_id="1"), called("1"), ToolReturned(call_id="1"))
    assert (len(result.tools), result.status) == (2, "complete")


def test_a_result_of_the_run_so_far_stays_as_it_is_while_the_run_goes_on():
    journal = Journal()
    journal.append(called("c"), source="agent")
    partial = build_result(journal.read())
    journal.append(ToolReturned(call_id="c", text="x"), source="agent")
    assert (partial.status, partial.tools[0].result, len(partial.timeline)) == ("partial", None, 1)
    assert build_result(journal.read()).status == "complete"


def test_files_are_merged_by_path_and_content_that_was_not_kept_is_a_warning():
    journal = Journal()
    changes = [
        ("a.txt", b"one\n", b"two\n"),
        ("new.txt", None, b"x"),
        ("a.txt", b"two\n", b"three\n"),
        ("back.txt", b"same", b"other"),
        ("back.txt", b"other", b"same"),
        ("came.txt", None, b"x"),
        ("came.txt", b"x", None),
        ("gone.txt", b"old\n", b"older\n"),
        ("gone.txt", b"older\n", None),
        ("pic.png", b"\xff\x00", b"\xfe\x00"),
        ("large.bin", "a" * 64, "b" * 64),
    ]
    for path, before, after in changes:
        event = file_changed(journal.contents, path, before, after)
        assert event is not None
        journal.append(event, source="workspace")
    result = build_result(journal.read(), objects=journal.contents)
    found = {entry.path: entry for entry in result.files}
    assert [(path, entry.change) for path, entry in found.items()] == [
        ("a.txt", "modified"),
        ("new.txt", "added"),
        ("gone.txt", "deleted"),
        ("pic.png", "modified"),
        ("large.bin", "modified"),
    ]
    assert found["a.txt"].patch == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+three\n"
    assert found["gone.txt"].patch == "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
    assert (found["gone.txt"].before.content(), found["gone.txt"].after) == (b"old\n", None)
    assert (found["pic.png"].patch, found["pic.png"].after.content()) == ("", b"\xfe\x00")
    assert (found["large.bin"].before, found["large.bin"].patch) == (None, "")
    assert result.warnings == ("the content of large.bin was not kept",)
    assert [entry.before for entry in build_result(journal.read()).files] == [None] * 5


def test_a_journal_of_an_older_version_is_read_as_it_was():
    lines = [
        '{"type":"FileChanged","path":"a","change":"modified","before":"aa","after":"bb"}',
        '{"type":"HookFired","hook":"h","event":"PreToolUse","outcome":"success"}',
    ]
    head = '"run":"r","source":"w","cause":null,"event":'
    records = [f'{{"position":{at},"time":{at},{head}{line}}}'.encode() for at, line in enumerate(lines, 1)]
    result = build_result([decode_record(line) for line in records])
    assert (result.id, result.status, result.duration) == ("r", "complete", 1.0)
    assert [(entry.path, entry.change, entry.patch) for entry in result.files] == [("a", "modified", "")]


def test_a_note_changes_nothing():
    assert result_of(Noted(text="x")).status == "complete"
