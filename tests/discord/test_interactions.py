"""Slash commands, buttons, menus and forms, between users of the test and a real discord.py bot."""

from __future__ import annotations

import asyncio

import discord
import pytest
from discord import app_commands

from soundstage.discord import (
    DiscordAnswered,
    DiscordCommandsRegistered,
    DiscordInteracted,
    DiscordMessageChanged,
)
from soundstage.errors import ExpectationError, ScriptError
from soundstage.journal import MessageSent, RequestRefused, event


def test_a_command_is_registered_run_and_answered(bot, on_discord):
    @bot.tree.command(description="ask something")
    async def ask(interaction: discord.Interaction, question: str):
        await interaction.response.send_message(f"{interaction.user.name} asked: {question}")

    async def body(world, _):
        position = await world.user("ann").runs("/ask", question="why?")
        answer = await world.expect("asked", channel="general")
        return position, answer.text, world.journal

    position, text, journal = on_discord(bot, body)
    assert text == "ann asked: why?"
    assert journal.events(DiscordCommandsRegistered) == [DiscordCommandsRegistered(commands=("/ask",))]
    [interacted] = journal.read(type=DiscordInteracted)
    assert interacted.position == position
    assert interacted.event == DiscordInteracted(
        kind="command", name="/ask", channel="#general", sender="ann", values={"question": "why?"}
    )
    assert [record.cause for record in journal.read(type=(MessageSent, DiscordAnswered))] == [position] * 2


def test_options_of_every_type_arrive_as_the_bot_expects_them(bot, on_discord):
    got = asyncio.Queue()

    @bot.tree.command(description="all of them")
    @app_commands.choices(size=[app_commands.Choice(name="Large", value=3)])
    async def take(
        interaction: discord.Interaction,
        number: int,
        share: float,
        sure: bool,
        who: discord.Member,
        where: discord.TextChannel,
        role: discord.Role,
        size: app_commands.Choice[int],
        file: discord.Attachment,
    ):
        content = await file.read()
        got.put_nowait(
            (number, share, sure, who.name, where.name, role.name, size.value, file.filename, content)
        )
        await interaction.response.send_message("taken")

    async def body(world, _):
        bob = world.user("bob")
        await world.user("ann").runs(
            "take",
            number=3,
            share=0.5,
            sure=True,
            who=bob,
            where=world.channel("general"),
            role="bot",
            size="Large",
            file=("plan.txt", b"steps"),
        )
        await world.expect("taken")
        return await got.get()

    values = (3, 0.5, True, "bob", "general", "bot", 3, "plan.txt", b"steps")
    assert on_discord(bot, body) == values


def test_subcommands_are_typed_with_their_group(bot, on_discord):
    group = app_commands.Group(name="remind", description="reminders")

    @group.command(description="add one")
    async def add(interaction: discord.Interaction, text: str):
        await interaction.response.send_message(f"added {text}")

    bot.tree.add_command(group)

    async def body(world, _):
        ann = world.user("ann")
        await ann.runs("/remind add", text="milk")
        with pytest.raises(ExpectationError, match="/remind add"):
            await ann.runs("/remind", within=0.01)
        return (await world.expect("added")).text

    assert on_discord(bot, body) == "added milk"


def test_a_command_in_a_private_conversation_has_a_user_and_no_guild(bot, on_discord):
    @bot.tree.command(description="where am I")
    async def where(interaction: discord.Interaction):
        await interaction.response.send_message(f"{interaction.user.name} in {interaction.guild}")

    async def body(world, _):
        ann = world.user("ann")
        await ann.says_privately("hello")
        await ann.runs("/where", channel="@ann")
        return (await world.expect("ann in", channel="@ann")).text

    assert on_discord(bot, body) == "ann in None"


