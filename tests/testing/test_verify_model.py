"""The conformance suite for models: real ones pass, and each way to be wrong is named."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from soundstage.clock import SystemClock, run
from soundstage.errors import ExpectationError, ProviderError
from soundstage.journal import Journal
from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    ModelRequest,
    OpaqueChunk,
    StartChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
    user,
)
from soundstage.models import BlockSpec, CallSpec, JournaledModel, Reply, Script, ScriptedModel
from soundstage.testing import verify_model
from soundstage.testing._model import GUARANTEES

REQUEST = ModelRequest(model="m", messages=(user("hello"),), stream=True, settings={"a": 1})


def scripted():
    script = Script()
    call = CallSpec(name="f", arguments={"x": "a long enough argument to be cut into pieces"})
    blocks = (BlockSpec(thinking="hm", signature="s"), BlockSpec(text="one two three four five six seven"))
    script.on(user="hello").reply(
        Reply(
            blocks=(*blocks, BlockSpec(tool_call=call), BlockSpec(tool_call=call)),
            delay=2.0,
            check_calls=False,
        )
    )
    return ScriptedModel(script)


def test_the_scripted_model_passes_alone_and_journaled():
    run(verify_model(scripted, REQUEST))
    run(verify_model(lambda: JournaledModel(scripted(), Journal()), REQUEST))


class Says:
    """A model that says what it is told to."""

    def __init__(self, *chunks):
        self._chunks = chunks

    async def stream(self, request):
        for chunk in self._chunks:
            yield chunk


TEXT, END = TextChunk(index=0, text="hi"), FinishChunk()


def test_a_plain_model_passes_on_the_machines_time():
    chunks = (StartChunk(), TEXT, GarbledChunk(data=b"x"), TextChunk(index=1, text="a"), END)
    run(verify_model(lambda: Says(*chunks), REQUEST), clock=SystemClock())


class Meddles(Says):
    async def stream(self, request):
        request.settings["a"] = request.settings.get("a", 0) + 1
        yield END


class Shares(Says):
    """All streams take their chunks from one iterator."""

    def __init__(self, *chunks):
        self._rest = iter(chunks)

    async def stream(self, request):
        for chunk in self._rest:
            yield chunk


class Leaves(Says):
    async def stream(self, request):
        self.task = asyncio.create_task(asyncio.sleep(3))
        yield END


class Once(Says):
    numbers = itertools.count()

    async def stream(self, request):
        yield TextChunk(index=0, text=str(next(self.numbers)))
        yield END


class Fails(Says):
    async def stream(self, request):
        raise ProviderError("busy", status=529)
        yield


def call(index, **fields):
    return ToolCallChunk(index=index, **fields)


@pytest.mark.parametrize(
    ("make", "promise"),
    [
        (lambda: Says(TEXT), "a reply ends with one FinishChunk"),
        (Says, "a reply ends with one FinishChunk"),
        (lambda: Says(END, TEXT), "a reply ends with one FinishChunk"),
        (lambda: Says(TEXT, END, END), "a reply ends with one FinishChunk"),
        (Fails, "a reply ends with one FinishChunk"),
        (lambda: Says(TEXT, StartChunk(), END), "a StartChunk comes first"),
        (lambda: Says(TextChunk(index=1, text="a"), END), "blocks are numbered 0, 1, 2"),
        (lambda: Says(TextChunk(index=1, text="a"), TEXT, END), "blocks are numbered 0, 1, 2"),
        (lambda: Says(TEXT, ThinkingChunk(index=0), END), "blocks are numbered 0, 1, 2"),
        (lambda: Says(*[OpaqueChunk(index=0, type="x")] * 2, END), "blocks are numbered 0, 1, 2"),
        (lambda: Says(call(0, name="f"), END), "every tool call has a name and an id"),
        (lambda: Says(call(0, id="1"), call(0, name="f"), END), "every tool call has a name and an id"),
        (
            lambda: Says(call(0, id="1", name="f"), call(1, id="1", name="f"), END),
            "every tool call has a name and an id",
        ),
        (lambda: Says(FinishChunk(usage=Usage(input_tokens=-1))), "usage counts from 0"),
        (Meddles, "the request is left as it is"),
        (lambda: Shares(TEXT, TEXT, END), "replies at the same time are complete"),
        (Leaves, "a reader may leave at any time"),
        (Once, "a new model gives the same reply"),
    ],
)
def test_each_way_to_be_wrong_is_named(make, promise):
    with pytest.raises(ExpectationError) as caught:
        run(verify_model(make, REQUEST))
    assert caught.value.summary.startswith(f"this model does not keep a guarantee: {promise}")
    assert caught.value.seen


def test_every_guarantee_has_a_broken_model_above():
    promises = next(mark for mark in test_each_way_to_be_wrong_is_named.pytestmark).args[1]
    for guarantee in GUARANTEES:
        assert any(guarantee.promise.startswith(promise) for _, promise in promises), guarantee.promise


def test_a_model_that_never_says_the_same_again_may_say_so():
    run(verify_model(Once, REQUEST, repeatable=False))


def test_a_model_that_hangs_is_named_too():
    class Hangs(Says):
        async def stream(self, request):
            await asyncio.Event().wait()
            yield END

    with pytest.raises(ExpectationError, match="ends with one FinishChunk") as caught:
        run(verify_model(Hangs, REQUEST))
    assert "TimeoutError" in caught.value.seen
    assert isinstance(caught.value.__cause__, TimeoutError)


def test_a_stream_without_aclose_is_fine():
    class Plain:
        def stream(self, request):
            return self

        def __aiter__(self):
            self.chunks = iter((TEXT, END))
            return self

        async def __anext__(self):
            try:
                return next(self.chunks)
            except StopIteration:
                raise StopAsyncIteration from None

    class Each:
        def stream(self, request):
            return Plain().stream(request)

    run(verify_model(Each, REQUEST))
