"""Evaluators made of others, evaluators that are code, and those that measure likeness."""

from __future__ import annotations

import shutil

import pytest

from soundstage.errors import EnvironmentProblem, WrongValueError
from soundstage.evals import EvaluatorError, GradePart, evaluator_of

HALF = {"of": [{"contains": "sun", "weight": 3, "name": "facts"}, {"contains": "rain"}]}


def test_without_a_limit_every_part_of_a_score_has_to_pass(graded):
    grade = graded("score", HALF, "sunny")
    assert (grade.passed, grade.score) == (False, 0.75)
    reason = "the answer does not contain 'rain': 'sunny'"
    assert grade.parts == (
        GradePart(evaluator="facts", holds=True, score=1.0, weight=3),
        GradePart(evaluator="contains: rain", holds=False, score=0.0, reason=reason),
    )
    assert grade.reason == reason
    assert graded("score", HALF, "sun and rain").passed


@pytest.mark.parametrize(("least", "passed"), [(0.75, True), (0.76, False)])
def test_with_a_limit_the_mean_by_weight_decides(graded, least, passed):
    assert graded("score", {**HALF, "at_least": least}, "sunny").passed is passed


def test_a_part_without_weight_decides_nothing_and_is_told(graded):
    grade = graded("score", {"of": [{"contains": "sun"}, {"contains": "rain", "weight": 0}]}, "sunny")
    assert (grade.passed, grade.score) == (True, 1.0)
    assert [(part.holds, part.score) for part in grade.parts] == [(True, 1.0), (True, 0.0)]


def test_parts_of_a_part_come_behind_it(graded):
    inner = {"score": {"of": [{"contains": "a"}, {"contains": "z"}], "at_least": 0.5}}
    grade = graded("score", {"of": [inner, {"contains": "b"}]}, "ab")
    assert [part.score for part in grade.parts] == [0.5, 1.0, 0.0, 1.0]
    assert (grade.passed, grade.score) == (True, 0.75)


def test_an_amount_is_no_share_of_a_score(graded):
    assert graded("score", {"of": [{"latency": 100}, {"contains": "z"}]}, "a").score == 0.5


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        ("score", {"of": []}, "at least one"),
        ("score", {"of": [{"contains": "a", "weight": -1}]}, "from 0"),
        ("score", {"of": [{"contains": "a", "weight": True}]}, "from 0"),
        ("score", {"of": [{"contains": "a", "equals": "b"}]}, "one kind"),
        ("score", {"of": [{"weight": 1}]}, "one kind"),
        ("score", {"of": [{"contians": "a"}]}, "did you mean 'contains'"),
        ("score", {"of": [{"contains": "a"}], "at_last": 1}, "at_last"),
        ("not", {"contains": "a", "equals": "b"}, "one kind"),
        ("transform", {"by": {"ruby": "x"}, "expect": {"contains": "a"}}, "javascript, python"),
        ("transform", {"by": "yaml", "expect": {"contains": "a"}}, "transform"),
        ("levenshtein", {"to": "a", "at_most": -1}, "from 0"),
        ("rouge_n", " ", "compares with a text"),
        ("rouge_n", {"to": ["a", "b"]}, "compares with a text"),
        ("bleu", {"to": "a", "at_least": 2}, "from 0 to 1"),
        ("word_count", {}, "bounds"),
        ("word_count", {"at_least": 3, "at_most": 2}, "bounds"),
        ("finish_reason", "stopp", "did you mean 'stop'"),
        ("python_code", "1 +", "no Python"),
        ("python_code", {"code": "1", "file": "x.py"}, "one of"),
        ("python_code", {"file": "nowhere.py"}, "there is no nowhere.py"),
        ("javascript", "  ", "one of"),
        ("javascript", {"file": "x.py"}, ".mjs"),
    ],
)
def test_what_cannot_be_meant_is_refused(kind, spec, words):
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        evaluator_of(kind, spec)


def test_the_opposite_of_an_evaluator(graded):
    assert graded("not", {"contains": "rain"}, "sun").passed
    grade = graded("not", {"contains": "sun"}, "sun")
    assert (grade.passed, grade.reason) == (False, "contains: sun holds")


def test_what_cannot_be_judged_does_not_pass_under_a_not(graded):
    assert graded("not", {"python_code": "1 / 0"}, "x").absent
    assert not graded("not", {"python_code": "1 / 0"}, "x").holds
    assert not graded("not", {"finish_reason": "stop"}, "x").holds


