"""Tapes where journals are taken: `soundstage show` and `soundstage diff`, on tapes and journals of one run."""

from __future__ import annotations

from contextlib import closing

import pytest

from soundstage.clock import run
from soundstage.differences import diff_runs
from soundstage.errors import ScriptError, TapeError
from soundstage.journal import Journal, ModelRequested, ModelResponded, RequestServed, RunStarted
from soundstage.mcp import McpNotified, McpServed, McpToolCalled, McpToolReturned
from soundstage.messages import ModelRequest, ModelResponse, Text, ToolDefinition, system, tool, user
from soundstage.models import JournaledModel, Script, ScriptedModel, complete
from soundstage.report import read_run, show_run
from soundstage.tapes import (
    HttpCall,
    Mask,
    McpTapeLine,
    RecordedExchange,
    RecordedFailure,
    RecordingModel,
    Surroundings,
    Tape,
    TapeHead,
)
from soundstage.trace import build_trace

TOOLS = (ToolDefinition(name="look"),)
HEAD = TapeHead(recorded="2026-03-01T10:00:00+00:00")


def ran(folder, name, *, question="weather in Oslo?", result="4 C", head=HEAD):
    """The journal and the tape of one run, which asks twice and uses a tool."""
    tape = Tape(name=name, head=head)

    async def main():
        script = Script()
        script.on(iteration=1).reply(tool_calls=[{"name": "look", "arguments": {"city": "Oslo"}}])
        script.on(iteration=2).reply("Cold.")
        with closing(Journal(folder / f"{name}.jsonl")) as journal:
            model = JournaledModel(RecordingModel(ScriptedModel(script), tape), journal)
            history = [system("Be brief."), user(question)]
            answer = await complete(model, ModelRequest(model="m", messages=tuple(history), tools=TOOLS))
            history += [answer.message(), tool(answer.tool_calls[0].id, result)]
            await complete(model, ModelRequest(model="m", messages=tuple(history), tools=TOOLS))

    run(main())
    tape.save(folder / f"{name}.tape")
    return folder / f"{name}.jsonl", folder / f"{name}.tape"


def saved(path, *exchanges, head=HEAD):
    Tape(exchanges, head=head).save(path)
    return path


def exchange(number, asked="hello", *, reply="hi", at=0.0, took=10.0, **fields):
    request = ModelRequest(model="m", messages=(user(asked),))
    response = ModelResponse(parts=(Text(text=reply),)) if reply else None
    return RecordedExchange(
        number=number, started_ms=at, latency_ms=took, **{"request": request, "response": response} | fields
    )


def test_a_tape_is_the_trace_of_its_run(tmp_path):
    journal, tape = ran(tmp_path, "good")
    steps = build_trace(list(read_run(tape).records)).steps
    live = build_trace(list(read_run(journal).records)).steps
    assert [(one.agent, one.text, one.request) for one in steps] == [
        (one.agent, one.text, one.request) for one in live
    ]
    assert [(use.name, use.result) for one in steps for use in one.tools] == [("look", "4 C")]
    assert [one.response.served_by for one in steps] == ["exchange 1", "exchange 2"]
    text = show_run(tape)
    assert "look" in text
    assert "Cold." in text


def test_the_second_request_has_the_reply_as_its_cause_whose_call_it_answers(tmp_path):
    _, tape = ran(tmp_path, "good")
    records = read_run(tape).records
    replies = [record for record in records if isinstance(record.event, ModelResponded)]
    asked = [record for record in records if isinstance(record.event, ModelRequested)]
    assert [record.cause for record in asked] == [None, replies[0].position]
    assert [record.cause for record in replies] == [record.position for record in asked]


def test_the_page_of_a_tape_has_the_day_of_the_recording(tmp_path):
    _, tape = ran(tmp_path, "good")
    assert show_run(tape, html=tmp_path / "page.html") == f"page: {tmp_path / 'page.html'}"
    assert "2026-03-01 10:00:00 UTC" in (tmp_path / "page.html").read_text()


def test_the_context_of_a_step_is_shown_by_the_position_that_show_gives(tmp_path):
    _, tape = ran(tmp_path, "good")
    step = build_trace(list(read_run(tape).records)).steps[1]
    lines = show_run(tape, context=step.position).splitlines()
    assert lines[0].startswith(f"@{step.position} main, step 2: 4 messages")
    assert [line.split()[0] for line in lines[1:]] == ["KEPT", "KEPT", "NEW", "NEW"]
    with pytest.raises(ScriptError, match="no request of the trace is at @99"):
        show_run(tape, context=99)


def test_a_tape_and_the_journal_of_its_run_are_the_same_in_either_order(tmp_path):
    journal, tape = ran(tmp_path, "good")
    assert diff_runs(tape, journal) == ("same: 2 steps", True)
    assert diff_runs(journal, tape) == ("same: 2 steps", True)
    assert diff_runs(tape, tape) == ("same: 2 steps", True)


def test_what_a_later_run_asked_otherwise_is_told_against_the_tape(tmp_path):
    _, tape = ran(tmp_path, "good")
    journal, _ = ran(tmp_path, "bad", question="weather in Rome?")
    report = diff_runs(tape, journal, html=tmp_path / "diff.html")
    assert not report.same
    assert report.text.startswith("divergence: prompt edited\nmain, step 1 (A @2, B @1); - is A, good.tape")
    assert "divergence: prompt edited</h2>" in (tmp_path / "diff.html").read_text()


