"""What the documents show works: marked examples are run, scripts are checked, commands and names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from soundstage.models import check_script, load_script

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
EXAMPLE = re.compile(r"<!-- test: (?P<name>[^>]+) -->\n```python\n(?P<code>.*?)```", re.DOTALL)
YAML = re.compile(r"```yaml\n(?P<code>.*?)```", re.DOTALL)
EXAMPLES = {
    path.name: {found["name"].strip(): found["code"] for found in EXAMPLE.finditer(path.read_text())}
    for path in DOCUMENTS
}
SCRIPTS = [
    pytest.param(found["code"], id=f"{path.name}-{number}")
    for path in DOCUMENTS
    for number, found in enumerate(YAML.finditer(path.read_text()))
]

MY_AGENT = '''
import json


def my_agent(client, question):
    """The app of the example: asks, runs the tool that the model wants, answers."""
    messages = [{"role": "user", "content": question}]
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
    while True:
        answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool])
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": f"{city}: 4 C"})
'''


def test_there_are_examples_to_run():
    assert "readme" in EXAMPLES["README.md"]
    assert "virtual time" in EXAMPLES["pytest.md"]
    assert len(SCRIPTS) >= 2


@pytest.mark.parametrize("document", [name for name, examples in EXAMPLES.items() if examples])
def test_the_examples_of_a_document_pass_as_they_stand(pytester, document):
    pytester.makeini(
        "[pytest]\nfilterwarnings = error\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n"
    )
    for number, (name, code) in enumerate(EXAMPLES[document].items()):
        title = re.sub(r"\W+", "_", name)
        pytester.makepyfile(**{f"test_{number}_{title}": f"{MY_AGENT}\n\n{code}"})
    outcomes = pytester.runpytest_subprocess().parseoutcomes()
    assert set(outcomes) == {"passed"}, f"an example of {document} does not pass: {outcomes}"
    assert outcomes["passed"] >= len(EXAMPLES[document])


def test_the_example_of_the_readme_has_at_most_15_lines():
    assert len(EXAMPLES["README.md"]["readme"].strip().splitlines()) <= 15


@pytest.mark.parametrize("code", SCRIPTS)
def test_a_script_of_the_documents_can_be_loaded_and_has_no_problems(tmp_path, code):
    path = tmp_path / "script.yaml"
    path.write_text(code)
    assert check_script(path) == []
    assert load_script(path).rules


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