def test_a_deferred_answer_counts_as_sent_when_it_comes(bot, on_discord):
    go = asyncio.Event()

    @bot.tree.command(description="slow")
    async def slow(interaction: discord.Interaction):
        await interaction.response.defer()
        await go.wait()
        await interaction.followup.send("here it is")
        await interaction.followup.send("and more")
        original = await interaction.original_response()
        await original.edit(content="better")

    async def body(world, _):
        await world.user("ann").runs("/slow")
        await world.journal.wait_for(event(DiscordAnswered, kind="deferred"), within=5)
        thinking = [message.loading for message in world.messages()]
        await world.expect_nothing(within=0.02)
        go.set()
        first = await world.expect("here it is")
        await world.expect("and more")
        await world.journal.wait_for(event(DiscordMessageChanged, text="better"), within=5)
        return thinking, first.loading, [message.text for message in world.messages()]

    assert on_discord(bot, body) == ([True], False, ["better", "and more"])


def test_an_ephemeral_answer_is_seen_by_one_user_only(bot, on_discord):
    view = discord.ui.View()
    view.add_item(discord.ui.Button(label="Secret", custom_id="secret"))

    @bot.tree.command(description="whisper")
    async def whisper(interaction: discord.Interaction):
        await interaction.response.send_message("only you", ephemeral=True, view=view)
        await interaction.edit_original_response(content="only you!")

    async def body(world, _):
        await world.user("ann").runs("/whisper")
        answer = await world.expect("only you")
        await world.journal.wait_for(event(DiscordMessageChanged, text="only you!"), within=5)
        with pytest.raises(ExpectationError, match="bob sees no button 'Secret'"):
            await world.user("bob").clicks("Secret")
        await world.user("ann").clicks("Secret")
        return answer.ephemeral, world.messages()

    assert on_discord(bot, body) == (True, [])


class Choice(discord.ui.View):
    """Two buttons, a disabled one, a link, and a menu."""

    def __init__(self):
        super().__init__()
        self.add_item(discord.ui.Button(label="Docs", url="https://example.org"))
        self.add_item(discord.ui.Button(label="Off", disabled=True))

    @discord.ui.button(label="Yes", custom_id="yes", emoji="👍")
    async def yes(self, interaction, button):
        await interaction.response.edit_message(
            content=f"{interaction.user.name} said {button.label}", view=None
        )

    @discord.ui.button(label="Later", custom_id="later")
    async def later(self, interaction, button):
        await interaction.response.defer()
        await interaction.edit_original_response(content="later, then")

    @discord.ui.select(
        placeholder="Pick",
        max_values=2,
        options=[discord.SelectOption(label="Red", value="r"), discord.SelectOption(label="Blue", value="b")],
    )
    async def pick(self, interaction, select):
        await interaction.response.send_message(f"picked {sorted(select.values)}")


@pytest.fixture
def choosing(bot):
    """A bot that answers everybody with a choice."""

    async def on_message(message):
        if not message.author.bot:
            await message.channel.send("Choose!", view=Choice())

    bot.event(on_message)
    return bot


@pytest.mark.parametrize("button", ["Yes", "yes", "👍"])
def test_a_click_is_answered_by_changing_the_message(choosing, on_discord, button):
    async def body(world, _):
        ann = world.user("ann")
        await ann.says("hello")
        asked = await world.expect("Choose!")
        await ann.clicks(button)
        await world.journal.wait_for(event(DiscordMessageChanged, text="ann said Yes"), within=5)
        [now] = [message for message in world.messages() if message.id == asked.id]
        return now.content, now.components

    assert on_discord(choosing, body) == ("ann said Yes", ())


def test_a_click_whose_answer_is_deferred_changes_the_message_later(choosing, on_discord):
    async def body(world, _):
        ann = world.user("ann")
        await ann.says("hello")
        asked = await world.expect("Choose!")
        position = await ann.clicks("Later", message=asked)
        await world.journal.wait_for(event(DiscordMessageChanged, text="later, then"), within=5)
        [record] = world.journal.read(type=DiscordAnswered)
        return record.event.kind, record.cause == position

    assert on_discord(choosing, body) == ("deferred update", True)


def test_options_of_a_menu_are_chosen_by_label_or_value(choosing, on_discord):
    async def body(world, _):
        ann = world.user("ann")
        await ann.says("hello")
        await world.expect("Choose!")
        await ann.selects("Red", "b")
        picked = await world.expect("picked")
        await ann.selects("Blue", menu="Pick")
        return picked.text, (await world.expect("picked")).text

    assert on_discord(choosing, body) == ("picked ['b', 'r']", "picked ['b']")


