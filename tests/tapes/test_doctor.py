"""Sources of nondeterminism: each is named with the request, both texts, its cause and its line of code."""

from __future__ import annotations

import random
import sys
import uuid
from datetime import datetime
from pathlib import Path

import pytest
import typer

from soundstage.clock import run
from soundstage.differences import Difference
from soundstage.errors import AppError
from soundstage.messages import ModelRequest, ModelResponse, Text, assistant, call, tool, user
from soundstage.models import Script, ScriptedModel, complete
from soundstage.tapes import RecordedExchange, Tape, find_nondeterminism
from soundstage.tapes._call_watch import WatchedCall
from soundstage.tapes._doctor import DoctorOptions, examine
from soundstage.tapes._doctor_command import doctor
from soundstage.tapes._learning import Learned, Sighting
from soundstage.tapes._proposals import Place
from soundstage.tapes._sources import of_model, sources_of
from support.taping import KEY


def found_in(app):
    script = Script()
    script.otherwise("ok")
    return run(find_nondeterminism(app, ScriptedModel(script)))


async def ask(model, *messages, **fields):
    return await complete(model, ModelRequest(model="m", messages=messages, **fields))


def session():
    return uuid.uuid4()


def clock():
    return datetime.now().isoformat()  # noqa: DTZ005


def pick():
    return random.choice(["cat", "dog", "cow", "pig", "hen", "owl", "bat", "rat", "elk", "eel"])


def test_an_app_that_asks_the_same_has_none():
    async def app(model):
        random.seed(7)
        await ask(model, user(f"pick {random.randrange(10**6)} of 2024-01-02"))

    assert found_in(app) == ()


def test_an_id_and_a_time_are_named_with_the_lines_that_made_them():
    async def app(model):
        await ask(model, user(f"session {session()}, now {clock()}, version 3"))

    by_kind = {one.kind: one for one in found_in(app)}
    assert set(by_kind) == {"random", "clock"}
    assert [line.partition(" in ")[2] for line in by_kind["random"].lines] == ["session: uuid4()"]
    assert [line.partition(" in ")[2] for line in by_kind["clock"].lines] == ["clock: now()"]
    assert by_kind["random"].where == "request 1, messages[0] user, part 1"
    first, then = by_kind["random"].differed.split(", then ")
    assert first != then
    assert uuid.UUID(first.strip("'")).version == 4
    assert "test_doctor.py" in str(by_kind["random"])


def test_a_choice_of_words_is_named_with_its_line():
    seeds = iter([1, 3])

    async def app(model):
        random.seed(next(seeds))
        await ask(model, user(f"tell of {pick()} please"))

    [one] = found_in(app)
    assert one.kind == "random"
    assert [line.partition(" in ")[2] for line in one.lines] == ["pick: choice()"]


def test_words_that_nobody_drew_have_no_line():
    left = iter(["cats", "dogs"])

    async def app(model):
        session()
        await ask(model, user(f"tell of {next(left)}"))

    [one] = found_in(app)
    assert (one.kind, one.lines) == ("program", ())
    assert one.differed == "'cats', then 'dogs'"


def test_an_order_is_told_as_that():
    orders = iter([["alpha", "beta", "gamma"], ["gamma", "alpha", "beta"]])

    async def app(model):
        await ask(model, user(f"look at {', '.join(next(orders))}"))

    [one] = found_in(app)
    assert one.kind == "order"
    assert "sort" in one.advice


def test_a_result_of_a_tool_is_told_with_its_call():
    async def app(model):
        asked = user("weather?")
        use = call("look_up", {"city": "Paris"}, id="c1")
        await ask(model, asked, assistant("", use), tool("c1", f"21 degrees ({session()})"))

    [one] = found_in(app)
    assert one.kind == "tool"
    assert 'the result of look_up({"city":"Paris"})' in one.cause
    assert [line.partition(" in ")[2] for line in one.lines] == ["session: uuid4()"]


