"""The keywords of scripts have types: mypy finds a misspelt one, and editors complete them."""

from __future__ import annotations

import subprocess
import sys

from soundstage.models import Reply
from soundstage.models._conditions import When
from soundstage.models._typing import Conditions, ReplyFields

RIGHT = """
from soundstage import Script
from soundstage.match import Contains

script = Script()
script.on(user="hi", iteration=1, tool_result=True, header={"x-team": "red"}, priority=3).reply("hello", delay=0.5)
script.on(user=Contains("hi"), system=lambda text: "you" in text).reply(
    tool_calls=[{"name": "shell", "arguments": {"command": "make"}}], usage={"input_tokens": 3}
)
script.on(agent="executor").reply({"error": {"status": 529}})
script.on(agent="tester").reply(TimeoutError("slow"))
script.on(agent="writer").reply(lambda request: f"{len(request.messages)} messages")
conditions: dict[str, str] = {}
"""
WRONG = {
    'script.on(usr="hi").reply("x")': "usr",
    'script.on(iteration="first").reply("x")': "iteration",
    'script.on(user="hi").reply("x", dealy=3)': "dealy",
    'script.on(user="hi").reply(text=3)': "text",
    'script.on(user="hi").reply(3)': "reply",
}


def test_every_condition_and_every_field_of_a_reply_has_a_type():
    assert set(Conditions.__annotations__) == set(When.__struct_fields__)
    assert set(ReplyFields.__annotations__) == set(Reply.__struct_fields__)


def test_mypy_takes_what_is_right_and_finds_what_is_misspelt_or_of_another_type(tmp_path):
    path = tmp_path / "scripts.py"
    path.write_text(RIGHT + "\n".join(WRONG) + "\n")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports=silent",
        "--cache-dir",
        tmp_path / "cache",
        path,
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    errors = [line for line in said.splitlines() if ": error:" in line]
    first = RIGHT.count("\n") + 1
    assert [int(line.split(":")[1]) for line in errors] == list(range(first, first + len(WRONG))), said
    for line, word in zip(errors, WRONG.values(), strict=True):
        assert word in line, line
