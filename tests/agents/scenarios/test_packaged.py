"""The packaged scenarios: each is played for real, and fails when what it shows is broken."""

from __future__ import annotations

import pytest

from soundstage.agents.scenarios import (
    SCENARIOS,
    TeamStage,
    UnknownScenarioError,
    assert_no_leak,
    concurrency_workflow,
    error_handling,
    feedback_loop,
    network_resilience,
    play,
    scenario,
    state_persistence,
    threading_workflow,
)
from soundstage.agents.teams import ConversationCoordinator, TurnRouter
from soundstage.clock import run
from soundstage.errors import ExpectationError, ScriptError

PARAMETERS = [
    feedback_loop(rounds=3, issue="race", message="Make it fast", executor="coder", verifier="checker"),
    network_resilience(failures=0),
    network_resilience(failures=5, text="a poem"),
    concurrency_workflow(users=["a1", "b2"], phases=["execute"], delay=0),
    concurrency_workflow(users=[f"user{n}x" for n in range(20)]),
    threading_workflow(secrets=["RED"]),
    threading_workflow(secrets=["RED", "GREEN", "BLUE", "BLACK"], delay=0.1),
    state_persistence(remembered="two rows", later="And now?"),
    error_handling(loops=12, delay=0, long=10),
]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_packaged_scenario_is_documented_and_plays(name):
    made = scenario(name)
    assert made.name == name
    assert made.about.endswith(".")
    assert SCENARIOS[name].__doc__
    assert made.script.problems() == []
    assert all(trace.stop_reason in ("end", "complete") for trace in run(play(name)))


@pytest.mark.parametrize("made", PARAMETERS, ids=lambda made: made.name)
def test_a_scenario_plays_with_other_parameters(made):
    assert len(run(play(made))) == len(made.messages)


def test_two_plays_of_a_scenario_have_the_same_journal():
    def records():
        return [trace.records for trace in run(play("error-handling", seed=4))]

    assert records() == records()


def test_an_unknown_name_is_a_key_error_with_the_known_ones():
    with pytest.raises(UnknownScenarioError, match="feedback-loop") as caught:
        scenario("performance")
    assert isinstance(caught.value, KeyError)
    with pytest.raises(UnknownScenarioError, match="did you mean 'feedback-loop'"):
        TeamStage("feedback-lop")


@pytest.mark.parametrize(
    "make",
    [
        lambda: feedback_loop(rounds=0),
        lambda: network_resilience(failures=-1),
        lambda: error_handling(loops=13),
        lambda: concurrency_workflow(users=[]),
        lambda: concurrency_workflow(users=["ann", "Joanna"]),
        lambda: threading_workflow(secrets=["RED", "red"]),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make):
    with pytest.raises(ScriptError):
        make()


def test_words_that_cross_over_are_found(monkeypatch):
    """The scenarios fail for a team that tells every agent what the newest conversation is about."""
    get = ConversationCoordinator.get
    monkeypatch.setattr(ConversationCoordinator, "get", lambda self, _: get(self, self.ids[-1]))
    for made in (threading_workflow(), concurrency_workflow()):
        with pytest.raises((ExpectationError, ScriptError, ExceptionGroup)):
            run(play(made))


def test_a_leak_names_the_word_and_the_request():
    async def main():
        async with TeamStage("threading-workflow") as stage:
            conversations = [stage.create("My colour is YELLOW, not BROWN"), stage.create("It is BROWN")]
            for conversation in conversations:
                await stage.run(conversation)
            return [stage.trace.only(conversation=conversation) for conversation in conversations]

    traces = run(main())
    with pytest.raises(ExpectationError, match="'BROWN'") as caught:
        assert_no_leak(traces, ["YELLOW", "BROWN"])
    assert "of orchestrator" in caught.value.seen
    with pytest.raises(ScriptError, match="2 traces, 1 words"):
        assert_no_leak(traces, ["YELLOW"])
    with pytest.raises(ScriptError, match="'PINK'"):
        assert_no_leak(traces, ["PINK", "BROWN"])


def test_a_state_that_forgets_fails_the_scenario(monkeypatch):
    load = ConversationCoordinator.load

    def forgetful(folder, journal, **options):
        loaded = load(folder, journal, **options)
        for conversation in loaded.ids:
            loaded.enter(conversation, "discovery")
        return loaded

    monkeypatch.setattr(ConversationCoordinator, "load", forgetful)
    with pytest.raises(ExpectationError, match="not what it was before"):
        run(play("state-persistence"))


def test_a_router_that_gives_up_too_early_fails_the_scenario(monkeypatch):
    init = TurnRouter.__init__
    monkeypatch.setattr(
        TurnRouter, "__init__", lambda self, *a, **k: init(self, *a, **{**k, "max_iterations": 2})
    )
    with pytest.raises(ExpectationError):
        run(play("feedback-loop"))


def test_a_relay_that_does_not_fail_fails_the_scenario():
    never = network_resilience(failures=0).tools
    made = network_resilience(failures=2)
    wrong = type(made)(
        name=made.name,
        about=made.about,
        agents=made.agents,
        tools=never,
        write=made.write,
        messages=made.messages,
        check=made.check,
    )
    with pytest.raises(ExpectationError):
        run(play(wrong))


def test_plays_share_nothing():
    first = run(play("network-resilience"))
    second = run(play("network-resilience"))
    assert [len(trace.tools) for trace in first] == [len(trace.tools) for trace in second] == [5]