def test_the_opposite_of_a_likeness_is_the_rest_to_one(graded):
    likeness = {"rouge_n": "hello world there"}
    assert graded("rouge_n", "hello world there", "hello world").score == pytest.approx(0.8)
    assert graded("not", likeness, "hello world").score == pytest.approx(0.2)


# Python's answers are those of node as well: the differential tests with promptfoo hold the rules.
VERDICTS = [
    ("True", True, None),
    ("output == 'no'", False, None),
    ("0.3", True, 0.3),
    ("0", False, 0.0),
    ("-1", False, -1.0),
    ("{'pass': True, 'score': 0.2, 'reason': 'why'}", True, 0.2),
    ("x = len(output)\nreturn x == 5", True, None),
    ("context['vars']['city'] == 'Paris'", True, None),
]


@pytest.mark.parametrize(("code", "passed", "score"), VERDICTS)
def test_what_python_says_is_the_grade(graded, code, passed, score):
    grade = graded("python_code", code, "sunny", metadata={"vars": {"city": "Paris"}})
    assert (grade.passed, grade.score, grade.absent) == (passed, score, False)


@pytest.mark.parametrize("code", ["'yes'", "None", "1 / 0", "{'pass': True}", "missing"])
def test_code_that_judges_nothing_does_not_pass(graded, code):
    grade = graded("python_code", code, "sunny")
    assert (grade.absent, grade.holds) == (True, False)


def test_a_threshold_is_for_scores_and_results(graded):
    assert not graded("python_code", {"code": "0.3", "threshold": 0.5}).passed
    assert graded("python_code", {"code": "0.5", "threshold": 0.5}).passed
    result = "{'pass': True, 'score': 0.3, 'reason': ''}"
    assert not graded("python_code", {"code": result, "threshold": 0.5}).passed


