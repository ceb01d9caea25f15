"""Playback: each request gets its exchange by lane and content, and each divergence its cause."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.messages import (
    ModelRequest,
    ModelResponse,
    Text,
    ToolDefinition,
    assistant,
    call,
    system,
    tool,
    user,
)
from soundstage.tapes import (
    DivergenceError,
    HttpCall,
    Mask,
    Playback,
    RecordedExchange,
    RecordedFailure,
    Surroundings,
    Tape,
    TapeHead,
)
from soundstage.tapes._playback import swapped
from support.cases import cases


def recorded(number, request, *, started=None, took=10.0, text="", **fields):
    started = 100.0 * number if started is None else started
    response = ModelResponse(parts=(Text(text=text or f"reply {number}"),))
    return RecordedExchange(
        number=number, request=request, started_ms=started, latency_ms=took, response=response, **fields
    )


def tape_of(*requests, head=None):
    """A tape on which one request followed the other."""
    exchanges = [
        one if isinstance(one, RecordedExchange) else recorded(n, one) for n, one in enumerate(requests, 1)
    ]
    return Tape(exchanges, name="t.tape", head=head)


def numbers(playback, *requests):
    return [playback.take(request).exchange.number for request in requests]


def cause(playback, request):
    with pytest.raises(DivergenceError) as caught:
        playback.take(request)
    return caught.value.verdict.cause


def test_what_was_asked_one_after_the_other_is_played_so(request_of):
    asked = [request_of("one"), request_of("two"), request_of("one")]
    playback = Playback(tape_of(*asked))
    assert numbers(playback, *asked) == [1, 2, 3]
    assert playback.finish() is None


def test_a_failed_attempt_is_played_as_failed_and_then_the_retry(request_of):
    failed = recorded(1, request_of("one"), failure=RecordedFailure(type="error", status=529))
    playback = Playback(tape_of(failed, recorded(2, request_of("one"))))
    first, again = (playback.take(request_of("one")).exchange for _ in range(2))
    assert first.failure is not None
    assert again.failure is None
    assert playback.finish() is None


def test_what_ran_side_by_side_may_come_in_any_order(request_of):
    side_by_side = [
        recorded(1, request_of("one"), started=0, took=100),
        recorded(2, request_of("two"), started=10, took=100),
        recorded(3, request_of("three"), started=20, took=100),
    ]
    playback = Playback(tape_of(*side_by_side))
    assert numbers(playback, request_of("three"), request_of("one"), request_of("two")) == [3, 1, 2]
    assert playback.finish() is None


def test_conversations_that_overlap_are_not_held_to_each_others_order(request_of):
    """Two conversations at the same time: the second turn of the one may come before or after the other's."""
    first = [request_of("a"), request_of("a", assistant("1"), user("more a"))]
    second = [request_of("b"), request_of("b", assistant("2"), user("more b"))]
    tape = tape_of(
        recorded(1, first[0], started=0, took=10),
        recorded(2, second[0], started=5, took=10),
        recorded(3, first[1], started=20, took=10),
        recorded(4, second[1], started=40, took=10),
    )
    playback = Playback(tape)
    assert numbers(playback, second[0], second[1], first[0], first[1]) == [2, 4, 1, 3]
    assert playback.finish() is None


def test_tasks_of_a_pool_are_not_held_to_the_order_in_which_they_happened_to_end(request_of):
    """Three tasks for two workers: the third began when the first was over, and the second was not."""
    tape = tape_of(
        recorded(1, request_of("one"), started=0, took=10),
        recorded(2, request_of("two"), started=0, took=30),
        recorded(3, request_of("three"), started=11, took=30),
        recorded(4, request_of("four"), started=31, took=30),
        recorded(5, request_of("alone"), started=100, took=30),
    )
    playback = Playback(tape)
    order = [request_of(text) for text in ("two", "four", "three", "one", "alone")]
    assert numbers(playback, *order) == [2, 4, 3, 1, 5]
    assert playback.finish() is None