def test_menus_of_users_and_channels_take_names(bot, on_discord):
    class Pick(discord.ui.View):
        @discord.ui.select(cls=discord.ui.UserSelect, custom_id="who")
        async def who(self, interaction, select):
            await interaction.response.send_message(f"user {select.values[0].name}")

        @discord.ui.select(cls=discord.ui.ChannelSelect, custom_id="where")
        async def where(self, interaction, select):
            await interaction.response.send_message(f"channel {select.values[0].name}")

        @discord.ui.select(cls=discord.ui.RoleSelect, custom_id="role")
        async def role(self, interaction, select):
            await interaction.response.send_message(f"role {select.values[0].name}")

    async def on_message(message):
        if not message.author.bot:
            await message.channel.send("Who?", view=Pick())

    bot.event(on_message)

    async def body(world, _):
        ann = world.user("ann")
        await ann.says("hello")
        await world.expect("Who?")
        found = []
        for menu, name in (("who", "ann"), ("where", "general"), ("role", "bot")):
            await ann.selects(name, menu=menu)
            found.append((await world.expect(name)).text)
        return found

    assert on_discord(bot, body) == ["user ann", "channel general", "role bot"]


def test_what_a_user_cannot_do_is_said_with_what_is_there(choosing, on_discord):
    async def body(world, _):
        ann = world.user("ann")
        await ann.says("hello")
        await world.expect("Choose!")
        for button, words in (
            ("No", "Yes, Later, Docs, Off"),
            ("Off", "it is disabled"),
            ("Docs", "only opens"),
        ):
            with pytest.raises(ExpectationError, match=words):
                await ann.clicks(button)
        for values, words in ((["Green"], "'Red', 'Blue'"), ([], "1 to 2")):
            with pytest.raises(ExpectationError, match=words):
                await ann.selects(*values)
        with pytest.raises(ExpectationError, match="sees no menu 'colour'"):
            await ann.selects("Red", menu="colour")

    on_discord(choosing, body)


def test_a_form_is_filled_in_and_sent(bot, on_discord):
    class Form(discord.ui.Modal, title="Feedback"):
        name = discord.ui.TextInput(label="Name", custom_id="name")
        text = discord.ui.TextInput(label="Text", required=False, default="nothing")

        async def on_submit(self, interaction):
            await interaction.response.send_message(f"{self.name.value}: {self.text.value}")

    @bot.tree.command(description="feedback")
    async def feedback(interaction: discord.Interaction):
        await interaction.response.send_modal(Form())

    async def body(world, _):
        ann = world.user("ann")
        with pytest.raises(ExpectationError, match="no form is open for ann"):
            await ann.submits(name="Ann")
        await ann.runs("/feedback")
        await world.journal.wait_for(event(DiscordAnswered, kind="form"), within=5)
        with pytest.raises(ExpectationError, match="no field 'Colour'"):
            await ann.submits({"Name": "Ann", "Colour": "red"})
        with pytest.raises(ExpectationError, match="'Name' of the form must be filled in"):
            await ann.submits()
        await ann.submits({"Name": "Ann"})
        return (await world.expect("Ann")).text

    assert on_discord(bot, body) == "Ann: nothing"


def test_a_bot_proposes_values_while_a_user_types(bot, on_discord):
    @bot.tree.command(description="look up")
    async def look(interaction: discord.Interaction, topic: str):
        await interaction.response.send_message(topic)

    @look.autocomplete("topic")
    async def topics(interaction, current):
        names = ["python", "pytest", "rust"]
        return [app_commands.Choice(name=name, value=name) for name in names if name.startswith(current)]

    async def body(world, _):
        ann = world.user("ann")
        with pytest.raises(ScriptError, match="name the option"):
            await ann.completes("/look")
        return await ann.completes("/look", topic="py")

    assert on_discord(bot, body) == ["python", "pytest"]


