"""The recipes of docs/ci.md: their makers' schemas take them, and their commands do what the page says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "ci.md").read_text()
RECIPES = dict(re.findall(r"<!-- recipe: (\w+) -->\n```yml\n(.*?)```", PAGE, re.DOTALL))
SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}
TEST = """
from soundstage.models import complete
from soundstage.messages import ModelRequest, user

async def test_it(script, model):
    script.on(user="hi").reply("hello")
    assert (await complete(model, ModelRequest(model="gpt-5", messages=(user("hi"),)))).text == ANSWER
"""


def commands(name):
    """The commands of a recipe, as its runner would start them."""
    (job,) = (part for key, part in jobs(name).items() if key == "tests")
    return job["script"] if name == "gitlab" else [step["run"] for step in job["steps"] if "run" in step]


def jobs(name):
    read = yaml.safe_load(RECIPES[name])
    return read if name == "gitlab" else read["jobs"]


def kept(name):
    """The files and folders that a recipe keeps."""
    if name == "gitlab":
        artifacts = jobs(name)["tests"]["artifacts"]
        return {*artifacts["paths"], artifacts["reports"]["junit"]}
    return set(jobs(name)["tests"]["steps"][-1]["with"]["path"].split())


def checked(name, text, folder):
    path = folder / "recipe.yml"
    path.write_text(text)
    words = ["check_jsonschema", "--builtin-schema", SCHEMAS[name], "--output-format", "json", str(path)]
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, timeout=60, check=False
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_recipe_is_what_its_schema_asks_for_and_a_misspelt_key_is_not(tmp_path, name):
    assert checked(name, RECIPES[name], tmp_path)["status"] == "ok"
    broken = RECIPES[name].replace("steps:", "stepps:").replace("  script:", "  scripts:")
    assert checked(name, broken, tmp_path)["status"] == "fail"


@pytest.mark.full
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_commands_of_a_recipe_are_green_and_keep_nothing_of_a_page_or_are_red_and_keep_it(tmp_path, name):
    """The first installs what the project lists: nothing, because this environment has Soundstage and pytest."""
    for folder, answer, code in (("green", "'hello'", 0), ("red", "'bye'", 1)):
        place = tmp_path / folder
        place.mkdir()
        (place / "requirements-test.txt").write_text("# nothing\n")
        (place / "test_it.py").write_text(TEST.replace("ANSWER", answer))
        codes = [
            subprocess.run(
                re.sub(r"^python\b", sys.executable, command),
                shell=True,
                cwd=place,
                capture_output=True,
                timeout=120,
                check=False,
            ).returncode
            for command in commands(name)
        ]
        assert codes == [0, code]
        assert (place / "junit.xml").is_file()
        pages = list((place / "test-failures").glob("test_it*.html"))
        assert len(pages) == code
        shutil.rmtree(place / ".pytest_cache", ignore_errors=True)
    assert all((tmp_path / "red" / path).exists() for path in kept(name))


def test_both_recipes_are_on_the_page():
    assert set(RECIPES) == set(SCHEMAS)
