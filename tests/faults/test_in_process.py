"""Sweeps in process: each planted defect is in the table, no machine's time passes, and a seed gives the same again."""

from __future__ import annotations

import pytest

from soundstage.errors import AppError, ExpectationError, ModelError
from soundstage.faults import KINDS, sweep
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, complete
from support.note_taker import NoteTaker
from support.sweeps import NOTE, row, verdicts

DEFECTS = {  # the defect -> a case that shows it, its verdict and its reason
    "no retry": ("1:500", "gave up", "ProviderError: the model answered with status 500"),
    "retries for ever": ("2:outage", "hung", "after 3600 virtual seconds, 13 requests"),
    "half a tool call": ("1:cut-tool", "wrong result", "which the good run has not"),
    "partial text is final": ("2:cut-text", "wrong result", "came out: "),
    "text twice": ("2:cut-text", "wrong result", "came out: "),
    "empty is an answer": ("2:empty", "wrong result", "came out: ('', ["),
    "no timeout": ("1:stall", "hung", "still running after 3600 virtual seconds"),
    "errors are unpacked": ("1:429", "crashed", "KeyError"),
}


def test_an_agent_without_a_defect_has_nothing_to_mend_whatever_happens_to_whichever_call(notes):
    swept = sweep(NoteTaker(), notes)
    of_each = [kind.name for kind in KINDS.values() if not kind.one_stream]
    expected = {f"{call}:{kind}": "survived" for call in (1, 2) for kind in of_each}
    del expected["2:cut-tool"]  # the second reply calls no tool
    expected["1:outage"] = expected["2:outage"] = "gave up"
    pieces = ["1:coalesced", *(f"1:pieces@{way}" for way in (1, 2, 3))]
    cuts = [f"1:cut-at@{place}" for place in range(1, len("I write that down.") + len('{"text":""}' + NOTE))]
    assert verdicts(swept) == expected | dict.fromkeys([*pieces, *cuts], "survived")


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_planted_defect_is_in_the_table_with_its_seed(notes, defect):
    case, verdict, reason = DEFECTS[defect]
    found = row(sweep(NoteTaker(defect), notes, seed=7), case)
    assert (found.verdict, found.seed) == (verdict, 7)
    assert reason in found.reason
    assert found.retries == 0 or defect in ("retries for ever", "text twice")


def test_a_case_alone_has_the_row_that_it_has_in_the_sweep(notes):
    whole = sweep(NoteTaker("half a tool call"), notes, seed=3)
    alone = sweep(NoteTaker("half a tool call"), notes, seed=3, only="1:cut-tool")
    assert alone.rows == (row(whole, "1:cut-tool"),)


def test_another_seed_cuts_elsewhere(notes):
    remarks = {sweep(NoteTaker(), notes, seed=seed, only="2:cut-text").rows[0].remark for seed in range(8)}
    assert len(remarks) > 3


def test_waits_are_virtual_and_the_table_says_so(notes):
    swept = sweep(NoteTaker(), notes, kinds=["429-retry-after", "stall"])
    assert [found.waited for found in swept.rows] == [30.0, 61.0, 30.0, 61.0]
    assert "tried again after 61 s (virtual)" in str(swept)


def test_an_agent_that_goes_on_with_half_a_history_asks_what_has_no_answer():
    script = Script(strict=True)
    script.on(user=r"/^hello$/").reply("hi there, what is your name?")

    async def agent(model):
        try:
            return (await complete(model, ModelRequest(model="m", messages=(user("hello"),)))).text
        except ModelError:
            return (await complete(model, ModelRequest(model="m", messages=(user("hello again"),)))).text

    found = sweep(agent, script, kinds=["cut-start"]).rows[0]
    assert found.verdict == "wrong result"
    assert found.reason == "asked what has no answer, at request 2: 'hello again'"


def test_a_request_that_is_sent_again_gets_the_reply_of_a_rule_that_serves_once():
    script = Script(strict=True)
    script.on(user="hello", times=1).reply("hi there")

    async def agent(model):
        request = ModelRequest(model="m", messages=(user("hello"),))
        try:
            return (await complete(model, request)).text
        except ModelError:
            return (await complete(model, request)).text

    swept = sweep(agent, script, kinds=["500", "cut-start", "cut-text"])
    assert set(verdicts(swept).values()) == {"survived"}, str(swept)


def test_findings_fail_with_the_table_and_allowed_verdicts_do_not(notes):
    swept = sweep(NoteTaker("no retry"), notes, kinds=["500"])
    swept.require_no_findings()
    strict = sweep(NoteTaker("no retry"), notes, kinds=["500"], allow=("survived",), again="again CASE")
    with pytest.raises(ExpectationError, match="2 of 2 faulty runs") as caught:
        strict.require_no_findings()
    assert "!  1:500" in str(caught.value)
    assert "one of them again: again 1:500" in str(caught.value)


def test_an_agent_that_fails_while_nothing_is_wrong_is_told_first(notes):
    async def agent(model):
        raise RuntimeError("no key")

    with pytest.raises(AppError, match="RuntimeError: no key"):
        sweep(agent, notes)


def test_an_agent_that_asks_faster_than_time_passes_is_stopped(notes):
    async def agent(model):
        while True:
            try:
                return (await complete(model, ModelRequest(model="m", messages=(user("milk"),)))).text
            except ModelError:
                pass

    script = Script()
    script.on(user="milk").reply("noted")
    found = sweep(agent, script, kinds=["outage"], more=5).rows[0]
    assert (found.verdict, found.reason) == ("hung", "asks without an end: stopped at request 7")
