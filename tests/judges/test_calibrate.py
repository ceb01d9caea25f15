"""Calibration: agreement with people, bias by order and length, the file beside the rubric, and who may decide."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
from typer.testing import CliRunner

from judges.conftest import verdict
from soundstage.cli import BAD_INPUT, FAILED, GOOD, main
from soundstage.errors import WrongValueError
from soundstage.journal import Journal, MessageSent
from soundstage.judges import (
    CalibrationError,
    CalibrationFloors,
    GoldError,
    Judge,
    JudgmentFailedError,
    calibrate,
    calibration_path,
    load_gold,
    load_rubric,
    read_calibrations,
    write_calibration,
)
from soundstage.judges._calibration import JudgedLabel, calibration_of
from soundstage.judges._command_line import judge_app
from soundstage.models import Script, ScriptedModel


def lines_of(good=10, bad=10):
    """Labels: transcripts that are good by their words, and others."""
    rows = [
        {"transcript": f"run {n}: add() adds now. I changed one line.", "passed": True} for n in range(good)
    ]
    rows += [
        {"transcript": f"run {n}: add() still fails. I changed one line.", "passed": False}
        for n in range(bad)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def judging_script(**conditions):
    """A judge that passes what says that it adds now, and fails what says otherwise."""
    script = Script()
    script.on(purpose="judge", user="/still fails/").reply(
        verdict(correct=0.1, quotes=["add() still fails"], passed=False)
    )
    script.on(purpose="judge", user="/adds now/").reply(verdict())
    return script


def judge_by(script, rubric):
    return Judge(rubric, ScriptedModel(script, shared=True))


@pytest.fixture
def gold(tmp_path):
    path = tmp_path / "gold.jsonl"
    path.write_text(lines_of())
    return path


def measured(script, rubric, gold, **floors):
    judge = judge_by(script, rubric)
    found = asyncio.run(calibrate(judge, load_gold(gold), floors=CalibrationFloors(**floors)))
    write_calibration(rubric.path, found.calibration)
    return judge, found


def test_a_judge_that_agrees_with_people_may_decide(filed, gold):
    judge, found = measured(judging_script(), filed, gold)
    made = found.calibration
    assert (made.both_pass, made.both_fail, made.lenient, made.strict, made.void) == (10, 10, 0, 0, 0)
    assert (made.agreed, made.items, made.kappa, made.swapped, made.changed) == (20, 20, 1.0, 20, 0)
    assert made.interval == (pytest.approx(0.839, abs=0.001), 1.0)
    assert made.problems == ()
    assert judge.calibration == made
    assert found.usage.total_tokens > 0


async def decided(judge, transcript):
    return await judge.judge(transcript, throw_on_fail=True)


def test_a_calibrated_judge_decides_and_its_error_has_the_judgment(filed, gold):
    judge, _ = measured(judging_script(), filed, gold)
    assert asyncio.run(decided(judge, "add() adds now. I changed one line.")).passed
    with pytest.raises(JudgmentFailedError, match=r"correct: 0\.10 is below 0\.5") as caught:
        asyncio.run(decided(judge, "add() still fails. I changed one line."))
    assert caught.value.judgment.outcome == "failed"


def always(text):
    script = Script()
    script.on(purpose="judge").reply(text)
    return script


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (always(verdict(quotes=["I changed one line"])), "beyond chance it hardly agrees: kappa 0.00"),
        (always("Looks fine."), "it agrees with people on 0 of 20"),
        (always(verdict(quotes=["nowhere"])), "it agrees with people on 0 of 20"),
    ],
    ids=["passes all", "prose", "invents quotes"],
)
def test_a_judge_that_shows_nothing_may_not_decide_however_the_labels_are(filed, gold, script, problem):
    gold.write_text(lines_of(good=60, bad=3))
    judge, found = measured(script, filed, gold)
    expected = problem.replace("20", "63")
    assert any(one.startswith(expected) for one in found.calibration.problems)
    with pytest.raises(CalibrationError, match="below its threshold"):
        _ = judge.calibration


def test_void_verdicts_agree_with_nobody(filed, gold):
    script = judging_script()
    script.on(purpose="judge", user="/run 3:/", priority=1).reply("I cannot say.")
    _, found = measured(script, filed, gold)
    assert (found.calibration.void, found.calibration.agreed) == (2, 18)
    assert found.calibration.changed == 2


def test_a_judge_whom_the_order_of_the_criteria_sways_may_not_decide(filed, gold):
    script = judging_script()
    first_small = r"/- small(.|\n)*- correct(.|\n)*adds now/"
    script.on(purpose="judge", user=first_small, priority=1).reply(verdict(correct=0.1))
    _, found = measured(script, filed, gold)
    assert (found.calibration.agreed, found.calibration.changed) == (20, 10)
    assert found.calibration.problems == (
        "the order of the criteria changes 10 of 20 verdicts, at most 20% wanted",
    )


def test_one_criterion_has_no_order_to_be_swayed_by(filed, gold):
    one = msgspec.structs.replace(filed, criteria=filed.criteria[:1])
    text = json.loads(verdict())
    del text["criteria"]["small"]
    _, found = measured(always(json.dumps(text)), one, gold)
    assert found.calibration.swapped == 0
    assert "not measured" in str(found.calibration)


def labels(*rows):
    return [JudgedLabel(passed, outcome, outcome, length) for passed, outcome, length in rows]


def calibration(rows, **floors):
    return calibration_of(rows, judge="j", fingerprint="f", gold="g", floors=CalibrationFloors(**floors))


def test_a_judge_that_passes_long_transcripts_too_often_may_not_decide():
    short = [(n % 2 == 0, "passed" if n % 2 == 0 else "failed", 10) for n in range(40)]
    long = [(n % 2 == 0, "passed" if n % 2 == 0 or n < 20 else "failed", 1000) for n in range(40)]
    found = calibration(labels(*short, *long))
    assert found.length_bias == pytest.approx(0.25)
    assert found.problems == ("it favours longer transcripts by 25%, at most 20% wanted",)
    assert calibration(labels(*short, *long), bias=0.3).problems == ()


def test_eight_right_verdicts_are_too_few_and_ten_are_enough():
    def right(number):
        return labels(*((n % 2 == 0, "passed" if n % 2 == 0 else "failed", 10) for n in range(number)))

    assert "perhaps only on 68%, at least 70% wanted" in calibration(right(8)).problems[0]
    assert calibration(right(10)).problems == ()


def test_agreement_on_labels_that_are_nearly_all_the_same_is_held_against_chance():
    rows = [(True, "passed", 10)] * 95 + [(False, "passed", 10)] * 4 + [(False, "failed", 10)]
    found = calibration(labels(*rows))
    assert found.interval[0] > 0.85
    assert found.problems[0].startswith("beyond chance it hardly agrees: kappa 0.32")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("add() adds\n", "add() adds always\n"),
        lambda text: text.replace("weight: 0.75", "weight: 0.5"),
        lambda text: "pass_threshold: 0.6\n" + text,
    ],
)
def test_a_calibration_of_another_rubric_does_not_fit(filed, gold, change):
    measured(judging_script(), filed, gold)
    filed.path.write_text(change(filed.path.read_text()))
    judge = judge_by(judging_script(), load_rubric(filed.path))
    with pytest.raises(
        CalibrationError, match=r"before rubric or prompt were changed(.|\n)*soundstage judge calib"
    ):
        _ = judge.calibration


def test_a_field_that_the_judge_does_not_see_may_change(filed, gold):
    measured(judging_script(), filed, gold)
    filed.path.write_text(filed.path.read_text().replace("somebody", "somebody else"))
    assert judge_by(judging_script(), load_rubric(filed.path)).calibration.problems == ()


def test_a_calibration_of_another_model_does_not_fit(filed, gold):
    measured(judging_script(), filed, gold)
    other = judging_script()
    other.on(purpose="judge", user="x").reply("y")
    with pytest.raises(CalibrationError, match=r"not been calibrated(.|\n)*seen: one of script"):
        _ = judge_by(other, filed).calibration


PYTHON_SCRIPT = """
from soundstage.models import Reply, Script

