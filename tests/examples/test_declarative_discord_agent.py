"""The bot with declared routes: what its covenant promises before it runs.

What it does is tested together with the bot that is connected by hand, in test_discord_agent.py.
"""

from __future__ import annotations

import pytest

from examples import declarative_discord_agent, discord_agent
from soundstage.agents import (
    AgentPrompt,
    AgentResponse,
    AgentThought,
    AppBuilder,
    ChatReceived,
    ChatReply,
    ChatReplyDraft,
    CovenantError,
    DiscordBranch,
    configured_app,
)
from soundstage.discord import VirtualDiscordGateway, discord_of
from soundstage.errors import InvalidStateError
from soundstage.host import HostBuilder
from soundstage.journal import DaemonChanged
from support.ways_discord import GENERAL, in_process, said

configure = declarative_discord_agent.configure(GENERAL)
declare = declarative_discord_agent.declare


def refused(routes, *more):
    """The error with which the covenant of the sample's branches refuses these routes."""

    def changed(app):
        covenant = app.covenant()
        for manifest in (app.use_discord(GENERAL), app.use_agent("gpt-4.1"), *more):
            covenant.connect(manifest)
        covenant.routes(routes)

    with pytest.raises(CovenantError) as caught:
        AppBuilder().apply(changed).build()
    return caught.value


def problems(error):
    return {(problem.rule, problem.subject) for problem in error.problems}


def test_the_covenant_of_the_bot_is_good():
    assert AppBuilder().apply(configure).build().entries


def test_all_that_is_wrong_with_a_covenant_is_said_at_once():
    def routes(to):
        to.route(ChatReceived, AgentPrompt, lambda said: AgentPrompt(text=said.text))
        to.route(ChatReceived, ChatReply, lambda said: ChatReply(text=said.text))
        to.terminal(ChatReceived)

    error = refused(routes)
    assert problems(error) == {
        ("several routes", "ChatReceived"),
        ("routed and terminal", "ChatReceived"),
        ("unrouted", "AgentResponse"),
        ("unrouted", "AgentThought"),
    }
    assert "failed with 4 errors" in str(error)
    assert all(problem.message in str(error) for problem in error.problems)


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        (ChatReceived, {("unrouted", "ChatReceived"), ("unfed", "AgentPrompt")}),
        (AgentResponse, {("unrouted", "AgentResponse"), ("unfed", "ChatReply")}),
        (AgentThought, {("unrouted", "AgentThought")}),
    ],
)
def test_each_route_of_the_bot_is_needed(left_out, expected):
    class Most:
        def __init__(self, to):
            self.to = to

        def route(self, source, *rest):
            if source is not left_out:
                self.to.route(source, *rest)

        def terminal(self, kind):
            if kind is not left_out:
                self.to.terminal(kind)

    assert problems(refused(lambda to: declare(Most(to)))) == expected


def test_a_second_channel_that_nobody_connects_is_named():
    def second(app):
        configure(app)
        app.use_discord(GENERAL + 1, name="second")

    with pytest.raises(CovenantError, match="'second' is used and not connected"):
        AppBuilder().apply(second).build()


def test_a_branch_that_is_connected_twice_is_named():
    channel = DiscordBranch(channel_id=GENERAL).manifest
    assert problems(refused(declare, channel)) == {("same branch", "discord")}


def test_a_covenant_that_is_refused_starts_nothing():
    async def body(host):
        raise AssertionError("the body must not run")

    with pytest.raises(CovenantError, match="2 errors"):
        HostBuilder().add(VirtualDiscordGateway).with_app(
            configured_app(
                lambda app: app.covenant().connect(app.use_discord(GENERAL)).routes(lambda to: None)
            )
        ).run(body)


def test_routes_are_declared_once_and_after_all_branches_are_connected():
    def late(app):
        channel, agent = app.use_discord(GENERAL), app.use_agent("gpt-4.1")
        app.covenant().connect(channel).routes(declare).connect(agent)

    def twice(app):
        app.covenant().connect(app.use_discord(GENERAL)).routes(declare).routes(declare)

    with pytest.raises(InvalidStateError, match="connected after the routes"):
        AppBuilder().apply(late)
    with pytest.raises(InvalidStateError, match="declared before"):
        AppBuilder().apply(twice)


def test_both_samples_say_the_same_and_only_one_of_them_has_routes():
    async def body(host):
        host.llm.on(user="hello").reply("Hi.\n\nHow are you?")
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("How")
        daemons = {event.daemon for event in host.journal.events(DaemonChanged)}
        return said(host), host.llm.requests, {name for name in daemons if name.startswith("route ")}

    by_hand, declared = (in_process(bot).run(body) for bot in (discord_agent, declarative_discord_agent))
    assert by_hand[:2] == declared[:2]
    assert by_hand[2] == set()
    assert declared[2] == {
        f"route {source.__name__} -> {target.__name__}"
        for source, target in ((ChatReceived, AgentPrompt), (AgentResponse, ChatReplyDraft))
    }
