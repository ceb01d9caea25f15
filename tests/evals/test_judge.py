"""The evaluator `judge`: scores and labels, and the gate, which needs a calibration; through the command line."""

from __future__ import annotations

import json

import pytest

from judges.conftest import YAML, verdict
from soundstage.cli import BAD_INPUT, FAILED, GOOD, main
from soundstage.judges import RunJudged
from soundstage.runs import RunStore

SUITE = """\
version: 1
agent: {model: openai/gpt-4.1}
script: agent.yaml
cases:
  - {name: repaired, input: Repair add}
  - {name: broken, input: Break add}
expect:
  - judge: {rubric: repair.yaml, script: judge.yaml%s}
"""
AGENT = """\
rules:
  - when: {user: Repair}
    reply: {text: "add() adds now. I changed one line."}
  - when: {user: Break}
    reply: {text: "add() still fails. I changed one line."}
"""
BAD = verdict(correct=0.1, quotes=["add() still fails"], passed=False)
GATE = ", gate: true"


def rules_of(*rules):
    """A script of judges: words of the transcript, and the answer."""
    found = [{"when": {"purpose": "judge", "user": words}, "reply": {"text": text}} for words, text in rules]
    return json.dumps({"rules": found})


GOOD_JUDGE = rules_of(("/still fails/", BAD), ("/adds now/", verdict()))
LENIENT_JUDGE = rules_of(("/./", verdict(quotes=["I changed one line"])))


@pytest.fixture
def soundstage(tmp_path, monkeypatch, capsys):
    """Runs the command line in a folder with an agent, a rubric, labels, and a judge; its code, and what it prints."""
    monkeypatch.chdir(tmp_path)
    gold = [
        {"transcript": f"run {n}: {words}. I changed one line.", "passed": passed}
        for n in range(10)
        for words, passed in (("add() adds now", True), ("add() still fails", False))
    ]
    files = {"agent.yaml": AGENT, "repair.yaml": YAML, "judge.yaml": GOOD_JUDGE}
    for name, text in {**files, "gold.jsonl": "".join(json.dumps(row) + "\n" for row in gold)}.items():
        (tmp_path / name).write_text(text)

    def call(*words):
        monkeypatch.setattr("sys.argv", ["soundstage", *words])
        with pytest.raises(SystemExit) as caught:
            main()
        printed = capsys.readouterr()
        return caught.value.code or 0, printed.out + printed.err

    return call


def calibrated(soundstage):
    return soundstage("judge", "calibrate", "repair.yaml", "gold.jsonl", "--script", "judge.yaml")


def run(soundstage, folder, more="", name="suite.yaml"):
    (folder / name).write_text(SUITE % more)
    return soundstage("eval", "run", name)


def grades(folder):
    data = json.loads((folder / ".soundstage" / "evals" / "last-report.json").read_text())
    return {case["name"]: case["runs"][0]["grades"][0] for case in data["cases"]}


def test_a_judge_that_was_not_calibrated_cannot_gate_and_nothing_starts(soundstage, tmp_path):
    code, out = run(soundstage, tmp_path, GATE)
    assert code == BAD_INPUT
    assert "suite.yaml:8: expect[0].judge:" in out
    assert "has not been calibrated" in out
    assert "soundstage judge calibrate repair.yaml GOLD.jsonl" in out
    assert not (tmp_path / ".soundstage" / "runs").exists()


def test_a_calibrated_judge_gates(soundstage, tmp_path):
    assert calibrated(soundstage)[0] == GOOD
    code, out = run(soundstage, tmp_path, GATE)
    assert code == FAILED
    assert "passed  repaired  1/1" in out
    assert "broken" in out
    found = grades(tmp_path)
    assert (found["repaired"]["passed"], found["broken"]["passed"]) == (True, False)
    assert found["repaired"]["score"] == pytest.approx(0.975)
    assert "correct: 0.10 is below 0.5" in found["broken"]["reason"]


def test_a_judge_below_its_threshold_cannot_gate(soundstage, tmp_path):
    (tmp_path / "judge.yaml").write_text(LENIENT_JUDGE)
    code, out = calibrated(soundstage)
    assert code == FAILED
    assert "may decide no" in out
    code, out = run(soundstage, tmp_path, GATE)
    assert code == BAD_INPUT
    assert "below its threshold" in out
    assert "kappa 0.00" in out


