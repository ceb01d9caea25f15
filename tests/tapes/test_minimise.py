"""The shortest tape with which a program still fails: nothing that is left can be taken away."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from soundstage.messages import ModelRequest, ModelResponse, Text, user
from soundstage.models import CallSpec, Reply, script_problems
from soundstage.tapes import RecordedExchange, Tape
from soundstage.tapes._minimise import minimised, shortest
from soundstage.tapes._to_script import DraftRule
from support.programs import ASK

AGENT = (
    ASK
    + """
for prompt in ("one", "two", "three", "four"):
    if "bad" in ask([{"role": "user", "content": prompt}]):
        raise SystemExit("the reply is bad")
"""
)


@given(wanted=st.sets(st.integers(0, 29), min_size=1, max_size=4))
def test_all_that_is_left_of_a_list_is_needed(wanted):
    assert shortest(range(30), wanted.issubset) == sorted(wanted)


def test_nothing_is_left_where_nothing_is_needed():
    def always(_part):
        return True

    assert shortest([1, 2, 3], always) == []


def test_calls_and_text_that_the_failure_does_not_need_are_taken_away():
    calls = tuple(CallSpec(name=name) for name in ("look", "write", "run"))
    rules = [
        DraftRule({"user": "a"}, Reply(text="hello"), (1,)),
        DraftRule({"user": "b"}, Reply(text="long words", tool_calls=calls), (2,)),
    ]

    def fails(tried):
        return any(call.name == "write" for rule in tried for call in rule.reply.tool_calls)

    assert [rule.reply for rule in minimised(rules, fails)] == [Reply(tool_calls=(CallSpec(name="write"),))]


def test_conditions_that_the_failure_does_not_need_are_dropped_but_for_one():
    when = {"user": "weather", "agent": "scout", "step": 3}
    rules = [DraftRule(when, Reply(text="a"), (1,)), DraftRule({"user": "b"}, Reply(text="b"), (2,))]

    def fails(tried):
        return len(tried) == 2 and "agent" in tried[0].when

    assert [rule.when for rule in minimised(rules, fails)] == [{"agent": "scout"}, {"user": "b"}]
    assert [rule.when for rule in minimised(rules, lambda tried: len(tried) == 2)] == [
        {"step": 3},
        {"user": "b"},
    ]


def test_the_shortest_tape_of_a_program_that_fails_is_written(tmp_path):
    tape = Tape.create(tmp_path / "t.tape")
    for number, (prompt, text) in enumerate(
        zip(("one", "two", "three", "four"), ("good", "fine", "this is a bad reply", "good"), strict=True), 1
    ):
        request = ModelRequest(model="m", messages=(user(prompt),), format="openai-chat")
        response = ModelResponse(parts=(Text(text=text),), model="m")
        tape.append(RecordedExchange(number=number, request=request, response=response))
    (tmp_path / "agent.py").write_text(AGENT)
    command = [
        sys.executable,
        "-m",
        "soundstage.cli",
        "tape",
        "minimise",
        "t.tape",
        "--",
        sys.executable,
        "agent.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 of 4 rule(s)" in done.stdout
    assert "still exit code 1: the reply is bad" in done.stdout
    texts = [one.response.text for one in Tape.load(tmp_path / "t.min.tape").exchanges]
    assert texts == ["ok", "ok", " bad "]
    assert script_problems(tmp_path / "t.min.yaml") == []