def test_masks_and_folders_in_the_heads_are_not_compared_and_the_rest_is(tmp_path):
    def head(folder):
        return TapeHead(
            places=Surroundings(cwd=folder), masks=(Mask(pattern="order-[0-9]+", stands="<order>"),)
        )

    _, one = ran(tmp_path, "one", question="look into /home/ann/shop, order-7", head=head("/home/ann/shop"))
    _, two = ran(tmp_path, "two", question="look into /srv/shop, order-8", head=head("/srv/shop"))
    assert diff_runs(one, two).same
    _, other = ran(tmp_path, "other", question="look into /srv/shop/cart, order-8", head=head("/srv/shop"))
    assert not diff_runs(two, other).same
    beside = [
        ran(tmp_path, f"beside {place}", question=f"look into {folder}ping", head=head(folder))[1]
        for place, folder in enumerate(("/home/ann/shop", "/srv/shop"))
    ]
    assert not diff_runs(*beside).same


def test_exchanges_side_by_side_are_in_the_order_of_their_times(tmp_path):
    tape = saved(
        tmp_path / "t.tape",
        exchange(1, "slow", at=0, took=100),
        exchange(2, "quick", at=20, took=10),
        exchange(3, "at once", at=30, took=0),
    )
    told = [
        (round(record.time, 3), type(record.event))
        for record in read_run(tape).records
        if not isinstance(record.event, RunStarted) and "Chunk" not in type(record.event).__name__
    ]
    asked, replied = ModelRequested, ModelResponded
    assert told == [
        (0, asked),
        (0.02, asked),
        (0.03, replied),
        (0.03, asked),
        (0.03, replied),
        (0.1, replied),
    ]
    steps = build_trace(list(read_run(tape).records)).steps
    assert [step.duration for step in steps] == pytest.approx([0.1, 0.01, 0])


def test_failures_and_calls_that_ask_no_model_are_told(tmp_path):
    failed = RecordedFailure(type="error", status=529, message="overloaded", kind="overloaded_error")
    tape = saved(
        tmp_path / "t.tape",
        exchange(1, reply="", failure=failed),
        exchange(2, reply="", request=None, http=HttpCall(to="openai", method="GET", path="/models")),
    )
    trace = build_trace(list(read_run(tape).records))
    (step,) = trace.steps
    assert (step.failure.reason, step.failure.status, step.failure.message) == ("error", 529, "overloaded")
    (served,) = [record.event for record in trace.records if isinstance(record.event, RequestServed)]
    assert (served.format, served.path, served.what) == ("openai", "/models", "GET")


def test_lines_of_mcp_servers_stand_between_the_exchanges(tmp_path):
    def line(method, at, **fields):
        return McpTapeLine(server="notes", method=method, started_ms=at, latency_ms=2.0, **fields)

    call = {"name": "add", "arguments": {"text": "milk"}}
    lines = [
        line("tools/list", 1.0, result={"tools": []}),
        line("tools/call", 15.0, params=call, result={"content": [{"type": "text", "text": "noted"}]}),
        line("notifications/changed", 17.0, kind="told"),
        line("tools/call", 18.0, params=call, result={"content": [], "isError": True}),
        line("tools/call", 50.0, params=call, error={"code": -32000, "message": "no space"}),
    ]
    tape = tmp_path / "t.tape"
    Tape([exchange(1, at=2.0), exchange(2, "again", at=30.0)], head=HEAD, mcp_lines=lines).save(tape)
    records = [record for record in read_run(tape).records if "Chunk" not in type(record.event).__name__][1:]
    kinds = [ModelRequested, McpServed, ModelResponded, McpToolCalled, McpToolReturned, McpNotified]
    kinds += [McpToolCalled, McpToolReturned, ModelRequested, ModelResponded, McpToolCalled, McpToolReturned]
    assert [type(record.event) for record in records] == kinds
    returned = [record for record in records if isinstance(record.event, McpToolReturned)]
    assert [(one.event.outcome, one.event.text) for one in returned] == [
        ("result", "noted"),
        ("error", ""),
        ("rejected", "no space"),
    ]
    called = [record.position for record in records if isinstance(record.event, McpToolCalled)]
    assert [record.cause for record in returned] == called
    assert {record.source for record in records} == {"tape", "notes"}
    assert len(build_trace(list(read_run(tape).records)).steps) == 2


def test_a_tape_of_an_older_format_is_refused_as_that(tmp_path):
    for number, line in enumerate(('{"line": "tape", "v": 1}', '{"timestamp": "", "request": {}}')):
        old = tmp_path / f"{number}.tape"
        old.write_text(line + "\n")
        with pytest.raises(TapeError, match="older than its format"):
            show_run(old)


def test_a_journal_is_read_as_one_whatever_its_name(tmp_path):
    journal, _ = ran(tmp_path, "good")
    renamed = journal.rename(tmp_path / "journal.tape")
    assert "Cold." in show_run(renamed)


def test_a_secret_that_somebody_has_put_on_a_tape_is_not_shown(tmp_path, monkeypatch):
    tape = saved(tmp_path / "t.tape", exchange(1, "say hunter-two-and-more"), exchange(2, "again"))
    monkeypatch.setenv("APP_API_KEY", "hunter-two-and-more")
    shown = show_run(tape, html=tmp_path / "page.html", context=2), show_run(tape)
    assert all("[redacted]" in text for text in shown)
    assert not any("hunter" in text for text in (*shown, (tmp_path / "page.html").read_text()))