def test_a_function_of_a_file_gets_output_and_config(graded, tmp_path, monkeypatch):
    (tmp_path / "checks_of_mine.py").write_text(
        "def get_assert(output, context):\n    return len(output) <= context['config']['most']\n"
        "async def other(output, context):\n    return 0.25\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert graded("python_code", {"file": "checks_of_mine.py", "config": {"most": 5}}, "sunny").passed
    assert graded("python_code", {"file": "checks_of_mine.py", "function": "other"}, "sunny").score == 0.25
    with pytest.raises(WrongValueError, match="has no function nothing"):
        evaluator_of("python_code", {"file": "checks_of_mine.py", "function": "nothing"})


@pytest.mark.parametrize(
    ("code", "passed", "score"),
    [
        ("output.includes('sun')", True, None),
        ("output.length / 10", True, 0.5),
        ("const n = output.length; n === 4", False, None),
        (
            "const n = output.length;\nreturn {pass: n === 5, score: 0.4, reason: context.vars.city}",
            True,
            0.4,
        ),
        ("Promise.resolve(true)", True, None),
    ],
)
def test_what_javascript_says_is_the_grade(graded, code, passed, score):
    grade = graded("javascript", code, "sunny", metadata={"vars": {"city": "Paris"}})
    assert (grade.passed, grade.score, grade.absent) == (passed, score, False)


@pytest.mark.parametrize("code", ["throw new Error('x')", "'yes'", "x =>", "undefined", "process.exit(0)"])
def test_javascript_that_judges_nothing_does_not_pass(graded, code):
    grade = graded("javascript", code, "sunny")
    assert (grade.absent, grade.holds) == (True, False)
    assert grade.reason


def test_javascript_reaches_no_variable_of_ours(graded, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_MINE", "1")
    assert graded("javascript", "process.env.A_SECRET_OF_MINE === undefined", "x").passed


def test_a_function_of_a_javascript_file(graded, tmp_path, monkeypatch):
    (tmp_path / "check.mjs").write_text(
        "export default (output) => output.length > 3;\nexport const short = (output) => output.length < 3;\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert graded("javascript", {"file": "check.mjs"}, "sunny").passed
    assert not graded("javascript", {"file": "check.mjs", "function": "short"}, "sunny").passed


def test_a_missing_node_is_told_before_anything_starts(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(EnvironmentProblem, match="there is no node"):
        evaluator_of("javascript", "true")
    with pytest.raises(EnvironmentProblem, match="there is no node"):
        evaluator_of("score", {"of": [{"not": {"javascript": "true"}}]})


def test_an_answer_is_transformed_before_it_is_judged(graded):
    spec = {"by": {"python": "output.upper()"}, "expect": {"output_matches": {"equals": "SUNNY"}}}
    assert graded("transform", spec, "sunny").passed
    assert not graded("output_matches", {"equals": "SUNNY"}, "sunny").passed


def test_code_sees_an_answer_that_is_json_as_data_after_a_transform(graded):
    reads = {"python_code": "output['n'] == 3"}
    assert graded("transform", {"by": "json", "expect": reads}, '{"n": 3}').passed
    assert graded("python_code", "output['n'] == 3", '{"n": 3}').absent
    made = {"by": {"python": "{'n': len(output)}"}, "expect": {"contains": '{"n":5}'}}
    assert graded("transform", made, "sunny").passed


def test_a_transform_that_fails_does_not_pass(graded):
    spec = {"by": {"python": "output['n']"}, "expect": {"not": {"contains": "x"}}}
    grade = graded("transform", spec, "sunny")
    assert (grade.absent, grade.holds) == (True, False)
    assert "cannot be transformed" in grade.reason


def test_a_part_that_is_broken_is_an_error_of_the_whole(graded, tmp_path, monkeypatch):
    (tmp_path / "broken_part.py").write_text("def judge(run):\n    return object()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(EvaluatorError, match="broken"):
        graded("score", {"of": [{"python": "broken_part:judge"}]}, "x")


@pytest.mark.parametrize(
    ("one", "other", "most", "near"),
    [
        ("kitten", "sitting", 3, True),  # the distance of textbooks
        ("kitten", "sitting", 2, False),
        ("", "abc", 3, True),
        ("", "abc", 2, False),
        ("same", "same", 0, True),
        ("abcdef", "bcdefg", 2, True),
        ("abcdef", "bcdefg", 1, False),
        ("ab", "ba", 1, False),
    ],
)
def test_levenshtein_counts_letters_changed_put_in_and_left_out(graded, one, other, most, near):
    assert graded("levenshtein", {"to": other, "at_most": most}, one).passed is near


def test_rouge_knows_quotes_that_open_from_those_that_close(graded):
    assert (
        graded("rouge_n", "cat", 'cat."').score == 0.5
    )  # as promptfoo has it: cat, a full stop, a closing quote
    assert graded("rouge_n", '"cat', 'cat?"').score == pytest.approx(0.4)
    assert graded("rouge_n", "cat", "cat 'cat'").score == 0.5


def test_gleu_is_the_share_of_the_runs_of_the_longer_text(graded):
    assert graded("gleu", "the cat sat on the mat", "The cat sat on the mat.").score == 1
    assert graded("gleu", "the cat sat on the mat", "the cat sat").score == pytest.approx(6 / 18)
    assert graded("gleu", "the cat sat on the mat", "the cat, sat. on the mat").score == pytest.approx(
        11 / 18
    )
    assert graded("gleu", ["a dog", "the cat"], "the cat").score == 1
    assert graded("gleu", ".", "...").score == 0


def test_bleu_is_one_for_the_same_and_falls_with_what_is_missing(graded):
    assert graded("bleu", "the cat sat on the mat", "The cat sat on the mat").score == 1
    assert graded("bleu", "x y z w v u", "x y").score == pytest.approx(0.1353, abs=1e-4)  # exp(1 - 6 / 2)
    assert graded("bleu", ["x y z w v u", "a b"], "x y").score == 1
    assert graded("bleu", "one", "two").score == pytest.approx(1e-7)
    assert not graded("bleu", "one", "").passed


def test_words_are_counted(graded):
    assert graded("word_count", 3, "a b  c").passed
    assert not graded("word_count", {"at_least": 2, "at_most": 2}, "a b c").passed
    assert graded("word_count", {"at_least": 2}, "a b c").passed


def test_numbers_that_json_does_not_have_are_no_json(graded):
    assert graded("is_json", True, "[1]").passed
    assert not graded("is_json", True, "NaN").passed


def test_a_format_of_a_schema_is_checked(graded):
    schema = {"type": "string", "format": "date"}
    assert graded("is_json", schema, '"2026-02-28"').passed
    assert not graded("is_json", schema, '"2026-02-30"').passed


def test_the_opposite_of_what_decides_nothing_decides_nothing(graded, tmp_path, monkeypatch):
    (tmp_path / "scoring_part.py").write_text("def score(run):\n    return 0.2\n")
    monkeypatch.syspath_prepend(tmp_path)
    grade = graded("not", {"python": "scoring_part:score"}, "x")
    assert (grade.passed, grade.score, grade.holds) == (None, 0.2, True)
