"""Runs of ours as spans, and back."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.journal import Journal
from soundstage.otel import JournalSpanExporter, export_spans
from soundstage.otel._export import spans_of_run
from soundstage.trace import Trace


def test_a_run_comes_back_from_its_spans_as_the_same_trace(team_run):
    ours = team_run()
    theirs = Journal()
    export_spans(ours, JournalSpanExporter(theirs))
    before, after = Trace.of(ours), Trace.of(theirs)
    assert after.normalised()["conversations"] == before.normalised()["conversations"]
    assert [run.agent for run in after.runs] == [run.agent for run in before.runs]
    assert after.handovers[0].via == before.handovers[0].via == "ask_worker"
    assert after.usage_by_model == before.usage_by_model
    assert [step.phase for step in after.steps] == ["plan"] * 4
    assert after.steps[0].request.settings == {"temperature": 0.5}
    assert [tool.name for tool in after.steps[0].request.tools] == ["weather", "ask_worker"]


def test_exporting_twice_gives_the_same_spans(team_run):
    first, second = (
        [span.to_json() for span in spans_of_run(journal.read())] for journal in (team_run(), team_run())
    )
    assert first == second


def test_the_spans_are_a_tree_of_workflow_agents_chats_and_tools(team_run):
    exporter = InMemorySpanExporter()
    assert export_spans(team_run(), exporter) == len(exporter.get_finished_spans()) == 9
    by_id = {span.context.span_id: span for span in exporter.get_finished_spans()}
    assert len(by_id) == 9
    tree = [
        (span.name, by_id[span.parent.span_id].name if span.parent else None)
        for span in exporter.get_finished_spans()
    ]
    assert tree == [
        ("invoke_workflow team", None),
        ("invoke_agent router", "invoke_workflow team"),
        ("invoke_agent worker", "invoke_workflow team"),
        ("chat gpt-4o", "invoke_agent router"),
        ("chat gpt-4o", "invoke_agent worker"),
        ("chat gpt-4o", "invoke_agent worker"),
        ("chat gpt-4o", "invoke_agent worker"),
        ("execute_tool weather", "invoke_agent worker"),
        ("execute_tool weather", "invoke_agent worker"),
    ]


def test_a_failed_request_is_a_span_with_an_error(team_run):
    failed = next(span for span in spans_of_run(team_run().read()) if "error.type" in span.attributes)
    assert failed.attributes["error.type"] == "overloaded_error"
    assert failed.attributes["http.response.status_code"] == 529
    assert failed.status.description == "the model answered with status 529: busy"


def test_an_exporter_that_fails_is_an_error_that_says_so(team_run):
    class Broken(SpanExporter):
        def export(self, spans):
            return SpanExportResult.FAILURE

    with pytest.raises(EnvironmentProblem, match="Broken could not deliver 9 spans"):
        export_spans(team_run(), Broken())


def test_a_run_without_records_is_refused():
    with pytest.raises(ScriptError, match="nothing to export"):
        export_spans(Journal(), InMemorySpanExporter())
