"""The scripted model: which rule serves, and how the reply is played."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import IdSource, SystemClock, VirtualClock, run, running_clock
from soundstage.errors import ConnectionCut, MatchError, NoMatchError, ProviderError, ScriptError
from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    ModelRequest,
    StartChunk,
    TextChunk,
    ToolCallChunk,
    Usage,
    call,
    user,
)
from soundstage.models import Reply, Script, ScriptedModel, complete


@pytest.fixture
def script() -> Script:
    return Script()


def test_the_highest_priority_serves_and_equal_ones_keep_their_order(script, ask):
    script.on(user="hello").reply("low")
    script.on(user="hello", priority=5).reply("first of 5")
    script.on(user="hello", priority=5).reply("second of 5")
    script.on(user="hello", priority=-1).reply("last")
    assert ask(ScriptedModel(script)).text == "first of 5"


def test_all_conditions_of_a_rule_must_hold(script, ask):
    script.on(user="hello", agent="executor").reply("both")
    model = ScriptedModel(script)
    assert ask(model, agent="executor").text == "both"
    assert ask(model, agent="planner").text == "nothing scripted for that"
    assert ask(model, "bye", agent="executor").text == "nothing scripted for that"


def test_a_rule_serves_its_times_and_steps_aside(script, ask):
    script.on(user="hello", times=2).reply("twice")
    script.on(user="hello").reply("then this")
    model = ScriptedModel(script)
    assert [ask(model).text for _ in range(4)] == ["twice", "twice", "then this", "then this"]


def test_the_served_rule_is_named_in_the_finish(script, ask):
    script.on(user="hello", name="greeting").reply("hi")
    model = ScriptedModel(script)
    assert ask(model).served_by == "rule 1 'greeting' [user 'hello']"
    assert ask(model, "x").served_by == "the default reply"
    assert ask(model, "x", purpose="title").served_by == "the answer to side requests"


def test_iterations_are_counted_by_agent_and_conversation(script, ask):
    for iteration in (1, 2, 3):
        script.on(agent="executor", iteration=iteration).reply(f"call {iteration}")
    model = ScriptedModel(script)
    assert ask(model, agent="executor", conversation="a").text == "call 1"
    assert ask(model, agent="planner", conversation="a").text == "nothing scripted for that"
    assert ask(model, agent="Executor", conversation="a").text == "call 2"
    assert ask(model, agent="executor", conversation="b").text == "call 1"
    assert ask(model, agent="executor", conversation="a").text == "call 3"


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (["planner", "executor"], "planner"),
        (["planner", "executor", "executor"], "planner"),
        (["executor", "orchestrator", "executor"], "executor"),
        (["planner", "orchestrator", "executor", "orchestrator", "executor"], "executor"),
        (["orchestrator", "executor"], ""),
        (["executor"], ""),
        (["executor", "", "executor"], "executor"),
        (["executor", "EXECUTOR"], ""),
        (["executor", "dispatcher", "planner"], "executor"),
    ],
)
def test_previous_agent_is_the_last_one_that_finished_and_no_router(script, ask, calls, expected):
    script.agent("dispatcher", router=True, system="never seen")
    seen = []
    script.on(previous_agent=lambda name: seen.append(name or "")).reply("never")
    model = ScriptedModel(script)
    for agent in calls:
        ask(model, agent=agent)
    assert seen[-1] == expected


def test_previous_agents_of_two_conversations_do_not_mix(script, ask):
    script.on(previous_agent="planner").reply("after the planner")
    model = ScriptedModel(script)
    ask(model, agent="planner", conversation="a")
    assert ask(model, agent="executor", conversation="b").text == "nothing scripted for that"
    assert ask(model, agent="executor", conversation="a").text == "after the planner"


def test_a_side_request_takes_no_queued_reply_and_counts_for_nothing(script, ask):
    script.queue("queued")
    script.on(agent="executor", iteration=2).reply("second")
    model = ScriptedModel(script)
    assert ask(model, purpose="title", agent="executor").text == "ok"
    assert ask(model, agent="executor").text == "queued"
    assert ask(model, purpose="probe", agent="executor").text == "ok"
    assert ask(model, agent="executor").text == "second"


def test_a_side_request_can_be_scripted_and_is_never_an_error_in_a_strict_script(ask):
    script = Script(strict=True)
    script.on(purpose="title").reply("A title")
    model = ScriptedModel(script)
    assert ask(model, purpose="title").text == "A title"
    assert ask(model, purpose="summary").text == "ok"


def test_a_strict_script_refuses_what_no_rule_answers(ask):
    script = Script(strict=True)
    script.on(user="hello").reply("hi")
    model = ScriptedModel(script)
    assert ask(model).text == "hi"
    with pytest.raises(NoMatchError, match="no rule answers this request"):
        ask(model, "bye")


def test_unused_rules_are_listed_in_the_order_of_registration(script, ask):
    script.on(user="a").reply("1")
    script.on(user="b", priority=9).reply("2")
    script.on(user="c").reply("3")
    model = ScriptedModel(script)
    ask(model, "b")
    assert [rule.number for rule in model.unused()] == [1, 3]


def test_reset_forgets_what_was_served_and_all_conversations(script, ask):
    script.queue("queued")
    script.on(agent="executor", iteration=1).reply("first")
    model = ScriptedModel(script)
    ask(model, agent="executor")
    model.reset()
    assert [rule.number for rule in model.unused()] == [1, 2]
    assert ask(model, agent="planner").text == "queued"
    assert ask(model, agent="executor").text == "first"


@pytest.mark.parametrize("many", [0, 40], ids=["few rules", "many rules"])
def test_a_script_may_grow_while_it_is_used(script, ask, many):
    for number in range(many):
        script.on(user=f"never {number}").reply("never")
    script.queue("one")
    model = ScriptedModel(script)
    assert ask(model).text == "one"
    script.queue("two")
    script.on(user="hello").reply("rule")
    script.agent("bob", system="You are Bob")
    assert ask(model).text == "two"
    assert ask(model).text == "rule"
    script.otherwise("another default")
    assert ask(model, "x").text == "another default"
    script.on(agent="bob", priority=1).reply("I am Bob")
    assert ask(model, prompt="You are Bob").text == "I am Bob"


def test_thousands_of_queued_replies_come_in_order(script, request_of):
    script.queue(*[str(number) for number in range(3000)])
    model = ScriptedModel(script)

    async def main(request):
        return [(await complete(model, request)).text for _ in range(3001)]

    replies = run(main(request_of()))
    assert replies == [*map(str, range(3000)), "nothing scripted for that"]
    assert model.unused() == []


def test_requests_side_by_side_never_get_the_same_queued_reply(script, request_of):
    script.queue(*[Reply(text=str(number), delay=1) for number in range(20)])
    model = ScriptedModel(script)

    async def main():
        replies = await asyncio.gather(*(complete(model, request_of()) for _ in range(20)))
        return sorted(int(reply.text) for reply in replies), running_clock().now()

    assert run(main()) == (list(range(20)), 1.0)


def test_a_function_gets_the_request_and_may_be_asynchronous(script, ask):
    async def slow(request):
        await asyncio.sleep(3)
        return {"text": f"slow {request.last_user_text}", "finish": "length"}

    script.on(user="a").reply(lambda request: f"echo {request.last_user_text}")
    script.on(user="b").reply(slow)
    script.on(user="c").reply(lambda _: call("ring"))
    model = ScriptedModel(script)
    assert ask(model, "a!").text == "echo a!"
    assert (ask(model, "b!").text, ask(model, "b!").finish) == ("slow b!", "length")
    assert ask(model, "c", tools=("ring",)).tool_calls[0].name == "ring"


def test_what_a_function_raises_reaches_the_app_and_what_is_no_reply_is_an_error(script, ask):
    def broken(_):
        raise ZeroDivisionError("mine")

    script.on(user="a").reply(broken)
    script.on(user="b").reply(lambda _: None)
    script.on(user="c").reply(lambda _: 3)
    model = ScriptedModel(script)
    with pytest.raises(ZeroDivisionError, match="mine"):
        ask(model, "a")
    with pytest.raises(ScriptError, match="a reply needs one of"):
        ask(model, "b")
    with pytest.raises(ScriptError, match="this is not a reply"):
        ask(model, "c")


def test_a_predicate_that_raises_is_an_error_and_not_a_mismatch(script, ask):
    script.on(user=lambda text: text["x"]).reply("never")
    script.on(user="hello").reply("hi")
    with pytest.raises(MatchError, match="raised TypeError"):
        ask(ScriptedModel(script))


def test_an_error_is_raised_with_status_headers_and_after_its_delay(script, request_of):
    error = {"status": 529, "type": "overloaded_error", "message": "busy", "code": "c", "retry_after": 1.5}
    script.queue({"error": {**error, "should_retry": False}, "delay": 2})

    async def main():
        with pytest.raises(ProviderError) as caught:
            await complete(ScriptedModel(script), request_of())
        return caught.value, running_clock().now()

    error, passed = run(main())
    assert (error.status, error.kind, error.message, error.code) == (529, "overloaded_error", "busy", "c")
    assert error.headers == {"retry-after": "1.5", "x-should-retry": "false"}
    assert passed == 2


def chunks_of(model, request, clock=None):
    async def main():
        times = []
        async for chunk in model.stream(request):
            times.append((round(running_clock().now(), 6), chunk))
        return times

    return run(main(), clock=clock)


def test_a_stream_comes_in_the_given_chunks_at_the_given_speed(script, request_of):
    script.on(user="hello").reply(chunks=["Hel", "lo you"], first_token_after=0.05, tokens_per_second=80)
    (first, one), (second, two), (third, finish) = chunks_of(ScriptedModel(script), request_of(stream=True))
    assert (one, two) == (TextChunk(index=0, text="Hel"), TextChunk(index=0, text="lo you"))
    assert (first, second, third) == (0.05, 0.075, 0.075)
    assert finish == FinishChunk(
        usage=Usage(input_tokens=2, output_tokens=3), model="m", served_by="rule 1 [user 'hello']"
    )


def test_a_long_text_is_cut_for_a_stream_and_whole_otherwise(script, request_of):
    text = "a long text that is streamed in several pieces, each of them short, and word by word"
    script.on(user="hello").reply(text)
    model = ScriptedModel(script)
    whole = chunks_of(model, request_of())
    pieces = chunks_of(model, request_of(stream=True))
    assert [chunk.text for _, chunk in whole[:-1]] == [text]
    assert len(pieces) > 4
    assert "".join(chunk.text for _, chunk in pieces[:-1]) == text


def test_model_and_headers_of_a_reply_come_first(script, request_of):
    script.on(user="hello").reply("hi", model="gpt-9", headers={"x-id": "7"})
    (_, start), _, (_, finish) = chunks_of(ScriptedModel(script), request_of())
    assert start == StartChunk(model="gpt-9", headers={"x-id": "7"})
    assert finish.model == "gpt-9"


def test_tool_calls_get_new_ids_each_time_that_repeat_with_the_seed(script, request_of):
    script.on(user="hello").reply(tool_calls=[call("ring"), call("look", id="mine")])

    def ids(seed):
        model = ScriptedModel(script, ids=IdSource(seed))
        replies = [chunks_of(model, request_of(tools=("ring", "look"))) for _ in range(2)]
        return [chunk.id for reply in replies for _, chunk in reply if isinstance(chunk, ToolCallChunk)]

    first, mine, second, again = ids(1)
    assert first != second
    assert (mine, again) == ("mine", "mine")
    assert ids(1) == [first, mine, second, again]
    assert ids(2) != [first, mine, second, again]


def test_usage_is_estimated_at_four_characters_a_token_unless_it_is_given(script, ask):
    script.on(user="a").reply("12345")
    script.on(user="b").reply("x", usage=Usage(input_tokens=100, cache_read_tokens=9))
    model = ScriptedModel(script)
    assert ask(model, "a" * 8).usage == Usage(input_tokens=2, output_tokens=2)
    assert ask(model, "b").usage == Usage(input_tokens=100, cache_read_tokens=9)


def test_a_cut_comes_after_its_chunks(script, request_of):
    script.on(user="hello").fault("cut", Reply(chunks=("a", "b", "c"), headers={"x": "y"}), after=2)
    got = []

    async def main():
        with pytest.raises(ConnectionCut):
            async for chunk in ScriptedModel(script).stream(request_of()):
                got.append(chunk)

    run(main())
    assert got == [StartChunk(headers={"x": "y"}), TextChunk(index=0, text="a"), TextChunk(index=0, text="b")]


def test_a_cut_before_the_first_chunk_still_lets_the_headers_through(script, request_of):
    script.on(user="hello").fault("cut", Reply(text="a", headers={"x": "y"}))
    got = []

    async def main():
        with pytest.raises(ConnectionCut):
            async for chunk in ScriptedModel(script).stream(request_of()):
                got.append(chunk)

    run(main())
    assert got == [StartChunk(headers={"x": "y"})]


def test_a_stall_takes_its_seconds_and_goes_on(script, request_of):
    script.on(user="hello").fault("stall", Reply(chunks=("a", "b")), after=1, seconds=30)
    times = [time for time, _ in chunks_of(ScriptedModel(script), request_of())]
    assert times == [0, 30, 30]


def test_garbled_bytes_come_once_and_the_rest_follows(script, request_of):
    script.on(user="hello").fault("garbled", Reply(chunks=("a", "b")), after=1)
    kinds = [type(chunk) for _, chunk in chunks_of(ScriptedModel(script), request_of())]
    assert kinds == [TextChunk, GarbledChunk, TextChunk, FinishChunk]


def test_an_empty_reply_has_only_an_end(script, request_of):
    script.on(user="hello").fault("empty")
    ((_, finish),) = chunks_of(ScriptedModel(script), request_of())
    assert finish.usage.output_tokens == 0


def test_a_model_without_a_clock_follows_whichever_loop_runs_it(script, request_of):
    script.on(user="hello").reply("hi", delay=5)
    model = ScriptedModel(script)
    for _ in range(2):
        assert chunks_of(model, request_of(), clock=VirtualClock())[0][0] == 5
    script.on(user="now", priority=1).reply("hi")
    assert asyncio.run(complete(model, request_of("now"))).text == "hi"


def test_the_clock_that_is_given_is_the_one_that_is_used(script, request_of):
    class Counting(SystemClock):
        slept = 0.0

        async def sleep(self, seconds):
            Counting.slept += seconds

    script.on(user="hello").reply("hi", delay=5)
    asyncio.run(complete(ScriptedModel(script, clock=Counting()), request_of()))
    assert Counting.slept == 5


def test_two_runs_say_the_same(script, request_of):
    script.queue(call("ring"), "done")
    script.on(user="hello").reply("again", tool_calls=[call("look")])

    def played():
        model = ScriptedModel(script)
        return [chunks_of(model, request_of(stream=True, tools=("ring", "look"))) for _ in range(4)]

    assert played() == played()


def test_what_was_asked_can_be_asked_again_to_see_who_served_and_which_rules_came_too_late(script, ask):
    script.on(user="hello").reply("hi")
    script.on(user="hello world").reply("never")
    script.on(times=1).reply("queued")
    model = ScriptedModel(script)
    requests = [
        ModelRequest(model="m", messages=(user(text),)) for text in ("hello world", "something", "something")
    ]
    for text in ("hello world", "something"):
        ask(model, text)
    served = model.replayed(requests)
    assert [None if each.rule is None else each.rule.number for each in served] == [1, 3, None]
    assert [[rule.number for rule in each.shadowed] for each in served] == [[2, 3], [], []]
    assert [rule.number for rule in model.unused()] == [2]  # nothing was counted
