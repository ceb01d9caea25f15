"""A suite whose code, workspace or files have changed is another one, and is not resumed."""

from __future__ import annotations

import asyncio
import sys

import pytest

from soundstage.errors import ConfigError
from soundstage.evals import Case, FunctionAgent, NamedEvaluator, evaluator_of, load_suite, run_suite

from .conftest import suite_of

FILES = {
    "rules.yaml": "rules: [{when: {user: x}, reply: {text: x}}]\n",
    "changing_agent.py": "def answer(prompt):\n    return prompt\n\n\ndef is_right(run):\n    return True\n",
    "program.py": "import sys\nprint(sys.argv[1])\n",
    "provider.py": "def call_api(prompt, options, context):\n    return {'output': prompt}\n",
    "project/src/app.py": "print(1)\n",
    "cases.jsonl": '{"name": "a", "input": "x"}\n',
}
CASES = "script: rules.yaml\nrepeat: 2\nexpect: [no_errors]\n"
ONE = CASES + "cases: [{name: a, input: x}]\n"
PYTHON = "agent: {python: 'changing_agent:answer'}\n" + ONE


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "changing_agent", raising=False)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("suite", "changed"),
    [
        pytest.param(PYTHON, "changing_agent.py", id="the module of a function"),
        pytest.param(
            "agent: {python: 'os.path:basename'}\n"
            + ONE.replace("[no_errors]", "[{not: {python: 'changing_agent:is_right'}}]"),
            "changing_agent.py",
            id="the module of an evaluator in another one",
        ),
        pytest.param(
            "agent: {command: [python, program.py, '{input}']}\n" + ONE, "program.py", id="a program"
        ),
        pytest.param("agent: {provider: {file: provider.py}}\n" + ONE, "provider.py", id="a provider"),
        pytest.param(
            "agent: {provider: {command: [python, program.py]}}\n" + ONE,
            "program.py",
            id="a program as provider",
        ),
        pytest.param(PYTHON + "workspace: project\n", "project/src/app.py", id="a file of the workspace"),
        pytest.param(
            "agent: {python: 'changing_agent:answer'}\n" + CASES + "cases: cases.jsonl\n",
            "cases.jsonl",
            id="a file of cases",
        ),
        pytest.param(
            "matrix: {agent: [{label: one, value: {python: 'changing_agent:answer'}}]}\n" + ONE,
            "changing_agent.py",
            id="an agent of a matrix",
        ),
    ],
)
def test_a_suite_is_another_one_when_a_file_that_belongs_to_it_has_changed(project, suite, changed):
    path = project / "suite.yaml"
    path.write_text(suite)
    before = load_suite(path).fingerprint
    assert load_suite(path).fingerprint == before, "nothing has changed"
    (project / changed).write_text(FILES[changed] + "\n")
    assert load_suite(path).fingerprint != before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda folder: (folder / "new.txt").write_text(""), id="a new file"),
        pytest.param(lambda folder: (folder / "src/app.py").unlink(), id="a file that is gone"),
        pytest.param(lambda folder: (folder / "empty").mkdir(), id="a new folder"),
        pytest.param(lambda folder: (folder / "src/app.py").chmod(0o755), id="a file that may be executed"),
        pytest.param(
            lambda folder: (folder / "src/app.py").rename(folder / "src/main.py"), id="a file of another name"
        ),
        pytest.param(lambda folder: (folder / "link").symlink_to("src"), id="a link"),
    ],
)
def test_any_change_of_a_workspace_is_a_change_of_its_suite(project, change):
    path = project / "suite.yaml"
    path.write_text(PYTHON + "workspace: project\n")
    before = load_suite(path).fingerprint
    change(project / "project")
    assert load_suite(path).fingerprint != before


def test_an_eval_is_not_resumed_after_its_agent_has_changed_and_nothing_runs(project, store):
    path = project / "suite.yaml"
    path.write_text(PYTHON)
    asyncio.run(run_suite(load_suite(path), store=store))
    report = asyncio.run(run_suite(load_suite(path), store=store, resume=True))
    assert report.rate.runs == 2
    (project / "changing_agent.py").write_text(
        FILES["changing_agent.py"].replace("return prompt", "return 'y'")
    )
    with pytest.raises(
        ConfigError, match=r"the suite suite has changed since the eval[\s\S]*without --resume"
    ):
        asyncio.run(run_suite(load_suite(path), store=store, resume=True))
    assert len(store.list(driver="eval")) == 2


def test_a_suite_in_python_is_another_one_by_code_and_workspace_too(project):
    def compiled(file):
        names = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        return names

    def fingerprint(workspace=None):
        code = compiled(project / "changing_agent.py")
        case = Case(name="a", input="x", expect=(NamedEvaluator("right", code["is_right"]),))
        return suite_of(agent=FunctionAgent(code["answer"]), cases=[case], workspace=workspace).fingerprint

    seen = [fingerprint(), fingerprint(project / "project")]
    (project / "project" / "src" / "app.py").write_text("print(2)\n")
    seen.append(fingerprint(project / "project"))
    (project / "changing_agent.py").write_text(FILES["changing_agent.py"] + "\n")
    seen += [fingerprint(), fingerprint(project / "project")]
    assert len(set(seen)) == len(seen)
    assert fingerprint() == seen[3]
    built_in = suite_of(cases=[Case(name="a", input="x", expect=(evaluator_of("contains", "x"),))])
    assert built_in.fingerprint == suite_of(cases=built_in.cases).fingerprint