def test_agents_are_lanes_of_their_own(request_of):
    tape = tape_of(request_of("one", agent="a"), request_of("two", agent="b"), request_of("three", agent="a"))
    playback = Playback(tape)
    order = [request_of("two", agent="b"), request_of("one", agent="a"), request_of("three", agent="a")]
    assert numbers(playback, *order) == [2, 1, 3]
    assert playback.finish() is None


def test_a_title_that_is_not_asked_for_is_no_divergence(request_of):
    tape = tape_of(request_of("one"), request_of("title of it", purpose="title"))
    playback = Playback(tape)
    assert numbers(playback, request_of("one")) == [1]
    assert playback.finish() is None
    assert [one.number for one in playback.unplayed] == [2]


def test_what_comes_later_than_one_that_it_followed_is_told_as_swapped(request_of):
    playback = Playback(tape_of(request_of("one"), request_of("two")))
    assert numbers(playback, request_of("two")) == [2]
    assert cause(playback, request_of("one")) == "order swapped"
    assert playback.finish().cause == "order swapped"


def test_a_call_that_is_left_out_is_told_at_the_end(request_of):
    playback = Playback(tape_of(request_of("one"), request_of("two"), request_of("three")))
    assert numbers(playback, request_of("one"), request_of("three")) == [1, 3]
    verdict = playback.finish()
    assert verdict.cause == "missing call"
    assert verdict.nearest == 2
    assert "exchange 2, was not asked for" in verdict.line


def test_a_call_that_was_played_is_told_as_that(request_of):
    playback = Playback(tape_of(request_of("one"), request_of("two")))
    numbers(playback, request_of("one"))
    assert cause(playback, request_of("one")) == "already played"


def test_a_call_too_many_is_told_as_that(request_of):
    playback = Playback(tape_of(request_of("one")))
    numbers(playback, request_of("one"))
    assert cause(playback, request_of("and now?")) == "extra call"


def test_a_call_between_that_comes_near_no_recorded_one_is_one_too_many(request_of):
    playback = Playback(
        tape_of(
            request_of("weather in Paris", prompt="You tell the weather."),
            request_of("thanks a lot", prompt="Be kind."),
        )
    )
    other = request_of(
        "rewrite the whole of the billing module in Rust", prompt="You are a compiler.", tools=("cc",)
    )
    assert cause(playback, other) == "extra call"


def test_a_call_by_another_agent_is_told_as_that(request_of):
    tape = tape_of(request_of("one", agent="planner"), request_of("two", agent="coder"))
    assert cause(Playback(tape), request_of("one", agent="coder")) == "other agent's call"


def test_an_agent_with_a_new_name_may_take_what_its_predecessor_asked(request_of):
    """Names of sub-agents are random in some programs: what they ask tells who they are."""
    playback = Playback(tape_of(request_of("one", agent="subagent-7f3a")))
    assert numbers(playback, request_of("one", agent="subagent-99c1")) == [1]


BASE = ModelRequest(
    model="m",
    messages=(
        system("You are brief."),
        user("weather in Paris"),
        assistant("", call("look", {"city": "Paris"}, id="c1")),
        tool("c1", "sunny"),
    ),
    tools=(
        ToolDefinition(name="look", schema={"type": "object", "properties": {"city": {"type": "string"}}}),
    ),
    settings={"temperature": 0.5},
)


def changed(**fields):
    return msgspec.structs.replace(BASE, **fields)


def with_message(place, message):
    messages = list(BASE.messages)
    messages[place] = message
    return changed(messages=tuple(messages))


