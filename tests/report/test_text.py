"""Traces and summaries in the terminal."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys

import pytest
from rich.console import Console

from soundstage.differences import context_of, render_context
from soundstage.errors import EnvironmentProblem
from soundstage.journal import Journal, Noted, encode_record
from soundstage.report import (
    SummaryRow,
    print_trace,
    render_text,
    show_run,
    summary_table,
)
from soundstage.trace import build_trace

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def summary(team, failing):
    return [
        SummaryRow("settings team", "passed", 7.0, build_trace(team)),
        SummaryRow("a program that fails", "failed", 0.25, build_trace(failing)),
    ]


def console(*, terminal: bool, width: int = 100, **fields) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=width, **fields)


def test_the_table_has_a_line_for_each_scenario_and_says_what_numbers_cannot(summary):
    trace = summary[0].trace
    tokens, cost = trace.usage.total_tokens, trace.cost().usd
    assert summary_table(summary, width=100, colour=False).splitlines() == [
        "scenario              outcome    time  requests  tools  tokens     cost    hosts",
        f"settings team         passed      7 s         9      3  {tokens:6}  ${cost:.4f}  1 tried",
        "a program that fails  failed   250 ms         1      0       3  unknown     none",
        "hosts tried by settings team: telemetry.example.com:443",
        "cost unknown: no price for 'house-model'",
    ]


@pytest.mark.parametrize("width", [30, 40, 60, 72, 80, 100])
def test_the_table_is_never_wider_than_the_terminal(summary, width):
    table = summary_table(summary, width=width, colour=True)
    lines = ESCAPE.sub("", table).splitlines()
    shown = [line for line in lines if not line.startswith(("hosts tried", "cost unknown"))]
    assert max(map(len, shown)) <= width
    assert "settings team" in table
    assert f"${summary[0].trace.cost().usd:.4f}" in table


def test_colours_change_nothing_but_the_look(summary):
    coloured = summary_table(summary, width=100, colour=True)
    assert "\x1b[32mpassed\x1b[0m" in coloured
    assert "\x1b[31mfailed\x1b[0m" in coloured
    assert ESCAPE.sub("", coloured) == summary_table(summary, width=100, colour=False)


def test_wide_letters_keep_the_columns_straight(team):
    rows = [SummaryRow(title, "passed", 1.0, build_trace(team)) for title in ("設定の試験", "settings")]
    lines = summary_table(rows, width=100, colour=False).splitlines()[1:3]
    assert lines[0].index("passed") + 5 == lines[1].index("passed")


def test_a_title_cannot_steer_the_terminal(failing):
    row = SummaryRow("a\x1b[2J\nb", "pas\x1bsed", 0.0, build_trace(failing))
    assert "\x1b" not in summary_table([row], width=100, colour=False)


def test_no_rows_no_table():
    assert summary_table([], width=80, colour=False) == ""


def test_in_a_pipe_nothing_is_coloured(summary, capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert "\x1b" not in summary_table(summary)
    assert "\x1b" not in render_text(summary[0].trace)
    print_trace(summary[0].trace)
    assert "\x1b" not in capsys.readouterr().out


def test_in_a_terminal_the_trace_is_coloured_unless_no_color_is_set(team):
    trace = build_trace(team)
    colourful = console(terminal=True, color_system="standard")
    print_trace(trace, colourful)
    assert ESCAPE.search(colourful.file.getvalue())
    plain = console(terminal=True, color_system="standard", no_color=True)
    print_trace(trace, plain)
    assert not ESCAPE.search(plain.file.getvalue())


@pytest.mark.parametrize("width", [20, 40, 80])
@pytest.mark.parametrize("terminal", [True, False])
def test_a_printed_trace_says_what_the_trace_says(team, width, terminal):
    trace = build_trace(team)
    out = console(terminal=terminal, width=width)
    print_trace(trace, out)
    shown = ESCAPE.sub("", out.file.getvalue())
    assert shown == trace.format(width=max(width, 40) if terminal else 120) + "\n"


def test_a_trace_of_hostile_texts_cannot_steer_the_terminal(hostile):
    assert "\x1b" not in render_text(build_trace(hostile), width=100, colour=False)


def test_a_journal_file_is_shown_as_text_or_written_as_a_page(tmp_path, team, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(encode_record(record) + b"\n" for record in team))
    assert show_run(path) == render_text(build_trace(team), width=120, colour=False)
    page = tmp_path / "run.html"
    assert show_run(path, html=page) == f"page: {page}"
    assert "Soundstage: run.jsonl" in page.read_text("utf-8")


def test_a_reader_of_a_file_shows_the_events_of_apps_and_worlds_that_it_has_not_imported(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    path = tmp_path / "run.jsonl"
    facts = [
        {"type": "DiscordReacted", "change": "added", "emoji": "+1", "channel": "#tea", "sender": "ann"},
        {"type": "ChatReply", "text": "thanks", "sender": "bot"},
        {"type": "ChatAck", "position": 1},
        {"type": "TeaPoured", "cups": 2},
    ]
    records = [
        {"position": number, "time": 0.0, "run": "r", "source": "s", "cause": None, "event": fact}
        for number, fact in enumerate(facts, start=1)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    code = "import sys; from soundstage.report import show_run; print(show_run(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[:-1] == [
        "DiscordReacted ann added +1 in #tea",
        "ChatReply bot: thanks",
        "TeaPoured: an event of a newer version, or of an app that is not loaded",
    ]
    page = tmp_path / "run.html"
    show_run(path, html=page)
    for words in (
        "ann added +1 in #tea",
        "bot: thanks",
        "@1 is done",
        "TeaPoured: an event of a newer version",
    ):
        assert words in page.read_text("utf-8")


def test_the_context_of_a_step_is_shown_in_the_place_of_the_trace(team, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(encode_record(record) + b"\n" for record in team))
    trace = build_trace(team)
    step = [one for one in trace.steps if one.agent == "coder"][-1]
    text = show_run(path, context=step.position)
    assert text == render_context(context_of(trace, step.position))
    assert text.splitlines()[0].startswith(f"@{step.position} coder, step ")
    assert {line.split()[0] for line in text.splitlines()[1:]} == {"KEPT", "NEW"}
    page = tmp_path / "run.html"
    assert show_run(path, context=step.position, html=page) == f"{text}\npage: {page}"


def test_what_the_environment_calls_a_secret_is_not_in_the_page(tmp_path, monkeypatch):
    monkeypatch.setenv("HOUSE_TOKEN", "tomato-soup-with-basil")
    with_secret = tmp_path / "run.jsonl"
    journal = Journal(with_secret)
    journal.append(Noted(text="it is tomato-soup-with-basil"))
    journal.close()
    show_run(with_secret, html=tmp_path / "run.html")
    assert "tomato" not in (tmp_path / "run.html").read_text("utf-8")


def test_a_journal_that_is_not_there_is_a_problem_of_the_environment(tmp_path):
    with pytest.raises(EnvironmentProblem, match="cannot be read"):
        show_run(tmp_path / "none.jsonl")
