"""Rubrics (R3.101, R3.102): fields, defaults, shares of weights, files; what is refused, with the path of its field."""

from __future__ import annotations

import json

import msgspec
import pytest
import yaml
from jsonschema import Draft202012Validator

from soundstage.judges import Criterion, Rubric, RubricError, load_rubric, rubric_of, rubric_schema

ONE = {"id": "a", "description": "it is so"}


def keys_of(caught):
    return [problem.key for problem in caught.value.problems]


def test_a_rubric_of_a_file_has_its_criteria_in_order_and_its_further_fields(rubric_file):
    rubric = load_rubric(rubric_file)
    assert [one.id for one in rubric.criteria] == ["correct", "small"]
    assert rubric.extra == {"owner": "somebody"}
    assert rubric.criteria[1].extra == {"hard": True}
    assert rubric.path == rubric_file


def test_json_yaml_and_plain_data_are_the_same_rubric(rubric_file, tmp_path):
    data = yaml.safe_load(rubric_file.read_text())
    (tmp_path / "repair.json").write_text(json.dumps(data))
    plain = rubric_of(data)
    for path in (rubric_file, tmp_path / "repair.json"):
        assert msgspec.structs.replace(load_rubric(path), path=None) == plain


def test_what_is_not_given_has_its_default():
    rubric = rubric_of({"name": "r", "criteria": [ONE]})
    assert (rubric.pass_threshold, rubric.criteria[0].threshold) == (0.7, 0.5)
    assert rubric.model == "anthropic/claude-sonnet-5-5"
    assert rubric.criteria[0].weight is None


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ((None, None, None, None), (0.25, 0.25, 0.25, 0.25)),
        ((0.5, None, None), (0.5, 0.25, 0.25)),
        ((0.2, 0.2), (0.5, 0.5)),
        ((1.0, 0.0), (1.0, 0.0)),
    ],
)
def test_criteria_without_a_weight_share_what_is_left_equally_and_all_add_up_to_1(weights, shares):
    criteria = tuple(
        Criterion(id=str(number), description="d", weight=one) for number, one in enumerate(weights)
    )
    rubric = Rubric(name="r", criteria=criteria).normalised()
    assert tuple(one.weight for one in rubric.criteria) == shares
    assert rubric.score({str(number): 1.0 for number in range(len(weights))}) == 1
    assert rubric.score({str(number): float(number == 0) for number in range(len(weights))}) == shares[0]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"criteria": []}, "criteria"),
        ({"pass_threshold": 1.1}, "pass_threshold"),
        ({"pass_threshold": float("nan")}, "pass_threshold"),
        ({"pass_threshold": True}, "pass_threshold"),
        ({"name": ""}, "name"),
        ({"criteria": [{"description": "d"}]}, "criteria[0].id"),
        ({"criteria": [ONE, {"id": "b"}]}, "criteria[1]"),
        ({"criteria": [ONE, {"id": "b", "description": " "}]}, "criteria[1].description"),
        ({"criteria": [ONE, {**ONE, "threshold": -0.1}]}, "criteria[1].threshold"),
        ({"criteria": [{**ONE, "weight": 1.5}]}, "criteria[0].weight"),
        ({"criteria": [{**ONE, "weight": 0}]}, "criteria"),
        ({"criteria": [{**ONE, "weight": 1}, {"id": "b", "description": "d"}]}, "criteria"),
        ({"criteria": [ONE, ONE]}, "criteria[0].id"),
        ({"criteria": [{**ONE, "name": "b"}]}, "criteria[0].name"),
        ({"criteria": [{**ONE, "treshold": 0.9}]}, "criteria[0].treshold"),
        ({"pass_treshold": 0.9}, "pass_treshold"),
        ({"version": 2}, "version"),
        ({"criteria": "many"}, "criteria"),
    ],
)
def test_what_cannot_be_a_rubric_is_refused_with_the_path_of_the_field(change, key):
    with pytest.raises(RubricError) as caught:
        rubric_of({"name": "r", "criteria": [ONE], **change})
    assert key in keys_of(caught)


def test_a_rubric_without_a_name_or_criteria_says_so():
    with pytest.raises(RubricError, match=r"`name` is missing(.|\n)*`criteria` is missing"):
        rubric_of({})


def test_a_rubric_made_in_python_is_checked_too():
    with pytest.raises(RubricError, match=r"criteria\[0\]\.threshold: expected a number from 0 to 1, got 2"):
        Rubric(name="r", criteria=(Criterion(id="a", description="d", threshold=2),))


def test_a_problem_of_a_file_has_its_line(rubric_file):
    rubric_file.write_text(rubric_file.read_text().replace("weight: 0.75", "weight: 75"))
    with pytest.raises(RubricError, match=r"repair\.yaml:6: criteria\[0\]\.weight: .* got 75"):
        load_rubric(rubric_file)


def test_two_problems_are_told_at_once(rubric_file):
    rubric_file.write_text("name: [1]\npass_threshold: high\ncriteria: [{id: a, description: b}]\n")
    with pytest.raises(RubricError) as caught:
        load_rubric(rubric_file)
    assert keys_of(caught) == ["name", "pass_threshold"]


def test_the_schema_takes_what_is_taken_and_refuses_what_is_refused():
    Draft202012Validator.check_schema(rubric_schema())
    fits = Draft202012Validator(rubric_schema()).is_valid
    assert fits({"name": "r", "owner": "me", "criteria": [{"name": "a", "description": "d", "mine": 1}]})
    assert not fits({"name": "r", "criteria": []})
    assert not fits({"name": "r", "criteria": [{"description": "d"}]})
    assert not fits({"name": "r", "pass_threshold": 2, "criteria": [ONE]})
    assert not fits({"name": "r", "criteria": [{**ONE, "threshold": -1}]})
    assert not fits({"criteria": [ONE]})


@pytest.mark.parametrize(
    ("text", "problem"), [("{", "not YAML"), ("", "it is empty"), ("- a", "expected a mapping")]
)
def test_a_file_that_is_no_rubric_is_refused(rubric_file, text, problem):
    rubric_file.write_text(text)
    with pytest.raises(RubricError, match=problem):
        load_rubric(rubric_file)
