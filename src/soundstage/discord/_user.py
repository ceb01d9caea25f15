"""A user of the virtual Discord: what a test lets a person do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from soundstage.discord import _channels as channels
from soundstage.discord import _components as parts
from soundstage.discord import _interactions as interactions
from soundstage.discord import _messages as messages
from soundstage.discord import _reactions as reactions
from soundstage.discord import _uses as uses
from soundstage.discord._drafts import Draft, Reference, Upload
from soundstage.discord._events import DiscordAnswered
from soundstage.discord._records import Channel, DiscordMessage, User
from soundstage.discord._scene import Scene
from soundstage.errors import ExpectationError, ScriptError
from soundstage.journal import Record
from soundstage.match import preview
from soundstage.worlds import WITHIN

Files = Sequence[tuple[str, bytes]]


class DiscordUser:
    """A person, or another bot. Made by `Discord.user`.

    Wherever a channel can be given, it is its name (`"general"`, `"#general"`), a thread's (`"plan"`,
    `"#general/plan"`) or a conversation's (`"@ann"`); without one it is the guild's first channel.

    Example:
        ::

            ann = discord.user("ann")
            await ann.says("hello", channel="general")
            answer = await discord.expect("hi", channel="general")
            await ann.reacts("👍", answer)
            await ann.runs("/ask", question="why?")
            await ann.clicks("Yes")
    """

    def __init__(self, scene: Scene, record: User) -> None:
        self._scene = scene
        self._record = record

    @property
    def id(self) -> int:
        """Its id."""
        return self._record.id

    @property
    def name(self) -> str:
        """Its name."""
        return self._record.name

    @property
    def mention(self) -> str:
        """The text that mentions this user."""
        return self._record.mention

    # messages

    async def says(
        self,
        text: str,
        *,
        channel: str | Channel | None = None,
        reply_to: DiscordMessage | None = None,
        attachments: Files = (),
    ) -> DiscordMessage:
        """Write a message. Returns it.

        Args:
            text: what it says; `discord.bot.mention` mentions the bot.
            channel: where; the channel of `reply_to`, if that is given.
            reply_to: a message that it answers.
            attachments: files, as (name, content).

        Raises:
            ScriptError: if there is no such channel, or nothing to say.
        """
        await self._scene.settle()
        where = self._scene.channel(channel)
        if reply_to is not None and channel is None:
            where = self._scene.platform.state.channels[reply_to.channel_id]
        return self._post(where, text, reply_to, attachments)

    async def says_privately(self, text: str, *, attachments: Files = ()) -> DiscordMessage:
        """Write to the bot alone. Returns the message."""
        await self._scene.settle()
        return self._post(channels.open_private(self._scene.platform, self.id), text, None, attachments)

    def _post(
        self, where: Channel, text: str, reply_to: DiscordMessage | None, attachments: Files
    ) -> DiscordMessage:
        if not text.strip() and not attachments:
            raise ScriptError("a message needs a text or an attachment", seen=preview(text))
        reference = None if reply_to is None else Reference(message_id=self._scene.current(reply_to).id)
        draft = Draft(content=text, message_reference=reference)
        files = tuple(Upload(name, content) for name, content in attachments)
        return messages.post(self._scene.platform, where, self.id, draft, files)

    async def edits(self, message: DiscordMessage, text: str) -> DiscordMessage:
        """Change an own message. Returns it as it is now.

        Raises:
            ScriptError: if somebody else wrote it.
        """
        await self._scene.settle()
        self._need_own(message, "edit")
        now = self._scene.current(message)
        return messages.edit(self._scene.platform, now, Draft(content=text), by=self.id)

    async def deletes(self, message: DiscordMessage) -> None:
        """Delete an own message."""
        await self._scene.settle()
        self._need_own(message, "delete")
        messages.delete(self._scene.platform, self._scene.current(message), by=self.id)

    def _need_own(self, message: DiscordMessage, what: str) -> None:
        if message.author_id != self.id:
            writer = self._scene.platform.name(message.author_id)
            raise ScriptError(f"{self.name} cannot {what} a message of {writer}", seen=preview(message.text))

    async def types(self, *, channel: str | Channel | None = None) -> None:
        """Begin to type."""
        await self._scene.settle()
        self._scene.platform.typing(self._scene.channel(channel), self.id)

    async def reacts(self, emoji: str, message: DiscordMessage | None = None) -> None:
        """Put an emoji under a message; under the newest one that this user sees, if none is given."""
        await self._scene.settle()
        reactions.react(self._scene.platform, self._shown(message), reactions.emoji_key(emoji), self.id)

    async def takes_back(self, emoji: str, message: DiscordMessage | None = None) -> None:
        """Take an own emoji away."""
        await self._scene.settle()
        reactions.unreact(self._scene.platform, self._shown(message), reactions.emoji_key(emoji), self.id)

    def _shown(self, message: DiscordMessage | None) -> DiscordMessage:
        if message is not None:
            return self._scene.current(message)
        shown = self._scene.shown_to(self.id)
        if not shown:
            raise ExpectationError(f"{self.name} sees no message", hint="wait for one: discord.expect")
        return shown[0]

    async def starts_thread(
        self, name: str, *, channel: str | Channel | None = None, message: DiscordMessage | None = None
    ) -> Channel:
        """Start a thread, under a message or on its own. Returns it."""
        await self._scene.settle()
        where = self._scene.channel(channel)
        if message is not None:
            where = self._scene.platform.state.channels[message.channel_id]
        under = None if message is None else self._scene.current(message)
        return channels.make_thread(self._scene.platform, where, name, by=self.id, message=under)

    # commands and components

    async def runs(
        self,
        command: str,
        *,
        channel: str | Channel | None = None,
        within: float = WITHIN,
        options: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> int:
        """Run a slash command: `await ann.runs("/ask", question="why?")`. Returns the event's position.

        Args:
            command: as it is typed: `/ask`, `/remind add`.
            channel: where.
            within: seconds in which the bot has to have registered it.
            options: by name, for those that are called like an argument of this method.
            more: options by name. Users, channels and roles are given by name, files as (name, content).

        Raises:
            ExpectationError: if the bot has no such command, or it does not take these options.
        """
        found = await self._scene.command(command, within=within)
        await self._scene.settle()
        where = self._scene.channel(channel)
        values = {name: _plain(value) for name, value in {**(options or {}), **more}.items()}
        return self._begin(where, uses.command(self._scene, found, values, where.id))

    async def completes(
        self,
        command: str,
        *,
        channel: str | Channel | None = None,
        within: float = WITHIN,
        **typed: Any,
    ) -> list[str]:
        """Type at an option and read what the bot proposes: `await ann.completes("/ask", topic="py")`.

        Args:
            command: as it is typed.
            channel: where.
            within: seconds for the bot to answer.
            typed: options by name; the last one is the one that is being typed.

        Raises:
            ExpectationError: if the bot proposes nothing in time.
        """
        if not typed:
            raise ScriptError("name the option that is being typed", hint='completes("/ask", topic="py")')
        found = await self._scene.command(command, within=within)
        await self._scene.settle()
        where = self._scene.channel(channel)
        use = uses.command(self._scene, found, typed, where.id, focused=list(typed)[-1])
        position = self._begin(where, use)
        record = await self._scene.first(_answers(position), after=position, within=within)
        if record is None or not isinstance(record.event, DiscordAnswered) or record.event.kind != "choices":
            raise ExpectationError(f"the bot proposed nothing for {use.name} within {within:g} s")
        return [str(choice["name"]) for choice in record.event.detail.get("choices") or ()]

    async def clicks(self, button: str, *, message: DiscordMessage | None = None) -> int:
        """Click a button. Returns the event's position.

        Args:
            button: its label, emoji or `custom_id`.
            message: where it is; unless given, the newest message with such a button.

        Raises:
            ExpectationError: if there is no such button, or it cannot be used.
        """
        await self._scene.settle()
        where = self._with(message, lambda shown: parts.button(shown.components, button))
        if where is None:
            seen = [name for shown in self._candidates(message) for name in parts.buttons(shown.components)]
            raise ExpectationError(
                f"{self.name} sees no button {button!r}", seen=", ".join(seen) or "no button at all"
            )
        component = parts.usable(parts.button(where.components, button) or {})
        return self._use(where, uses.click(component, where))

    async def selects(
        self, *values: str, menu: str | None = None, message: DiscordMessage | None = None
    ) -> int:
        """Choose from a menu. Returns the event's position.

        Args:
            values: labels or values of options; names, in menus of users, roles and channels.
            menu: its `custom_id` or placeholder; not needed if the message has only one.
            message: where it is; unless given, the newest message with such a menu.

        Raises:
            ExpectationError: if there is no such menu or option, or the menu takes another number of them.
        """
        await self._scene.settle()
        where = self._with(message, lambda shown: parts.menu(shown.components, menu))
        if where is None:
            seen = [
                str(item.get("custom_id"))
                for shown in self._candidates(message)
                for item in parts.selects(shown.components)
            ]
            raise ExpectationError(
                f"{self.name} sees no menu {menu or 'to choose from'!r}",
                seen=", ".join(seen) or "no menu at all",
            )
        component = parts.usable(parts.menu(where.components, menu) or {})
        return self._use(where, uses.select(self._scene, component, values, where))

    async def submits(self, values: Mapping[str, str] | None = None, **more: str) -> int:
        """Fill in the form that the bot has shown, and send it. Returns the event's position.

        Args:
            values: what to type, by label or `custom_id` of the field.
            more: the same, for names that are Python names.

        Raises:
            ExpectationError: if no form is open, or a field is not there or left empty.
        """
        await self._scene.settle()
        state = self._scene.platform.state
        if self.id not in state.forms:
            raise ExpectationError(
                f"no form is open for {self.name}", hint="wait for DiscordAnswered(kind='form')"
            )
        interaction, sent = state.forms[self.id]
        source = state.messages.get(interaction.channel_id, {}).get(interaction.message_id or 0)
        use = uses.form(sent, {**(values or {}), **more}, source)
        del state.forms[self.id]
        return self._begin(state.channel(interaction.channel_id), use)

    def _candidates(self, message: DiscordMessage | None) -> list[DiscordMessage]:
        return self._scene.shown_to(self.id) if message is None else [self._scene.current(message)]

    def _with(
        self, message: DiscordMessage | None, find: Callable[[DiscordMessage], Any]
    ) -> DiscordMessage | None:
        """The message, or the newest one, in which there is such a component."""
        return next((shown for shown in self._candidates(message) if find(shown)), None)

    def _use(self, where: DiscordMessage, use: interactions.Use) -> int:
        return self._begin(self._scene.platform.state.channels[where.channel_id], use)

    def _begin(self, channel: Channel, use: interactions.Use) -> int:
        return interactions.begin(self._scene.platform, self.id, channel, use).position


def _plain(value: Any) -> Any:
    """An option's value as the rest of this package takes it."""
    if isinstance(value, DiscordUser | Channel):
        return value.name
    if isinstance(value, tuple):
        return Upload(*value)
    return value


def _answers(position: int) -> Callable[[Record], bool]:
    return lambda record: isinstance(record.event, DiscordAnswered) and record.cause == position
