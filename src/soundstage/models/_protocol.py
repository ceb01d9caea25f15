"""The seam: one method, and wrappers that delegate it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from soundstage.messages import ModelChunk, ModelRequest, ModelResponse, respond


@runtime_checkable
class Model(Protocol):
    """Whatever answers requests: scripted, replaying, faulty, live."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply, piece by piece; the last piece is a `FinishChunk`.

        Raises:
            ModelError: while it is iterated, when the model fails.
            ScriptError: when a script or a tape has no answer.
        """
        ...


class Wrapper:
    """A model that passes everything to another one. Override `stream` to add something."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The inner model's reply."""
        return self.inner.stream(request)


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
    return respond([chunk async for chunk in model.stream(request)])


async def close(stream: AsyncIterator[ModelChunk]) -> None:
    """End a reply that nobody reads on; harmless when it has ended.

    A generator that is merely dropped is closed some time later. What holds a connection or a line of a tape
    has to know now.
    """
    aclose = getattr(stream, "aclose", None)
    if aclose is not None:
        await aclose()


def kind_of(model: Model) -> str:
    """What a model calls itself in the journal; a wrapper names what it wraps too."""
    name = type(model).__name__.removesuffix("Model").lower() or "model"
    return f"{name}({kind_of(model.inner)})" if isinstance(model, Wrapper) else name
