"""The endpoints under /_soundstage/: a test in any language reads the journal and changes the script."""

from __future__ import annotations

import asyncio
import contextlib
import json

import httpx
import pytest

from soundstage.clock import SystemClock
from soundstage.journal import Journal, ModelRequested, ModelResponded, Noted, RequestRefused, decode_record
from soundstage.messages import FinishChunk, TextChunk
from soundstage.models import Script
from soundstage.net import MAX_BODY
from support.wires import WIRES, no_task_is_left, run, serving

CHAT = WIRES["openai-chat"]
JOURNAL = "/_soundstage/journal"


def script_with(*rules, **options):
    script = Script(**options)
    for user, reply in rules:
        script.on(user=user).reply(reply)
    return script


def records(answer):
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [decode_record(line) for line in answer.content.splitlines()]


def test_the_journal_is_lines_of_records_after_a_position():
    async def main():
        async with serving(script_with(("hello", "hi"))) as served:
            await served.text(CHAT)
            everything = records(await served.http.get(JOURNAL))
            assert everything == served.journal.read()
            assert [record.position for record in everything] == list(range(1, len(everything) + 1))
            last = len(everything)
            assert records(await served.http.get(JOURNAL, params={"after": last - 1})) == everything[-1:]
            assert records(await served.http.get(JOURNAL, params={"after": last})) == []
            assert records(await served.http.get(JOURNAL, params={"after": 10_000})) == []

    run(main())


def test_records_that_have_been_let_go_are_a_410_that_says_from_where_to_read(tmp_path):
    async def main():
        for path, words in ((None, "--journal FILE"), (tmp_path / "all.jsonl", "all.jsonl has all")):
            journal = Journal(path, clock=SystemClock(), keep=3)
            async with serving(script_with(("hello", "hi")), journal=journal) as served:
                for _ in range(5):
                    await served.text(CHAT)
                gone = journal.let_go
                assert gone > 0
                answer = await served.http.get(JOURNAL)
                assert answer.status_code == 410
                assert f"records 1 to {gone} are not kept" in answer.text
                assert f"after={gone}" in answer.text
                assert words in answer.text
                assert records(await served.http.get(JOURNAL, params={"after": gone})) == journal.read()

    run(main())


class Announced(Journal):
    """A journal that says when somebody begins to wait for an event."""

    def __init__(self):
        super().__init__(clock=SystemClock())
        self.waited_for = asyncio.Event()

    async def wait_for(self, match, *, within, after=0):
        self.waited_for.set()
        return await super().wait_for(match, within=within, after=after)


@contextlib.asynccontextmanager
async def polling():
    """A server, its journal, and a request that waits for the next event."""
    journal = Announced()
    async with serving(Script(), journal=journal) as served:
        query = {"after": len(journal), "within": 60}
        poll = asyncio.create_task(served.http.get(JOURNAL, params=query))
        await journal.waited_for.wait()
        assert not poll.done()
        yield served, poll


def test_a_long_poll_wakes_on_the_next_event():
    async def main():
        async with polling() as (served, poll):
            position = served.journal.append(Noted(text="news"), source="test")
            [record] = records(await poll)
            assert (record.position, record.event) == (position, Noted(text="news"))

    run(main())


def test_a_long_poll_does_not_wait_for_what_is_there():
    async def main():
        async with serving(Script()) as served:
            served.journal.append(Noted(text="old"), source="test")
            found = records(await served.http.get(JOURNAL, params={"after": 0, "within": 60}))
            assert found[-1].event == Noted(text="old")

    run(main())


def test_a_long_poll_in_vain_gives_nothing():
    async def main():
        async with serving(Script()) as served:
            answer = await served.http.get(JOURNAL, params={"after": len(served.journal), "within": 0.05})
            assert records(answer) == []
            await no_task_is_left()

    run(main())


def test_a_client_that_gives_up_its_long_poll_leaves_nothing_behind():
    async def main():
        async with polling() as (served, poll):
            poll.cancel()
            await asyncio.wait([poll])
            await no_task_is_left()
            assert (await served.http.get("/health")).status_code == 200

    run(main())


