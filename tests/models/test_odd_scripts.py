"""Odd scripts: what cannot be used is named, nothing hangs or crashes, and what is loaded answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import SystemClock
from soundstage.errors import ModelError, ScriptError, ScriptLoadError
from soundstage.journal import Journal
from soundstage.messages import ModelRequest, ToolDefinition, user
from soundstage.models import JournaledModel, Script, ScriptedModel, complete, load_rules, load_script
from support.odd import SLOWEST, assert_readable, no_longer_than, odd, posted

WHEN = {
    "user": "/he(l+)o/i",
    "contains": ["a", "b"],
    "iteration": {"ge": 1},
    "tool": "weather",
    "not": {"system": "x"},
}
REPLY = {
    "text": "hi",
    "tool_calls": [{"name": "weather", "arguments": {"city": "Rome"}, "id": "c1"}],
    "usage": {"input_tokens": 3, "output_tokens": 2},
    "finish": "stop",
    "headers": {"x-a": "b"},
    "check_calls": False,
}
SCRIPT = {
    "version": 1,
    "strict": True,
    "agents": [
        {"name": "planner", "when": {"system": "You plan"}, "router": True, "phase": "/Phase: (\\w+)/"}
    ],
    "rules": [
        {"name": "first", "when": WHEN, "reply": REPLY, "priority": 3, "times": 2},
        {"when": {"user": "hello"}, "reply": "ho"},
        {"reply": {"error": {"status": 429, "type": "rate_limit_error", "message": "m", "retry_after": 1}}},
        {"when": {"user": "x"}, "reply": {"text": "abc", "fault": {"type": "cut", "after": 1}}},
        {"reply": {"blocks": [{"thinking": "hm"}, {"text": "t"}, {"tool_call": {"name": "weather"}}]}},
    ],
    "default": "nothing",
}
TRICKS = [
    "a: &a [x, x]\nb: &b [*a, *a]\nrules: [*b, *b]\n",
    "rules:\n  - when: {user: '/(a+)+$/'}\n    reply: x\n",
    "rules: !!python/object:os.system [x]\n",
    "? {a: b}\n: c\n",
    "rules:\n  - &r {reply: x}\n  - *r\n  - <<: *r\n",
    "%YAML 1.1\n---\nrules: []\n--- \nrules: []\n",
    "rules: [" * 50,
    "\ufeffrules: [{reply: x}]",
    "'\\ud800'",
]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A script as text: JSON, YAML, broken, or known to be nasty."""
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(st.sampled_from(TRICKS))
    if kind == 1:
        return draw(posted(SCRIPT)).decode("utf-8", "replace")
    if kind == 2:
        text = yaml.safe_dump(SCRIPT)
        start = draw(st.integers(0, len(text)))
        return (
            text[:start]
            + draw(st.text(":-&*!|>#[]{}\"'%@\n\t ax1", max_size=6))
            + text[start + draw(st.integers(0, 5)) :]
        )
    body = draw(odd(SCRIPT))
    return json.dumps(body) if kind == 3 else yaml.safe_dump(json.loads(json.dumps(body)))


@given(texts(), st.sampled_from(["hello", "x", "a" * 60 + "b", ""]))
def test_an_odd_script_is_refused_or_answers(text, words):
    script = Script()
    with no_longer_than(SLOWEST):
        try:
            load_rules(script, text, source="odd")
        except ScriptLoadError as error:
            assert error.problems
            assert len(str(error)) < 100_000
            return
        script.problems()
        asyncio.run(answers(script, words))


async def answers(script: Script, words: str) -> None:
    """Each request is answered, or fails as the script says."""
    journal = Journal(clock=SystemClock())
    model = JournaledModel(ScriptedModel(script), journal)
    request = ModelRequest(model="m", messages=(user(words),), tools=(ToolDefinition(name="weather"),))
    for _ in range(3):
        try:
            async with asyncio.timeout(0.05):  # a reply may take as long as its script says
                await complete(model, request)
        except (ModelError, ScriptError, TimeoutError, ConnectionError):
            pass
    assert_readable(journal)


@given(texts(), st.sampled_from(["odd.yaml", "odd.json", "odd"]))
def test_an_odd_script_file_is_refused_or_loaded(tmp_path_factory, text, name):
    path = Path(tmp_path_factory.getbasetemp()) / name
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with no_longer_than(SLOWEST):
        try:
            load_script(path)
        except ScriptLoadError as error:
            assert error.problems