def test_an_answer_that_comes_too_late_is_a_404_and_the_silence_is_journaled(bot, on_discord):
    go = asyncio.Event()
    failed = asyncio.Queue()

    @bot.tree.command(description="too slow")
    async def slow(interaction: discord.Interaction):
        await go.wait()
        try:
            await interaction.response.send_message("too late")
        except discord.NotFound as error:
            failed.put_nowait(error.code)

    async def body(world, _):
        position = await world.user("ann").runs("/slow")
        silent = await world.journal.wait_for(event(DiscordAnswered, kind="nothing"), within=5)
        go.set()
        return silent.cause == position, await failed.get()

    assert on_discord(bot, body, answer_within=0.05) == (True, 10062)


def test_an_interaction_is_answered_once_and_has_no_webhook_before(bot, on_discord):
    codes = asyncio.Queue()

    @bot.tree.command(description="twice")
    async def twice(interaction: discord.Interaction):
        hook = interaction.followup
        try:
            await hook.send("early")
        except discord.NotFound as error:
            codes.put_nowait(error.code)
        await interaction.response.send_message("once")
        again = discord.Interaction(data=raw[0], state=interaction._state)
        try:
            await again.response.send_message("twice")
        except discord.HTTPException as error:
            codes.put_nowait(error.code)

    raw = []
    parse = bot._connection.parsers["INTERACTION_CREATE"]
    bot._connection.parsers["INTERACTION_CREATE"] = lambda data: (raw.append(dict(data)), parse(data))

    async def body(world, _):
        await world.user("ann").runs("/twice")
        return await codes.get(), await codes.get(), world.journal.events(RequestRefused)[-1].message

    codes_and_message = on_discord(bot, body)
    assert codes_and_message == (10015, 40060, "40060: Interaction has already been acknowledged.")


def test_a_bot_deletes_and_fetches_its_answers(bot, on_discord):
    done = asyncio.Queue()

    @bot.tree.command(description="tidy")
    async def tidy(interaction: discord.Interaction):
        await interaction.response.send_message("first")
        more = await interaction.followup.send("second", wait=True)
        await more.edit(content="second, edited")
        fetched = await interaction.followup.fetch_message(more.id)
        await more.delete()
        await interaction.delete_original_response()
        try:
            await interaction.followup.fetch_message(more.id)
        except discord.NotFound as error:
            done.put_nowait((fetched.content, error.code))

    async def body(world, _):
        await world.user("ann").runs("/tidy")
        return await done.get(), world.messages()

    assert on_discord(bot, body) == (("second, edited", 10008), [])


def test_mistakes_with_options_are_said_before_anything_is_sent(bot, on_discord):
    @bot.tree.command(description="count")
    @app_commands.choices(unit=[app_commands.Choice(name="Metre", value="m")])
    async def count(
        interaction: discord.Interaction, number: int, unit: app_commands.Choice[str] | None = None
    ):
        await interaction.response.send_message("counted")

    async def body(world, _):
        ann = world.user("ann")
        for options, words in (
            ({}, "needs the option 'number'"),
            ({"number": "three"}, "a whole number"),
            ({"number": True}, "a whole number"),
            ({"number": 1, "colour": "red"}, "no option 'colour'"),
            ({"number": 1, "unit": "Mile"}, "no choice 'Mile'"),
        ):
            with pytest.raises(ExpectationError, match=words):
                await ann.runs("/count", **options)
        with pytest.raises(ExpectationError, match="has not registered the command '/nothing'"):
            await ann.runs("/nothing", within=0.01)
        return world.journal.events(DiscordInteracted)

    assert on_discord(bot, body) == []


def test_a_command_that_is_registered_while_the_bot_runs_is_waited_for(bot, on_discord):
    async def body(world, _):
        ann = world.user("ann")
        running = asyncio.create_task(ann.runs("/new"))

        @bot.tree.command(description="new")
        async def new(interaction: discord.Interaction):
            await interaction.response.send_message("new indeed")

        guild = discord.Object(world.guild.id)
        bot.tree.copy_global_to(guild=guild)
        await bot.tree.sync(guild=guild)
        await running
        await world.expect("new indeed")
        known = await bot.tree.fetch_commands(guild=guild)
        await known[0].delete()
        return [item.scope for item in world.journal.events(DiscordCommandsRegistered)], len(known)

    assert on_discord(bot, body) == (["guild", "guild"], 1)
