"""The start that the examples share when they run for real: whatever is missing is named, with the next step."""

from __future__ import annotations

import pytest

from examples._real import MissingError, live_model, need_extra, run_real, variable
from examples.console_chat import configure
from soundstage.agents import SystemConsole
from soundstage.clock import SystemClock, run
from soundstage.journal import RunFinished, RunStarted, read_journal
from support.ways import KEYS


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def test_an_extra_that_is_not_installed_is_named_with_the_command_that_installs_it():
    need_extra("otel", "opentelemetry")
    with pytest.raises(
        MissingError, match=r"the extra 'discord'[\s\S]*pip install \"soundstage\[discord\]\""
    ):
        need_extra("discord", "a_module_that_is_not_there")


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_variable_that_is_not_set_is_named_with_what_it_holds(monkeypatch, value):
    if value is not None:
        monkeypatch.setenv("MY_TOKEN", value)
    with pytest.raises(MissingError, match=r"the token is missing[\s\S]*MY_TOKEN in the environment"):
        variable("MY_TOKEN", what="the token", hint="ask for one")


def test_a_variable_that_is_set_is_taken_without_the_spaces_around_it(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", " secret \n")
    assert variable("MY_TOKEN", what="the token", hint="ask for one") == "secret"


@pytest.mark.parametrize(
    ("keys", "url"),
    [
        (["OPENAI_API_KEY"], "https://api.openai.com/v1/chat/completions"),
        (["ANTHROPIC_API_KEY"], "https://api.anthropic.com/v1/messages"),
        (["ANTHROPIC_API_KEY", "OPENAI_API_KEY"], "https://api.openai.com/v1/chat/completions"),
    ],
)
def test_the_first_key_says_who_is_asked(monkeypatch, keys, url):
    for key in keys:
        monkeypatch.setenv(key, "not-a-real-key")
    assert live_model().url == url


def test_another_server_may_be_named(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-real-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:8600")
    assert live_model().url == "http://127.0.0.1:8600/v1/messages"


def test_without_any_key_both_are_named():
    with pytest.raises(MissingError, match="OPENAI_API_KEY or ANTHROPIC_API_KEY"):
        live_model()


def test_a_real_run_is_on_record_from_its_start_to_its_end(tmp_path):
    stdin, stdout, path = tmp_path / "in", tmp_path / "out", tmp_path / "journal.jsonl"
    stdin.write_text("one\ntwo\n")
    with stdin.open() as lines, stdout.open("w") as written:
        run(run_real(configure, console=SystemConsole(lines, written), journal=path), clock=SystemClock())
    assert stdout.read_text() == "[echo]: one\n[echo]: two\n"
    events = [record.event for record in read_journal(path)]
    assert (type(events[0]), type(events[-1])) == (RunStarted, RunFinished)
    assert events[0].name == "examples.console_chat"
