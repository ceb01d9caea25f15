"""The closed set that the plugin puts around a test, in one run of pytest with a test for each promise."""

from __future__ import annotations

import os
import re

import pytest

INI = "[pytest]\nfilterwarnings = error\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n"
REAL = "sk-proj-the-real-key-of-the-user"
THEIRS = {
    "OPENAI_API_KEY": REAL,
    "OPENAI_BASE_URL": "https://api.openai.invalid/v1",
    "OPENAI_ORG_ID": REAL,
    "ANTHROPIC_API_KEY": REAL,
    "ANTHROPIC_AUTH_TOKEN": REAL,
    "ANTHROPIC_BASE_URL": "https://api.anthropic.invalid",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GROQ_API_KEY": REAL,
    "DATABASE_PASSWORD": "a-password-of-the-test",
}

TESTS = """
import os, socket, threading, urllib.request
import pytest

from soundstage.messages import ModelRequest, user
from soundstage.live import LiveModel
from soundstage.models import complete
from soundstage.trace import assert_model_requests

URL = "http://api.openai.invalid/v1"

def swallows(url=URL):
    try:
        urllib.request.urlopen(url)
    except Exception:
        pass

def in_a_thread():
    thread = threading.Thread(target=swallows)
    thread.start()
    thread.join()

def test_pass_openai(script, model_server):
    import openai
    script.on(user="hello").reply("hi")
    asked = [{"role": "user", "content": "hello"}]
    answer = openai.OpenAI().chat.completions.create(model="m", messages=asked)
    assert answer.choices[0].message.content == "hi"
    assert "real" not in "".join(value for name, value in os.environ.items() if name != "REAL")
    assert os.environ["DATABASE_PASSWORD"] == "a-password-of-the-test"

async def test_pass_anthropic(script, model_server):
    import anthropic
    script.on(user="hello").reply("hi")
    asked = [{"role": "user", "content": "hello"}]
    async with anthropic.AsyncAnthropic() as client:
        answer = await client.messages.create(model="m", max_tokens=9, messages=asked)
    assert answer.content[0].text == "hi"

def test_pass_gemini(script, model_server):
    from google import genai
    script.on(user="hello").reply("hi")
    with genai.Client() as client:
        assert client.models.generate_content(model="m", contents="hello").text == "hi"

def test_pass_langchain(script, model_server):
    from langchain_openai import ChatOpenAI
    script.on(user="hello").reply("hi")
    assert ChatOpenAI(model="m").invoke("hello").content == "hi"

def test_pass_real_keys_for_live_models(script, model_server):
    script.strict = False
    live = LiveModel("openai", base_url="http://127.0.0.1:1", allow=True)
    assert live._key == os.environ["REAL"]

@pytest.mark.parametrize("way", [swallows, in_a_thread])
def test_fail_swallowed(script, way):
    way()

@pytest.mark.parametrize("way", [swallows, in_a_thread])
async def test_fail_swallowed_on_virtual_time(script, way):
    way()

async def test_fail_swallowed_by_a_tool(script, run_app, console):
    from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, AgentTask, tool

    @tool
    def fetch(url: str) -> str:
        '''Fetch a page.'''
        swallows(url)
        return "nothing"

    script.on(user="go", times=1).reply(tool_calls=[{"name": "fetch", "arguments": {"url": URL}}])
    script.on(tool_result="nothing").reply("done")
    agent = AgentDefinition(slug="main", tools=("fetch",))

    async def app(world):
        loop = AgentLoop(world.model, AgentRegistry([agent], [fetch]), journal=world.journal)
        await loop.run(AgentTask(id="1", agent="main", prompt="go"))
        world.console.write_line("done")

    await run_app(app)
    await console.expect("done")

def test_fail_and_says_why(script):
    swallows()
    assert False, "the app had no answer"

@pytest.fixture
def leaves_late(script):
    yield
    in_a_thread()

def test_error_after_the_body(leaves_late):
    pass

@pytest.mark.soundstage(egress="allow")
def test_pass_allowed(script, trace):
    swallows()
    assert [tried.host for tried in trace().egress] == ["api.openai.invalid"]

def test_pass_a_database_on_this_machine(script, trace):
    with socket.create_server(("127.0.0.1", 0)) as database:
        socket.create_connection(database.getsockname()).close()
        assert [reached.port for reached in trace().hosts] == [database.getsockname()[1]]

@pytest.mark.soundstage(egress="closed")
def test_fail_a_database_in_a_closed_run(script):
    with socket.create_server(("127.0.0.1", 0)) as database:
        swallows(f"http://127.0.0.1:{database.getsockname()[1]}/")

@pytest.mark.soundstage(egress="closed", hosts=["127.0.0.1"])
def test_pass_a_listed_database(script):
    with socket.create_server(("127.0.0.1", 0)) as database:
        socket.create_connection(database.getsockname()).close()

def test_fail_never_asked(model_server):
    pass

def test_pass_asserts_that_it_was_never_asked(model_server, trace):
    assert_model_requests(trace(), 0)

@pytest.mark.soundstage(strict=False)
def test_pass_loose_and_never_asked(model_server):
    pass

def test_pass_without_our_fixtures():
    assert os.environ["OPENAI_API_KEY"] == os.environ["REAL"]
    with socket.socket() as sock:
        sock.setblocking(False)
        assert sock.connect_ex(("127.0.0.1", 1)) != 101
"""


def test_each_promise_of_the_closed_set(pytester, monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name, value in {**THEIRS, "REAL": REAL}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "300")  # the summary has whole sentences
    pytester.makeini(INI)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-rA", "--tb=short")
    outcomes = set(
        re.findall(r"^(PASSED|FAILED|ERROR) \S+::test_(pass|fail|error)", result.stdout.str(), re.MULTILINE)
    )
    assert outcomes == {("PASSED", "pass"), ("FAILED", "fail"), ("PASSED", "error"), ("ERROR", "error")}
    assert REAL not in re.sub(r"E .*", "", result.stdout.str())
    failed = [line for line in result.outlines if re.match(r"(FAILED|ERROR) ", line)]
    by_never_asked = [line for line in failed if "the model server was never asked" in line]
    by_leaving = [line for line in failed if "the app tried to leave the closed set" in line]
    assert (len(by_never_asked), len(by_leaving), len(failed)) == (1, 7, 9)
    result.stdout.fnmatch_lines(
        [
            "*the app had no answer*",
            "*the app tried to leave the closed set*",
            "*seen: api.openai.invalid:80*",
        ]
    )


@pytest.mark.parametrize("mark", ["egress='open'", "hosts=['https://x']", "hosts='x'"])
def test_a_wrong_word_in_the_mark_is_refused_by_name(mark):
    from soundstage.config import Settings
    from soundstage.errors import ScriptError
    from soundstage.pytest_plugin._stage import Options, RunSetup

    options = Options.of(eval(f"pytest.mark.soundstage({mark})").mark, Settings())
    from soundstage.clock import VirtualClock

    with pytest.raises(ScriptError, match=r"unknown egress|not a host|hosts are a list"):
        RunSetup("a test", options, VirtualClock())
