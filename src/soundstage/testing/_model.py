"""The guarantees of every model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    ModelChunk,
    ModelRequest,
    StartChunk,
    ToolCallChunk,
    respond,
)
from soundstage.models import Model
from soundstage.testing._guarantee import Guarantee, NotKept, keep_all, same

MakeModel = Callable[[], Model]
TURNS: Final = 10  # of the loop, in which Python closes generators inside the one that was left


class _Subject(NamedTuple):
    make: MakeModel
    request: ModelRequest


async def verify_model(make_model: MakeModel, request: ModelRequest, *, repeatable: bool = True) -> None:
    """Verify that a model keeps what the rest of Soundstage relies on.

    Args:
        make_model: makes a new model each time it is called.
        request: one that the model answers, without a fault.
        repeatable: whether a new model gives the same reply again; a live one does not.

    Raises:
        ExpectationError: for the first guarantee that is not kept.

    Example:
        >>> from soundstage.clock import run
        >>> from soundstage.messages import user
        >>> from soundstage.models import Script, ScriptedModel
        >>> script = Script()
        >>> _ = script.on(user="hello").reply("hi")
        >>> request = ModelRequest(model="m", messages=(user("hello"),))
        >>> run(verify_model(lambda: ScriptedModel(script), request))
    """
    guarantees = GUARANTEES if repeatable else GUARANTEES[:-1]
    await keep_all("model", guarantees, _Subject(make_model, request))


async def _reply(subject: _Subject) -> list[ModelChunk]:
    return [chunk async for chunk in subject.make().stream(subject.request)]


async def _ends(subject: _Subject) -> None:
    kinds = [type(chunk).__name__ for chunk in await _reply(subject)]
    if kinds.count("FinishChunk") != 1 or kinds[-1] != "FinishChunk":
        raise NotKept("one FinishChunk, at the end", ", ".join(kinds) or "no chunk at all")


async def _starts(subject: _Subject) -> None:
    places = [place for place, chunk in enumerate(await _reply(subject)) if isinstance(chunk, StartChunk)]
    if places not in ([], [0]):
        raise NotKept("a StartChunk only at place 0", f"at {', '.join(map(str, places))}")


async def _blocks(subject: _Subject) -> None:
    chunks = await _reply(subject)
    order = list(dict.fromkeys(chunk.index for chunk in chunks if not isinstance(chunk, _NO_BLOCK)))
    same("indexes in the order in which blocks begin", list(range(len(order))), order)
    respond(chunks)  # raises if a block is made of chunks that do not belong together


async def _calls(subject: _Subject) -> None:
    first: dict[int, ToolCallChunk] = {}
    for chunk in await _reply(subject):
        if isinstance(chunk, ToolCallChunk):
            first.setdefault(chunk.index, chunk)
    for chunk in first.values():
        if not chunk.id or not chunk.name:
            raise NotKept("id and name with the first piece of a tool call", chunk)
    ids = [chunk.id for chunk in first.values()]
    same("different ids", sorted(set(ids)), sorted(ids))


async def _usage(subject: _Subject) -> None:
    usage = respond(await _reply(subject)).usage
    if min(msgspec.structs.astuple(usage)) < 0:
        raise NotKept("counts of tokens from 0", usage)


async def _untouched(subject: _Subject) -> None:
    before = msgspec.json.encode(subject.request)
    await _reply(subject)
    same("the request", before, msgspec.json.encode(subject.request))


async def _apart(subject: _Subject) -> None:
    model = subject.make()
    replies: list[list[ModelChunk]] = [[], []]

    async def read(reply: list[ModelChunk]) -> None:
        async for chunk in model.stream(subject.request):
            reply.append(chunk)
            await asyncio.sleep(0)

    await asyncio.gather(*map(read, replies))
    for reply in replies:
        same("a FinishChunk in each reply", 1, sum(isinstance(chunk, FinishChunk) for chunk in reply))
        respond(reply)


async def _left(subject: _Subject) -> None:
    before = asyncio.all_tasks()
    stream = subject.make().stream(subject.request)
    async for _ in stream:
        break
    if hasattr(stream, "aclose"):
        await stream.aclose()
    for _ in range(TURNS):
        await asyncio.sleep(0)
    same("tasks left behind", [], [task.get_name() for task in asyncio.all_tasks() - before])


async def _again(subject: _Subject) -> None:
    first, second = await _reply(subject), await _reply(subject)
    same("the same chunks again", first, second)


_NO_BLOCK: Final = (StartChunk, FinishChunk, GarbledChunk)
GUARANTEES: Final[Sequence[Guarantee[_Subject]]] = (
    Guarantee("a reply ends with one FinishChunk", _ends),
    Guarantee("a StartChunk comes first or not at all", _starts),
    Guarantee("blocks are numbered 0, 1, 2... and each is of one kind", _blocks),
    Guarantee("every tool call has a name and an id of its own, from its first piece on", _calls),
    Guarantee("usage counts from 0", _usage),
    Guarantee("the request is left as it is", _untouched),
    Guarantee("replies at the same time are complete, and kept apart", _apart),
    Guarantee("a reader may leave at any time", _left),
    Guarantee("a new model gives the same reply", _again),
)
