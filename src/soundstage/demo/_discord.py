"""An unmodified discord.py bot, as a program, on a Discord on loopback: two users, a command, buttons, a reply."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Final

from soundstage.demo._scenario import DemoScenario
from soundstage.discord import Discord, DiscordMessageChanged
from soundstage.errors import ExpectationError
from soundstage.host import Host, HostBuilder
from soundstage.models import Script
from soundstage.trace import assert_model_requests, assert_no_egress

QUESTION: Final = "What is in 1.2?"
ANSWER: Final = "A dark theme, and a fix for files that lost their last line."


def missing() -> str:
    """The packages to install before this can run."""
    found = importlib.util.find_spec("discord") is not None
    return "" if found else "discord.py is not installed: pip install 'soundstage[discord]'"


def _script() -> Script:
    script = Script(strict=True)
    script.on(user=QUESTION, times=1).reply(ANSWER)
    return script


def setup(builder: HostBuilder) -> HostBuilder:
    """A Discord with two users, the model on a port, the bot."""
    launch = [sys.executable, "-m", "soundstage.discord", "-m", "soundstage.demo.discord_bot"]
    discord = builder.with_script(_script()).add(Discord, channels=["releases"], users=["ann", "bob"])
    return discord.with_program(launch)


async def body(host: Host) -> None:
    """Ann asks the bot, runs its command and may not agree with herself; Bob agrees."""
    discord = host.get(Discord)
    ann, bob = discord.user("ann"), discord.user("bob")
    asked = await ann.says(QUESTION, channel="releases")
    reply = await discord.expect(ANSWER, channel="releases")
    if reply.reply_to != asked.id:
        raise ExpectationError("the bot did not reply to the question", seen=repr(reply))
    await bob.reacts("🎉", reply)
    await ann.runs("/release", version="1.2")
    question = await discord.expect("Release 1.2?", channel="releases")
    await ann.clicks("Release", message=question)
    await discord.expect("Somebody else has to agree.")
    await bob.clicks("Release", message=question)
    await host.journal.wait_for(DiscordMessageChanged, within=5)
    _check(discord)
    assert_model_requests(host.trace, 1)
    assert_no_egress(host.trace)


def _check(discord: Any) -> None:
    said = [one.content for one in discord.messages("releases") if one.author_id == discord.bot.id]
    if said != [ANSWER, "1.2 is released; bob agreed."]:
        raise ExpectationError("the channel does not say what it has to", seen=repr(said))


SCENARIO = DemoScenario(
    "bot on discord.py, as a program, on a Discord on loopback",
    "Two people, a question, a slash command and buttons; the bot knows nothing of the test.",
    setup,
    body,
    missing,
)
