"""Nine kinds of project: each whole, each with passing tests, and what cannot be made is said."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.claude_code.projects import LANGUAGES, PROJECT_TYPES, _create, create_project, project_text
from soundstage.claude_code.projects._create import MARKER
from soundstage.claude_code.projects._names import names_of
from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.lifecycle import write_beneath

TOOLS = {"python": sys.executable, "javascript": "node", "go": "go"}
INSTALL = {"javascript": "nodejs", "go": "golang-go"}


def need(language: str) -> None:
    if shutil.which(TOOLS[language]) is None:
        pytest.skip(f"needs {TOOLS[language]}: apt install {INSTALL[language]}")


def run(project, *command: str, code: int = 0) -> str:
    """Run a command in a project, where no tool may reach out for anything. Returns what it prints."""
    bare = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    offline = {
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # whoever gets the project has other plugins, or none
    }
    home = project.path.parent
    caches = {"HOME": str(home), "GOCACHE": os.environ.get("GOCACHE", str(Path.home() / ".cache/go-build"))}
    done = subprocess.run(
        command,
        cwd=project.path,
        env={**bare, **offline, **caches},
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("type_", PROJECT_TYPES)
def test_the_tests_of_a_new_project_pass_with_the_tools_of_its_language(type_, language, tmp_path):
    need(language)
    project = create_project(type_, language, tmp_path / "calc", "Calculator App")
    output = run(project, *project.test_command)
    passed = {"python": r"\d+ passed", "javascript": r"fail 0", "go": r"^ok\s"}[language]
    assert re.search(passed, output, re.MULTILINE), output


# What has to be broken so that the tests of a project notice: division by zero, or the sum.
BREAKS = {
    "python": ("src/calculator_app/core.py", "operator.add", "operator.sub"),
    "javascript": ("src/core.js", "a + b", "a - b"),
    "go": ("core.go", "return a + b", "return a - b"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tests_of_a_project_notice_a_bug(language, tmp_path):
    need(language)
    project = create_project("library", language, tmp_path / "calc", "Calculator App")
    file, right, wrong = BREAKS[language]
    text = (project.path / file).read_text()
    assert right in text
    (project.path / file).write_text(text.replace(right, wrong))
    run(project, *project.test_command, code=1)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("type_", PROJECT_TYPES)
def test_a_project_lists_its_files_and_none_has_anything_of_a_template_left(type_, language, tmp_path):
    project = create_project(type_, language, tmp_path / "my-sums")
    on_disk = {
        path.relative_to(project.path).as_posix() for path in project.path.rglob("*") if path.is_file()
    }
    assert on_disk == {*project.files, MARKER}
    assert (project.name, project.type, project.language) == ("My Sums", type_, language)
    assert project.files == tuple(sorted(project.files))
    assert {"README.md", ".gitignore"} < set(project.files)
    for path in project.files:
        text = (project.path / path).read_text()
        assert not re.search(r"{[{%#]|[%#]}|__package__|__slug__", text + path), path
        assert text == "" or text.endswith("\n"), path
        assert "\n\n\n\n" not in text, path
        assert "My Sums" not in path
    assert json.loads((project.path / MARKER).read_text()) == {
        "type": type_,
        "language": language,
        "name": "My Sums",
    }


@pytest.mark.parametrize(
    ("language", "command"),
    [
        ("python", [sys.executable, "-m", "calculator_app"]),
        ("javascript", ["node", "bin/calculator-app.js"]),
        ("go", ["go", "run", "."]),
    ],
)
def test_a_command_line_works_as_its_readme_says(language, command, tmp_path, monkeypatch):
    need(language)
    project = create_project("cli", language, tmp_path / "calc", "Calculator App")
    if language == "python":
        command = ["env", "PYTHONPATH=src", *command]
    assert run(project, *command, "greet", "Ada") == "Hello, Ada!\n"
    assert run(project, *command, "calculate", "6", "/", "4") == "1.5\n"
    assert "cannot divide by zero" in run(project, *command, "calculate", "1", "/", "0", code=1)


@pytest.mark.parametrize(
    ("language", "command"),
    [("python", [sys.executable, "-m", "calculator_app"]), ("javascript", ["node", "bin/calculator-app.js"])],
)
def test_a_web_app_serves_on_a_port_of_its_own_choosing(language, command, tmp_path):
    need(language)
    project = create_project("web-app", language, tmp_path / "calc", "Calculator App")
    environment = {**os.environ, "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command, cwd=project.path, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:")
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(f"{url}/calculate?a=6&op=/&b=4", timeout=20) as answer:
                assert json.load(answer) == {"result": 1.5}
        finally:
            server.kill()


# --- what cannot be made


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("desktop", "python", "x"), "web-app, cli, library"),
        (("cli", "cobol", "x"), "python, javascript, go"),
        (("", "python", "x"), "unknown type"),
        (("cli", "Python", "x"), "seen: 'Python'"),
        (("cli", "python", "../x"), "outside"),
        (("cli", "python", "a/../../x"), "outside"),
        (("cli", "python", "/elsewhere/x"), "outside"),
        (("cli", "python", "."), "outside"),
        (("cli", "python", "link/x"), "outside"),
        (("cli", "python", "a\0b"), "no folder for a project"),
        (("cli", "python", "full"), "something where the project should go"),
        (("cli", "python", "file"), "something where the project should go"),
        (("cli", "python", "x", ""), "no name for a project"),
        (("cli", "python", "x", 'a"b'), "no name for a project"),
        (("cli", "python", "x", "{{ 7 }}"), "no name for a project"),
        (("cli", "python", "x", "a\nb`c"), "no name for a project"),
        (("cli", "python", "x", "x" * 61), "at most 60"),
        (("cli", "python", "x", "123"), "at least one letter"),
        (("cli", "python", "x", "日本"), "at least one letter"),
    ],
)
def test_a_project_that_cannot_be_made_is_an_error_and_leaves_nothing(arguments, words, tmp_path):
    root = tmp_path / "projects"
    (root / "full").mkdir(parents=True)
    (root / "full/file").write_text("mine")
    (root / "file").write_text("mine")
    (root / "link").symlink_to(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ScriptError) as caught:
        create_project(*arguments, root=root)
    assert words in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_empty_folder_is_taken_and_folders_above_are_made(tmp_path):
    (tmp_path / "empty").mkdir()
    assert create_project("cli", "python", tmp_path / "empty").path == tmp_path / "empty"
    assert create_project("cli", "go", "a/b/c", root=tmp_path).path == tmp_path / "a/b/c"


def test_a_folder_that_cannot_be_written_is_a_problem_of_the_machine_and_half_a_project_is_removed(
    tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("")
    with pytest.raises((EnvironmentProblem, ScriptError)):
        create_project("cli", "python", tmp_path / "file" / "x")
    written = []

    def full(root, path, data):
        written.append(path)
        if len(written) == 4:
            raise OSError(28, "No space left on device", str(root / path))
        write_beneath(root, path, data)

    monkeypatch.setattr(_create, "write_beneath", full)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        create_project("cli", "python", tmp_path / "x")
    assert not (tmp_path / "x").exists()


# --- names


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("Calculator App", ("Calculator App", "calculator-app", "calculator_app", "calculatorapp")),
        ("  my   sums ", ("my sums", "my-sums", "my_sums", "mysums")),
        ("2048", None),
        ("2048 game", ("2048 game", "app-2048-game", "app_2048_game", "app2048game")),
        ("json", ("json", "json-project", "json_project", "jsonproject")),
        ("class", ("class", "class-project", "class_project", "classproject")),
        ("fs", ("fs", "fs-project", "fs_project", "fsproject")),
        ("Tests", ("Tests", "tests-project", "tests_project", "testsproject")),
        ("Été v1.2", ("Été v1.2", "ete-v1-2", "ete_v1_2", "etev12")),
    ],
)
def test_a_name_becomes_one_that_every_language_takes(name, names):
    if names is None:
        with pytest.raises(ScriptError):
            names_of(name, Path("x"))
    else:
        assert names_of(name, Path("x")) == names


@given(st.text(max_size=70))
def test_every_name_is_refused_or_usable(name):
    try:
        names = names_of(name, Path("x"))
    except ScriptError:
        return
    assert names.package.isidentifier()
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", names.slug)
    assert re.fullmatch(r"[a-z][a-z0-9]*", names.module)
    assert not set("\"'`{}<>\\\n") & set(names.display)


def test_a_project_of_an_awkward_name_still_passes_its_tests(tmp_path):
    project = create_project("library", "python", tmp_path / "x", "json")
    run(project, *project.test_command)


# --- what the command line says


def test_the_text_for_people_names_the_files_and_how_the_tests_run(tmp_path):
    project = create_project("cli", "javascript", tmp_path / "calc")
    lines = project_text(project).splitlines()
    assert lines[0] == f"Calc: cli in javascript, {len(project.files)} files in {tmp_path / 'calc'}"
    assert "  src/cli.js" in lines
    assert lines[-1] == f"its tests: cd {tmp_path / 'calc'} && node --test"
    python = project_text(create_project("cli", "python", tmp_path / "other"))
    assert python.endswith("&& python -m pytest -q")
