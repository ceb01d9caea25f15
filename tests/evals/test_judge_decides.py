"""Ways on which a judge that was not calibrated could decide, and what judges take: through the command line."""

from __future__ import annotations

import json

import pytest

from judges.conftest import verdict
from soundstage.cli import BAD_INPUT, FAILED, GOOD

from .test_judge import BAD, GATE, SUITE, calibrated, grades, rules_of, soundstage

__all__ = ["soundstage"]  # a fixture
JUDGE = "judge: {rubric: repair.yaml, script: judge.yaml%s}"
COMPOSED = [
    "score: {of: [{%s}], at_least: 0.7}",
    "score: {of: [{%s}]}",
    "not: {not: {%s}}",
    "score: {of: [{transform: {by: json, expect: {%s}}}], at_least: 0.7}",
    "score: {of: [{score: {of: [{contains: add}, {%s}]}}], at_least: 0.7}",
]
LOW = verdict(correct=0.1, small=0.1, passed=False, score=0.1)


def suite_with(part, more=""):
    """The suite with something in the place of its judge, which is itself in the place of `%s`."""
    return SUITE.replace(JUDGE, part.replace("%s", JUDGE.replace("%s", more))).replace("%s", "")


@pytest.mark.parametrize("composed", COMPOSED)
def test_a_judge_without_a_gate_cannot_decide_as_a_part_of_others(soundstage, tmp_path, composed):
    (tmp_path / "suite.yaml").write_text(suite_with(composed))
    code, out = soundstage("eval", "run", "suite.yaml")
    assert (code, "makes the judge of repair.yaml decide" in out) == (BAD_INPUT, True), out
    assert "suite.yaml:8: expect[0]." in out
    assert calibrated(soundstage)[0] == GOOD
    (tmp_path / "suite.yaml").write_text(suite_with(composed, GATE))
    assert soundstage("eval", "run", "suite.yaml")[0] == FAILED


def test_a_judge_without_weight_is_told_in_a_score_and_decides_nothing(soundstage, tmp_path):
    part = "score: {of: [{contains: add}, {%s, weight: 0}], at_least: 1}"
    (tmp_path / "suite.yaml").write_text(suite_with(part))
    assert soundstage("eval", "run", "suite.yaml")[0] == GOOD
    assert grades(tmp_path)["broken"]["score"] == 1.0


def test_a_score_of_a_judge_that_falls_is_shown_and_does_not_break_a_baseline(soundstage, tmp_path):
    head, _, tail = suite_with("%s").partition("  - {name: repaired")
    cases = "".join(f"  - {{name: case {n}, input: Repair add {n}}}\n" for n in range(8))
    (tmp_path / "suite.yaml").write_text(head + cases + "expect:" + tail.partition("expect:")[2])
    (tmp_path / "judge.yaml").write_text(rules_of(("/./", LOW)))
    assert soundstage("eval", "run", "suite.yaml")[0] == GOOD
    assert soundstage("eval", "baseline", "baseline.json")[0] == GOOD
    before = json.loads((tmp_path / "baseline.json").read_text())
    for case in before["cases"].values():
        (name,) = case["scores"]
        case["scores"] = {name: 1.0}
    (tmp_path / "baseline.json").write_text(json.dumps(before))
    code, out = soundstage("eval", "compare", "baseline.json")
    assert (code, "worse (decides nothing)" in out.lower()) == (GOOD, True), out


def test_a_judge_of_a_transformed_answer_reads_what_the_transform_has_made(soundstage, tmp_path):
    (tmp_path / "judge.yaml").write_text(rules_of(("/still fails now/", BAD), ("/./", verdict())))
    part = "transform: {by: {python: \"'it still fails now'\"}, expect: {%s}}"
    (tmp_path / "suite.yaml").write_text(suite_with(part))
    soundstage("eval", "run", "suite.yaml")
    assert grades(tmp_path)["repaired"]["score"] == pytest.approx(0.3)


@pytest.mark.parametrize("composed", ["%s", "transform: {by: json, expect: {%s}}"])
def test_a_replay_asks_no_live_judge(soundstage, tmp_path, monkeypatch, composed):
    monkeypatch.setenv("SOUNDSTAGE_ALLOW_LIVE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    plain = suite_with("no_failures").replace("script: agent.yaml", "tape: session.jsonl")
    (tmp_path / "suite.yaml").write_text(plain)
    assert soundstage("eval", "record", "suite.yaml", "--script", "agent.yaml")[0] == GOOD
    judge = "judge: {rubric: repair.yaml, live: openai/gpt-4.1, base_url: 'http://127.0.0.1:9'}"
    (tmp_path / "suite.yaml").write_text(plain.replace("no_failures", composed.replace("%s", judge)))
    for words in (("run", "suite.yaml", "--replay"), ("replay", "--fixture", "session.jsonl")):
        code, out = soundstage("eval", *words)
        assert (code, "a live judge would be asked" in out) == (BAD_INPUT, True), out


@pytest.mark.parametrize(("tokens", "left_out"), [(1000, 5), (100000, 0)])
def test_what_a_judge_takes_counts_in_the_budget(soundstage, tmp_path, tokens, left_out):
    usage = {"input_tokens": 900, "output_tokens": 50}
    rule = {"when": {"purpose": "judge"}, "reply": {"text": verdict(), "usage": usage}}
    (tmp_path / "judge.yaml").write_text(json.dumps({"rules": [rule]}))
    (tmp_path / "suite.yaml").write_text(f"repeat: 3\nbudget: {{tokens: {tokens}}}\n" + suite_with("%s"))
    code, out = soundstage("eval", "run", "suite.yaml")
    assert (code, f"{left_out} of 6 runs are left out" in out) == (
        (FAILED, True) if left_out else (GOOD, False)
    ), out


@pytest.mark.parametrize("file", ["repair.yaml", "check.py"])
def test_a_suite_is_another_one_if_a_file_of_a_part_was_changed(soundstage, tmp_path, file):
    (tmp_path / "check.py").write_text("def get_assert(output, context):\n    return True\n")
    part = "score: {of: [{%s, weight: 0}, {not: {not: {python_code: {file: check.py}}}}]}"
    (tmp_path / "suite.yaml").write_text(suite_with(part))
    assert soundstage("eval", "run", "suite.yaml")[0] == GOOD
    text = (tmp_path / file).read_text()
    (tmp_path / file).write_text(text.replace("add() adds", "add() may add").replace("True", "False"))
    code, out = soundstage("eval", "run", "suite.yaml", "--resume")
    assert (code, "has changed since" in out) == (BAD_INPUT, True), out
