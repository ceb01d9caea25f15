"""Agents of evals: a program, a function, a model alone, Claude Code. Each answers an input in a place of its own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from soundstage.drivers import Command
from soundstage.errors import ScriptError
from soundstage.journal import Journal
from soundstage.messages import ModelRequest, user
from soundstage.models import Model, complete
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace

INPUT: Final = "{input}"


class EvalPlace(NamedTuple):
    """The surroundings of an agent in one run.

    Args:
        journal: of the run.
        model: the model, for agents in process; what is asked of it is in the journal.
        server: the model on a port.
        workspace: its folder.
        environment: variables that point a program at the server.
        settled: told of the home of a program, once there is one.
    """

    journal: Journal
    model: Model
    server: ModelServer
    workspace: Workspace
    environment: Mapping[str, str]
    settled: Callable[[Path], None]


class EvalAgent(Protocol):
    """Whoever answers the inputs of cases."""

    async def answer(self, prompt: str, place: EvalPlace) -> str:
        """The answer to one input."""
        ...


class CommandAgent(msgspec.Struct, frozen=True):
    """A program: its words, with the input in the place of `{input}`, or on standard input. Its output is the answer.

    Args:
        argv: the words.
        folder: where words that are names of files there are looked up.
        code: the exit code that is no failure.
        allow: names of our variables that it gets.
    """

    argv: tuple[str, ...]
    folder: Path | None = None
    code: int = 0
    allow: tuple[str, ...] = ()

    async def answer(self, prompt: str, place: EvalPlace) -> str:
        """Run the program on one input.

        Raises:
            ExpectationError: if it exits with another code.
        """
        given = any(INPUT in word for word in self.argv)
        command = Command(
            [word.replace(INPUT, prompt) if INPUT in word else self._found(word) for word in self.argv],
            place.journal,
            cwd=place.workspace.root,
            environment=place.environment,
            allow=self.allow,
            stdin="" if given else prompt,
            code=self.code,
            name="agent",
        )
        await command.start()
        try:
            place.settled(command.home)
            await command.wait(within=float("inf"))
        finally:
            await command.stop()
        return "\n".join(command.lines())

    def _found(self, word: str) -> str:
        """The whole path of a file of the suite's folder; other words stay."""
        path = self.folder / word if self.folder is not None and word else None
        return str(path.resolve()) if path is not None and path.is_file() else word


class FunctionAgent(msgspec.Struct, frozen=True):
    """A function of ours: it gets the input, and the place if it takes a second argument. It returns the answer."""

    function: Callable[..., Any]

    async def answer(self, prompt: str, place: EvalPlace) -> str:
        """Call the function; one that is not asynchronous, in a thread."""
        takes = len(inspect.signature(self.function).parameters)
        arguments = (prompt, place)[:takes]
        if inspect.iscoroutinefunction(self.function):
            answer = await self.function(*arguments)
        else:
            answer = await asyncio.to_thread(self.function, *arguments)
        if not isinstance(answer, str):
            raise ScriptError(
                f"{self.function.__name__} returned no answer", expected="a text", seen=repr(answer)
            )
        return answer


class ModelAgent(msgspec.Struct, frozen=True):
    """A model alone: the input is its only message, its reply the answer."""

    model: str

    async def answer(self, prompt: str, place: EvalPlace) -> str:
        """Ask the model once."""
        request = ModelRequest(model=self.model, messages=(user(prompt),))
        return (await complete(place.model, request)).text


class ClaudeCodeAgent(msgspec.Struct, frozen=True):
    """The real Claude Code CLI, with options of `soundstage.claude_code.ClaudeCode`."""

    options: Mapping[str, Any] = {}

    async def answer(self, prompt: str, place: EvalPlace) -> str:
        """Give it one prompt, in a session of its own."""
        from soundstage.claude_code import ClaudeCode

        agent = ClaudeCode(place.journal, place.server, place.workspace, **self.options)
        await agent.start()
        try:
            turn = await agent.prompt(prompt, within=float("inf"))
        finally:
            await agent.stop()
        return turn.text