CHANGES = {
    "system prompt edited": with_message(0, system("You are kind.")),
    "prompt edited": with_message(1, user("weather in Rome")),
    "tool result differs": with_message(3, tool("c1", "rain")),
    "tool schema changed": changed(tools=(ToolDefinition(name="look", schema={"type": "object"}),)),
    "tool list changed": changed(tools=(*BASE.tools, ToolDefinition(name="other"))),
    "other model or settings": changed(settings={"temperature": 0.9}),
}


@pytest.mark.parametrize("expected", CHANGES)
def test_a_change_of_a_request_is_told_by_its_cause(expected):
    playback = Playback(tape_of(BASE))
    assert cause(playback, CHANGES[expected]) == expected
    assert playback.verdicts[0].nearest == 1


def test_ids_of_calls_and_who_is_billed_do_not_count():
    other = with_message(2, assistant("", call("look", {"city": "Paris"}, id="zzz")))
    messages = (*other.messages[:3], tool("zzz", "sunny"))
    same = msgspec.structs.replace(other, messages=messages, settings={"temperature": 0.5, "user": "u2"})
    assert numbers(Playback(tape_of(BASE)), same) == [1]


def test_folders_and_the_day_of_this_run_count_as_those_of_the_recording(request_of):
    head = TapeHead(places=Surroundings(cwd="/work/rec", home="/home/ann", day="2026-01-01"))
    playback = Playback(
        tape_of(request_of("look at /work/rec/a.py on 2026-01-01"), head=head),
        here=Surroundings(cwd="/builds/77", home="/root", day="2026-05-05"),
    )
    assert numbers(playback, request_of("look at /builds/77/a.py on 2026-05-05")) == [1]


def with_results(*results):
    """A request whose tools have returned these, one after the other."""
    said = [user("weather?")]
    for number, result in enumerate(results):
        said += [assistant("", call("look_up", {"day": number}, id=f"c{number}")), tool(f"c{number}", result)]
    return ModelRequest(model="m", messages=tuple(said))


def test_the_verdict_on_a_result_of_a_tool_names_the_tool_the_call_and_both_results():
    tape = tape_of(with_results(), with_results("sunny"), with_results("sunny", "rain"))
    playback = Playback(tape)
    playback.take(with_results())
    playback.take(with_results("sunny"))
    with pytest.raises(DivergenceError) as caught:
        playback.take(with_results("sunny", "snow"))
    verdict = caught.value.verdict
    told = "look_up({\"day\":1}), messages[4] tool, part 1: recorded 'rain', seen 'snow'"
    assert verdict.line == f"divergence: tool result differs: {told}"
    assert 'tool result differs: messages[4] tool, part 1, look_up({"day":1})\n' in verdict.text()


def test_a_relaxed_replay_with_real_tools_goes_on_and_tells_each_difference_once():
    days = ("sunny", "rain", "hail", "fog")
    tape = tape_of(*(with_results(*days[:count]) for count in range(5)))
    playback = Playback(tape, relaxed=True)
    seen = ("sunny", "snow", "hail", "mist")
    assert numbers(playback, *(with_results(*seen[:count]) for count in range(5))) == [1, 2, 3, 4, 5]
    assert [(one.request, one.cause, one.differences[0].call) for one in playback.verdicts] == [
        (3, "tool result differs", 'look_up({"day":1})'),
        (5, "tool result differs", 'look_up({"day":3})'),
    ]
    assert [len(one.differences) for one in playback.verdicts] == [1, 1]
    assert [verdict.request for verdict, _ in playback.missed] == [3, 4, 5]


def test_a_folder_whose_name_goes_on_is_another_folder(request_of):
    head = TapeHead(places=Surroundings(cwd="/work/rec"))
    playback = Playback(tape_of(request_of("in /work/rec"), head=head), here=Surroundings(cwd="/builds/7"))
    assert cause(playback, request_of("in /builds/77")) == "prompt edited"


