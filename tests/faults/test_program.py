"""Sweeps of a program that starts fast: its verdicts, and what a good run has to be."""

from __future__ import annotations

import pytest

from soundstage.errors import AppError, UnknownNameError
from support.sweeps import row, verdicts


def test_a_careful_agent_survives_each_fault_of_each_call_or_gives_up(sweep_agent):
    kinds = ["429", "429-retry-after", "500", "529", "cut-start", "cut-tool", "garbled", "empty", "slow"]
    swept = sweep_agent("plain_agent.py", kinds=kinds)
    expected = {f"{call}:{kind}": "survived" for call in (1, 2) for kind in kinds}
    del expected["2:cut-tool"]  # the second reply calls no tool
    assert verdicts(swept) == expected
    assert swept.findings == ()
    assert row(swept, "1:500").retries == 1, "the table does not say that the call was made again"


def test_an_agent_that_tries_once_gives_up_and_the_table_says_that_it_did_not_try_again(sweep_agent):
    swept = sweep_agent("plain_agent.py", "1", kinds=["500", "outage"])
    assert set(verdicts(swept).values()) == {"gave up"}
    assert "HTTP Error 500" in row(swept, "2:500").reason
    assert "gave up at the first try: 1:500, 1:outage, 2:500, 2:outage" in str(swept)


def test_a_verdict_that_is_not_allowed_is_marked_and_said_how_to_run_again(sweep_agent):
    swept = sweep_agent(
        "plain_agent.py", "1", kinds=["529"], allow=("survived",), only="2:529", again="again CASE"
    )
    assert [found.case for found in swept.findings] == ["2:529"]
    assert "!  2:529" in str(swept)
    assert "one of them again: again 2:529" in str(swept)


def test_an_agent_that_asks_without_an_end_hangs(sweep_agent):
    swept = sweep_agent("plain_agent.py", "1000000", kinds=["outage"], only="1:outage", more=5)
    assert verdicts(swept) == {"1:outage": "hung"}
    assert row(swept, "1:outage").reason == "asks without an end: stopped at request 8"


def test_an_agent_that_waits_for_ever_hangs(sweep_agent):
    swept = sweep_agent("plain_agent.py", kinds=["stall"], only="2:stall", within=1.5)
    assert verdicts(swept) == {"2:stall": "hung"}
    assert row(swept, "2:stall").reason == "still running 1.5 s after 2 requests"


def test_the_folder_of_the_program_is_as_it_was(sweep_agent, tmp_path):
    sweep_agent("plain_agent.py", kinds=["500"])
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["plain_agent.py"]


def test_a_good_run_that_fails_is_an_error_that_shows_why(sweep_agent, notes):
    notes.on(user="milk", priority=1).reply(tool_calls=[{"name": "no_such_tool"}])
    with pytest.raises(AppError, match="the good run failed") as caught:
        sweep_agent("plain_agent.py", kinds=["500"])
    assert "gave up: HTTP Error 400" in str(caught.value)
    assert "no_such_tool" in str(caught.value), (
        "the reason is what the model had to say, not only the program's words"
    )


def test_a_program_that_asks_no_model_is_an_error(sweep_agent, notes, tmp_path):
    with pytest.raises(AppError, match="has not asked the model"):
        sweep_agent("sweeps.py", kinds=["500"])


def test_a_case_that_is_not_there_is_named_with_those_that_are(sweep_agent):
    with pytest.raises(UnknownNameError, match="did you mean '1:500'"):
        sweep_agent("plain_agent.py", kinds=["500"], only="1:501")


STREAM = ["coalesced", "pieces", "utf-8", "crlf", "comments", "cut-at"]


def test_one_stream_is_sent_in_other_pieces_and_cut_at_places_that_are_drawn(sweep_agent):
    swept = sweep_agent("plain_agent.py", "2", "stream", kinds=STREAM, cuts=3, seed=5)
    assert [row.case.partition("@")[0] for row in swept.rows] == [
        *("1:coalesced", "1:pieces", "1:pieces", "1:pieces", "2:utf-8", "1:crlf", "1:comments"),
        *("1:cut-at", "1:cut-at", "1:cut-at"),
    ]
    assert {row.verdict for row in swept.rows} == {"survived"}, str(swept)
    assert [row.retries for row in swept.rows] == [0] * 7 + [1] * 3


def test_an_agent_that_takes_pieces_for_texts_with_whole_lines_is_found(sweep_agent):
    swept = sweep_agent("plain_agent.py", "1", "pieces", kinds=STREAM[:3], seed=5)
    assert {found.case for found in swept.rows if found.verdict != "survived"} >= {"1:pieces@1", "2:utf-8"}
    assert "Unterminated string" in row(swept, "1:pieces@1").reason
    assert "codec can't decode" in row(swept, "2:utf-8").reason
    assert row(swept, "1:coalesced").verdict == "survived"


def test_what_varies_between_two_good_runs_is_not_compared_and_named(sweep_agent):
    swept = sweep_agent("plain_agent.py", "2", "stamped", kinds=["500", "empty"])
    assert {found.verdict for found in swept.rows} == {"survived"}, str(swept)
    assert "not compared, since two good runs differ in it: line 2 of the output, run.log" in str(swept)
