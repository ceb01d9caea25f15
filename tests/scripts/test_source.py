"""Text to data that knows its lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soundstage.scripts._source import SourceReport, read_source, wrap_source


def node_of(text, form=""):
    report = SourceReport("f")
    node = read_source(text, report, form=form)
    assert all(type(problem.line) is int for problem in report.problems)
    return node, [str(problem) for problem in report.problems]


def lines_of(node):
    """The tree with lines in the place of plain values."""
    if node.fields:
        return {name: (line, lines_of(part)) for name, (line, part) in node.fields.items()}
    return [lines_of(item) for item in node.items] if node.items else node.line


def test_yaml_scalars_follow_version_1_2():
    text = (
        "a: [on, yes, 12:30, 2026-01-01, 0x1F, \"5\", 'x', true, False, null, ~, 3, -2, 1.5, .5, 1e3]\nb:\n"
    )
    node, problems = node_of(text)
    assert problems == []
    assert node.value["a"][:7] == ["on", "yes", "12:30", "2026-01-01", "0x1F", "5", "x"]
    assert node.value["a"][7:] == [True, False, None, None, 3, -2, 1.5, 0.5, "1e3"]
    assert node.value["b"] is None


def test_every_value_and_key_knows_its_line():
    text = (
        "version: 1\nrules:\n  - when:\n      user: a\n    reply: >\n      long\n      text\n  - reply: b\n"
    )
    node, _ = node_of(text)
    assert lines_of(node) == {
        "version": (1, 1),
        "rules": (2, [{"when": (3, {"user": (4, 4)}), "reply": (5, 5)}, {"reply": (8, 8)}]),
    }


def test_json_has_the_same_lines_and_its_own_escapes():
    text = '{\n\t"a": [1,\n\t{"b": "\\ud83d\\ude00 \\" {[,: \\/"}],\n "c": {}, "d": [], "e": -1.5e2\n}'
    node, problems = node_of(text)
    assert problems == []
    assert node.value == {"a": [1, {"b": '😀 " {[,: /'}], "c": {}, "d": [], "e": -150.0}
    assert lines_of(node) == {"a": (2, [2, {"b": (3, 3)}]), "c": (4, 4), "d": (4, 4), "e": (4, 4)}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 0, 2]), st.booleans())
@settings(deadline=None)
def test_json_comes_out_as_the_standard_library_reads_it(value, indent, ascii_only):
    node, problems = node_of(json.dumps(value, indent=indent, ensure_ascii=ascii_only), "json")
    assert (node.value, problems) == (value, [])
    assert wrap_source(value).value == value


LINE = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")))


@given(st.dictionaries(st.text("abc xyz-'\"#:", min_size=1), LINE | st.integers() | st.booleans()))
@settings(deadline=None)
def test_what_pyyaml_writes_is_read_back(value):
    yaml = pytest.importorskip("yaml")
    node, problems = node_of(yaml.safe_dump(value, allow_unicode=True), "yaml")
    assert problems == []
    assert node.value == value


def test_anchors_and_merges_work_and_the_own_key_wins():
    node, problems = node_of(
        "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\nc: {k: 4, <<: [{m: 5}, *x]}\nd: *x\ne: {<<: *x, <<: {k: 9, n: 8}}"
    )
    assert problems == []
    assert node.value["e"] == {"k": 1, "l": 2, "n": 8}
    assert node.value["b"] == {"k": 3, "l": 2}
    assert node.value["c"] == {"m": 5, "k": 4, "l": 2}
    assert node.value["d"] == {"k": 1, "l": 2}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(letter)}: &{chr(letter)} [{', '.join(['*' + chr(letter - 1)] * 10)}]\n"
    for letter in range(ord("b"), ord("m"))
)


def test_an_alias_that_is_used_thousands_of_times_is_made_once():
    text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(letter)}: &{chr(letter)} [{', '.join(['*' + chr(letter - 1)] * 10)}]\n"
        for letter in range(ord("b"), ord("f"))
    )
    node, problems = node_of(text)
    assert problems == []
    assert node.fields["c"].node.items[0] is node.fields["c"].node.items[9]


@pytest.mark.parametrize(
    ("text", "form", "problem"),
    [
        ("a: [1", "", "f:"),
        ("x: 1\na: b: c", "", "f:2: this is not YAML: mapping values are not allowed"),
        ("a: 1\n---\nb: 2", "", "f:2: this is not YAML: expected a single document"),
        ("a: 1\nb: *nope", "", "f:2: this is not YAML: found undefined alias"),
        ("a: 1\nb: \x07", "", "f:2: this is not YAML: "),
        ("", "", "f: it is empty"),
        ("# only a remark\n", "", "f: it is empty"),
        ("a: &x\n  b: *x", "", "f:2: this value contains itself"),
        ("a: 1\n? [b]\n: c", "", "f:2: a key is text, not a list or a mapping"),
        ("a: 1\nb: !foo 3", "", "f:2: the tag !foo means nothing here"),
        ("a: 1\nb: {<<: 3}", "", "f:2: <<: only mappings can be merged"),
        ("a: 1\nb: 2\na: 3", "", "f:3: a: this key is there twice; the first one is in line 1"),
        ('{"a": 1,\n "a": 2}', "", "f:2: a: this key is there twice; the first one is in line 1"),
        ('{"a":\n }', "json", "f:2: this is not JSON: Expecting value"),
        ('{"a": NaN}', "json", "f: this is not JSON: NaN is not a number in JSON"),
        ("9" * 5000, "json", "f: this is not JSON: "),
        ("[" * 50000, "yaml", "f:1: it is nested too deeply"),
        ("- " * 50000, "yaml", "f:1: it is nested too deeply"),
        ("[" * 50000 + "]" * 50000, "json", "f: it is nested too deeply"),
        ("[" * 101 + "]" * 101, "json", "f:1: it is nested too deeply; 100 levels"),
        ("# " + "]" * 100_000 + "\n" + "[" * 100_000, "yaml", "f:2: it is nested too deeply"),
        ("# " + "{" * 100_000 + "\n" + "- " * 100_000, "", "f:2: it is nested too deeply"),
        ("? " * 100_000, "yaml", "f:1: it is nested too deeply"),
        ("{a: " * 100_000, "yaml", "f:1: it is nested too deeply"),
        (BOMB, "yaml", "f:6: it has more than 1,000,000 values"),
        ("a: " + "x" * 8_000_000, "", "f: it is longer than 8,000,000 characters"),
        ("a: \ud800", "", "f: it holds half a surrogate pair"),
    ],
)
def test_what_cannot_be_read_is_a_problem_with_its_line(text, form, problem):
    _, problems = node_of(text, form)
    assert len(problems) == 1
    assert problems[0].startswith(problem)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_hundred_levels_are_allowed_however_many_values_lie_side_by_side(form):
    node, problems = node_of("[" * 99 + "[], {}, [], {}" + "]" * 99, form)
    assert problems == []
    for _ in range(99):
        node = node.items[0] if len(node.items) == 1 else node
    assert node.value == [[], {}, [], {}]
    assert node_of("[" * 101 + "]" * 101, form)[1] == ["f:1: it is nested too deeply; 100 levels are allowed"]


def test_text_that_begins_like_json_and_is_none_is_yaml():
    assert node_of("{a: b}")[0].value == {"a": "b"}


def test_a_number_that_is_too_large_to_be_one_is_a_text():
    digits = "9" * 400 + ".5"
    node, found = node_of(f"a: {digits}\nb: [-{digits}, 0.5]\n")
    assert (node.value, found) == ({"a": digits, "b": ["-" + digits, 0.5]}, [])