WORDS = {words!r}


def judged(request):
    return Reply(text=WORDS)


script = Script()
script.on(purpose="judge", user=lambda words: {test}).reply(judged)
"""


@pytest.mark.parametrize(
    ("words", "test", "same"),
    [
        ("passed", "bool(words)", True),
        ("failed", "bool(words)", False),
        ("passed", "words == words", False),
    ],
)
def test_a_script_of_functions_is_known_by_what_they_say_and_not_by_where_it_was_loaded(
    filed, tmp_path, monkeypatch, words, test, same
):
    first, second = tmp_path / "judge_rules.py", tmp_path / "moved" / "judge_rules.py"
    second.parent.mkdir()
    first.write_text(PYTHON_SCRIPT.format(words="passed", test="bool(words)"))
    second.write_text(PYTHON_SCRIPT.format(words=words, test=test))
    monkeypatch.chdir(tmp_path)
    names = {judge_by(Script.load(path), filed).name for path in (first, "judge_rules.py")}
    assert len(names) == 1
    assert ({judge_by(Script.load(second), filed).name} == names) is same


def test_a_calibration_of_another_prompt_does_not_fit(filed, gold, monkeypatch):
    measured(judging_script(), filed, gold)
    monkeypatch.setattr("soundstage.judges._judge.SYSTEM", "Pass everything.")
    with pytest.raises(CalibrationError, match="not been calibrated"):
        _ = judge_by(judging_script(), filed).calibration


def test_each_model_keeps_its_calibration_and_a_new_one_takes_the_place_of_its_own(filed, gold):
    judge, _ = measured(judging_script(), filed, gold)
    other, _ = measured(always("no"), filed, gold)
    measured(judging_script(), filed, gold)
    assert {one.judge for one in read_calibrations(filed.path)} == {judge.name, other.name}
    assert len(read_calibrations(filed.path)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        '{"version": 2, "calibrations": []}',
        '{"version": 1, "calibrations": [{"judge": "x"}]}',
    ],
)
def test_a_calibration_that_cannot_be_read_is_an_error_that_names_the_command(filed, text):
    calibration_path(filed.path).write_text(text)
    with pytest.raises(CalibrationError, match=r"calibration\.json(.|\n)*soundstage judge calibrate"):
        _ = judge_by(judging_script(), filed).calibration


def test_counts_that_do_not_belong_together_are_refused():
    found = calibration(labels((True, "passed", 1), (False, "failed", 2)))
    with pytest.raises(WrongValueError, match="do not belong together"):
        msgspec.structs.replace(found, both_pass=20)
    with pytest.raises(WrongValueError, match="do not belong together"):
        msgspec.structs.replace(found, changed=3)


def test_a_rubric_that_is_in_no_file_cannot_let_a_judge_decide(filed):
    rubric = msgspec.structs.replace(filed, path=None)
    with pytest.raises(CalibrationError, match="in no file"):
        _ = judge_by(judging_script(), rubric).calibration


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("no json", r"gold\.jsonl:21: this is not JSON"),
        ('{"transcript": "x"}', r"gold\.jsonl:21: `passed` is missing"),
        ('{"transcript": "x", "passed": "yes"}', r"gold\.jsonl:21: passed: expected true or false"),
        (
            '{"passed": true}',
            r"gold\.jsonl:21: transcript: expected one of transcript and journal, got neither",
        ),
        ('{"transcript": "x", "journal": "y", "passed": true}', r"gold\.jsonl:21: .*got both"),
        ('{"journal": "no.jsonl", "passed": true}', r"gold\.jsonl:21: journal: .*no\.jsonl"),
        ('{"transcript": "x", "pased": true, "passed": true}', r"gold\.jsonl:21: pased: unknown key"),
        (lines_of().splitlines()[2], r"gold\.jsonl:21: transcript: the same transcript as in line 3"),
    ],
)
def test_labels_that_cannot_be_used_are_told_with_their_line(gold, line, problem):
    gold.write_text(lines_of() + line + "\n")
    with pytest.raises(GoldError, match=problem):
        load_gold(gold)


@pytest.mark.parametrize(
    ("good", "bad", "seen"), [(5, 0, "5 that are all good"), (0, 3, "3 that are all bad"), (0, 0, "none")]
)
def test_labels_that_are_all_the_same_show_nothing(gold, good, bad, seen):
    gold.write_text(lines_of(good, bad))
    with pytest.raises(GoldError, match=f"got {seen}"):
        load_gold(gold)


def test_a_label_may_name_the_journal_of_a_run(gold, tmp_path):
    journal = Journal(tmp_path / "run.jsonl")
    journal.append(MessageSent(text="add() adds now.", channel="c", sender="agent"), source="agent")
    journal.close()
    gold.write_text('{"journal": "run.jsonl", "passed": true}\n' + lines_of(0, 1))
    assert load_gold(gold).runs[0].transcript.has("add() adds now")


# The command line.

SCRIPT = """\
rules:
  - when: {purpose: judge, user: /still fails/}
    reply: {text: BAD}
  - when: {purpose: judge, user: /adds now/}
    reply: {text: GOOD}
