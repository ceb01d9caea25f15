"""Planted defects: an agent on the official SDKs, and each way in which it gets errors wrong is in the table."""

from __future__ import annotations

import pytest

from support.sweeps import row

ONE, OTHER = "openai", "anthropic"
DEFECTS = {  # the defect -> the SDK, the case that shows it, its verdict and its reason
    "no retry": (ONE, "2:500", "gave up", "InternalServerError"),
    "retries for ever": (OTHER, "1:outage", "hung", "asks without an end"),
    "half a tool call": (OTHER, "1:cut-tool", "wrong result", "which the good run has not"),
    "partial text is final": (ONE, "2:cut-text", "wrong result", "only the beginning came out"),
    "text twice": (OTHER, "2:cut-text", "wrong result", "came out: "),
    "empty is an answer": (ONE, "2:empty", "wrong result", "nothing came out"),
    "no timeout": (OTHER, "1:stall", "hung", "still running 8 s after 1 request"),
    "errors are unpacked": (ONE, "1:529", "crashed", "a traceback"),
    "starts over": (ONE, "2:429", "wrong result", "more often than the good run"),
    "errors are answers": (OTHER, "1:outage", "wrong result", "did not run append_note"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_planted_defect_is_in_the_table(sweep_agent, defect):
    sdk, case, verdict, reason = DEFECTS[defect]
    kind = case.partition(":")[2]
    within = 8 if verdict == "hung" else 50
    swept = sweep_agent("fragile_agent.py", sdk, defect, kinds=[kind], only=case, within=within, seed=7)
    found = row(swept, case)
    assert (found.verdict, found.seed) == (verdict, 7), str(swept)
    assert reason in found.reason
    assert defect != "no retry" or "gave up at the first try: 2:500" in str(swept)


@pytest.mark.parametrize("sdk", [ONE, OTHER])
def test_an_agent_without_a_defect_has_nothing_to_mend(sweep_agent, sdk):
    swept = sweep_agent("fragile_agent.py", sdk, kinds=["cut-tool", "cut-text", "garbled", "outage"])
    assert swept.findings == (), str(swept)
    assert {row.verdict for row in swept.rows if not row.case.endswith("outage")} == {"survived"}