def test_folders_of_runs_do_not_count_even_in_names_that_were_made_of_their_paths(request_of):
    """A program of a test has a home that is new in each run; Claude Code calls folders by other folders' paths."""

    def asked(folder, tmp="/tmp", made_of="-tmp"):
        home, work = f"{tmp}/soundstage-{folder}", f"{made_of}-soundstage-{folder.replace('_', '-')}"
        return request_of(f"notes are in {home}/home/.claude/projects/{work}-workspace/memory")

    def places(folder, tmp="/tmp"):
        return Surroundings(tmp=tmp, workspace=f"{tmp}/soundstage-{folder}/workspace")

    one, other = "1481-5241360-l69ix_lk", "78-5246660-k_d0unnb"
    tape = tape_of(asked(one), head=TapeHead(places=places(one)))
    assert numbers(Playback(tape, here=places(other)), asked(other)) == [1]
    elsewhere = asked(other, "/var/x", "-var-x")
    assert numbers(Playback(tape, here=places(other, "/var/x")), elsewhere) == [1]
    unknown = Surroundings(tmp="/tmp")
    assert numbers(
        Playback(tape_of(asked(one), head=TapeHead(places=unknown)), here=unknown), asked(other)
    ) == [1]
    assert cause(Playback(tape, here=places(other)), asked("release-notes")) == "prompt edited"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("/tmp/a", "/tmp/t/a"),
        ("/tmp/rec/work/a", "/tmp/t/here/a"),
        ("/tmpfs", "/tmpfs"),
        ("/home/ann/.rc and /home/ann/src/a", "/home/bob/.rc and /home/ann/src/a"),
    ],
    ids=["outer", "inner", "another name", "the same in both"],
)
def test_a_reply_gets_the_folders_of_this_run_each_once(told, expected):
    """The new folders lie in the old one for temporary files; one folder is where it was, in one that is not."""
    before = Surroundings(tmp="/tmp", workspace="/tmp/rec/work", home="/home/ann", cwd="/home/ann/src")
    now = Surroundings(tmp="/tmp/t", workspace="/tmp/t/here", home="/home/bob", cwd="/home/ann/src")
    assert swapped(Text(text=told), before, now).text == expected


def test_what_a_mask_covers_does_not_count_and_everything_else_does(request_of):
    head = TapeHead(masks=(Mask(pattern="order-[0-9]+", stands="<order>"),))
    tape = tape_of(request_of("cancel order-17 now"), head=head)
    assert numbers(Playback(tape), request_of("cancel order-2041 now")) == [1]
    assert cause(Playback(tape), request_of("cancel order-17 later")) == "prompt edited"


def test_calls_that_ask_no_model_are_found_by_what_was_asked():
    listed = RecordedExchange(number=1, http=HttpCall(to="openai", method="GET", path="/models"))
    playback = Playback(Tape([listed]))
    assert playback.take_call(HttpCall(to="openai", method="GET", path="/models")) == listed
    assert playback.take_call(HttpCall(to="openai", method="GET", path="/models")) == listed
    assert playback.take_call(HttpCall(to="gemini", method="GET", path="/models")) is None


@given(st.data())
@cases(60)
def test_any_interleaving_of_agents_plays_each_exchange_once(data):
    """Agents that each ask in their own order, however these are mixed: recorded so, replayed otherwise."""
    counts = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))

    def requests():
        return [
            [
                ModelRequest(model="m", messages=(user(f"{agent} asks {n % 2}"),), caller=_caller(agent))
                for n in range(count)
            ]
            for agent, count in enumerate(counts)
        ]

    def mixed():
        left, order = requests(), []
        while any(left):
            agent = data.draw(st.sampled_from([n for n, one in enumerate(left) if one]))
            order.append(left[agent].pop(0))
        return order

    playback = Playback(tape_of(*mixed()))
    played = numbers(playback, *mixed())
    assert sorted(played) == list(range(1, len(played) + 1))
    assert playback.finish() is None


def _caller(agent):
    from soundstage.messages import Caller

    return Caller(agent=f"agent {agent}")
