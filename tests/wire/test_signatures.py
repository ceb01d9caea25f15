"""Thinking goes back as it came: what nobody has issued is refused as the provider does, with its own client."""

from __future__ import annotations

from typing import Any

import anthropic
from hypothesis import given
from hypothesis import strategies as st

from soundstage.models import BlockSpec, Reply, Script, load_script
from soundstage.wire._signatures import sign, verifies
from support.wires import run, serving

THINKING = Reply(blocks=(BlockSpec(thinking="let me see"), BlockSpec(text="hello")))


def thinking(text: str, **fields: str) -> dict[str, str]:
    return {"type": "thinking", "thinking": text, **fields}


def ask(script: Script, *histories: list[dict[str, Any]], answers: int | None = None) -> list[str]:
    """Send each history with a message behind it; return the texts of the answers, or the refusals."""
    found = []

    async def main():
        async with serving(script, answers=answers) as served:
            async with anthropic.AsyncAnthropic(
                base_url=served.server.anthropic_url, api_key="test", max_retries=0
            ) as client:
                for content in histories:
                    messages = [
                        {"role": "user", "content": "hi"},
                        {"role": "assistant", "content": content},
                        {"role": "user", "content": "go on"},
                    ]
                    try:
                        answer = await client.messages.create(model="m", max_tokens=99, messages=messages)
                        found.append("".join(part.text for part in answer.content if part.type == "text"))
                    except anthropic.BadRequestError as error:
                        found.append(error.body["error"]["message"])

    run(main())
    return found


def scripted(reply: Any = THINKING, **options: Any) -> Script:
    script = Script(**options)
    script.on(user="go on").reply(reply)
    return script


def test_thinking_that_nobody_has_issued_is_refused_with_its_place():
    text = {"type": "text", "text": "x"}
    made_up, empty, changed, other = ask(
        scripted(),
        [text, thinking("hm", signature="made up")],
        [thinking("hm", signature="")],
        [thinking("changed", signature=sign("let me see"))],
        [{"type": "redacted_thinking", "data": "made up"}],
    )
    assert made_up.startswith("messages.1.content.1: Invalid `signature` in `thinking` block")
    assert "check_signatures: false" in made_up
    assert empty.startswith("messages.1.content.0: Invalid `signature` in `thinking` block")
    assert changed.startswith("messages.1.content.0: Invalid `signature` in `thinking` block")
    assert other.startswith("messages.1.content.0: Invalid `data` in `redacted_thinking` block")


def test_without_a_signature_thinking_is_refused_as_a_field_that_is_required():
    (refusal,) = ask(scripted(check_signatures=False), [thinking("hm")])
    assert refusal == "messages.1.content.0.thinking.signature: Field required"


def test_thinking_as_it_came_is_taken_and_so_is_it_without_its_words():
    assert ask(
        scripted(),
        [thinking("let me see", signature=sign("let me see"))],
        [thinking("", signature=sign("let me see"))],
    ) == ["hello", "hello"]


def test_a_signature_that_a_rule_writes_itself_is_taken_at_any_server_of_the_script():
    written = Reply(
        blocks=(
            BlockSpec(thinking="hm", signature="mine"),
            BlockSpec(opaque={"type": "redacted_thinking", "data": "sealed"}),
            BlockSpec(text="hello"),
        )
    )
    back = [thinking("hm", signature="mine"), {"type": "redacted_thinking", "data": "sealed"}]
    assert ask(scripted(written), back) == ["hello"]


def test_a_signature_that_a_function_has_answered_is_taken_until_it_is_let_go():
    numbers = iter(range(9))

    def answer(_: Any) -> Reply:
        seal = f"seal {next(numbers)}"
        return Reply(blocks=(BlockSpec(thinking="hm", signature=seal), BlockSpec(text="hello")))

    text = [{"type": "text", "text": "x"}]
    first = [thinking("hm", signature="seal 0")]
    assert ask(scripted(answer), first)[0].startswith("messages.1.content.0: Invalid")
    numbers = iter(range(9))
    assert ask(scripted(answer), text, first) == ["hello", "hello"]
    numbers = iter(range(9))
    assert ask(scripted(answer), text, text, first, answers=1)[2].startswith("messages.1.content.0: Invalid")


def test_a_script_may_say_that_histories_are_written_by_hand(tmp_path):
    back = [thinking("hm", signature="made up"), {"type": "redacted_thinking", "data": "x"}]
    assert ask(scripted(check_signatures=False), back) == ["hello"]
    file = tmp_path / "script.yaml"
    file.write_text("check_signatures: false\nrules:\n  - when: {user: go on}\n    reply: hello\n")
    assert ask(load_script(file), back) == ["hello"]


@given(st.text(min_size=1), st.text())
def test_a_signature_fits_its_own_thinking_and_no_other(text, other):
    assert verifies(text, sign(text))
    assert verifies("", sign(text))
    assert not verifies(text, other)
    assert verifies(other, sign(text)) is (other in ("", text))