def test_a_long_poll_does_not_hold_up_the_end_of_the_server():
    async def main():
        async with polling() as (served, poll):
            async with asyncio.timeout(4):  # less than requests in flight are given
                await served.server.stop()
            assert records(await poll) == []
            await no_task_is_left()

    run(main())


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("after=x", "`after` is a position: a whole number from 0; got 'x'"),
        ("after=-1", "`after` is a position: a whole number from 0; got '-1'"),
        ("after=1.5", "got '1.5'"),
        ("after=", "got ''"),
        ("within=soon", "`within` is a number of seconds from 0; got 'soon'"),
        ("within=-1", "got '-1'"),
        ("within=nan", "got 'nan'"),
        ("within=", "got ''"),
    ],
)
def test_a_bad_value_in_the_query_is_a_400_that_names_it(query, words):
    async def main():
        async with serving(Script()) as served:
            answer = await served.http.get(f"{JOURNAL}?{query}")
            assert answer.status_code == 400
            assert words in answer.json()["error"]

    run(main())


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_endpoint_is_a_404_that_lists_those_that_exist(method):
    async def main():
        async with serving(Script()) as served:
            answer = await served.http.request(method, "/_soundstage/jornal")
            assert answer.status_code == 404
            assert f"{method} /_soundstage/jornal" in answer.json()["error"]
            for name in ("GET /_soundstage/journal", "GET /_soundstage/unused", "POST /_soundstage/rules"):
                assert name in answer.json()["error"]
            assert served.events(RequestRefused) == []

    run(main())


def test_unused_rules_are_listed_until_they_serve():
    script = script_with(("hello", "hi"), ("bye", "goodbye"))

    async def main():
        async with serving(script) as served:
            everything = (await served.http.get("/_soundstage/unused")).json()["unused"]
            assert [rule["rule"] for rule in everything] == ["rule 1", "rule 2"]
            await served.text(CHAT)
            [rule] = (await served.http.get("/_soundstage/unused")).json()["unused"]
            assert (rule["rule"], rule["when"]) == ("rule 2", "user 'bye'")

    run(main())


YAML = """
rules:
  - when: {user: hello}
    reply: from yaml
  - reply: queued
"""
JSON = json.dumps({"rules": [{"when": {"user": "hello"}, "reply": "from json"}, {"reply": "queued"}]})


@pytest.mark.parametrize(("text", "expected"), [(YAML, "from yaml"), (JSON, "from json")])
def test_rules_are_added_to_a_script_in_use(text, expected):
    async def main():
        async with serving(script_with(("bye", "goodbye"))) as served:
            assert await served.text(CHAT, "bye") == "goodbye"
            answer = await served.http.post("/_soundstage/rules", content=text)
            assert answer.json() == {"added": 2}
            assert await served.text(CHAT) == expected
            assert await served.text(CHAT, "what now") == "queued"
            assert served.events(Noted)[-1].text == "2 rules added"

    run(main())


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("rules:\n  - when: {usr: x}\n    reply: y\n", 2, "rules[0].when.usr", "did you mean 'user'?"),
        ("rules:\n  - when: {user: /(/}\n    reply: y\n", 2, "rules[0].when.user", ""),
        (
            '{"rules": [\n  {"when": {"user": "x"}, "rely": "y"}\n]}',
            2,
            "rules[0].rely",
            "did you mean 'reply'?",
        ),
        ('{"rules": [\n  {"reply": "y", "times": 0}\n]}', 2, "rules[0].times", "at least 1"),
        ('{"rules": [', 2, "", "this is not YAML"),
        ("rules: [\n", 2, "", "this is not YAML"),
        ("", 0, "", "it is empty"),
    ],
)
def test_bad_rules_are_a_400_with_line_and_key_and_nothing_is_added(text, line, key, words):
    async def main():
        script = script_with(("hello", "hi"))
        async with serving(script) as served:
            answer = await served.http.post("/_soundstage/rules", content=text)
            assert answer.status_code == 400
            [problem, *_] = answer.json()["problems"]
            assert (problem["file"], problem["line"], problem["key"]) == ("request", line, key)
            assert words in problem["message"]
            assert problem["message"] in answer.json()["error"]
            assert len(script.rules) == 1
            assert await served.text(CHAT) == "hi"

    run(main())


def test_rules_that_are_not_text_are_a_400():
    async def main():
        async with serving(Script()) as served:
            answer = await served.http.post("/_soundstage/rules", content=b"\xff\xfe\x00")
            assert answer.status_code == 400
            assert "UTF-8" in answer.json()["error"]

    run(main())


def test_rules_over_the_limit_of_a_body_are_a_413():
    async def main():
        async with serving(Script()) as served:
            answer = await served.http.post("/_soundstage/rules", content=b" " * (MAX_BODY + 1))
            assert answer.status_code == 413
            assert "too large" in answer.json()["error"]

    run(main())


