"""Forks: a run along a tape up to a step, with one thing changed there, that goes on with a model."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from soundstage.clock import run
from soundstage.errors import ConfigError, TapeError, UnknownNameError, WrongValueError
from soundstage.messages import (
    ModelRequest,
    ModelResponse,
    Text,
    ToolDefinition,
    call,
    system,
    tool,
    user,
)
from soundstage.models import Script, ScriptedModel, complete
from soundstage.tapes import (
    DivergenceError,
    ForkModel,
    RecordedExchange,
    RecordedFailure,
    RecordingModel,
    ReplayModel,
    Tape,
)
from soundstage.tapes._change import change_of
from soundstage.tapes._fork import Fork
from soundstage.tapes._fork_command import fork
from soundstage.tapes._fork_edit import change_in, edited_text, form_of
from soundstage.tapes._fork_run import ForkOptions, branch_path, run_fork
from soundstage.tapes._frames import Frames
from soundstage.tapes._yaml import as_yaml

PROMPT = "You are a weather agent."


async def agent(model, prompt=PROMPT, places=("Paris", "Oslo"), last="Oslo"):
    """Asks for the weather of each place, then for a summary. Returns the summary."""
    messages = [system(prompt), user("How is the weather?")]
    for place in places:
        messages += [
            (await asked(model, messages)).message(),
            tool(f"id-{place}", f"sun in {place.replace('Oslo', last)}"),
        ]
    return (await asked(model, messages)).text


async def asked(model, messages):
    offered = (ToolDefinition(name="weather", schema={"type": "object"}),)
    return await complete(model, ModelRequest(model="m", messages=tuple(messages), tools=offered))


@pytest.fixture(scope="module")
def tape():
    """A tape of the agent: two calls of its tool, and a summary."""
    script, made = Script(), Tape(name="weather.tape")
    script.queue(call("weather", {"city": "Paris"}, id="id-Paris"))
    script.queue(call("weather", {"city": "Oslo"}, id="id-Oslo"))
    script.queue("sun everywhere")
    run(agent(RecordingModel(ScriptedModel(script), made)))
    return made


class Continuation:
    """A model that goes on: it asks for Rome after one result, else it ends. It keeps what it is given."""

    def __init__(self):
        script = Script()
        script.on(tool_result="Paris").reply(call("weather", {"city": "Rome"}, id="id-Oslo"))
        script.otherwise("it snows")
        self._inner = ScriptedModel(script)
        self.given = []

    def stream(self, request):
        self.given.append(request)
        return self._inner.stream(request)


def forked(tape, at, change, **options):
    """The result of the agent on a fork, what the model was given, and the fork."""
    inner = Continuation()
    model = ForkModel(tape, at=at, change=change, inner=inner)
    return run(agent(model, **options)), inner.given, model


def test_a_changed_system_prompt_is_what_the_model_is_given_from_the_step_on(tape):
    result, given, model = forked(tape, 2, "llm.system+= Be brief.")
    assert result == "it snows"
    assert [request.system_text for request in given] == [f"{PROMPT} Be brief."] * 2
    assert [request.messages[1:] for request in given] == [
        request.messages[1:] for request in _asked(model.branch)[1:]
    ]
    assert model.finish() is None
    assert (model.fork.given, model.fork.changed) == (2, 2)


def _asked(tape):
    return [exchange.request for exchange in tape.exchanges]


def test_what_comes_before_the_step_is_played_and_what_comes_after_is_the_models(tape):
    _, given, model = forked(tape, 3, "llm.system=Be brief.")
    (request,) = given
    assert request.system_text == "Be brief."
    replies = [exchange.response for exchange in model.branch.exchanges]
    assert [reply.parts for reply in replies[:2]] == [one.response.parts for one in tape.exchanges[:2]]
    assert replies[2].text == "it snows"
    assert _asked(model.branch)[:2] == _asked(tape)[:2]


def test_a_changed_result_stays_changed_in_the_history_and_no_other_result_is(tape):
    _, given, _ = forked(tape, 2, "tool.weather.result=hail in Paris")
    told = [[part.text for message in one.messages for part in message.parts if part.__class__.__name__ == "ToolResult"]
            for one in given]  # fmt: skip
    assert told == [["hail in Paris"], ["hail in Paris", "sun in Oslo"]]


def test_an_older_result_is_found_by_the_id_of_its_call(tape):
    _, given, _ = forked(tape, 3, "tool.id-Paris.result=hail")
    (request,) = given
    assert "hail" in request.messages[3].everything
    assert "sun in Oslo" in request.messages[-1].everything


def test_a_changed_reply_is_what_the_program_gets_and_its_own_history_carries_it(tape):
    result, given, model = forked(tape, 2, "llm.reply=no tools today")
    assert result == "it snows"
    (request,) = given
    assert request.messages[-2].text == "no tools today"
    assert model.branch.exchanges[1].response.text == "no tools today"
    assert model.fork.changed == 0


def test_a_reply_in_the_place_of_a_failure_is_no_failure_and_nothing_of_its_pieces_is_left(tape):
    failure = RecordedFailure(type="error", message="slow down", status=429)
    frames = Frames(status=429, at_ms=(1.0,), sizes=(0,))
    failed = msgspec.structs.replace(tape.exchanges[0], response=None, failure=failure, frames=frames)
    made = change_of("llm.reply=fine", failed).exchange(failed)
    assert (made.failure, made.chunks, made.frames, made.response.text) == (None, (), None, "fine")


def test_a_reply_of_the_last_step_leaves_nothing_to_ask(tape):
    result, given, model = forked(tape, 3, "llm.reply=the end")
    assert (result, given, len(model.branch)) == ("the end", [], 3)
    assert model.finish() is None


@pytest.mark.parametrize(
    "change", ["llm.system+= Be brief.", "llm.system=", "tool.weather.result=hail", "llm.reply=x"]
)
def test_a_branch_is_replayed_by_the_program_that_knows_nothing_of_the_change(tape, tmp_path, change):
    result, _, model = forked(tape, 2, change)
    model.branch.save(tmp_path / "branch.tape")
    branch = Tape.load(tmp_path / "branch.tape")
    assert (branch.head.fork.at, branch.head.fork.said) == (2, change)
    replay = ReplayModel(branch)
    assert run(agent(replay)) == result
    assert replay.playback.finish() is None


def test_a_program_that_is_another_one_diverges_on_its_branch_too(tape):
    _, _, model = forked(tape, 2, "llm.system+= Be brief.")
    replay = ReplayModel(model.branch)

    with pytest.raises(DivergenceError) as caught:
        run(agent(replay, last="Bergen"))
    (difference,) = caught.value.verdict.differences
    assert (caught.value.verdict.cause, "Bergen" in str(difference)) == ("tool result differs", True)


def test_a_program_that_is_not_the_recorded_one_diverges_before_the_step(tape):
    inner = Continuation()
    model = ForkModel(tape, at=2, change="llm.reply=x", inner=inner)
    with pytest.raises(DivergenceError, match="system prompt edited"):
        run(agent(model, prompt="You are a pirate."))
    assert inner.given == []
    assert model.finish().cause == "system prompt edited"


def test_a_program_that_does_not_come_to_the_step_has_a_verdict(tape):
    model = ForkModel(tape, at=3, change="llm.reply=x", inner=Continuation())
    run(agent(model, places=()))
    verdict = model.finish()
    assert (verdict.cause, verdict.nearest) == ("missing call", 2)


def test_another_system_prompt_than_that_of_the_step_is_left_alone(tape):
    inner = Continuation()
    model = ForkModel(tape, at=2, change="llm.system+= Be brief.", inner=inner)

    async def main():
        await agent(model)
        await asked(model, [system("Name this talk."), user("weather")])

    run(main())
    assert [request.system_text for request in inner.given][-1] == "Name this talk."
    assert (model.fork.given, model.fork.changed) == (3, 2)


def test_a_request_that_is_on_the_tape_behind_the_step_goes_to_the_model_whichever_comes_first(request_of):
    replies = [ModelResponse(parts=(Text(text=f"old {who}"),)) for who in "abc"]
    requests = [request_of(f"I am {who}", agent=who) for who in "abc"]
    tape = Tape(
        RecordedExchange(number=number, request=request, response=reply)
        for number, (request, reply) in enumerate(zip(requests, replies, strict=True), 1)
    )
    for order in ((0, 1, 2), (2, 1, 0)):
        script = Script()
        script.otherwise("new")
        model = ForkModel(tape, at=2, change="llm.reply=changed", inner=ScriptedModel(script))
        said = {place: run(complete(model, requests[place])).text for place in order}
        assert said == {0: "old a", 1: "changed", 2: "new"}


@pytest.mark.parametrize(
    ("at", "change", "error", "words"),
    [
        (4, "llm.reply=x", TapeError, ["weather.tape has no step 4", "--at 1 to --at 3", "3 model call(s)"]),
        (0, "llm.reply=x", TapeError, ["no step 0"]),
        (
            2,
            "llm.sytem+=x",
            UnknownNameError,
            ["'llm.sytem'", "llm.system+=TEXT", "did you mean 'llm.system'?"],
        ),
        (2, "llm.reply+=x", UnknownNameError, ["llm.reply=TEXT"]),
        (2, "tool.wether.result=x", UnknownNameError, ["'wether'", "did you mean 'weather'?"]),
        (1, "tool.weather.result=x", UnknownNameError, ["'weather'", "a step whose request brings a result"]),
        (2, "llm.reply=", WrongValueError, ["a reply has a text"]),
    ],
)
def test_what_cannot_be_forked_is_refused_with_what_can(tape, at, change, error, words):
    with pytest.raises(error) as caught:
        ForkModel(tape, at=at, change=change, inner=Continuation())
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_two_new_results_of_one_tool_are_told_apart_by_their_calls(request_of):
    said = ModelResponse(parts=(call("weather", {}, id="a"), call("weather", {}, id="b"))).message()
    request = request_of("go", said, tool("a", "sun"), tool("b", "rain"))
    tape = Tape(
        [RecordedExchange(number=1, request=request, response=ModelResponse(parts=(Text(text="ok"),)))]
    )
    with pytest.raises(WrongValueError, match=r"tool\.a\.result=, tool\.b\.result="):
        Fork(tape, 1, "tool.weather.result=snow")
    assert Fork(tape, 1, "tool.b.result=snow").change.was == "rain"


@pytest.mark.parametrize(
    ("given", "seen"),
    [({}, "neither"), ({"script": Path("s.yaml"), "upstreams": {"openai": "http://127.0.0.1:9"}}, "both")],
)
def test_a_branch_goes_on_with_one_thing(tape, tmp_path, given, seen):
    options = ForkOptions(tape, 2, "llm.reply=x", ("true",), tmp_path / "b.tape", **given)
    with pytest.raises(ConfigError, match="--script FILE, or --upstream openai=URL") as caught:
        run_fork(options)
    assert caught.value.seen == seen
    assert not options.branch.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--set PATH=TEXT, or --edit"),
        (["--edit", "--set", "llm.reply=x"], "--set PATH=TEXT, or --edit"),
        (["--set", "llm.reply=x", "--out", "w.tape"], "--out is the tape itself"),
    ],
)
def test_what_was_misunderstood_is_refused_before_anything_runs(
    tape, tmp_path, monkeypatch, arguments, words
):
    monkeypatch.chdir(tmp_path)
    tape.save("w.tape")
    before = Path("w.tape").read_bytes()
    app = typer.Typer()
    app.command()(fork)
    done = CliRunner().invoke(app, ["w.tape", "--at", "2", *arguments, "--", "true"])
    assert done.exit_code == 2
    assert words in " ".join(done.output.replace("\u2502", " ").split())
    assert [path.read_bytes() for path in Path().iterdir()] == [before]


def test_a_branch_has_a_new_name_beside_its_tape(tmp_path):
    tape = tmp_path / "weather.tape"
    assert branch_path(tape) == tmp_path / "weather.fork-1.tape"
    branch_path(tape).touch()
    assert branch_path(tape) == tmp_path / "weather.fork-2.tape"


def edit_form(tape, at, change):
    """The change that comes of an edit of the form of a step."""
    step = tape.exchanges[at - 1]
    form = form_of(step)
    after = json.loads(json.dumps(form))
    change(after)
    return change_in(step, form, "# words\n" + as_yaml(after))


def test_one_text_that_is_edited_in_the_form_of_a_step_is_the_change(tape):
    assert edit_form(tape, 2, lambda form: None) is None
    changed, said = edit_form(tape, 2, lambda form: form.update(system="Be\n  odd: yes\n\n# no comment\n"))
    assert (changed.was, changed.now, said) == (
        PROMPT,
        "Be\n  odd: yes\n\n# no comment\n",
        "llm.system (edited)",
    )
    changed, said = edit_form(tape, 2, lambda form: form["results"]["id-Paris"].update(text="hail"))
    assert (changed.call_id, changed.was, changed.now) == ("id-Paris", "sun in Paris", "hail")
    changed, said = edit_form(
        tape, 2, lambda form: form["reply"]["tool_calls"][0]["arguments"].update(city="Rome")
    )
    (made,) = changed.exchange(tape.exchanges[1]).response.tool_calls
    assert (made.id, made.arguments, said) == ("id-Oslo", {"city": "Rome"}, "llm.reply (edited)")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda form: form.update(system="x", reply={"text": "y"}), "changed: llm.system, llm.reply"),
        (lambda form: form.update(sytem="x"), "sytem"),
        (lambda form: form.update(system=3), "system is 3"),
        (lambda form: form["results"].clear(), "results of no call"),
        (lambda form: form["results"]["id-Paris"].update(tool="other", text="x"), "results of id-Paris"),
        (lambda form: form.update(reply={"text": "x", "blocks": []}), "text, chunks and blocks"),
        (lambda form: form.update(reply={"error": {"status": 500}}), "an error or a fault"),
    ],
)
def test_an_edited_form_that_is_none_is_refused_by_what_is_wrong(tape, edit, words):
    with pytest.raises(Exception, match="the edited step cannot be used") as caught:
        edit_form(tape, 2, edit)
    assert words in str(caught.value) or words.split(",")[0] in str(caught.value), str(caught.value)


def test_without_an_editor_the_variables_are_named():
    with pytest.raises(Exception, match="VISUAL or EDITOR"):
        edited_text("text", {"EDITOR": " "})
