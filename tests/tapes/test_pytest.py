"""Tapes in pytest: recorded with a provider's stand-in, replayed without it, in runs of pytest of their own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from soundstage.tapes import Tape
from soundstage.tapes._seen import seen_path
from support.programs import ASK
from support.taping import KEY

TEST = """
import os, pytest
from soundstage.trace import assert_model_requests

@pytest.mark.tape
def test_joke(trace):
    assert os.environ["OPENAI_API_KEY"] == "sk-soundstage"
    assert ask([{"role": "user", "content": "tell me a joke"}]).startswith("Knock")
    assert_model_requests(trace(), 1)
"""
ONE = ASK + TEST
ON_THE_SDK = (
    """
import openai

def ask(asked):
    answer = openai.OpenAI(max_retries=0).chat.completions.create(model="m", messages=asked)
    return answer.choices[0].message.content
"""
    + TEST
)


def only_tape(pytester):
    (path,) = (pytester.path / "__tapes__" / "test_it").glob("*.tape")
    return path


def test_a_test_is_recorded_once_with_the_users_key_and_replayed_without_a_provider(
    inner, pytester, upstream
):
    inner(ON_THE_SDK).assert_outcomes(passed=1)
    path = only_tape(pytester)
    assert path.name == "test_joke.tape"
    (exchange,) = Tape.load(path).exchanges
    assert exchange.response.text.startswith("Knock knock")
    assert KEY not in path.read_text()
    upstream["close"]()
    inner("").assert_outcomes(passed=1)


def test_a_tape_of_an_older_format_is_a_divergence_with_that_cause(inner, pytester):
    folder = pytester.path / "__tapes__" / "test_it"
    folder.mkdir(parents=True)
    (folder / "test_joke.tape").write_text('{"line": "tape", "v": 1}\n')
    result = inner(ONE)
    result.assert_outcomes(failed=1)
    told = result.stdout.str()
    assert "divergence: tape older than its format: version 1" in told
    assert "record again: pytest --soundstage-record=all" in told
    assert "tape accept" not in told


def test_an_edited_prompt_fails_with_its_cause_first_and_the_commands_of_pytest(inner, pytester, upstream):
    inner(ONE).assert_outcomes(passed=1)
    before = only_tape(pytester).read_bytes()
    result = inner(ONE.replace("tell me a joke", "tell me a good joke"), "--soundstage-html", "pages")
    result.assert_outcomes(failed=1)
    (page,) = (pytester.path / "pages").glob("*test_joke*.html")
    shown = page.read_text()
    assert re.search(r"<h3 id=.*>divergence: prompt edited: messages\[0\] user, part 1", shown)
    assert '<span class="new">+&#39;tell me a good joke&#39;</span>' in shown
    assert "nearest: exchange 1 of 1 (__tapes__/test_it/test_joke.tape)</p>" in shown
    assert (
        "<p>record again: <code>pytest --soundstage-record=all &#39;test_it.py::test_joke&#39;</code></p>"
        in shown
    )
    result.stdout.fnmatch_lines(
        [
            "E *divergence: prompt edited: *",
            "*tell me a joke*",
            "*soundstage tape accept *test_joke.tape*",
            "*pytest --soundstage-record=all 'test_it.py::test_joke'*",
            "FAILED test_it.py::test_joke - divergence: prompt edited*",
        ]
    )
    assert only_tape(pytester).read_bytes() == before
    told = subprocess.run(
        [sys.executable, "-m", "soundstage.cli", "tape", "accept", str(only_tape(pytester))],
        capture_output=True, text=True, timeout=100, check=True,
    ).stdout  # fmt: skip
    assert "exchange 1 has a new request" in told
    assert "+ 'tell me a good joke'" in told
    upstream["close"]()
    inner("").assert_outcomes(passed=1)


def test_a_tape_is_recorded_anew_on_demand(inner, pytester, upstream):
    inner(ONE)
    before = only_tape(pytester).read_bytes()
    inner("", "--soundstage-record=all").assert_outcomes(passed=1)
    assert only_tape(pytester).read_bytes() != before


@pytest.mark.parametrize("processes", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "xdist"])
def test_warn_answers_with_the_nearest_call_and_lists_the_difference_at_the_end(inner, upstream, processes):
    inner(ONE).assert_outcomes(passed=1)
    result = inner(ONE.replace("tell me", "please tell me"), "--soundstage-tapes=warn", *processes)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*replays that differ from their tapes*", "test_it.py::test_joke", "*divergence: prompt edited: *"]
    )


def test_a_call_that_does_not_come_fails_the_test_and_can_be_accepted(inner, pytester, upstream):
    inner(
        ONE.replace(
            "    assert_model", "    ask([{'role': 'user', 'content': 'more'}])\n    assert_model"
        ).replace("trace(), 1", "trace(), 2")
    )
    result = inner(
        re.sub(r"    assert ask.*\n", "", ONE).replace("(), 1", "(), 0"), "--soundstage-html", "pages"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *divergence: missing call: *"])
    (page,) = (pytester.path / "pages").glob("*test_joke*.html")
    assert (
        "divergence: missing call: &#39;tell me a joke&#39;, exchange 1, was not asked for"
        in page.read_text()
    )
    assert seen_path(only_tape(pytester)).exists()


def test_without_a_tape_ci_fails_with_the_command_that_records_it(inner, pytester, upstream, monkeypatch):
    monkeypatch.setenv("CI", "1")
    result = inner(ONE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*this test has no tape*", "*pytest --soundstage-record=once 'test_it.py::test_joke'*"]
    )
    assert not (pytester.path / "__tapes__").exists()


def test_mode_new_plays_what_is_there_and_records_the_rest(inner, pytester, upstream):
    inner(ONE)
    more = ONE.replace(
        "    assert_model", "    ask([{'role': 'user', 'content': 'more'}])\n    assert_model"
    ).replace("trace(), 1", "trace(), 2")
    inner(more, "--soundstage-record=new").assert_outcomes(passed=1)
    assert [one.number for one in Tape.load(only_tape(pytester)).exchanges] == [1, 2]
    upstream["close"]()
    inner("").assert_outcomes(passed=1)


IN_PROCESS = """
import pytest
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, ScriptedModel, complete