def test_reset_forgets_what_has_been_served_and_keeps_the_rules():
    script = Script(strict=True)
    script.queue("first", "second")
    script.on(iteration=3).reply("third")

    async def main():
        async with serving(script) as served:
            for _ in range(2):
                assert [await served.text(CHAT) for _ in range(3)] == ["first", "second", "third"]
                assert (await served.http.get("/_soundstage/unused")).json() == {"unused": []}
                assert (await served.http.post("/_soundstage/reset")).json() == {"reset": True}
            assert len((await served.http.get("/_soundstage/unused")).json()["unused"]) == 3
            assert [event.text for event in served.events(Noted)] == ["script reset"] * 2

    run(main())


class Plain:
    """A model without a script."""

    async def stream(self, request):
        yield TextChunk(index=0, text="hi")
        yield FinishChunk()


@pytest.mark.parametrize(
    ("method", "name"),
    [("GET", "unused"), ("POST", "rules"), ("POST", "reset")],
    ids=["unused", "rules", "reset"],
)
def test_without_a_script_the_endpoints_about_it_say_so(method, name):
    async def main():
        async with serving(Plain()) as served:
            answer = await served.http.request(method, f"/_soundstage/{name}")
            assert answer.status_code == 400
            assert "this server has no script" in answer.json()["error"]
            assert "Plain" in answer.json()["error"]
            assert len(records(await served.http.get(JOURNAL))) == len(served.journal)

    run(main())


def test_endpoints_are_not_part_of_what_they_show():
    async def main():
        async with serving(script_with(("hello", "hi"))) as served:
            before = len(served.journal)
            for path in ("journal", "unused"):
                await served.http.get(f"/_soundstage/{path}")
            await served.http.get("/health")
            assert len(served.journal) == before
            await served.text(CHAT)
            assert len(served.events(ModelRequested)) == len(served.events(ModelResponded)) == 1

    run(main())


def test_what_the_endpoint_shows_holds_no_secret_and_is_valid():
    """The second line of the message looks, in JSON, like the beginning of a secret: `\\n` and the rest."""

    async def main():
        async with serving(script_with(("hello", "hi"))) as served:
            served.journal.redactor.add("nothing-to-see-here")
            await served.text(CHAT, "hello\nothing-to-see-here, nothing-to-see-here")
            answer = await served.http.get(JOURNAL)
            assert "to-see-here" not in answer.text
            assert "[redacted]" in answer.text
            assert records(answer)

    run(main())


# Who may ask


@pytest.mark.parametrize("token", ["", "key"], ids=["open to clients", "with a token for clients"])
def test_a_program_under_test_cannot_rewrite_its_script_or_read_the_journal(token):
    """It has the address and perhaps the key of the model, and nothing more."""

    async def main():
        async with serving(script_with(("hello", "hi")), token=token) as served:
            program = {"authorization": f"Bearer {token or 'x'}", "x-api-key": token}
            async with httpx.AsyncClient(
                base_url=served.server.url, trust_env=False, headers=program
            ) as http:
                for method, name in (
                    ("GET", "journal"),
                    ("GET", "unused"),
                    ("POST", "rules"),
                    ("POST", "reset"),
                ):
                    refused = await http.request(method, f"/_soundstage/{name}", content="rules: []")
                    assert refused.status_code == 401
                    assert "x-soundstage-control" in refused.json()["error"]
                assert served.server.app.control_token not in refused.text
            assert [event.format for event in served.events(RequestRefused)] == ["control"] * 4
            unused = (await served.http.get("/_soundstage/unused")).json()["unused"]
            assert len(unused) == 1

    run(main())


def test_a_web_page_is_refused_even_with_the_token():
    async def main():
        async with serving(Script()) as served:
            page = {"origin": "http://example.com"}
            assert (await served.http.get("/_soundstage/unused", headers=page)).status_code == 403

    run(main())


def test_the_token_may_be_chosen_and_is_never_in_the_journal():
    async def main():
        async with serving(Script(), control_token="chosen-by-the-test") as served:
            bearer = {"authorization": "Bearer chosen-by-the-test", "x-soundstage-control": ""}
            async with httpx.AsyncClient(base_url=served.server.url, trust_env=False, headers=bearer) as http:
                assert (await http.get("/_soundstage/unused")).status_code == 200
                await http.post("/v1/nothing", content="chosen-by-the-test")
            shown = await served.http.get("/_soundstage/journal")
            assert "RequestRefused" in shown.text
            assert "chosen-by-the-test" not in shown.text

    run(main())