@pytest.mark.parametrize(("counts", "cause"), [((1, 2), "extra call"), ((2, 1), "missing call")])
def test_more_calls_or_fewer_are_told(counts, cause):
    numbers = iter(counts)

    async def app(model):
        for number in range(next(numbers)):
            await ask(model, user(f"step {['one', 'two'][number]}"))

    [one] = found_in(app)
    assert (one.kind, one.differed.partition(":")[0]) == ("program", cause)


def test_an_app_that_asks_nothing_is_an_error():
    async def app(model):
        del model

    with pytest.raises(AppError, match="asked no model"):
        found_in(app)


def test_a_line_counts_if_its_calls_fit_in_both_runs():
    def calls(*made):
        return [WatchedCall("random", "draw", line, 0.0, value) for line, value in made]

    where = Difference(cause="prompt edited", where="messages[0] user, part 1", recorded="a", seen="b")
    sighting = Sighting(1, "", where, Place("17204", "55310", "number"))
    [one] = sources_of(
        Learned(left=(sighting,)),
        first=calls(("a.py:1 in f", "17204"), ("a.py:3 in h", "17204")),
        then=calls(("a.py:1 in f", "55310"), ("a.py:2 in g", "55310"), ("a.py:3 in h", "99999")),
    )
    assert one.lines == ("a.py:1 in f: draw()",)


def test_a_model_that_answers_the_same_request_in_other_words_is_told():
    def tape(*replies):
        return Tape(
            RecordedExchange(
                number=number,
                request=ModelRequest(model="m", messages=(user(asked),)),
                response=ModelResponse(parts=(Text(text=text),)),
            )
            for number, (asked, text) in enumerate(replies, 1)
        )

    one = tape(("joke", "knock"), ("song", "la"), ("joke", "knock knock"))
    assert [*of_model(one, one, str)] == []
    [found] = of_model(one, tape(("joke", "knock"), ("joke", "who"), ("poem", "x")), str)
    assert (found.kind, found.where) == ("model", "request 3, reply, part 1")
    assert found.differed == "'knock knock', then 'who'"


AGENT = """
import json, os, sys, urllib.request, uuid

def session():
    return uuid.uuid4() if "steady" not in sys.argv else "same"

def ask(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    asked = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]

if "network" in sys.argv:
    try:
        urllib.request.urlopen("http://weather.example/", timeout=5)
    except OSError:
        pass
if "nothing" not in sys.argv:
    ask(f"session {session()}")
    names = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"}
    ask("tools: " + ", ".join(names if "set" in sys.argv else sorted(names)))
"""


@pytest.fixture
def options(tmp_path, monkeypatch):
    """A folder with an agent and a script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    Path("agent.py").write_text(AGENT)
    Path("s.yaml").write_text("version: 1\nrules:\n- {when: {user: ' '}, reply: {text: ok}}\n")

    def of(*arguments):
        return DoctorOptions(
            (sys.executable, "agent.py", *arguments), script=Path("s.yaml"), isolation="process"
        )

    return of


def test_the_sources_of_a_program_are_named_and_nothing_is_kept(options):
    before = sorted(path.name for path in Path().iterdir())
    by_kind = {one.kind: one for one in examine(options("network", "set"))}
    assert {"random", "order", "network"} <= set(by_kind)
    [line] = by_kind["random"].lines
    assert line.startswith("agent.py:5 in session: uuid4()")
    assert "weather.example" in by_kind["network"].differed
    assert by_kind["order"].where == "request 2, messages[0] user, part 1"
    assert sorted(path.name for path in Path().iterdir()) == before


def test_the_command_ends_with_0_for_a_steady_program_and_refuses_what_does_not_go_together(options, capsys):
    steady = options("steady")
    doctor([*steady.command], script=steady.script, live=True, isolation="process")
    assert capsys.readouterr().out == "two runs asked the same\n"
    with pytest.raises(typer.BadParameter, match="--script and --tape"):
        doctor([*steady.command], script=steady.script, tape=Path("t.tape"))
    with pytest.raises(AppError, match="asked no provider"):
        doctor([*options("nothing").command], script=steady.script, isolation="process")
