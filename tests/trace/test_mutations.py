"""Which wrong run would make it green? Every assertion holds on a run as it was, and on none of its mutations.

A mutation changes the records of the run: something is dropped, comes in another order, belongs to another agent or to
another conversation, says something else. Assertions that count over a whole run are asked about one conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

import soundstage.trace as public
from soundstage.clock import run
from soundstage.errors import ExpectationError, ScriptError
from soundstage.journal import (
    AgentFinished,
    DaemonChanged,
    EgressTried,
    Journal,
    MessageReceived,
    MessageSent,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    PhaseChanged,
    ProcessExited,
    Record,
    RequestRefused,
    Routed,
    RunFinished,
    event,
)
from soundstage.messages import ModelResponse, Text, ToolCall, user
from soundstage.messages import tool as result
from soundstage.trace import build_trace

Records = Sequence[Record]
Mutation = Callable[[Records], Records]


# the run


@pytest.fixture(scope="module")
def records(traced) -> tuple[Record, ...]:
    """A team of three in one conversation: a plan, work with two tools, a complaint that comes back, a repair."""

    async def body(scene):
        script, task = scene.script, user("add a login")
        read, write = {"name": "Read", "arguments": {"path": "a.py"}}, {"name": "Write", "arguments": {}}
        script.on(agent="chief", iteration=1).reply("the coder, please")
        script.on(agent="coder", iteration=1).reply(tool_calls=[read])
        script.on(agent="coder", iteration=2).reply(tool_calls=[write])
        script.on(agent="coder", iteration=3).reply("stored as text")
        script.on(agent="tester", iteration=1).reply("not as PLAIN text")
        script.on(agent="coder", iteration=4).reply("hashed now")
        options = {"tools": ("Read", "Write", "Delete")}
        scene.add(MessageReceived(text="add a login", channel="c", sender="ann"))
        await scene.ask("chief", task, phase="plan")
        scene.add(Routed(agents=("coder",), phase="work", conversation="c"))
        scene.add(PhaseChanged(left="plan", entered="work", conversation="c"))
        await scene.work("coder", "add a login", **options)
        scene.add(PhaseChanged(left="work", entered="test", conversation="c"))
        await scene.ask("tester", task, user("[coder] stored as text"))
        scene.add(PhaseChanged(left="test", entered="work", conversation="c"))
        await scene.ask("coder", task, user("[tester] not as PLAIN text"), **options)
        scene.add(MessageSent(text="Your login is ready", channel="c", sender="coder"))
        scene.add(RunFinished(outcome="passed"))

    return traced(body).records


# mutations


def renumbered(records: Records) -> Records:
    """Positions without gaps, with causes that go on pointing at the same record."""
    new = {record.position: number for number, record in enumerate(records, start=1)}
    return [
        msgspec.structs.replace(
            record, position=new[record.position], cause=new.get(record.cause) if record.cause else None
        )
        for record in records
    ]


def exchange(records: Records, number: int) -> list[Record]:
    """The records of one exchange with the model, counted from 0; -1 is the last."""
    asked = [one for one in records if isinstance(one.event, ModelRequested)][number]
    return [one for one in records if one is asked or one.cause == asked.position]


def facts(records: Records, kind: type, number: int = 0) -> Record:
    return [one for one in records if isinstance(one.event, kind)][number]


def without(choose: Callable[[Records], Sequence[Record]]) -> Mutation:
    def mutate(records: Records) -> Records:
        gone = {one.position for one in choose(records)}
        return renumbered([one for one in records if one.position not in gone])

    return mutate


def drop(kind: type, number: int = 0) -> Mutation:
    return without(lambda records: [facts(records, kind, number)])


def drop_exchange(number: int) -> Mutation:
    return without(lambda records: exchange(records, number))


def swap_exchanges(first: int, second: int) -> Mutation:
    """Two exchanges with the model change places."""

    def mutate(records: Records) -> Records:
        one, other = exchange(records, first), exchange(records, second)
        put = {one[0].position: other, other[0].position: one}
        moved = {record.position for record in (*one, *other)}
        order: list[Record] = []
        for record in records:
            order += put.get(record.position, [] if record.position in moved else [record])
        return renumbered(order)

    return mutate


def swap(kind: type, first: int, second: int) -> Mutation:
    """Two records of a class change places."""

    def mutate(records: Records) -> Records:
        one, other = facts(records, kind, first), facts(records, kind, second)
        order = {one.position: other, other.position: one}
        return renumbered([order.get(record.position, record) for record in records])

    return mutate


def change(kind: type, number: int, how: Callable[[Any], Any]) -> Mutation:
    def mutate(records: Records) -> Records:
        found = facts(records, kind, number)
        return [
            msgspec.structs.replace(one, event=how(one.event)) if one is found else one for one in records
        ]

    return mutate


def fields(**values: Any) -> Callable[[Any], Any]:
    return lambda fact: msgspec.structs.replace(fact, **values)


def caller(**values: Any) -> Callable[[Any], Any]:
    def how(fact: ModelRequested) -> ModelRequested:
        made = msgspec.structs.replace(fact.request.caller, **values)
        return ModelRequested(request=msgspec.structs.replace(fact.request, caller=made))

    return how


def asking(*messages: Any, **values: Any) -> Callable[[Any], Any]:
    def how(fact: ModelRequested) -> ModelRequested:
        told = {"messages": messages} if messages else {}
        return ModelRequested(request=msgspec.structs.replace(fact.request, **told, **values))

    return how


def other_agent(number: int, name: str = "stranger") -> Mutation:
    return change(ModelRequested, number, caller(agent=name))


def other_conversation(number: int) -> Mutation:
    return change(ModelRequested, number, caller(conversation="d"))


def replying(*parts: Any) -> Callable[[Any], Any]:
    return lambda _: ModelResponded(response=ModelResponse(parts=parts))


def add(fact: Any, at: int | None = None) -> Mutation:
    """One record more, before the record with this index; at the end unless given."""

    def mutate(records: Records) -> Records:
        place = len(records) if at is None else at
        last = records[-1]
        made = msgspec.structs.replace(last, position=last.position + 1, cause=None, event=fact)
        return renumbered([*records[:place], made, *records[place:]])

    return mutate


def both(first: Mutation, second: Mutation) -> Mutation:
    return lambda records: second(first(records))


def silent(records: Records) -> Records:
    """Nobody says anything."""
    return [one for one in records if type(one.event) not in (ModelResponded, MessageSent)]


# the table


class Row(NamedTuple):
    """An assertion: its name, how it is asked, and what must turn it red."""

    name: str
    ask: Callable[[Records], Any]
    wrong: dict[str, Mutation]


def on_trace(name: str, *args: Any, whole: bool = False, **kwargs: Any) -> Callable[[Records], Any]:
    def ask(records: Records) -> None:
        trace = build_trace(records)
        getattr(public, name)(trace if whole else trace.only(conversation="c"), *args, **kwargs)

    return ask


def journal_of(records: Records) -> Journal:
    journal = Journal()
    journal.extend([one.event for one in records])
    return journal


def on_journal(name: str, *args: Any) -> Callable[[Records], Any]:
    return lambda records: getattr(public, name)(journal_of(records), *args)


def while_it_comes(name: str, *args: Any, **kwargs: Any) -> Callable[[Records], Any]:
    """Ask while the records are appended, one in a second."""

    def ask(records: Records) -> None:
        async def main() -> None:
            journal = Journal()

            async def play() -> None:
                for record in records:
                    await asyncio.sleep(1)
                    journal.append(record.event)

            async with asyncio.TaskGroup() as group:
                playing = group.create_task(play())
                try:
                    await getattr(public, name)(journal, *args, **kwargs)
                finally:
                    playing.cancel()

        try:
            run(main())
        except* AssertionError as errors:
            raise errors.exceptions[0] from None

    return ask


TURNS = ("chief", "coder", "tester", "coder")
READ, WRITE = ("Read", {"path": "a.py"}), "Write"
SAYS = event(MessageSent, text="ready")

OF_TURNS: dict[str, Mutation] = {
    "drop the first": drop_exchange(0),
    "drop the tester": drop_exchange(4),
    "drop the last": drop_exchange(5),
    "swap chief and tester": swap_exchanges(0, 4),
    "another agent first": other_agent(0),
    "another agent in the middle of a turn": other_agent(2),
    "another agent last": other_agent(5),
    "another conversation": other_conversation(4),
}
OF_CALLS: dict[str, Mutation] = {
    "drop the first call": change(ModelResponded, 1, replying(Text(text="no need"))),
    "drop the second call": change(ModelResponded, 2, replying(Text(text="no need"))),
    "a call more": change(ModelResponded, 3, replying(ToolCall(id="9", name="Delete", arguments={}))),
    "swap the calls": swap(ModelResponded, 1, 2),
    "another tool": change(ModelResponded, 1, replying(ToolCall(id="9", name="Delete", arguments={}))),
    "another agent": other_agent(1),
    "another conversation": other_conversation(1),
}

TABLE = (
    Row("assert_agent_sequence", on_trace("assert_agent_sequence", *TURNS), OF_TURNS),
    Row(
        "assert_agent_sequence",
        on_trace("assert_agent_sequence", "coder", "tester", order="in_order"),
        {
            "drop the tester": drop_exchange(4),
            "the tester goes first": swap_exchanges(0, 4),
            "another agent": other_agent(4),
            "another conversation": other_conversation(4),
        },
    ),
    Row(
        "assert_agent_sequence",
        on_trace("assert_agent_sequence", *TURNS, whole=True),
        {"another conversation": other_conversation(4), "two conversations": other_conversation(5)},
    ),
    Row(
        "assert_agent_sequence",
        on_trace("assert_agent_sequence", "tester", "chief", order="any_order"),
        {"drop the tester": drop_exchange(4), "another agent": other_agent(0)},
    ),
    Row(
        "assert_agent_count",
        on_trace("assert_agent_count", "coder", 2),
        {
            "drop a turn": drop_exchange(5),
            "another agent": other_agent(5),
            "another conversation": other_conversation(5),
            "a turn more": other_agent(4, "coder"),
        },
    ),
    Row(
        "assert_phase_transitions",
        on_trace("assert_phase_transitions", "work", "test", "work"),
        {
            "drop one": drop(PhaseChanged, 1),
            "drop the last": drop(PhaseChanged, 2),
            "swap": swap(PhaseChanged, 0, 1),
            "another phase": change(PhaseChanged, 1, fields(entered="play")),
            "one more": add(PhaseChanged(left="work", entered="end", conversation="c")),
            "another conversation": change(PhaseChanged, 1, fields(conversation="d")),
        },
    ),
    Row(
        "assert_feedback_propagated",
        on_trace("assert_feedback_propagated", "tester", "coder", "plain", whole=True),
        {
            "it is not said": change(ModelResponded, 4, replying(Text(text="fine"))),
            "it does not arrive": change(ModelRequested, 5, asking(user("go on"))),
            "the user says it instead": change(ModelRequested, 5, asking(user("add a login"), user("go on"))),
            "the receiver is not asked": drop_exchange(5),
            "it comes before": swap_exchanges(1, 5),
            "another receiver": other_agent(5),
            "another sender": other_agent(4),
            "the receiver is asked in another conversation": other_conversation(5),
            "the sender is asked in another conversation": other_conversation(4),
        },
    ),
    Row("assert_tool_calls", on_trace("assert_tool_calls", READ, WRITE, agent="coder"), OF_CALLS),
    Row(
        "assert_tool_calls",
        on_trace("assert_tool_calls", READ, WRITE),
        {"other arguments": change(ModelResponded, 1, replying(ToolCall(id="9", name="Read", arguments={})))},
    ),
    Row(
        "assert_tool_calls",
        on_trace("assert_tool_calls", READ, WRITE, order="in_order"),
        {"swap the calls": swap(ModelResponded, 1, 2), "drop the last": OF_CALLS["drop the second call"]},
    ),
    Row(
        "assert_tool_count",
        on_trace("assert_tool_count", "Read", 1, agent="coder"),
        {key: OF_CALLS[key] for key in ("drop the first call", "another agent", "another conversation")}
        | {"twice": change(ModelResponded, 2, replying(ToolCall(id="9", name="Read", arguments={})))},
    ),
    Row(
        "assert_no_tool",
        on_trace("assert_no_tool", "Delete"),
        {
            "it is called": OF_CALLS["a call more"],
            "in another case": change(
                ModelResponded, 3, replying(ToolCall(id="9", name="delete", arguments={}))
            ),
            "nobody offers it": lambda records: [
                msgspec.structs.replace(one, event=asking(tools=())(one.event))
                if isinstance(one.event, ModelRequested)
                else one
                for one in records
            ],
        },
    ),
    Row(
        "assert_tools_offered",
        on_trace("assert_tools_offered", 1, "Read", "Write"),
        {"none": change(ModelRequested, 1, asking(tools=())), "another step": swap_exchanges(1, 4)},
    ),
    Row(
        "assert_text",
        on_trace("assert_text", "hashed", agent="coder"),
        {
            "it is not said": change(ModelResponded, 5, replying(Text(text="done"))),
            "it is said to the agent": both(
                change(ModelRequested, 5, asking(user("hashed now"))),
                change(ModelResponded, 5, replying(Text(text="done"))),
            ),
            "another agent says it": other_agent(5),
            "in another conversation": other_conversation(5),
        },
    ),
    Row(
        "assert_text",
        on_trace("assert_text", {"not": "sorry"}),
        {
            "somebody says it": change(ModelResponded, 4, replying(Text(text="sorry"))),
            "nobody says anything": silent,
        },
    ),
    Row(
        "assert_transcript",
        on_trace(
            "assert_transcript",
            ("user", "add a login"),
            ("user", "[tester] not as PLAIN"),
            ("assistant", "hashed"),
        ),
        {
            "another answer": change(ModelResponded, 5, replying(Text(text="done"))),
            "another order": change(
                ModelRequested, 5, asking(user("[tester] not as PLAIN text"), user("add a login"))
            ),
            "another speaker": change(
                ModelRequested, 5, asking(user("add a login"), result("1", "[tester] not as PLAIN text"))
            ),
            "one is missing": change(ModelRequested, 5, asking(user("add a login"))),
            "another conversation": other_conversation(5),
        },
    ),
    Row(
        "assert_model_requests",
        on_trace("assert_model_requests", 6),
        {
            "one less": drop_exchange(3),
            "a side request instead": change(ModelRequested, 3, asking(purpose="title")),
            "another conversation": other_conversation(3),
        },
    ),
    Row(
        "assert_no_failures",
        on_trace("assert_no_failures", whole=True),
        {
            "a model": add(ModelFailed(reason="error", message="busy", status=529)),
            "a request": add(RequestRefused(format="openai", path="/v1", status=400, message="bad")),
            "a daemon": add(DaemonChanged(daemon="app", status="FAILED", error="broken")),
            "an agent": add(AgentFinished(agent="coder", outcome="failure")),
            "a program": add(ProcessExited(code=1)),
            "the run": change(RunFinished, 0, fields(outcome="failed")),
            "nothing at all": lambda _: [],
        },
    ),
    Row(
        "assert_no_egress",
        on_trace("assert_no_egress", whole=True),
        {"a try": add(EgressTried(host="example.org", port=443)), "nothing at all": lambda _: []},
    ),
    Row(
        "assert_no_egress",
        on_trace("assert_no_egress"),
        {"a try of the run": add(EgressTried(host="example.org", port=443))},
    ),
    Row(
        "assert_ordered",
        on_journal("assert_ordered", MessageReceived, Routed, {"all": [ModelResponded, "PLAIN"]}, SAYS),
        {
            "drop the first": drop(MessageReceived),
            "drop the last": drop(MessageSent),
            "drop one between": drop(Routed),
            "the last comes first": lambda records: renumbered(
                [facts(records, MessageSent), *(one for one in records if type(one.event) is not MessageSent)]
            ),
            "another text": change(MessageSent, 0, fields(text="wait")),
        },
    ),
    Row(
        "assert_eventually",
        while_it_comes("assert_eventually", SAYS, within=60),
        {
            "it does not come": drop(MessageSent),
            "another text": change(MessageSent, 0, fields(text="wait")),
            "another class": change(MessageSent, 0, lambda fact: MessageReceived(text=fact.text)),
        },
    ),
    Row(
        "assert_quiet",
        while_it_comes("assert_quiet", 60, EgressTried),
        {
            "it comes at once": add(EgressTried(host="example.org", port=443), 0),
            "it comes at last": add(EgressTried(host="example.org", port=443)),
        },
    ),
)
CASES = [(row, how) for row in TABLE for how in row.wrong]


def test_every_assertion_is_in_the_table():
    assert {row.name for row in TABLE} == {name for name in public.__all__ if name.startswith("assert_")}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_it_holds_on_the_run_as_it_was(records, row):
    row.ask(records)


@pytest.mark.parametrize(("row", "how"), CASES, ids=[f"{row.name}: {how}" for row, how in CASES])
def test_it_holds_on_no_mutation(records, row, how):
    wrong = row.wrong[how](records)
    assert list(wrong) != list(records)
    with pytest.raises((ExpectationError, ScriptError)):
        row.ask(wrong)