def scripted():
    script = Script()
    script.on(user="weather").reply("sunny")
    return ScriptedModel(script)

@pytest.mark.tape(name="shared", inner=INNER, speed=1)
@pytest.mark.parametrize("city", ["Paris" * 60])
async def test_weather(model, city):
    request = ModelRequest(model="gpt-4.1", messages=(user("weather in " + city),))
    assert (await complete(model, request)).text == "sunny"
"""


def test_the_fixture_model_is_recorded_and_replayed_in_process(inner, pytester):
    inner(IN_PROCESS.replace("INNER", "scripted")).assert_outcomes(passed=1)
    assert only_tape(pytester).name == "shared.tape"
    inner(IN_PROCESS.replace("INNER", "None")).assert_outcomes(passed=1)


def test_the_fixture_model_asks_the_provider_of_the_models_name(inner, upstream):
    text = (
        IN_PROCESS.replace("INNER", "None")
        .replace("weather in", "joke in")
        .replace('== "sunny"', "[:5] == 'Knock'")
    )
    inner(text).assert_outcomes(passed=1)
    upstream["close"]()
    inner("").assert_outcomes(passed=1)


PROGRAM = f"""
import sys, pytest

ASKS = '''
{ASK}
print(ask([{{"role": "user", "content": "tell me a joke"}}]))
'''

@pytest.mark.tape
async def test_program(command):
    program = await command([sys.executable, "-c", ASKS])
    await program.wait(0)
    await program.expect("Knock")
"""


def test_programs_of_the_fixture_command_are_on_the_tape(inner, upstream):
    inner(PROGRAM).assert_outcomes(passed=1)
    upstream["close"]()
    inner("").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("tape(nmae='x')", "has no option 'nmae'"),
        ("tape(mode='twice')", "this is no mode"),
        ("tape(upstream={'mistral': 'http://x'})", "this is no upstream"),
    ],
    ids=["option", "mode", "upstream"],
)
def test_a_mistake_in_the_mark_is_told(inner, mark, told):
    result = inner(ONE.replace("mark.tape", f"mark.{mark}"))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{told}*"])


def test_a_provider_that_cannot_be_reached_fails_the_recording_with_its_address(inner, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    result = inner(ONE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*test_joke.tape is not complete*", "*http://127.0.0.1:1/v1 cannot be reached*"]
    )


def test_without_a_key_the_provider_is_not_asked(inner, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    result = inner(ONE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*there is no key for openai*"])
