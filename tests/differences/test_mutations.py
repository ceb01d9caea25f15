"""Planted changes in generated requests: each is found, with its cause and no other, from either side."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.differences import differences, digest_of, nearness, sketch_of
from soundstage.messages import (
    Message,
    ModelRequest,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    assistant,
    call,
    system,
    tool,
    user,
)

replace = msgspec.structs.replace
LINES = ("yes", "go on", "a b c", "read the file", "{}")
NAMES = ("look", "read", "write")
SEEDS = st.integers(min_value=0, max_value=2**32)


def text(draw: Random) -> str:
    return "\n".join(draw.choices(LINES, k=draw.randint(1, 4)))


def turn(draw: Random) -> list[Message]:
    """Words and calls of a model, the results of the calls, sometimes words of the user."""
    calls = [
        call(draw.choice(NAMES), {draw.choice(("city", "path")): draw.choice(("Oslo", 1))})
        for _ in range(draw.randint(1, 3))
    ]
    calls = [replace(one, id=f"call-{draw.getrandbits(64)}") for one in calls]
    said = [user(text(draw))] if draw.random() < 0.5 else []
    return [assistant(text(draw), *calls), *(tool(one.id, text(draw)) for one in calls), *said]


def request_of_a_run(draw: Random) -> ModelRequest:
    talk = [message for _ in range(draw.randint(1, 4)) for message in turn(draw)]
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return ModelRequest(
        model="small",
        messages=(system(text(draw)), user(text(draw)), *talk),
        tools=tuple(ToolDefinition(name=name, description=text(draw), schema=schema) for name in NAMES),
        settings={"temperature": 0.5, "stop": [text(draw)]},
    )


def some(draw, request: ModelRequest, role: str) -> int:
    """The place of a message of a role."""
    return draw.choice([place for place, one in enumerate(request.messages) if one.role == role])


def put(request: ModelRequest, place: int, *messages: Message, instead: int = 1) -> ModelRequest:
    return replace(
        request, messages=(*request.messages[:place], *messages, *request.messages[place + instead :])
    )


def text_edited(role: str):
    def mutate(draw: Random, request: ModelRequest) -> ModelRequest:
        place = some(draw, request, role)
        first, *rest = request.messages[place].parts
        lines = first.text.split("\n")
        lines[draw.randrange(len(lines))] += " EDITED"
        parts = (replace(first, text="\n".join(lines)), *rest)
        return put(request, place, replace(request.messages[place], parts=parts))

    return mutate


def inserted(message: Message):
    def mutate(draw: Random, request: ModelRequest) -> ModelRequest:
        place = draw.randint(0, len(request.messages))
        return put(request, place, message, instead=0)

    return mutate


def dropped(role: str):
    return lambda draw, request: put(request, some(draw, request, role))


def part_inserted(draw: Random, request: ModelRequest) -> ModelRequest:
    place = some(draw, request, "user")
    message = request.messages[place]
    return put(request, place, replace(message, parts=(*message.parts, Text(text="INJECTED"))))


def call_edited(**fields: Any):
    def mutate(draw: Random, request: ModelRequest) -> ModelRequest:
        place = some(draw, request, "assistant")
        message = request.messages[place]
        number = draw.randrange(1, len(message.parts))
        parts = list(message.parts)
        assert isinstance(parts[number], ToolCall)
        parts[number] = replace(parts[number], **fields)
        return put(request, place, replace(message, parts=tuple(parts)))

    return mutate


def result_failed(draw: Random, request: ModelRequest) -> ModelRequest:
    place = some(draw, request, "tool")
    (part,) = request.messages[place].parts
    assert isinstance(part, ToolResult)
    return put(request, place, Message(role="tool", parts=(replace(part, is_error=True),)))


def messages_swapped(draw: Random, request: ModelRequest) -> ModelRequest:
    pairs = [
        (i, k)
        for i, one in enumerate(request.messages)
        for k, other in enumerate(request.messages[i + 1 :], i + 1)
        if (one.role, one.text) != (other.role, other.text) and "tool" not in (one.role, other.role)
    ]
    i, k = draw.choice(pairs)
    messages = list(request.messages)
    messages[i], messages[k] = messages[k], messages[i]
    return replace(request, messages=tuple(messages))


def calls_swapped(draw: Random, request: ModelRequest) -> ModelRequest:
    """A message with two calls, and the same with the calls turned, and their results too where they stand."""
    one, other = call("look", {"n": draw.randint(0, 9)}, id="id-1"), call("read", {}, id="id-2")
    results = [tool("id-1", "one"), tool("id-2", "two")]
    if draw.random() < 0.5:
        results.reverse()
    return put(request, len(request.messages), assistant("", other, one), *results, instead=0)


def with_both_calls(request: ModelRequest, mutated: ModelRequest) -> ModelRequest:
    """The request that `calls_swapped` has changed."""
    calls = mutated.messages[len(request.messages)].parts
    assert all(isinstance(one, ToolCall) for one in calls)
    results = (tool("id-1", "one"), tool("id-2", "two"))
    return put(request, len(request.messages), assistant("", *reversed(calls)), *results, instead=0)


def tool_edited(**fields: Any):
    def mutate(draw: Random, request: ModelRequest) -> ModelRequest:
        number = draw.randrange(len(NAMES))
        tools = list(request.tools)
        tools[number] = replace(tools[number], **fields)
        return replace(request, tools=tuple(tools))

    return mutate


def changed(**fields: Any):
    return lambda _, request: replace(request, **fields)


def one_setting(**fields: Any):
    return lambda _, request: replace(request, settings={**request.settings, **fields})


UNIT = {"city": {"type": "string"}, "unit": {"type": "string"}}
Mutation = Callable[[Random, ModelRequest], ModelRequest]
MUTATIONS: dict[str, tuple[str, Mutation]] = {
    "a line of the system prompt": ("system prompt edited", text_edited("system")),
    "no system prompt": ("system prompt edited", dropped("system")),
    "another system message": ("system prompt edited", inserted(system("INJECTED"))),
    "a line of the user": ("prompt edited", text_edited("user")),
    "a message of the user more": ("prompt edited", inserted(user("INJECTED"))),
    "a message of the user less": ("prompt edited", dropped("user")),
    "a part more": ("prompt edited", part_inserted),
    "a line of the model": ("earlier reply differs", text_edited("assistant")),
    "an argument of a call": ("earlier reply differs", call_edited(arguments={"city": "EDITED"})),
    "the name of a call": ("earlier reply differs", call_edited(name="EDITED")),
    "broken arguments of a call": ("earlier reply differs", call_edited(arguments={}, raw='{"ci')),
    "a message of the model more": ("earlier reply differs", inserted(assistant("INJECTED"))),
    "a line of a result": ("tool result differs", text_edited("tool")),
    "a result that is an error": ("tool result differs", result_failed),
    "a result less": ("tool result differs", dropped("tool")),
    "two messages swapped": ("order swapped", messages_swapped),
    "two calls swapped": ("order swapped", calls_swapped),
    "a tool less": ("tool list changed", lambda _, one: replace(one, tools=one.tools[1:])),
    "a tool renamed": ("tool list changed", tool_edited(name="EDITED")),
    "a tool more": (
        "tool list changed",
        lambda _, one: replace(one, tools=(*one.tools, ToolDefinition(name="new"))),
    ),
    "the description of a tool": ("tool schema changed", tool_edited(description="EDITED")),
    "a parameter more": ("tool schema changed", tool_edited(schema={"type": "object", "properties": UNIT})),
    "no schema": ("tool schema changed", tool_edited(schema={})),
    "a tool of the provider": ("tool schema changed", tool_edited(type="web_search")),
    "another model": ("other model or settings", changed(model="large")),
    "another temperature": ("other model or settings", one_setting(temperature=0.7)),
    "a setting more": ("other model or settings", one_setting(max_tokens=100)),
    "no settings": ("other model or settings", changed(settings={})),
}
NAMED = pytest.mark.parametrize("name", MUTATIONS)


def planted(seed: int, name: str) -> tuple[ModelRequest, ModelRequest]:
    """A request and the same with one change."""
    draw = Random(seed)
    request = request_of_a_run(draw)
    _, mutate = MUTATIONS[name]
    mutated = mutate(draw, request)
    return (with_both_calls(request, mutated) if mutate is calls_swapped else request), mutated


@pytest.mark.parametrize("name", MUTATIONS)
@given(seed=SEEDS)
def test_each_change_is_found_with_its_cause_and_no_other(name, seed):
    recorded, seen = planted(seed, name)
    assert {one.cause for one in differences(recorded, seen)} == {MUTATIONS[name][0]}
    assert digest_of(recorded) != digest_of(seen)
    assert nearness(sketch_of(recorded), sketch_of(seen)) < 1


@given(seed=SEEDS, names=st.tuples(*[st.sampled_from(sorted(MUTATIONS))] * 2))
def test_the_causes_are_the_same_from_either_side(seed, names):
    one, other = planted(seed, names[0])[1], planted(seed + (seed % 2), names[1])[1]

    def causes(recorded, seen):
        return sorted(found.cause for found in differences(recorded, seen))

    assert causes(one, other) == causes(other, one)
    assert nearness(sketch_of(one), sketch_of(other)) == nearness(sketch_of(other), sketch_of(one))


@given(seed=SEEDS)
def test_a_request_does_not_differ_from_itself_with_other_ids_and_tools_in_another_order(seed):
    request = request_of_a_run(Random(seed))
    line = msgspec.json.encode(request).replace(b"call-", b"toolu-")
    other = msgspec.json.decode(line, type=ModelRequest)
    other = replace(other, tools=tuple(Random(seed).sample(other.tools, len(other.tools))))
    assert differences(request, other) == ()
    assert digest_of(request) == digest_of(other)
    assert nearness(sketch_of(request), sketch_of(other)) == 1


@given(seed=SEEDS, name=st.sampled_from(sorted(MUTATIONS)), apart=st.booleans())
def test_digests_are_equal_exactly_if_nothing_differs(seed, name, apart):
    one, other = planted(seed, name)
    other = other if apart else one
    assert (digest_of(one) == digest_of(other)) == (not differences(one, other))
