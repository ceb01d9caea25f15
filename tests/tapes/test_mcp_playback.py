"""Which recorded line of an MCP server answers a request, and why none does."""

from __future__ import annotations

import pytest

from soundstage.mcp import CALL
from soundstage.tapes import DivergenceError, McpTapeLine, Playback, Surroundings, Tape, TapeHead

READ = "resources/read"


def call(tool, server="notes", answer="", **arguments):
    result = {"content": [{"type": "text", "text": answer or f"{tool} of {server}"}]}
    return McpTapeLine(
        server=server, method=CALL, params={"name": tool, "arguments": arguments}, result=result
    )


def numbered(*lines, **head):
    tape = Tape(head=TapeHead(**head))
    for line in lines:
        tape.append_mcp(line)
    return tape


def playing(*lines, relaxed=False):
    return Playback(numbered(*lines), relaxed=relaxed)


def ask(playback, tool, server="notes", **arguments):
    """The number of the line that answers, or the line of the verdict."""
    try:
        return playback.mcp.take(server, CALL, {"name": tool, "arguments": arguments}).line.number
    except DivergenceError as error:
        return error.verdict.line


def test_calls_are_found_by_what_they_ask_in_whatever_order_and_equal_ones_in_that_of_the_recording():
    playback = playing(call("bump", by=1), call("bump", by=2), call("bump", by=1))
    assert [ask(playback, "bump", by=by) for by in (2, 1, 1)] == [2, 1, 3]
    assert (playback.finish(), playback.mcp.unplayed) == (None, ())


def test_each_server_is_a_lane_of_its_own():
    playback = playing(call("search", "notes", query="x"), call("search", "web", query="x"))
    assert ask(playback, "search", "web", query="x") == 2
    assert "already played: web, search" in ask(playback, "search", "web", query="x")
    assert ask(playback, "search", "notes", query="x") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"by": 7, "unit": "m"}, "notes, bump, arguments.by: recorded 1, seen 7"),
        ({"by": 1}, 'notes, bump, arguments.unit: recorded "m", seen not set'),
        ({"by": 1, "unit": "km"}, "notes, bump, arguments.unit: recorded 'm', seen 'km'"),
        ({"by": 1, "unit": "m", "to": None}, "notes, bump, arguments.to: recorded not set, seen null"),
    ],
)
def test_a_call_that_differs_is_told_by_the_argument(arguments, told):
    playback = playing(call("bump", by=1, unit="m"))
    assert ask(playback, "bump", **arguments) == f"divergence: tool call differs: {told}"
    assert playback.verdicts[0].nearest == 1


def test_the_recorded_call_that_comes_nearest_is_the_one_with_the_fewest_differences():
    playback = playing(call("book", city="Paris", day=1), call("book", city="Rome", day=2))
    assert "arguments.day: recorded 2, seen 3" in ask(playback, "book", city="Rome", day=3)
    assert playback.verdicts[0].nearest == 2


def test_no_arguments_and_empty_ones_are_the_same():
    playback = playing(call("now"))
    assert playback.mcp.take("notes", CALL, {"name": "now"}).line.number == 1


def test_a_tool_or_a_server_that_was_not_called_is_an_extra_call():
    playback = playing(call("search", query="x"))
    assert ask(playback, "delete", query="x") == (
        "divergence: extra call: notes, delete {'query': 'x'}: nothing like it was recorded"
    )
    assert "extra call: web, search" in ask(playback, "search", "web", query="x")


def test_a_call_beyond_the_recorded_ones_is_extra_and_a_second_equal_one_was_played():
    playback = playing(call("bump", by=1))
    assert ask(playback, "bump", by=1) == 1
    assert "already played: notes, bump {'by': 1}: line 1" in ask(playback, "bump", by=1)
    assert "all recorded calls of it have been played" in ask(playback, "bump", by=2)


def test_a_call_that_nobody_makes_again_is_missing():
    playback = playing(call("bump", by=1), call("bump", by=2), call("bump", by=3))
    ask(playback, "bump", by=2)
    verdict = playback.finish()
    assert verdict.line == (
        "divergence: missing call: notes, bump {'by': 1}, line 1, was not asked for, nor were 1 more"
    )
    assert verdict.commands[0] == ""  # it cannot be accepted
    assert "accept:" not in verdict.text()
    assert playback.verdicts == [verdict]


def test_what_only_reads_may_be_asked_again_and_need_not_be_asked():
    read = McpTapeLine(server="notes", method=READ, params={"uri": "notes://1"}, result={"contents": []})
    playback = playing(McpTapeLine(server="notes", method="initialize", result={"x": 1}), read)
    assert playback.finish() is None
    assert [playback.mcp.take("notes", READ, {"uri": "notes://1"}).line.number for _ in "ab"] == [2, 2]
    with pytest.raises(DivergenceError, match="extra call"):
        playback.mcp.take("notes", "prompts/get", {"name": "x"})
    with pytest.raises(DivergenceError, match=r"tool call differs: notes, resources/read, uri: "):
        playback.mcp.take("notes", READ, {"uri": "notes://2"})


def test_relaxed_the_nearest_call_of_the_tool_answers_and_all_is_kept():
    playback = playing(call("bump", by=1), call("bump", by=2), relaxed=True)
    assert [ask(playback, "bump", by=by) for by in (7, 2, 8)] == [1, 2, 2]
    assert "extra call" in ask(playback, "other")
    assert [verdict.cause for verdict in playback.verdicts] == [
        "tool call differs",
        "extra call",
        "extra call",
    ]


def test_folders_and_secrets_of_the_two_runs_count_as_equal():
    before, now = Surroundings(cwd="/home/ann/shop"), Surroundings(cwd="/home/bob/shop")
    tape = numbered(call("read", path="/home/ann/shop/x", key="hunter2-hunter2"), places=before)
    tape.redactor.add("hunter2-hunter2")
    playback = Playback(tape, here=now)
    assert ask(playback, "read", path="/home/bob/shop/x", key="hunter2-hunter2") == 1
    assert "already played" in ask(playback, "read", path="/home/bob/shop/x", key="[redacted]")
    assert "tool call differs" in ask(Playback(tape, here=now), "read", path="/elsewhere/x", key="[redacted]")


def test_what_a_server_told_follows_the_answer_behind_which_it_stands_once():
    told = McpTapeLine(server="notes", kind="told", method="notifications/x")
    read = McpTapeLine(server="notes", method=READ, result={"contents": []})
    playback = playing(call("a"), call("b", "web"), told, call("a"), told, read, told)
    again = [playback.mcp.take("notes", READ, {}).told for _ in "ab"]
    assert [[line.number for line in one] for one in again] == [[7], []]
    taken = [playback.mcp.take("notes", CALL, {"name": "a"}) for _ in "ab"]
    assert [[line.number for line in one.told] for one in taken] == [[3], [5]]
    assert playback.mcp.take("web", CALL, {"name": "b"}).told == ()