@pytest.mark.parametrize("changed", ["rubric", "judge"])
def test_a_judge_that_was_changed_since_cannot_gate(soundstage, tmp_path, changed):
    assert calibrated(soundstage)[0] == GOOD
    if changed == "rubric":
        (tmp_path / "repair.yaml").write_text(YAML.replace("add() adds", "add() may add"))
    else:
        (tmp_path / "judge.yaml").write_text(LENIENT_JUDGE)
    code, out = run(soundstage, tmp_path, GATE)
    assert (code, "has not been calibrated" in out) == (BAD_INPUT, True)


def test_a_judge_that_does_not_gate_gives_score_and_label_and_fails_nothing(soundstage, tmp_path):
    code, out = run(soundstage, tmp_path)
    assert code == GOOD, out
    found = grades(tmp_path)
    assert [(one.get("passed"), one["label"]) for one in found.values()] == [
        (None, "passed"),
        (None, "failed"),
    ]


def test_the_judge_is_in_the_journal_of_the_run_with_its_own_tokens(soundstage, tmp_path):
    run(soundstage, tmp_path)
    store = RunStore(tmp_path / ".soundstage")
    for record in store.list():
        trace = store.open(record.id).trace()
        (judged,) = [one.event for one in trace.records if isinstance(one.event, RunJudged)]
        assert judged.usage.total_tokens > 0
        assert record.tokens + judged.usage.total_tokens == trace.usage.total_tokens
    store.close()


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("I would say eight of ten.", "eight of ten"),
        (verdict(quotes=["nowhere"]), "'nowhere' does not stand"),
    ],
    ids=["prose", "an invented quote"],
)
@pytest.mark.parametrize(("more", "code", "absent"), [("", GOOD, False), (GATE, FAILED, True)])
def test_a_void_verdict_blames_nobody_but_passes_no_gate(
    soundstage, tmp_path, more, code, absent, said, seen
):
    prose = rules_of(("/Break/", said), ("/still fails/", BAD), ("/adds now/", verdict()))
    (tmp_path / "judge.yaml").write_text(prose)
    assert calibrated(soundstage)[0] == GOOD
    assert run(soundstage, tmp_path, more)[0] == code
    found = grades(tmp_path)["broken"]
    assert (found["label"], found.get("absent", False), found.get("passed")) == ("void", absent, None)
    assert seen in found["reason"]


def test_a_suite_whose_rubric_was_changed_is_another_suite(soundstage, tmp_path):
    run(soundstage, tmp_path)
    (tmp_path / "repair.yaml").write_text(YAML.replace("add() adds", "add() may add"))
    code, out = soundstage("eval", "run", "suite.yaml", "--resume")
    assert (code, "has changed since" in out) == (BAD_INPUT, True)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (", tape: x", "a judge has one model"),
        (", attach: x", "does not take this"),
        (", gat: true", "does not take this"),
    ],
)
def test_what_a_judge_does_not_take_is_refused_with_its_line(soundstage, tmp_path, more, problem):
    code, out = run(soundstage, tmp_path, more)
    assert code == BAD_INPUT
    assert "suite.yaml:8" in out
    assert problem in out


def test_a_rubric_that_is_wrong_is_refused_with_its_own_line(soundstage, tmp_path):
    (tmp_path / "repair.yaml").write_text(YAML.replace("0.75", "7.5"))
    code, out = run(soundstage, tmp_path)
    assert (code, "repair.yaml:6: criteria[0].weight" in out) == (BAD_INPUT, True)


def test_a_file_of_the_workspace_that_is_attached_may_be_quoted_and_one_that_is_not_there_is_absent(
    soundstage, tmp_path
):
    (tmp_path / "judge.yaml").write_text(rules_of(("/./", verdict(quotes=["3 passed"]))))
    assert run(soundstage, tmp_path)[0] == GOOD
    assert grades(tmp_path)["repaired"]["label"] == "void"
    text = (SUITE % ", attach: [log.txt]").replace(
        "input: Repair add", "input: Repair add, files: {log.txt: 3 passed}"
    )
    (tmp_path / "attached.yaml").write_text(text)
    assert soundstage("eval", "run", "attached.yaml")[0] == FAILED
    found = grades(tmp_path)
    assert found["repaired"]["label"] == "passed"
    assert (found["broken"]["absent"], "no file log.txt" in found["broken"]["reason"]) == (True, True)
