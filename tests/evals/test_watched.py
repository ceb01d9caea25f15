"""A function of a script that raises is an error in the words of who wrote it, however the agent takes it."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from soundstage.evals._command_line import evals

RULES = """\
from soundstage.models import Script

script = Script()


def price_of(request):
    prices = {"tea": 3}
    return _look_up(prices)


def _look_up(prices):
    BODY


script.on(user="weather").reply(price_of)
"""
PROGRAM = """\
import os, sys, urllib.error, urllib.request

url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
body = b'{"model": "gpt-4.1", "messages": [{"role": "user", "content": "weather"}]}'
try:
    urllib.request.urlopen(urllib.request.Request(url, body, headers))
except urllib.error.HTTPError:
    print("I do not care.")
"""
AGENTS = {
    "a model alone": "{model: openai/gpt-4.1}",
    "a program that swallows it": f"{{command: [{sys.executable}, program.py]}}",
}


@pytest.fixture
def outcome(tmp_path, monkeypatch):
    """Run an agent on a script whose function has this body: exit code, and all that was told."""
    monkeypatch.chdir(tmp_path)

    def run(agent, body):
        (tmp_path / "rules.py").write_text(RULES.replace("BODY", body))
        (tmp_path / "program.py").write_text(PROGRAM)
        (tmp_path / "suite.yaml").write_text(
            f"agent: {agent}\nscript: rules.py\ncases: [{{name: paris, input: weather, expect: [no_failures]}}]\n"
        )
        result = CliRunner().invoke(evals, ["run", "suite.yaml", "--store", "kept"])
        return result.exit_code, result.stdout, result.output

    return run


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('return prices["coffee"]', "KeyError: 'coffee'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("assert prices == {}", "AssertionError"),
    ],
)
def test_a_function_that_raises_is_told_with_case_function_exception_and_line(outcome, agent, body, told):
    code, table, everything = outcome(agent, body)
    assert code == 2, everything
    assert f"the function price_of of the script has raised {told}, at the case 'paris'" in table
    assert f"rules.py:12: {body}" in table
    assert ("Traceback" in everything, "_scripted.py" in everything) == (False, False)
    assert "1 run with errors" in table


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_a_function_that_returns_no_reply_is_an_error_for_every_agent(outcome, agent):
    code, table, everything = outcome(agent, "return 5")
    assert code == 2, everything
    assert "this is not a reply" in table


def test_a_function_that_fails_as_a_provider_does_is_no_error(outcome):
    body = "from soundstage.errors import ProviderError; raise ProviderError('later', status=503)"
    code, table, everything = outcome(AGENTS["a model alone"], body)
    assert code == 1, everything
    assert "the agent failed: ProviderError" in table
