"""The `matrix` of a suite in a file: every key that a dimension replaces, and all that is refused, with its line."""

from __future__ import annotations

import asyncio
import json

import pytest
from typer.testing import CliRunner

from soundstage.evals import EvalConfigError, MatrixError, load_suite, run_suite
from soundstage.evals._command_line import evals

FILES = {
    "rules.yaml": "rules: [{when: {user: go, system: Polite}, reply: {text: please}}, "
    "{when: {user: go}, reply: {text: sunny}}]\n",
    "other.yaml": "rules: [{when: {user: go}, reply: {text: rain}}]\n",
    "agents_of_a_matrix.py": (
        "def echo(prompt, *, style='plain'):\n    return f'{prompt} {style}'\n\n"
        "def loud(prompt):\n    return prompt.upper()\n"
    ),
}
CASES = "cases:\n  - {name: a, input: go, expect: [no_failures]}\n"
ALONE = "agent: {model: openai/gpt}\nscript: rules.yaml\n"
FUNCTION = "agent: {python: 'agents_of_a_matrix:echo'}\nscript: rules.yaml\n"


@pytest.fixture
def written(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text(name)

    def write(text):
        (tmp_path / "suite.yaml").write_text(text)
        return tmp_path / "suite.yaml"

    return write


def answers(path, store):
    report = asyncio.run(run_suite(load_suite(path), store=store))
    assert not report.errors, report.errors[0].reason
    return {case.name: store.open(case.runs[0].run).result().output.strip() for case in report.cases}


READ = {
    "script": (
        "agent: {model: m}\n" + CASES + "matrix: {script: [rules.yaml, other.yaml]}\n",
        ["sunny", "rain"],
    ),
    "agent": (
        "script: rules.yaml\n"
        + CASES
        + "matrix:\n  agent: [{python: 'agents_of_a_matrix:loud'}, {model: m}]\n",
        ["GO", "sunny"],
    ),
    "system": (
        ALONE + CASES + "matrix: {system: ['', {label: polite, value: Polite.}]}\n",
        ["sunny", "please"],
    ),
    "prompt": (
        FUNCTION + CASES + "matrix: {prompt: ['{input}', 'please {input}']}\n",
        ["go plain", "please go plain"],
    ),
    "model": (ALONE + CASES + "matrix: {model: [openai/gpt, anthropic/claude]}\n", ["sunny", "sunny"]),
    "argument": (FUNCTION + CASES + "matrix: {style: [x, y]}\n", ["go x", "go y"]),
    "variable": (
        FUNCTION + CASES.replace("go", "'go {n}'") + "matrix: {n: [1, 2]}\n",
        ["go 1 plain", "go 2 plain"],
    ),
    "workspace": (
        "agent: {command: [cat, file.txt]}\nscript: rules.yaml\n"
        + CASES
        + "matrix: {workspace: [one, two]}\n",
        ["one", "two"],
    ),
    "command": (
        "agent: {command: [echo, '{word}', '{input}']}\nscript: rules.yaml\n"
        + CASES
        + "matrix: {word: [x, y]}\n",
        ["x go", "y go"],
    ),
}


@pytest.mark.parametrize("key", READ)
def test_a_dimension_replaces_what_its_name_says(written, store, key):
    text, expected = READ[key]
    assert list(answers(written(text), store).values()) == expected


def test_a_suite_has_a_prompt_and_a_system_text_without_a_matrix_too(written, store):
    text = "agent: {model: m, system: Polite.}\nscript: rules.yaml\nprompt: 'go! {input}'\n" + CASES
    assert list(answers(written(text), store).values()) == ["please"]
    text = FUNCTION + "prompt: 'say {input}'\n" + CASES
    assert list(answers(written(text), store).values()) == ["say go plain"]


def test_labels_skip_and_only_are_read(written):
    suite = load_suite(
        written(
            FUNCTION
            + CASES.replace("go", "'go {n}'")
            + "matrix:\n  style: [x, {label: loud, value: 'y!'}]\n  n: [1, 2]\n"
            "  only: {style: [x, loud]}\n  skip: [{style: x, n: 1}]\n  limit: 4\n"
        )
    )
    assert [case.name for case in suite.cases] == [
        "a [style=x, n=2]",
        "a [style=loud, n=1]",
        "a [style=loud, n=2]",
    ]


def test_another_matrix_makes_another_suite(written):
    text = FUNCTION + CASES + "matrix: {style: [x, y]}\n"
    first = load_suite(written(text)).fingerprint
    assert load_suite(written(text)).fingerprint == first
    assert load_suite(written(text.replace("y]", "z]"))).fingerprint != first


def test_another_script_of_a_matrix_makes_another_suite(written, tmp_path):
    text = READ["script"][0]
    first = load_suite(written(text)).fingerprint
    (tmp_path / "other.yaml").write_text(FILES["other.yaml"].replace("rain", "snow"))
    assert load_suite(written(text)).fingerprint != first


START = FUNCTION + CASES  # four lines
WRONG = [
    (START + "matrix: [a]\n", 5, "matrix: expected dimensions"),
    (START + "matrix: {}\n", 5, "matrix: expected at least one dimension"),
    (START + "matrix:\n  style: []\n", 6, "matrix.style: expected at least one value"),
    (START + "matrix:\n  style: x\n", 6, "matrix.style: expected a list of values"),
    (START + "matrix:\n  style: {x: y}\n", 6, "matrix.style: expected a list of values"),
    (START + "matrix:\n  style:\n    - x\n    - x\n", 8, "matrix.style[1]: two values are called 'x'"),
    (START + "matrix:\n  style: [x]\n  n: [1]\n", 7, "matrix.n: nothing takes it"),
    (START + "matrix:\n  style: [x]\n  skip: {stile: x}\n", 7, "did you mean 'style'"),
    (START + "matrix:\n  style: [x, y, z]\n  limit: 2\n", 7, "3 = 3 combinations, at most 2"),
    (START + "matrix:\n  limit: many\n  style: [x]\n", 6, "matrix.limit: expected a number"),
    (START + "matrix:\n  script: [other.yaml]\n", 6, "models come from `script` or from `script`"),
    (
        START.replace("script: rules.yaml\n", "") + "matrix:\n  script: [rules.yaml, no.yaml]\n",
        5,
        "there is no",
    ),
    (
        START.replace("script: rules.yaml\n", "") + "matrix:\n  script: [rules.yaml]\n  tape: [x]\n",
        5,
        "models come from `script` or from `tape`",
    ),
    (START + "matrix:\n  workspace: [one, three]\n", 6, "matrix.workspace[1]: there is no folder"),
    (START + "matrix:\n  prompt: [no place]\n", 6, "expected a text with {input}"),
    ("script: rules.yaml\n" + CASES + "matrix:\n  agent:\n    - {model: m}\n    - {modle: m}\n", 7, "modle"),
    (
        "script: rules.yaml\n" + CASES + "matrix:\n  agent:\n    - {model: m}\n    - {python: 'no:where'}\n",
        7,
        "no:where",
    ),
    (START + "prompt: nothing\n", 5, "prompt: expected a text with {input}"),
    (START.replace("echo'}", "echo', system: x}"), 1, "agent.system: only an agent with `model`"),
]


@pytest.mark.parametrize(("text", "line", "words"), WRONG)
def test_a_matrix_that_is_wrong_is_told_with_file_line_and_key(written, text, line, words):
    with pytest.raises(EvalConfigError) as caught:
        load_suite(written(text))
    told = [problem for problem in caught.value.problems if words in str(problem)]
    assert told, caught.value
    assert told[0].line == line, told
    assert told[0].file.endswith("suite.yaml")


def test_what_is_wrong_with_a_matrix_is_an_error_of_its_own(written):
    with pytest.raises(MatrixError):
        load_suite(written(START + "matrix: {style: []}\n"))


def test_a_matrix_runs_from_the_command_line_and_is_resumed(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(FUNCTION + CASES + "repeat: 2\nmatrix: {style: [x, y]}\n")

    def run(*words):
        ended = CliRunner().invoke(evals, ["run", "suite.yaml", *words])
        assert ended.exit_code == 0, ended.output
        return ended.output, json.loads((tmp_path / ".soundstage/evals/last-report.json").read_text())

    run("--case", "a [style=x]")
    output, report = run("--resume")
    assert "x      2/2 = 100%" in output
    assert [cell["runs"] for cell in report["matrix"]["cells"]] == [2, 2]
    assert "style explains no difference" in output
    runs = list((tmp_path / ".soundstage" / "runs").iterdir())
    assert len([one for one in runs if one.is_dir()]) == 4
