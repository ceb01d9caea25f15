"""A conversation that is written down: what users say, and what the app has to answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from soundstage.errors import ExpectationError, ScriptError
from soundstage.match import preview
from soundstage.worlds import WITHIN

Step = Sequence[Any]
PARTS: Final = 3


class Talks(Protocol):
    """The part of a Discord that a conversation needs; `Discord` and `VirtualDiscordGateway` both have it."""

    def user(self, name: str) -> Any:
        """Somebody who writes."""
        ...

    async def expect(self, match: Any, *, channel: Any = None, within: float | None = None) -> Any:
        """Wait for a message of the app."""
        ...


class DiscordScriptedConversation:
    """Steps of (author, text, what the app must answer), done one after the other, on either kind of Discord.

    Args:
        steps: the third part of each is what `soundstage.match` takes, or `None` if no answer is waited for.
        channel: where they talk: the name of a channel, or in process an id; `general` unless given.

    Raises:
        ScriptError: if there is no step, or one does not have three parts.

    Example:
        ::

            conversation = DiscordScriptedConversation(
                [("ann", "hello", "hi"), ("bob", "and me?", "/hi,? bob/i"), ("ann", "thanks", None)]
            )
            answers = await conversation.run(host.get(Discord))
    """

    def __init__(self, steps: Iterable[Step], *, channel: str | int = "general") -> None:
        self.steps = tuple(tuple(step) for step in steps)
        self.channel = channel
        if not self.steps:
            raise ScriptError("a conversation needs at least one step", expected="(author, text, expect)")
        for index, step in enumerate(self.steps):
            if len(step) != PARTS:
                raise ScriptError(
                    f"step {index} of the conversation does not have three parts",
                    expected="(author, text, expect); expect may be None",
                    seen=preview(step),
                )

    async def run(self, discord: Talks, *, within: float = WITHIN) -> list[Any]:
        """Do all steps. Returns the answers, `None` where none was expected.

        Args:
            discord: where the app is.
            within: seconds for each answer.

        Raises:
            WaitTimeout: naming the step whose answer did not come.
            ExpectationError: naming the step before whose answer the app ended.
        """
        return [await self._step(discord, index, within) for index in range(len(self.steps))]

    async def _step(self, discord: Talks, index: int, within: float) -> Any:
        author, text, wanted = self.steps[index]
        await discord.user(author).says(text, channel=self.channel)
        if wanted is None:
            return None
        try:
            return await discord.expect(wanted, channel=self.channel, within=within)
        except ExpectationError as missed:
            raise type(missed)(
                f"step {index} of the conversation: {author} wrote {preview(text)} and was not answered",
                expected=missed.expected,
                seen=missed.seen,
                hint=missed.hint,
            ) from None
