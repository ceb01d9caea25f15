"""Snapshots without pytest: what is written, what is refused, and how a difference is told."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import EnvironmentProblem, ExpectationError, ScriptError
from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Text,
    Thinking,
    ToolDefinition,
    ToolResult,
    assistant,
    call,
    system,
    tool,
    user,
)
from soundstage.snapshots import assert_snapshot, snapshot_text

REQUEST = ModelRequest(
    model="gpt-4o",
    messages=(
        system("You are terse.\n\n=== user\nis not a heading here."),
        user("What is in a.txt?"),
        assistant("I look.", call("read_file", {"path": "a.txt", "lines": [1, 2]}, id="call_8f3a")),
        tool("call_8f3a", "no such file", is_error=True),
    ),
    tools=(
        ToolDefinition(
            name="read_file",
            description="Reads a file.",
            schema={"type": "object", "properties": {"path": {"type": "string"}}},
        ),
    ),
    settings={"temperature": 0.2, "max_tokens": 100, "metadata": {"a": 1}},
)


def test_a_snapshot_is_created_and_updated_only_when_that_is_asked_for(tmp_path):
    path = tmp_path / "deep" / "one.txt"
    with pytest.raises(ExpectationError, match=r"no snapshot one\.txt yet") as missing:
        assert_snapshot(path, "first")
    assert "update=True" in missing.value.hint
    assert list(tmp_path.iterdir()) == []
    assert assert_snapshot(path, "first", update=True) == "created"
    assert assert_snapshot(path, "first") == assert_snapshot(path, "first", update=True) == "same"
    with pytest.raises(ExpectationError):
        assert_snapshot(path, "second")
    assert path.read_text() == "first\n"
    assert assert_snapshot(path, "second", update=True) == "updated"
    assert path.read_text() == "second\n"
    assert [file.name for file in path.parent.iterdir()] == ["one.txt"]


def test_a_change_is_shown_as_a_difference_with_the_place_and_the_next_step(tmp_path):
    path = tmp_path / "p.txt"
    assert_snapshot(path, "one\ntwo\nthree\n", update=True)
    with pytest.raises(ExpectationError) as caught:
        assert_snapshot(path, "one\n2\x1b[31m\nthree\n", how="pytest --again")
    assert "first in line 2" in caught.value.summary
    assert "-two\n+2\\x1b[31m\n three" in caught.value.seen
    assert caught.value.hint.endswith("pytest --again")


@pytest.mark.parametrize(
    ("stored", "now", "line"), [("a", "b", 1), ("a", "a\n", 2), ("a\nb", "a", 2), ("a\nb\n", "a\nb", 3)]
)
def test_the_first_line_that_differs_is_named(tmp_path, stored, now, line):
    assert_snapshot(tmp_path / "s", stored, update=True)
    with pytest.raises(ExpectationError, match=f"first in line {line}\n"):
        assert_snapshot(tmp_path / "s", now)


def test_a_very_long_difference_is_cut(tmp_path):
    assert_snapshot(tmp_path / "s", "\n".join(f"a{n}" for n in range(500)), update=True)
    with pytest.raises(ExpectationError, match=r"\.\.\. \d+ more lines") as caught:
        assert_snapshot(tmp_path / "s", "\n".join(f"b{n}" for n in range(500)))
    assert len(str(caught.value).splitlines()) < 140


@given(st.text())
def test_a_text_comes_back_as_it_was_and_any_other_text_is_a_change(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("snap") / "s.txt"
    assert_snapshot(path, text, update=True)
    assert assert_snapshot(path, text) == "same"
    with pytest.raises(ExpectationError):
        assert_snapshot(path, f"{text}!")
    with pytest.raises(ExpectationError):
        assert_snapshot(path, f"{text}\n")


def test_half_a_surrogate_pair_can_be_stored(tmp_path):
    assert_snapshot(tmp_path / "s", "a\ud800b", update=True)
    assert assert_snapshot(tmp_path / "s", "a\ud800b") == "same"


def test_a_checkout_with_other_ends_of_lines_is_no_change(tmp_path):
    (tmp_path / "s").write_bytes(b"one\r\ntwo\r\n")
    assert assert_snapshot(tmp_path / "s", "one\ntwo") == "same"


def test_a_file_that_cannot_be_read_or_written_is_a_problem_of_the_machine(tmp_path):
    (tmp_path / "s").write_bytes(b"\xff\xfe")
    with pytest.raises(EnvironmentProblem, match="cannot be read"):
        assert_snapshot(tmp_path / "s", "x")
    with pytest.raises(EnvironmentProblem, match="cannot be read"):
        assert_snapshot(tmp_path, "x", update=True)
    with pytest.raises(EnvironmentProblem, match="cannot be"):
        assert_snapshot(tmp_path / "s" / "below", "x", update=True)


def test_a_secret_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "correct-horse-battery")
    with pytest.raises(ScriptError, match="would hold a secret") as caught:
        assert_snapshot(tmp_path / "s", "the key is correct-horse-battery", update=True)
    assert "correct-horse" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    replace = {"correct-horse-battery": "<key>"}
    assert_snapshot(tmp_path / "s", "the key is correct-horse-battery", update=True, replace=replace)
    with pytest.raises(ExpectationError) as changed:
        assert_snapshot(tmp_path / "s", "the key is correct-horse-battery")
    assert "correct-horse" not in str(changed.value)


def test_writers_at_the_same_time_leave_a_whole_file(tmp_path):
    texts = [letter * 200_000 for letter in "abcd"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: assert_snapshot(tmp_path / "s", text, update=True), texts * 5))
    assert (tmp_path / "s").read_text().removesuffix("\n") in texts
    assert [file.name for file in tmp_path.iterdir()] == ["s"]


def test_a_request_shows_model_settings_tools_and_messages_and_ids_are_numbered():
    assert snapshot_text(REQUEST).splitlines() == [
        "model: gpt-4o",
        "max_tokens: 100",
        "metadata: {",
        '  "a": 1',
        "}",
        "temperature: 0.2",
        "=== tool read_file",
        "  Reads a file.",
        "  {",
        '    "type": "object",',
        '    "properties": {',
        '      "path": {',
        '        "type": "string"',
        "      }",
        "    }",
        "  }",
        "=== system",
        "  You are terse.",
        "",
        "  === user",
        "  is not a heading here.",
        "=== user",
        "  What is in a.txt?",
        "=== assistant",
        "  I look.",
        "--- call #1: read_file",
        "  {",
        '    "path": "a.txt",',
        '    "lines": [',
        "      1,",
        "      2",
        "    ]",
        "  }",
        "=== tool",
        "--- result of #1 (error)",
        "  no such file",
    ]


def test_every_kind_of_part_is_shown():
    parts = (
        Thinking(text="hm"),
        Text(text="see"),
        Opaque(type="image", data={"url": "x"}),
        ToolResult(call_id="lost", text="r", name="look", extra=({"type": "image"},)),
    )
    shown = snapshot_text(Message(role="user", parts=parts))
    for line in (
        "--- thinking",
        "  hm",
        "  see",
        "--- image",
        "--- result of no call: look",
        '    "url": "x"',
    ):
        assert line in shown.splitlines()


def test_two_conversations_that_differ_in_ids_alone_have_one_text():
    def talk(one, two):
        return [assistant("", call("a", id=one), call("b", id=two)), tool(one, "1"), tool(two, "2")]

    assert snapshot_text(talk("x", "y")) == snapshot_text(talk("p", "q"))
    swapped = [*talk("x", "y")[:1], tool("y", "1"), tool("x", "2")]
    assert snapshot_text(talk("x", "y")) != snapshot_text(swapped)


def test_what_changes_from_run_to_run_is_replaced(tmp_path):
    text = f"{tmp_path}/src in {tmp_path}, id 4711"
    replace = {tmp_path: "<project>", f"{tmp_path}/src": "<source>", re.compile(r"id \d+"): "id <n>"}
    assert snapshot_text(text, replace=replace) == "<source> in <project>, id <n>"
    with pytest.raises(ScriptError, match="empty text"):
        snapshot_text(text, replace={"": "x"})


@pytest.mark.parametrize("thing", [42, None, ["text"], {"role": "user"}, b"bytes"])
def test_what_is_no_text_is_refused(thing):
    with pytest.raises(ScriptError, match="cannot be a snapshot"):
        snapshot_text(thing)
