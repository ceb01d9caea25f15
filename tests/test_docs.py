"""Documents tell the truth: marked examples are run, scripts are checked, commands and names exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from soundstage.evals import load_suite
from soundstage.judges import load_rubric
from soundstage.models import load_script, script_problems

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
EXAMPLE = re.compile(r"<!-- test: (?P<name>[^>]+) -->\n```python\n(?P<code>.*?)```", re.DOTALL)
FILE = re.compile(r"<!-- file: (?P<name>[\w.]+) -->\n```python\n(?P<code>.*?)```", re.DOTALL)
UNMARKED = re.compile(r"(?<!-->\n)```python\n(?P<code>.*?)```", re.DOTALL)
PYTHON_SCRIPT = re.compile(r"<!-- script -->\n```python\n(?P<code>.*?)```", re.DOTALL)
YAML = re.compile(r"```yaml\n(?P<code>.*?)```", re.DOTALL)
EXAMPLES = {
    path.name: {found["name"].strip(): found["code"] for found in EXAMPLE.finditer(path.read_text())}
    for path in DOCUMENTS
}
FILES = {
    path.name: {found["name"]: found["code"] for found in FILE.finditer(path.read_text())}
    for path in DOCUMENTS
}
SCRIPTS = [
    pytest.param(found["code"], id=f"{path.name}-{number}")
    for path in DOCUMENTS
    for number, found in enumerate(YAML.finditer(path.read_text()))
    if "\ncases:" not in found["code"] and "\ncriteria:" not in found["code"]
]
RUBRICS = [
    found["code"]
    for path in DOCUMENTS
    for found in YAML.finditer(path.read_text())
    if "\ncriteria:" in found["code"]
]
SUITES = [
    found["code"]
    for path in DOCUMENTS
    for found in YAML.finditer(path.read_text())
    if "\ncases:" in found["code"]
]


def test_there_are_examples_to_run():
    assert "readme" in EXAMPLES["README.md"]
    assert "virtual time" in EXAMPLES["pytest.md"]
    assert len(SCRIPTS) >= 2


@pytest.mark.parametrize("document", [name for name, examples in EXAMPLES.items() if examples])
def test_the_examples_of_a_document_pass_as_they_stand(pytester, document):
    pytester.makeini(
        "[pytest]\nfilterwarnings = error\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n"
    )
    for name, code in FILES[document].items():
        (pytester.path / name).write_text(code)
    for number, (name, code) in enumerate(EXAMPLES[document].items()):
        title = re.sub(r"\W+", "_", name)
        (pytester.path / f"test_{number}_{title}.py").write_text(code)
    outcomes = pytester.runpytest_subprocess().parseoutcomes()
    assert set(outcomes) == {"passed"}, f"an example of {document} does not pass: {outcomes}"
    assert outcomes["passed"] >= len(EXAMPLES[document])


def test_the_example_of_the_readme_has_at_most_15_lines():
    assert len(EXAMPLES["README.md"]["readme"].strip().splitlines()) <= 15


@pytest.mark.parametrize("code", SCRIPTS)
def test_a_script_of_the_documents_can_be_loaded_and_has_no_problems(tmp_path, code):
    path = tmp_path / "script.yaml"
    path.write_text(code)
    assert script_problems(path) == []
    assert load_script(path).rules


def test_the_suites_and_rubrics_of_the_documents_can_be_loaded(tmp_path):
    assert SUITES
    assert RUBRICS
    for code in RUBRICS:
        (tmp_path / "repair.yaml").write_text(code)
        assert load_rubric(tmp_path / "repair.yaml").criteria
    (tmp_path / "rules.yaml").write_text("rules: [{when: {user: weather}, reply: {text: sunny}}]\n")
    for code in SUITES:
        (tmp_path / "suite.yaml").write_text(code)
        assert load_suite(tmp_path / "suite.yaml").cases


def test_the_script_in_python_is_the_one_in_yaml(tmp_path):
    """The page says that both are the same script; they give the same rules."""
    page = (ROOT / "docs" / "scripts.md").read_text()
    (tmp_path / "script.py").write_text(PYTHON_SCRIPT.search(page)["code"])
    (tmp_path / "script.yaml").write_text(YAML.search(page)["code"])
    python, yaml = load_script(tmp_path / "script.py"), load_script(tmp_path / "script.yaml")
    assert [(one.describe(), one.reply, one.priority, one.times) for one in python.rules] == [
        (one.describe(), one.reply, one.priority, one.times) for one in yaml.rules
    ]
    assert (python.default, python.agents[0].name) == (yaml.default, yaml.agents[0].name)


def test_what_cannot_be_run_here_can_be_pasted_all_the_same(tmp_path):
    """Examples that need an image, a plugin or a real model: all their names are there, their imports too."""
    pasted = [
        (path.name, found["code"]) for path in DOCUMENTS for found in UNMARKED.finditer(path.read_text())
    ]
    for number, (document, code) in enumerate(pasted):
        (tmp_path / f"{number}_{Path(document).stem}.py").write_text(code)
        for line in re.findall(r"^(?:from|import) .*$", code, re.MULTILINE):
            exec(line, {})
    rules = ["--isolated", "--select", "F821,F822,F823", "--output-format", "concise"]
    found = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *rules, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert len(pasted) >= 5


def test_links_between_documents_lead_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_targets_that_the_readme_names_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"make (\w+)", (ROOT / "README.md").read_text())):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"


def test_each_test_that_a_promise_names_exists():
    named = re.findall(
        r"`([\w/]+/test_\w+|test_\w+)\.py(?:::(test_\w+))?`", (ROOT / "docs" / "guarantees.md").read_text()
    )
    assert len(named) > 30
    for module, test in named:
        path = ROOT / "tests" / f"{module}.py"
        assert path.exists(), f"docs/guarantees.md names {path.relative_to(ROOT)}"
        assert f"def {test}(" in path.read_text() or not test, f"{path.relative_to(ROOT)} has no {test}"
