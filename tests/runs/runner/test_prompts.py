"""Prompts in pieces: taken when the target asks, handed on as they come, and never sent twice."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import run
from soundstage.errors import ProviderError, WrongTypeError
from soundstage.journal import Journal, MessageReceived
from soundstage.runs import AgentRunner, RunAbortedError


class Pieces:
    """Pieces of a prompt, and a log of who did what with them."""

    def __init__(self, *pieces):
        self.pieces, self.log = pieces, []

    async def stream(self):
        try:
            for piece in self.pieces:
                self.log.append(f"given {piece}")
                yield piece
        finally:
            self.log.append("closed")


def ask(agent, prompt, **options):
    return run(AgentRunner(agent, journal=Journal(), **options).run(prompt))


def test_pieces_go_to_the_target_one_by_one_and_none_is_taken_before_it_is_wanted():
    pieces = Pieces("a", "b", "c")

    async def agent(prompt, context):
        assert pieces.log == [], "taken before anybody asked"
        async for piece in prompt:
            pieces.log.append(f"taken {piece}")
            await asyncio.sleep(1)
        return "".join(pieces.pieces)

    result = ask(agent, pieces.stream())
    assert result.output == "abc"
    received = [record.event.text for record in result.timeline if isinstance(record.event, MessageReceived)]
    assert received == ["a", "b", "c"], "each piece is on record"
    assert pieces.log == ["given a", "taken a", "given b", "taken b", "given c", "taken c", "closed"]


def test_a_session_that_takes_whole_prompts_gets_them_joined():
    class Session:
        async def prompt(self, text, *, within):
            self.got = text
            return type("Turn", (), {"text": text.upper(), "is_error": False})

    session = Session()
    assert ask(session, Pieces("he", "llo").stream()).output == "HELLO"
    assert session.got == "hello"


@pytest.mark.parametrize("taken", [0, 1])
def test_pieces_that_have_been_taken_are_not_sent_again_so_nothing_is_tried_again(taken):
    attempts = []

    async def agent(prompt, context):
        attempts.append(context.attempt)
        if taken:
            await anext(prompt)
        raise ProviderError("busy", status=529)

    with pytest.raises(ProviderError):
        ask(agent, Pieces("a", "b").stream())
    assert attempts == ([1] if taken else [1, 2, 3])


def test_pieces_that_nobody_takes_are_let_go_when_the_run_is_aborted():
    pieces = Pieces("a", "b")

    async def agent(prompt, context):
        await anext(prompt)
        await asyncio.Event().wait()

    async def main():
        stream = pieces.stream()
        with pytest.raises(RunAbortedError):
            await AgentRunner(agent, journal=Journal(), config={"timeout": 3}).run(stream)
        assert pieces.log == ["given a", "closed"], "closed with the run, not with the last reference"
        await stream.aclose()

    run(main())


@pytest.mark.parametrize("prompt", [None, 5, ["a"], b"a"])
def test_a_prompt_is_a_text_or_an_async_iterable_of_texts(prompt):
    async def agent(prompt, context):
        raise AssertionError("the target was asked")

    with pytest.raises(WrongTypeError, match="a prompt is a text"):
        ask(agent, prompt)


def test_a_piece_that_is_no_text_is_an_error_with_what_there_is():
    async def agent(prompt, context):
        return "".join([piece async for piece in prompt])

    with pytest.raises(WrongTypeError, match="a piece of a prompt") as caught:
        ask(agent, Pieces("a", 5).stream())
    assert caught.value.partial_result.status == "failed"
