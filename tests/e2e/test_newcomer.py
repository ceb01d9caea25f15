"""A newcomer reads the README or the quick start: empty folder, new environment, and the first test is green."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = re.compile(r"<!-- commands: first green test -->\n```sh\n(.*?)```", re.DOTALL)
FILES = re.compile(
    r"call (?:this|it) (?:one )?`([\w.]+)`:\n\n<!-- [^\n]+ -->\n```python\n(.*?)```", re.DOTALL
)
NO_INDEX = "No matching distribution found for hatchling"  # the first that a machine without an index misses

pytestmark = pytest.mark.full


def newcomer(folder: Path, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell that knows nothing of this environment, of its keys and addresses least of all."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not re.match(r"VIRTUAL_ENV|PYTHON|PYTEST|OPENAI_|ANTHROPIC_|SOUNDSTAGE_", name)
    }
    return subprocess.run(
        ["sh"],  # it reads line by line, as from a terminal
        input=command.replace("path/to/soundstage", str(ROOT)),
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_green_test_takes_at_most_three_commands(tmp_path):
    commands = "".join(COMMANDS.findall(README)).splitlines()
    assert len(commands) <= 3
    files = dict(FILES.findall(README))
    assert len(files) == 2, "the app and its test, each with the name that the text gives it"
    for name, code in files.items():
        (tmp_path / name).write_text(code)
    for command in commands:
        done = newcomer(tmp_path, command)
        if NO_INDEX in done.stderr:
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert re.search(r"\b1 passed in", done.stdout), done.stdout

    elsewhere = newcomer(Path("/"), f"{tmp_path}/.venv/bin/pytest {tmp_path} -p no:cacheprovider")
    assert "1 passed in" in elsewhere.stdout, elsewhere.stdout + elsewhere.stderr

    broken = files["weather.py"].replace(": 4 C", ": 5 C")  # an app that has changed
    (tmp_path / "weather.py").write_text(broken)
    red = newcomer(tmp_path, commands[-1])
    assert red.returncode == 1
    assert "tool_result: '4 C' is not one of 'Oslo: 5 C'" in red.stdout


QUICK_START = (ROOT / "docs" / "quick-start.md").read_text()
PASTED = re.findall(r"^```sh\n(.*?)^```", QUICK_START, re.DOTALL | re.MULTILINE)
BROWSER = """#!/bin/sh
{chromium} --headless --no-sandbox --disable-gpu --user-data-dir={folder}/profile --screenshot={folder}/screen.png \
--dump-dom "$1" > {folder}/dom.html 2> {folder}/said || cat {folder}/said
"""


def test_the_quick_start_pasted_line_by_line_ends_with_a_green_test_and_its_page_on_screen(tmp_path):
    """In an empty folder, with an empty HOME; `BROWSER` is what a desktop sets for `python -m webbrowser`."""
    chromium = os.environ.get("SOUNDSTAGE_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium on the path, and SOUNDSTAGE_CHROMIUM does not name one")
    home, folder, screen = (tmp_path / name for name in ("home", "empty", "screen"))
    for place in (home, folder, screen):
        place.mkdir()
    browser = screen / "browser"
    browser.write_text(BROWSER.format(chromium=chromium, folder=screen))
    browser.chmod(0o755)
    commands = [block for block in PASTED if not block.startswith("cat >")]
    assert [len(block.splitlines()) for block in commands] == [1, 1, 1], "three commands"
    done = newcomer(folder, "".join(PASTED), HOME=str(home), BROWSER=f"{browser} %s")
    if NO_INDEX in done.stderr:
        pytest.skip("no package index can be reached")
    assert re.search(r"\b1 passed in", done.stdout), done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    shown = (screen / "dom.html").read_text()
    assert "test_the_agent_looks_the_weather_up" in shown
    assert "passed" in shown
    assert (screen / "screen.png").stat().st_size > 5_000
    (page,) = re.findall(r'href="(test_weather[^"]+\.html)"', shown)
    assert "Take a coat" in (folder / "pages" / page).read_text()


def test_the_quick_start_and_the_readme_show_the_same_app_and_test():
    files = dict(re.findall(r"cat > ([\w.]+) <<'END'\n(.*?)^END$", QUICK_START, re.DOTALL | re.MULTILINE))
    assert files == dict(FILES.findall(README))


ON_ANTHROPIC = """
import anthropic

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "get_weather", "input_schema": CITY}


def ask(question):
    client, messages = anthropic.Anthropic(), [{"role": "user", "content": question}]
    while True:
        answer = client.messages.create(model="claude-sonnet-5-5", max_tokens=99, messages=messages, tools=[TOOL])
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return answer.content[0].text
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": f"{call.input['city']}: 4 C"} for call in calls
        ]
        messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
"""
BOT = """
import sys

for line in sys.stdin:
    if line.strip():
        print(f"[echo]: {line.strip()}", flush=True)
"""
TEST_OF_BOT = """
import sys

from soundstage import HostBuilder


def test_a_line_comes_back():
    async def body(host):
        await host.console.send("Hello, world!")
        assert await host.console.expect("Hello") == "[echo]: Hello, world!"

    HostBuilder().with_program([sys.executable, "bot.py"], cwd=FOLDER).run(body)
"""


@pytest.mark.parametrize(
    ("files", "right", "wrong", "said"),
    [
        pytest.param(
            {"weather.py": ON_ANTHROPIC, "test_weather.py": dict(FILES.findall(README))["test_weather.py"]},
            ": 4 C",
            ": 5 C",
            "'4 C' is not one of 'Oslo: 5 C'",
            id="an agent on anthropic, with the script and test of the README",
        ),
        pytest.param(
            {"bot.py": BOT, "test_bot.py": TEST_OF_BOT}, "echo", "ohce", "[ohce]", id="a console bot"
        ),
    ],
)
def test_other_apps_are_green_at_once_and_red_when_they_change(tmp_path, files, right, wrong, said):
    def run():
        command = f"{sys.executable} -m pytest -p no:cacheprovider -p no:randomly"
        return newcomer(tmp_path, command)

    for name, code in files.items():
        (tmp_path / name).write_text(code.replace("FOLDER", repr(str(tmp_path))))
    green = run()
    assert "1 passed in" in green.stdout, green.stdout + green.stderr
    app = tmp_path / next(iter(files))
    app.write_text(app.read_text().replace(right, wrong))
    red = run()
    assert red.returncode == 1
    assert said in red.stdout
