"""One task of one agent: turns, tools, limits, abort, and what goes into the journal."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.agents.runtime import (
    AgentDefinition,
    AgentLoop,
    AgentRegistry,
    AgentTask,
    TaskError,
    Tool,
    ToolContext,
    UnknownAgentError,
    listening,
    tool,
)
from soundstage.clock import run
from soundstage.errors import NoMatchError
from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    FileChanged,
    Journal,
    ModelRequested,
    ModelResponded,
    Noted,
    ToolCalled,
    ToolReturned,
)
from soundstage.messages import FinishChunk, ToolCallChunk, Usage, assistant, call, reminder, user
from soundstage.models import ErrorSpec, JournaledModel, Reply, Script, ScriptedModel
from soundstage.trace import Trace


@tool(permissions="read")
def look(path: str) -> str:
    """Look at a file."""
    if path == "missing":
        raise FileNotFoundError("no such file")
    return f"content of {path}"


def requests(stage):
    return [event.request for event in stage.events(ModelRequested)]


def says(script, *replies):
    """Answer each request in turn."""
    for reply in replies:
        script.on(times=1).reply(**reply) if isinstance(reply, dict) else script.on(times=1).reply(reply)
    return script


def test_an_answer_without_tools_is_the_outcome(work, script):
    stage = work(says(script, "All good."), prompt="how is it?")
    outcome = stage.outcome
    assert (outcome.success, outcome.output, outcome.reason, outcome.error) == (True, "All good.", "stop", "")
    assert (outcome.task, outcome.agent, outcome.turns) == ("t1", "worker", 1)
    assert outcome.messages == (assistant("All good."),)


def test_one_tool_call_is_run_and_the_model_sees_its_result(work, script):
    stage = work(says(script, call("look", {"path": "a.py"}), "Seen."), look)
    first, second = requests(stage)
    assert first.messages == (user("go"),)
    (result,) = second.tool_results
    assert (result.text, result.is_error, result.name) == ("content of a.py", False, "look")
    assert stage.outcome.output == "Seen."
    assert [one.name for one in stage.outcome.tool_calls] == ["look"]
    assert [message.role for message in stage.outcome.messages] == ["assistant", "tool", "assistant"]
    assert stage.outcome.turns == 2


def test_two_calls_of_one_reply_both_run_in_order(work, script):
    ran = []

    @tool
    async def note(text: str, seconds: float) -> str:
        await asyncio.sleep(seconds)
        ran.append(text)
        return text

    calls = [call("note", {"text": "first", "seconds": 5}), call("note", {"text": "second", "seconds": 1})]
    stage = work(says(script, {"tool_calls": calls}, "Done."), note)
    assert ran == ["first", "second"]
    assert [result.text for result in requests(stage)[1].tool_results] == ["first", "second"]


def test_a_tool_that_ends_the_task_ends_it_after_the_calls_beside_it(work, script):
    ran = []

    @tool(ends=True)
    def submit(grade: int) -> str:
        ran.append("submit")
        if grade > 5:
            raise ValueError("no such grade")
        return "submitted"

    @tool
    def note() -> str:
        ran.append("note")
        return "noted"

    said = [call("submit", {"grade": 9}), call("submit", {"grade": 2}), call("note")]
    script.on(times=1).reply("Too high?", tool_calls=[said[0]])
    script.on(tool_result="no such grade").reply("A two.", tool_calls=said[1:])
    stage = work(script, submit, note)
    assert ran == ["submit", "submit", "note"]
    assert (stage.outcome.reason, stage.outcome.output, stage.outcome.turns) == ("stop", "A two.", 2)
    assert [message.role for message in stage.outcome.messages][-3:] == ["assistant", "tool", "tool"]
    assert stage.events(AgentFinished)[0].text == "A two."


def test_a_tool_that_fails_reaches_the_model_with_the_prefix(work, script):
    stage = work(says(script, call("look", {"path": "missing"}), "I see."), look)
    (result,) = requests(stage)[1].tool_results
    assert result.text == "ERROR: FileNotFoundError: no such file"
    assert result.is_error
    assert stage.outcome.success


def test_arguments_that_are_not_json_reach_the_model_as_an_error_without_an_event(work):
    class Garbled:
        def __init__(self):
            self.turn = 0

        async def stream(self, request):
            self.turn += 1
            if self.turn == 1:
                yield ToolCallChunk(index=0, id="c1", name="look", arguments='{"path": ')
                yield FinishChunk(finish="tool_calls")
            yield FinishChunk()

    stage = work(None, look, model=Garbled())
    (result,) = requests(stage)[1].tool_results
    assert result.text.startswith("ERROR: the arguments are not a JSON object")
    assert stage.events(ToolCalled) == []
    assert stage.outcome.success


def test_exactly_the_tools_of_the_agent_are_sent(work, script):
    other = Tool(name="other", call=lambda: "")
    stage = work(says(script, "ok"), look, other, definition={"tools": ("look",)})
    assert [one.name for one in requests(stage)[0].tools] == ["look"]
    assert requests(stage)[0].tools[0].schema == look.schema


def test_an_answer_that_is_cut_off_is_continued_and_joined(work, script):
    cut = {"text": "The first half, ", "finish": "length"}
    stage = work(says(script, cut, cut, {"text": "and the end."}))
    assert stage.outcome.output == "The first half, The first half, and the end."
    assert stage.outcome.turns == 3
    second = requests(stage)[1]
    assert [message.role for message in second.messages] == ["user", "assistant", "user"]
    assert second.messages[1].text == "The first half, "
    assert "Continue" in second.messages[2].text


def test_a_cut_off_answer_with_tool_calls_runs_them(work, script):
    reply = Reply(text="Let me", tool_calls=[_spec("look", path="a")], finish="length")
    stage = work(says(script, reply, "Done."), look)
    assert stage.outcome.output == "Done."
    assert len(stage.events(ToolReturned)) == 1


def _spec(name, **arguments):
    from soundstage.models import CallSpec

    return CallSpec(name=name, arguments=arguments)


def test_a_pause_goes_on_without_a_word_of_ours(work, script):
    stage = work(says(script, {"text": "searching ", "finish": "pause"}, "found"))
    assert stage.outcome.output == "searching found"
    assert [message.role for message in requests(stage)[1].messages] == ["user", "assistant"]


@pytest.mark.parametrize(("finish", "words"), [("content_filter", "filter"), ("error", "broke off")])
def test_an_answer_that_is_no_whole_one_is_a_failure_that_keeps_the_words(work, script, finish, words):
    outcome = work(says(script, {"text": "half", "finish": finish})).outcome
    assert (outcome.success, outcome.reason, outcome.output) == (False, "error", "half")
    assert words in outcome.error


def test_when_the_turns_are_used_up_the_outcome_and_the_journal_say_so(work, script):
    script.on(user="go").reply(call("look", {"path": "a"}))
    stage = work(script, look, definition={"max_turns": 3})
    assert (stage.outcome.success, stage.outcome.reason) == (False, "max_turns")
    assert stage.outcome.error == "Max turns reached (3)"
    assert len(stage.events(ModelRequested)) == 3
    (finished,) = stage.events(AgentFinished)
    assert (finished.outcome, finished.text) == ("failure", "Max turns reached (3)")


def test_a_slow_model_runs_into_the_agents_timeout(work, script):
    stage = work(says(script, {"text": "late", "delay": 1.0}), definition={"timeout": 0.05})
    assert (stage.outcome.success, stage.outcome.reason) == (False, "timeout")
    assert stage.outcome.error == "Agent error: no end within 0.05 s"
    finished = stage.journal.read(type=AgentFinished)[0]
    assert (finished.event.outcome, finished.time) == ("failure", 0.05)


@pytest.mark.parametrize(
    ("asked", "own", "maximum", "limit"),
    [
        (None, 60.0, 120.0, 60.0),
        (90.0, 60.0, 120.0, 90.0),
        (1000.0, 60.0, 120.0, 360.0),
        (None, 400.0, 100.0, 300.0),
    ],
)
def test_the_limit_is_what_is_asked_up_to_three_times_the_maximum(work, script, asked, own, maximum, limit):
    says(script, {"text": "late", "delay": 10_000.0})
    stage = work(script, definition={"timeout": own, "max_timeout": maximum}, task={"timeout": asked})
    assert stage.journal.read(type=AgentFinished)[0].time == limit


def test_an_infinite_timeout_is_capped_like_any_other(work, script):
    says(script, {"text": "late", "delay": 10_000.0})
    assert work(script, task={"timeout": float("inf")}).journal.read(type=AgentFinished)[0].time == 900.0


def test_a_fast_agent_is_not_cancelled_late(script):
    async def main():
        loop = AgentLoop(
            ScriptedModel(says(script, "quick")), AgentRegistry([AgentDefinition(slug="w", timeout=5)])
        )
        outcome = await loop.run(AgentTask(id="t", agent="w", prompt="go"))
        await asyncio.sleep(100)
        return outcome, len(loop.journal.events(AgentFinished))

    outcome, finished = run(main())
    assert outcome.success
    assert finished == 1


def test_a_tool_that_hangs_ends_with_the_task(work, script):
    @tool
    async def hang() -> str:
        await asyncio.Event().wait()

    stage = work(says(script, call("hang")), hang, definition={"timeout": 10.0}, tool_timeout=600)
    assert stage.outcome.reason in ("timeout", "max_turns")
    assert stage.journal.read(type=AgentFinished)[0].time == 10.0
    assert len(stage.events(ToolReturned)) == 1


def test_a_model_that_fails_is_a_failure_as_data(work, script):
    stage = work(says(script, {"error": ErrorSpec(status=529, message="overloaded")}))
    assert (stage.outcome.success, stage.outcome.reason) == (False, "error")
    assert stage.outcome.error.startswith("Agent error: the model answered with status 529")
    (finished,) = stage.journal.read(type=AgentFinished)
    assert (finished.event.agent, finished.event.outcome) == ("worker", "failure")
    assert stage.journal.read()[finished.cause - 1].event.task == "t1"


def test_a_script_without_an_answer_is_the_authors_fault_and_raised(stage, script):
    async def main():
        made = stage(script)
        with pytest.raises(NoMatchError):
            await made.run()
        return made

    (finished,) = run(main()).events(AgentFinished)
    assert finished.outcome == "failure"
    assert finished.text.startswith("Agent error: NoMatchError")


def test_abort_ends_the_task_and_is_not_mistaken_for_anything_else(stage, script):
    script.on(user="go").reply(tool_calls=[call("wait")])
    ended = []

    @tool
    async def wait() -> str:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            ended.append(True)
            raise
        return "waited"

    async def main():
        made = stage(script, wait)
        running = asyncio.create_task(made.run())
        await asyncio.sleep(25)
        assert made.loop.abort("t1")
        outcome = await running
        assert not made.loop.abort("t1")
        await asyncio.sleep(100)
        return made, outcome

    made, outcome = run(main())
    assert (outcome.success, outcome.reason, outcome.turns) == (False, "aborted", 3)
    assert outcome.error == "Agent error: the task was aborted"
    assert ended == [True]
    assert len(made.events(ModelRequested)) == 3
    assert [event.outcome for event in made.events(AgentFinished)] == ["aborted"]
    assert len(made.events(ToolCalled)) == len(made.events(ToolReturned)) == 3


def test_a_tool_may_abort_its_own_task(stage, script):
    async def main():
        @tool
        async def stop() -> str:
            made.loop.abort("t1")
            return "stopped"

        made = stage(says(script, {"tool_calls": [call("stop"), call("stop")]}), stop)
        outcome = await made.run()
        await asyncio.sleep(1)
        return made, outcome

    made, outcome = run(main())
    assert outcome.reason == "aborted"
    assert len(made.events(ToolCalled)) == 1


def test_a_cancellation_from_outside_is_journaled_and_goes_on(stage, script):
    says(script, {"text": "late", "delay": 60.0})

    async def main():
        made = stage(script)
        running = asyncio.create_task(made.run())
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return made

    assert [event.outcome for event in run(main()).events(AgentFinished)] == ["aborted"]


def test_a_model_that_swallows_the_cancellation_does_not_hold_the_task(stage):
    class Stubborn:
        async def stream(self, request):
            while True:
                try:
                    await asyncio.sleep(10_000)
                except asyncio.CancelledError:
                    break
            yield FinishChunk()

    async def main():
        made = stage(None, model=Stubborn(), definition={"timeout": 3.0})
        return await made.run(), made

    outcome, made = run(main())
    assert outcome.reason == "timeout"
    assert made.journal.read(type=AgentFinished)[0].time == 3.0


def test_requests_say_who_asks(work, script):
    stage = work(
        says(script, "ok"), task={"conversation": "c7", "parent": "boss", "phase": "plan"}, default_model="m"
    )
    caller = requests(stage)[0].caller
    assert (caller.agent, caller.conversation, caller.parent, caller.phase) == (
        "worker",
        "c7",
        "boss",
        "plan",
    )
    (started,) = stage.events(AgentStarted)
    assert (started.agent, started.conversation, started.parent, started.task) == (
        "worker",
        "c7",
        "boss",
        "t1",
    )


@pytest.mark.parametrize(("default", "sent"), [("gpt-4o", "gpt-4o:online"), ("", "")])
def test_a_suffix_is_added_to_a_default_model_and_to_nothing_else(work, script, default, sent):
    stage = work(says(script, "ok"), definition={"model_suffix": ":online"}, default_model=default)
    assert requests(stage)[0].model == sent


def test_the_limit_of_an_answer_goes_into_the_settings(work, script):
    assert requests(work(says(script, "ok"), definition={"max_output_tokens": 16384}))[0].settings == {
        "max_tokens": 16384
    }
    assert requests(work(says(Script(), "ok")))[0].settings == {}


def test_the_prompt_is_assembled_and_the_history_trimmed_by_whoever_does_that(work, script):
    trimmed = []

    def trim(messages):
        trimmed.append([message.role for message in messages])
        return messages[-1:]

    stage = work(
        says(script, "ok"),
        task={"history": (user("before"), assistant("then"))},
        assemble=lambda definition, task: f"You are {definition.slug}, on {task.id}.",
        trim=trim,
    )
    assert trimmed == [["system", "user", "assistant", "user"]]
    assert requests(stage)[0].messages == (user("go"),)


def test_without_one_the_prompt_is_the_agents_own_and_nothing_is_trimmed(work, script):
    stage = work(says(script, "ok"), definition={"prompt": "Be brief."}, task={"history": (user("before"),)})
    assert requests(stage)[0].system_text == "Be brief."
    assert [message.text for message in requests(stage)[0].messages] == ["Be brief.", "before", "go"]


def test_results_of_other_tasks_are_shown_before_the_prompt(work, script):
    stage = work(says(script, "ok"), task={"context": {"search_0_result": "found it"}})
    assert requests(stage)[0].messages[-1].text == reminder("## search_0_result\n\nfound it") + "\n\ngo"


def test_a_trim_that_raises_is_the_authors_fault(stage, script):
    async def main():
        made = stage(says(script, "ok"), trim=lambda messages: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await made.run()
        return made

    assert [event.outcome for event in run(main()).events(AgentFinished)] == ["failure"]


@pytest.mark.parametrize(
    ("task", "error", "words"),
    [
        ({"agent": "wroker"}, UnknownAgentError, "did you mean 'worker'"),
        ({"prompt": ""}, TaskError, "says nothing"),
        ({"timeout": 0.0}, TaskError, "has no time"),
        ({"timeout": float("nan")}, TaskError, "has no time"),
    ],
)
def test_a_task_that_cannot_be_done_is_refused_before_anything_happens(stage, script, task, error, words):
    async def main():
        made = stage(script)
        with pytest.raises(error, match=words):
            await made.run(**task)
        return made

    assert len(run(main()).journal) == 0


def test_events_come_in_order_and_each_has_its_cause(work, script):
    stage = work(says(script, call("look", {"path": "a"}), "Done."), look)
    wanted = (AgentStarted, ModelRequested, ModelResponded, ToolCalled, ToolReturned, AgentFinished)
    records = [record for record in stage.journal.read() if isinstance(record.event, wanted)]
    names = [type(record.event).__name__ for record in records]
    assert names == [
        "AgentStarted", "ModelRequested", "ModelResponded", "ToolCalled", "ToolReturned",
        "ModelRequested", "ModelResponded", "AgentFinished",
    ]  # fmt: skip
    at = [record.position for record in records]
    assert [record.cause for record in records] == [
        None, at[0], at[1], at[2], at[3], at[2], at[5], at[0],
    ]  # fmt: skip


def test_the_trace_sees_one_run_with_its_tools(work, script):
    stage = work(says(script, call("look", {"path": "a"}), "Done."), look)
    trace = Trace.of(stage.journal)
    (only,) = trace.runs
    assert (only.agent, len(only.steps)) == ("worker", 2)
    (used,) = trace.tools
    assert (used.name, used.result, used.is_error) == ("look", "content of a", False)
    assert trace.failures == ()


def test_listeners_hear_everything_in_order_and_one_that_raises_is_ignored(stage, script):
    heard = []

    def listener(record):
        heard.append(type(record.event).__name__)
        raise RuntimeError("not today")

    async def main():
        made = stage(says(script, call("look", {"path": "a"}), "Done."), look)
        async with listening(made.journal, listener):
            await made.run()
        return made

    made = run(main())
    assert heard == ["AgentStarted", "ToolCalled", "ToolReturned", "AgentFinished"]
    assert made.outcome.success
    notes = made.events(Noted)
    assert [note.data["error"] for note in notes] == ["RuntimeError: not today"] * 4


def test_a_model_that_is_journaled_already_is_not_journaled_twice(script):
    async def main():
        journal = Journal()
        model = JournaledModel(ScriptedModel(says(script, "ok")), journal)
        loop = AgentLoop(model, AgentRegistry([AgentDefinition(slug="w")]), journal=journal)
        assert loop.model is model
        await loop.run(AgentTask(id="t", agent="w", prompt="go"))
        return journal

    assert len(run(main()).events(ModelRequested)) == 1


def test_calls_without_an_id_get_one(work):
    class Nameless:
        turn = 0

        async def stream(self, request):
            self.turn += 1
            if self.turn == 1:
                yield ToolCallChunk(index=0, name="look", arguments='{"path":"a"}')
                yield FinishChunk(finish="tool_calls")
            yield FinishChunk()

    stage = work(None, look, model=Nameless())
    (used,) = stage.outcome.tool_calls
    assert used.id.startswith("call_")
    second = requests(stage)[1]
    assert second.messages[1].parts[0].id == second.tool_results[0].call_id == used.id


def test_tokens_and_files_of_all_turns_are_in_the_outcome(work, script):
    @tool
    def change(path: str, *, context: ToolContext) -> str:
        context.changed(path, None, "a1")
        return "ok"

    usage = Usage(input_tokens=10, output_tokens=2)
    calls = [call("change", {"path": "b"}), call("change", {"path": "a"}), call("change", {"path": "b"})]
    stage = work(says(script, {"tool_calls": calls, "usage": usage}, {"text": "ok", "usage": usage}), change)
    assert stage.outcome.usage == Usage(input_tokens=20, output_tokens=4)
    assert stage.outcome.files == ("b", "a")
    assert len(stage.events(FileChanged)) == 3


def test_an_agent_that_a_tool_starts_has_the_call_as_its_cause(script):
    async def main():
        @tool
        async def ask_helper(question: str) -> str:
            return (
                await loop.run(AgentTask(id="sub", agent="helper", prompt=question, parent="boss"))
            ).output

        script.on(agent="boss", tool_result=False).reply(call("ask_helper", {"question": "why?"}))
        script.on(agent="boss").reply("Because.")
        script.on(agent="helper").reply("So it is.")
        boss = AgentDefinition(slug="boss", tools=("ask_helper",))
        loop = AgentLoop(
            ScriptedModel(script), AgentRegistry([boss, AgentDefinition(slug="helper")], [ask_helper])
        )
        await loop.run(AgentTask(id="t", agent="boss", prompt="go"))
        return loop.journal

    journal = run(main())
    (called,) = journal.read(type=ToolCalled)
    _, helper = journal.read(type=AgentStarted)
    assert helper.cause == called.position
    assert Trace.of(journal).runs[1].parent == "boss"


def readers(slugs):
    agents = [AgentDefinition(slug=slug, tools=("look",), permissions=frozenset({"read"})) for slug in slugs]
    return AgentRegistry(agents, [look])


def test_several_tasks_at_once_keep_their_causes_apart(script):
    async def main():
        script.on(tool_result=False).reply(tool_calls=[call("look", {"path": "a"})], delay=1.0)
        script.on(tool_result=True).reply("Done.", delay=1.0)
        team = readers("abc")
        loop = AgentLoop(ScriptedModel(script), team)
        await asyncio.gather(
            *(loop.run(AgentTask(id=slug, agent=slug, prompt="go", conversation=slug)) for slug in "abc")
        )
        return loop.journal

    journal = run(main())
    records = journal.read()
    assert len(journal.events(ToolCalled)) == 3
    for record in journal.read(type=ToolCalled):
        reply = records[record.cause - 1]
        assert records[reply.cause - 1].event.request.caller.agent == record.event.agent


def test_two_runs_of_a_team_write_the_same_journal(tmp_path):
    async def main(path):
        journal = Journal(path)
        script = Script(strict=True)
        script.on(tool_result=False).reply(tool_calls=[call("look", {"path": "a"})], delay=1.0)
        script.on(tool_result=True).reply("Done.", delay=1.0)
        team = readers("abcd")
        loop = AgentLoop(ScriptedModel(script), team, journal=journal)
        await asyncio.gather(
            *(loop.run(AgentTask(id=slug, agent=slug, prompt="go", conversation=slug)) for slug in "abcd")
        )
        journal.close()
        return path.read_bytes()

    first, second = (run(main(tmp_path / f"{number}.jsonl")) for number in (1, 2))
    assert first == second
    assert first.count(b'"ToolReturned"') == 4
