"""The codec, the schema check, the conditions on arguments, and what a call is linked with. No sockets."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.journal import Event, Journal, ModelResponded, ToolCalled
from soundstage.mcp import _events as events
from soundstage.mcp._cause import Causes
from soundstage.mcp._jsonrpc import (
    Notification,
    Request,
    RpcAnswer,
    RpcError,
    RpcRefused,
    error_bytes,
    notification_bytes,
    parse,
    request_bytes,
    result_bytes,
)
from soundstage.messages import ModelResponse, ToolCall

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)
IDS = st.integers(-(2**53), 2**53) | st.text()


@given(st.binary(max_size=200))
def test_whatever_comes_is_a_message_or_is_refused_with_a_reason(data):
    message = parse(data)
    assert not isinstance(message, RpcRefused) or message.reason


@given(JSON)
def test_json_that_is_no_message_is_refused(value):
    import msgspec

    assert isinstance(parse(msgspec.json.encode(value)), RpcRefused)


@given(IDS, st.text(), OBJECTS)
def test_messages_survive_the_way_there_and_back(identity, method, params):
    assert parse(request_bytes(identity, method, params)) == Request(identity, method, params)
    assert parse(notification_bytes(method, params)) == Notification(method, params)
    assert parse(result_bytes(identity, params)) == RpcAnswer(identity, params)
    error = RpcError(-32603, method, params or None).as_json()
    assert parse(error_bytes(identity, error)) == RpcAnswer(identity, None, error)


def asked(journal, *calls):
    return journal.append(ModelResponded(response=ModelResponse(parts=tuple(calls))), source="model")


def call(identity, name="mcp__notes__search", **arguments):
    return ToolCall(id=identity, name=name, arguments=arguments)


def test_a_call_is_linked_with_the_reply_that_asked_for_it():
    journal = Journal()
    first = asked(journal, call("c1", q="a"), call("c2", q="a"))
    second = asked(journal, call("c3", q="a"), call("c4", name="search", q="b"))
    other = journal.append(ToolCalled(call_id="c5", name="search", arguments={"q": "c"}), source="agent")
    causes = Causes(journal)
    assert causes.of("search", {"q": "a"}, {"claudecode/toolUseId": "c1"}) == (first, "c1")
    assert causes.of("search", {"q": "a"}, {}) == (second, "c3")
    assert causes.of("search", {"q": "a"}, {}) == (first, "c2")
    assert causes.of("search", {"q": "a"}, {}) is None
    assert causes.of("search", {"q": "b"}, {}) == (second, "c4")
    assert causes.of("search", {"q": "c"}, {}) == (other, "c5")
    assert causes.of("find", {"q": "b"}, {}) is None


def test_there_are_twelve_kinds_of_events():
    own = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event)]
    own = [kind for kind in own if kind.__module__ == events.__name__]
    assert len(own) == 12


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (events.McpToolReturned(tool="a", outcome="rejected", text="no", code=-32603), "rejected -32603: no"),
        (events.McpToolReturned(tool="a", outcome="cancelled"), "cancelled"),
        (events.McpServed(method="tools/list", names=("a", "b")), "tools/list · a, b"),
        (events.McpFaultChanged(change="struck", fault="x", connection=2), "x: struck connection 2"),
        (events.McpToolsChanged(what="tools"), "tools now: none"),
        (events.McpMismatched(method="m", params={}, reason="r"), "m {} · r"),
        (events.McpProbed(server="s", responding=False, error="e"), "s does not respond: e"),
        (events.McpMessageRefused(text="t", reason="r"), "connection 0: r · t"),
    ],
)
def test_events_read_well(event, words):
    assert str(event) == words


def test_the_world_loads_neither_the_sdk_nor_an_http_client():
    heavy = ("mcp", "httpx", "pydantic", "uvicorn")
    code = f"import sys, soundstage.mcp; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
