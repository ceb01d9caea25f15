"""Covenants: what is wrong is reported before anything runs, and all of it at once."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents import (
    AgentEntry,
    AgentPrompt,
    AgentResponse,
    AgentThought,
    AppBuilder,
    BranchManifest,
    ChatAck,
    ChatChunk,
    ChatEntry,
    ChatReceived,
    ChatReply,
    ChatReplyDraft,
    Covenant,
    CovenantError,
)
from soundstage.errors import InvalidStateError, ScriptError
from soundstage.journal import Event, Noted

CHAT = BranchManifest(
    "chat", ChatEntry, produces=(ChatReceived,), consumes=(ChatReply,), accepts=(ChatReplyDraft, ChatChunk)
)
AGENT = BranchManifest("agent", AgentEntry, produces=(AgentResponse, AgentThought), consumes=(AgentPrompt,))


def prompt(said):
    return AgentPrompt(text=said.text)


def reply(response):
    return ChatReply(text=response.text)


GOOD = (
    ("route", ChatReceived, AgentPrompt, prompt),
    ("route", AgentResponse, ChatReply, reply),
    ("terminal", AgentThought),
)


def covenant(manifests=(CHAT, AGENT), declared=GOOD):
    made = Covenant()
    for manifest in manifests:
        made.connect(manifest)

    def declare(to):
        for kind, *what in declared:
            getattr(to, kind)(*what)

    return made.routes(declare)


def found(made):
    return {(problem.rule, problem.subject) for problem in made.problems()}


def test_a_covenant_in_which_everything_goes_somewhere_is_built():
    assert [route.name for route in covenant().build()] == [
        "route ChatReceived -> AgentPrompt",
        "route AgentResponse -> ChatReply",
    ]


@pytest.mark.parametrize(
    ("manifests", "declared", "problem"),
    [
        ((CHAT, AGENT), GOOD[:2], ("unrouted", "AgentThought")),
        ((CHAT, AGENT), (*GOOD, ("terminal", AgentResponse)), ("routed and terminal", "AgentResponse")),
        (
            (CHAT, AGENT),
            (*GOOD, ("route", AgentResponse, ChatReply, reply)),
            ("several routes", "AgentResponse"),
        ),
        ((CHAT, AGENT), (("terminal", ChatReceived), *GOOD[1:]), ("unfed", "AgentPrompt")),
        ((CHAT, AGENT), (*GOOD, ("route", Noted, ChatReply, reply)), ("unknown type", "Noted")),
        ((CHAT, AGENT), (*GOOD, ("route", ChatAck, ChatReply, reply)), ("unknown type", "ChatAck")),
        (
            (CHAT, AGENT),
            (*GOOD[:2], ("route", AgentThought, Noted, reply)),
            ("unknown type", "Noted"),
        ),
        (
            (CHAT, AGENT),
            (*GOOD[:2], ("route", AgentThought, ChatReply, None)),
            ("no function", "AgentThought"),
        ),
        ((CHAT, AGENT, CHAT), GOOD, ("same branch", "chat")),
        ((), (), ("empty", "covenant")),
        ((CHAT, AGENT._replace(entries=Event)), (*GOOD,), None),
        (
            (CHAT, AGENT, BranchManifest("x", Event, accepts=(ChatReply,))),
            GOOD,
            ("two families", "ChatReply"),
        ),
        ((CHAT, AGENT, BranchManifest("x", ChatEntry, accepts=(Noted,))), GOOD, ("wrong family", "Noted")),
        (
            (CHAT, AGENT, BranchManifest("x", ChatEntry, accepts=("ChatReply",))),
            GOOD,
            ("not an entry", "'ChatReply'"),
        ),
    ],
)
def test_each_rule_is_checked(manifests, declared, problem):
    assert found(covenant(manifests, declared)) == ({problem} if problem else set())


@pytest.mark.parametrize(
    "routes",
    [
        [(ChatReply, ChatReply)],
        [(ChatReply, ChatReplyDraft)],  # the branch makes a reply of it again
        [(ChatReply, ChatChunk), (ChatChunk, ChatReplyDraft)],
    ],
)
def test_routes_that_lead_round_in_a_circle_are_refused(routes):
    declared = [("route", source, target, reply) for source, target in routes]
    problems = covenant(declared=(*GOOD, *declared)).problems()
    assert [problem.rule for problem in problems] == ["circle"]
    assert "ChatReply -> " in problems[0].message
    assert "-> ChatReply" in problems[0].message


def test_what_a_branch_accepts_may_be_routed_to_in_the_place_of_what_it_consumes():
    draft = ("route", AgentResponse, ChatReplyDraft, lambda said: ChatReplyDraft(text=said.text))
    assert covenant(declared=(GOOD[0], draft, GOOD[2])).build()
    nothing = ("terminal", AgentResponse)
    assert found(covenant(declared=(GOOD[0], nothing, GOOD[2]))) == {("unfed", "ChatReply")}


def test_a_branch_that_offers_a_type_need_not_see_it_routed_but_may():
    offering = AGENT._replace(produces=(AgentResponse,), offers=(AgentThought,))
    assert covenant((CHAT, offering), GOOD[:2]).build()
    told = ("route", AgentThought, ChatReply, reply)
    assert len(covenant((CHAT, offering), (*GOOD[:2], told)).build()) == 3


def test_a_terminal_for_a_type_that_nobody_produces_is_allowed():
    assert covenant(declared=(*GOOD, ("terminal", ChatAck), ("terminal", ChatAck))).build()


def test_one_error_lists_everything():
    with pytest.raises(CovenantError, match="the covenant failed with 3 errors") as caught:
        covenant(declared=(("route", AgentResponse, ChatReply, reply),)).build()
    assert isinstance(caught.value, ScriptError)
    assert [(problem.rule, problem.subject) for problem in caught.value.problems] == [
        ("unrouted", "ChatReceived"),
        ("unrouted", "AgentThought"),
        ("unfed", "AgentPrompt"),
    ]
    for name in ("ChatReceived", "AgentThought", "AgentPrompt"):
        assert name in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)


def test_without_routes_everything_that_is_produced_is_reported():
    assert found(Covenant().connect(CHAT)) == {("unrouted", "ChatReceived"), ("unfed", "ChatReply")}


def test_branches_are_connected_before_the_routes_which_are_declared_once():
    made = covenant()
    with pytest.raises(InvalidStateError, match="'chat' is connected after the routes"):
        made.connect(CHAT)
    with pytest.raises(InvalidStateError, match="declared before"):
        made.routes(lambda to: None)


def test_the_builder_reports_unconnected_branches_with_everything_else():
    def configure(app):
        chat = app.use_console()
        app.use_agent("m")
        app.covenant().connect(chat).routes(lambda to: None)

    with pytest.raises(CovenantError) as caught:
        AppBuilder().apply(configure).build()
    assert [(problem.rule, problem.subject) for problem in caught.value.problems] == [
        ("unrouted", "ChatReceived"),
        ("unfed", "ChatReply"),
        ("unconnected", "agent"),
    ]


# -- any covenant either validates, or every mistake in it is reported --


def entries(name, family, count):
    """Leaf types of a family, with names that no other test has."""
    return tuple(
        type(family)(f"Covenant{name}{number}", (family,), {}, frozen=True, kw_only=True)
        for number in range(count)
    )


PRODUCED, CONSUMED = entries("Produced", ChatEntry, 4), entries("Consumed", AgentEntry, 4)
(OFFERED,) = entries("Offered", AgentEntry, 1)


def same(entry):
    return entry


# what is done with one produced type -> (what is declared, is the consumed type fed, which rule is broken where)
WAYS = {
    "routed": lambda source, target: ([("route", source, target, same)], True, None),
    "terminal": lambda source, target: ([("terminal", source)], False, None),
    "to what is offered": lambda source, target: ([("route", source, OFFERED, same)], False, None),
    "unrouted": lambda source, target: ([], False, source),
    "routed and terminal": lambda source, target: (
        [("route", source, target, same), ("terminal", source)],
        True,
        source,
    ),
    "several routes": lambda source, target: ([("route", source, target, same)] * 2, True, source),
    "unknown type": lambda source, target: ([("route", source, Noted, same)], False, Noted),
    "no function": lambda source, target: ([("route", source, target, "text")], True, source),
    "circle": lambda source, target: (
        [("route", source, target, same), ("route", target, source, same)],
        True,
        source,
    ),
}


@st.composite
def covenants(draw):
    """A covenant, and the problems that were put into it: for each produced type one way to treat it."""
    count = draw(st.integers(1, 4))
    declared, problems = [], set()
    for source, target in zip(PRODUCED[:count], CONSUMED[:count], strict=True):
        way = draw(st.sampled_from(sorted(WAYS)))
        more, is_fed, subject = WAYS[way](source, target)
        declared += more
        problems |= {(way, subject.__name__)} if subject else set()
        problems |= set() if is_fed else {("unfed", target.__name__)}
    manifests = [
        BranchManifest("producer", ChatEntry, produces=PRODUCED[:count]),
        BranchManifest("consumer", AgentEntry, consumes=CONSUMED[:count], offers=(OFFERED,)),
    ]
    if draw(st.booleans()):
        manifests.append(BranchManifest("stranger", Event, accepts=(OFFERED,)))
        problems.add(("two families", OFFERED.__name__))
    if draw(st.booleans()):
        manifests.append(BranchManifest("producer", ChatEntry))
        problems.add(("same branch", "producer"))
    return covenant(manifests, declared), problems


@given(covenants())
def test_a_covenant_validates_or_every_mistake_in_it_is_reported(case):
    made, problems = case
    assert found(made) == problems
    if not problems:
        made.build()
        return
    with pytest.raises(CovenantError) as caught:
        made.build()
    assert {(problem.rule, problem.subject) for problem in caught.value.problems} == problems