"""


@pytest.fixture
def said(tmp_path, monkeypatch, rubric_file, gold):
    """Runs a command beside a rubric, labels and a script that judges well."""
    bad = verdict(correct=0.1, quotes=["add() still fails"], passed=False)
    script = SCRIPT.replace("BAD", json.dumps(bad)).replace("GOOD", json.dumps(verdict()))
    (tmp_path / "judge.yaml").write_text(script)
    monkeypatch.chdir(tmp_path)

    def call(*words):
        done = CliRunner().invoke(judge_app, words)
        return done.exit_code, done.output, done.exception

    return call


def test_the_command_calibrates_and_the_judge_may_decide(said, filed):
    code, out, _ = said("calibrate", "repair.yaml", "gold.jsonl", "--script", "judge.yaml")
    assert code == GOOD, out
    assert "agreement  20 of 20 = 100% [84%, 100%]" in out
    assert "may decide yes" in out
    assert "line 3: people pass, judge passed" in out
    assert "may decide yes" in said("show", "repair.yaml")[1]
    (kept,) = json.loads(calibration_path(filed.path).read_text())["calibrations"]
    assert (kept["both_pass"], kept["floors"]["agreement"]) == (10, 0.7)


def test_the_command_ends_with_1_for_a_judge_that_is_too_weak_and_the_bound_is_the_users(said, gold):
    words = ("calibrate", "repair.yaml", "gold.jsonl", "--script", "judge.yaml")
    code, out, _ = said(*words, "--agreement", "0.9")
    assert (code, "perhaps only on 84%, at least 90% wanted" in out) == (FAILED, True)
    assert "may decide no" in said("show", "repair.yaml")[1]
    assert said(*words, "--agreement", "0.8")[0] == GOOD


def test_a_file_of_calibrations_that_cannot_be_read_is_told_before_any_token_is_spent(said, filed):
    calibration_path(filed.path).write_text("<<<<<<< HEAD")
    _, out, error = said("calibrate", "repair.yaml", "gold.jsonl", "--script", "judge.yaml")
    assert "delete it and calibrate anew" in str(error)
    assert "line 1: people" not in out


@pytest.mark.parametrize(
    "words",
    [
        ("calibrate", "no.yaml", "gold.jsonl"),
        ("calibrate", "repair.yaml", "no.jsonl"),
        ("calibrate", "repair.yaml", "gold.jsonl", "--agreement", "2"),
        ("unknown",),
    ],
)
def test_wrong_usage_of_the_command_ends_with_2(said, words):
    assert said(*words)[0] == BAD_INPUT


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--script", "no.yaml"), "there is no"),
        (("--script", "judge.yaml", "--live", "openai"), "one model"),
        (("--tape", "gold.jsonl"), "is no tape"),
    ],
)
def test_a_judge_that_cannot_be_had_is_told(said, words, error):
    code, _, caught = said("calibrate", "repair.yaml", "gold.jsonl", *words)
    assert code != GOOD
    assert error in str(caught)


def test_the_schema_is_printed(said):
    assert json.loads(said("schema")[1])["title"] == "Soundstage rubric"


def test_the_command_is_one_of_soundstage(said, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["soundstage", "judge", "show", "repair.yaml"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code in (0, None)
    assert "no repair.calibration.json" in capsys.readouterr().out


def test_a_live_judge_is_calibrated_over_the_wire(said, script, model_server, monkeypatch, filed):
    monkeypatch.setenv("SOUNDSTAGE_ALLOW_LIVE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "a key of nobody")
    script.on(user="/still fails/").reply(verdict(correct=0.1, quotes=["add() still fails"], passed=False))
    script.on(user="/adds now/").reply(verdict())
    address = ("--live", "openai/gpt-4.1", "--base-url", model_server.openai_url)
    code, out, _ = said("calibrate", "repair.yaml", "gold.jsonl", *address)
    assert code == GOOD, out
    (kept,) = read_calibrations(filed.path)
    assert (kept.judge, kept.agreed) == ("gpt-4.1 on this machine", 20)
    assert "tokens, $0." in out


def test_labels_that_cannot_be_read_are_told(tmp_path):
    with pytest.raises(GoldError, match="cannot be read"):
        load_gold(tmp_path / "none.jsonl")


def test_a_script_that_is_not_there_is_expected_in_the_current_folder(said, tmp_path):
    _, _, caught = said("calibrate", "repair.yaml", "gold.jsonl", "--script", "none.yaml")
    assert f"a file in the current folder, {tmp_path}, or a whole path" in str(caught)
