"""The sides that a host gives to its test: the model's side, its parts by class and name, its own part of a journal."""

from __future__ import annotations

import httpx
import pytest

from soundstage.errors import InvalidStateError
from soundstage.host import HostBuilder
from soundstage.journal import ModelRequested, Noted, Redactor, RunStarted, read_journal
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, complete
from soundstage.wire import ModelServer
from soundstage.worlds import Console

CANARY = "c4nary-7f3a91d2-tea"


def lenient():
    return HostBuilder().with_script(Script(strict=False))


def asked(*texts):
    return ModelRequest(model="m", messages=tuple(user(text) for text in texts))


def test_the_models_side_knows_what_was_asked_and_what_is_left():
    script = Script(strict=False)
    script.on(user="tea").reply("green")
    script.on(user="coffee").reply("black")

    async def body(host):
        assert host.llm.script is script
        assert (host.llm.requests, host.llm.prompts) == ([], [])
        host.llm.on(user="milk").reply("white")
        replies = [await complete(host.model, asked("so", text)) for text in ("tea", "milk")]
        assert [reply.text for reply in replies] == ["green", "white"]
        assert host.llm.prompts == ["tea", "milk"]
        assert [request.last_user_text for request in host.llm.requests] == ["tea", "milk"]
        assert [rule.number for rule in host.llm.unused()] == [2]
        assert len(host.trace.steps) == 2

    HostBuilder().with_script(script).run(body)


def test_a_part_is_found_by_its_class_and_what_is_missing_names_the_call_that_makes_it():
    async def body(host):
        assert host.get(Console) is host.console
        with pytest.raises(InvalidStateError, match="Nobody") as caught:
            host.get(Console, "Nobody")
        assert "console" in str(caught.value)
        with pytest.raises(InvalidStateError, match=r"with_server\(\)"):
            host.server  # noqa: B018  a property

    lenient().with_console().run(body)


def test_the_server_of_a_run_is_at_hand_and_asks_its_model():
    script = Script()
    script.on(user="tea").reply("green")

    async def body(host):
        assert host.server is host.get(ModelServer)
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            sent = {"model": "m", "messages": [{"role": "user", "content": "tea"}]}
            answer = await http.post(f"{host.server.openai_url}/chat/completions", json=sent)
        assert answer.json()["choices"][0]["message"]["content"] == "green"

    HostBuilder().with_script(script).with_server().run(body)


def test_a_run_that_continues_a_file_knows_where_it_begins(tmp_path):
    path = tmp_path / "run.jsonl"
    seen = []

    async def body(host):
        assert host.path == path
        host.journal.append(Noted(text="here"))
        await complete(host.model, asked("tea"))
        seen.append((host.begun, len(host.llm.requests)))

    for _ in range(2):
        lenient().with_journal(path).run(body)
    records = read_journal(path)
    assert seen == [(0, 1), (len(records) // 2, 1)]
    assert isinstance(records[seen[1][0]].event, RunStarted)
    assert sum(isinstance(record.event, ModelRequested) for record in records) == 2


def test_a_run_without_a_file_has_no_path():
    async def body(host):
        assert host.path is None

    lenient().run(body)


def test_what_the_given_redactor_knows_reaches_no_file(tmp_path):
    async def body(host):
        host.journal.append(Noted(text=f"the key is {CANARY}"))

    for redactor, kept in ((Redactor([CANARY]), False), (Redactor(), True)):
        path = tmp_path / f"{kept}.jsonl"
        lenient().with_journal(path).with_redactor(redactor).run(body)
        assert (CANARY in path.read_text()) is kept


def test_a_finding_at_the_end_is_told_beside_what_failed_in_the_background():
    script = Script()
    script.on(user="never").reply("x")

    async def broken(app):
        await app.console.read_line()
        raise RuntimeError("the app is broken")

    async def body(host):
        await host.console.send("go")

    with pytest.raises(RuntimeError, match="the app is broken") as caught:
        HostBuilder().with_script(script).with_console().with_app(broken).run(body)
    assert any("at the end of the run" in note and "never" in note for note in caught.value.__notes__)
