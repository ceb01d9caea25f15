"""A conversation that is written down: what users say, and what the app has to answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from soundstage.errors import ScriptError, WaitTimeout
from soundstage.match import preview
from soundstage.worlds.discord._virtual import WITHIN, SentMessage, VirtualDiscordGateway

Step = Sequence[Any]
PARTS: Final = 3


class DiscordScriptedConversation:
    """Steps of (author, text, what the app must answer), done one after the other.

    Args:
        steps: the third part of each is what `soundstage.match` takes, or `None` if no answer is waited for.
        channel_id: where they talk.

    Raises:
        ScriptError: if there is no step, or one does not have three parts.

    Example:
        ::

            conversation = DiscordScriptedConversation(
                [("ann", "hello", "hi"), ("bob", "and me?", "/hi,? bob/i"), ("ann", "thanks", None)]
            )
            answers = await conversation.run(gateway)
    """

    def __init__(self, steps: Iterable[Step], *, channel_id: int = 1) -> None:
        self.steps = tuple(tuple(step) for step in steps)
        self.channel_id = channel_id
        if not self.steps:
            raise ScriptError("a conversation needs at least one step", expected="(author, text, expect)")
        for index, step in enumerate(self.steps):
            if len(step) != PARTS:
                raise ScriptError(
                    f"step {index} of the conversation does not have three parts",
                    expected="(author, text, expect); expect may be None",
                    seen=preview(step),
                )

    async def run(
        self, gateway: VirtualDiscordGateway, *, within: float = WITHIN
    ) -> list[SentMessage | None]:
        """Do all steps. Returns the answers, `None` where none was expected.

        Args:
            gateway: where the app is.
            within: seconds for each answer.

        Raises:
            WaitTimeout: naming the step whose answer did not come; it is an `AssertionError` too.
        """
        return [await self._step(gateway, index, within) for index in range(len(self.steps))]

    async def _step(self, gateway: VirtualDiscordGateway, index: int, within: float) -> SentMessage | None:
        author, text, expect = self.steps[index]
        await gateway.simulate_message(self.channel_id, author, text)
        if expect is None:
            return None
        try:
            return await gateway.expect_message(expect, channel=self.channel_id, within=within)
        except WaitTimeout as missed:
            raise WaitTimeout(
                f"step {index} of the conversation: {author} wrote {preview(text)} and was not answered",
                expected=missed.expected,
                seen=missed.seen,
                hint=missed.hint,
            ) from None
