"""The seam: one method, and wrappers that delegate it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from soundstage.messages import ModelChunk, ModelRequest, ModelResponse, respond


@runtime_checkable
class Model(Protocol):
    """A model: answers requests. Scripted, replaying, faulty and live models are alike."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply, piece by piece; the last piece is a `FinishChunk`.

        Raises:
            ModelError: while it is iterated, when the model fails.
            ScriptError: when a script or a tape has no answer.
        """
        ...


@runtime_checkable
class PlacedModel(Model, Protocol):
    """A model of a run that was somewhere else, such as a tape: requests and answers name the folders of that run."""

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables of that run, which make a program ask the same again."""

    def work_in(self, folder: Path, home: Path) -> None:
        """Take these for the working folder and the home folder of that run."""


class Wrapper:
    """A model that passes everything to another one. Override `stream` to add something."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The inner model's reply."""
        return self.inner.stream(request)


class Stream(ABC):
    """A reply that begins when it is asked for its first chunk, or for all of them.

    Most scripted replies are there at once. Handing their chunks one by one through layers of generators
    costs more than everything else, so whoever wants all of them may `take` them; both ways come to the same.

    Attributes:
        response: the whole reply, once it is complete, if the stream knows it.
        served_by: where the reply comes from, once it has begun, if the stream knows it: also of one that fails.
    """

    _iterator: AsyncIterator[ModelChunk] | None = None
    response: ModelResponse | None = None
    served_by: str = ""

    @abstractmethod
    def take(self) -> list[ModelChunk] | None:
        """All chunks, if none has to be waited for. If it is None, the stream is to be iterated."""

    @abstractmethod
    def steps(self) -> AsyncIterator[ModelChunk]:
        """The chunks one by one, also after `take` was None."""

    def __aiter__(self) -> Stream:
        return self

    def __anext__(self) -> Awaitable[ModelChunk]:
        if self._iterator is None:
            self._iterator = self.steps()
        return self._iterator.__anext__()

    async def aclose(self) -> None:
        """End it."""
        if self._iterator is not None:
            await close(self._iterator)


def take(stream: AsyncIterator[ModelChunk]) -> list[ModelChunk] | None:
    """All chunks of a stream that has not begun, if none has to be waited for; else None."""
    whole: Callable[[], list[ModelChunk] | None] | None = getattr(stream, "take", None)
    return whole() if whole is not None else None


async def complete(model: Model, request: ModelRequest) -> ModelResponse:
    """The whole reply: the fold of the stream.

    Example:
        >>> from soundstage.messages import user
        >>> from soundstage.clock import run
        >>> from soundstage.models import Script, ScriptedModel
        >>> script = Script()
        >>> _ = script.on(user="hello").reply("hi")
        >>> request = ModelRequest(model="m", messages=(user("hello"),))
        >>> run(complete(ScriptedModel(script), request)).text
        'hi'
    """
    stream = model.stream(request)
    chunks = take(stream)
    if chunks is None:
        chunks = [chunk async for chunk in stream]
    return getattr(stream, "response", None) or respond(chunks)


async def close(stream: AsyncIterator[ModelChunk]) -> None:
    """End a reply that nobody reads on; harmless when it has ended.

    A generator that is merely dropped is closed some time later. What holds a connection or a line of a tape
    has to know now.
    """
    aclose = getattr(stream, "aclose", None)
    if aclose is not None:
        await aclose()


def kind_of(model: Model) -> str:
    """The name of a kind of model in the journal; a wrapper's has that of the wrapped model too."""
    name = type(model).__name__.removesuffix("Model").lower() or "model"
    return f"{name}({kind_of(model.inner)})" if isinstance(model, Wrapper) else name
