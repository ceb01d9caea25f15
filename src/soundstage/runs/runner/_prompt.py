"""A prompt on its way to a target: whole, or piece by piece as it comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable

from soundstage.errors import WrongTypeError

Prompt = str | AsyncIterable[str]
"""A text, or an async iterable of its pieces."""


class PromptPieces:
    """The pieces of an iterable prompt, taken one at a time when the target asks, and never twice.

    Attributes:
        taken: how many have been taken.
        told: is called with each piece that is taken; whoever puts it on record.
    """

    def __init__(self, pieces: AsyncIterable[str]) -> None:
        self._pieces = aiter(pieces)
        self.taken = 0
        self.told: Callable[[str], object] | None = None

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        piece = await anext(self._pieces)
        if not isinstance(piece, str):
            raise WrongTypeError("a piece of a prompt is a text", seen=repr(piece))
        self.taken += 1
        if self.told is not None:
            self.told(piece)
        return piece

    async def close(self) -> None:
        """Let go of the pieces that nobody has taken."""
        if isinstance(self._pieces, AsyncGenerator):
            await self._pieces.aclose()


def prompt_for_target(prompt: object) -> str | PromptPieces:
    """The prompt as a target takes it.

    Raises:
        WrongTypeError: if it is neither a text nor an async iterable.
    """
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, AsyncIterable):
        return PromptPieces(prompt)
    raise WrongTypeError("a prompt is a text, or an async iterable of texts", seen=type(prompt).__name__)


async def joined(prompt: str | PromptPieces) -> str:
    """The whole text."""
    return prompt if isinstance(prompt, str) else "".join([piece async for piece in prompt])
