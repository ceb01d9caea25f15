"""Agents of evals: a program, a function, a model alone, Claude Code. Each has a conversation in a place of its own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from soundstage.drivers import Command
from soundstage.errors import AppError, InvalidStateError, ScriptError
from soundstage.evals._made_of import code_of, content_of, made_of
from soundstage.journal import Journal
from soundstage.messages import Message, ModelRequest, ToolCall, system, user
from soundstage.models import Model, complete
from soundstage.wire import CODECS, ModelServer
from soundstage.worlds import Workspace

INPUT: Final = "{input}"


class EvalPlace(NamedTuple):
    """The surroundings of an agent in one run.

    Args:
        journal: of the run.
        model: the model, for agents in process; what is asked of it is in the journal.
        port: the model on a port; none for a model alone, which needs none. `server` has it.
        workspace: its folder.
        environment: variables that point a program at the server.
        settled: told of the home of a program, once there is one.
        number: of the run, among those of its case, from 1.
        seed: of whatever the agent draws by lot: another one for each case and number, the same in every eval. A
            program has it as `SOUNDSTAGE_SEED`.
        said: inputs and answers of the conversation so far.
    """

    journal: Journal
    model: Model
    port: ModelServer | None
    workspace: Workspace
    environment: Mapping[str, str]
    settled: Callable[[Path], None]
    number: int
    seed: int
    said: tuple[tuple[str, str], ...] = ()

    @property
    def server(self) -> ModelServer:
        """The model on a port.

        Raises:
            InvalidStateError: in the run of a model alone.
        """
        if self.port is None:
            raise InvalidStateError("a model alone is not on a port", hint="ask `place.model`")
        return self.port


Respond = Callable[[str], Awaitable[str]]
"""Answers the inputs of one conversation, one after the other."""


class EvalAgent(Protocol):
    """Whoever answers the inputs of cases.

    An attribute `made_of` (bytes) may have the content of the files that it consists of: if it changes, the suite has.
    """

    def conversation(self, place: EvalPlace) -> AbstractAsyncContextManager[Respond]:
        """Begin a conversation of one run; what it gives answers each input. It ends with the block."""
        ...


class CommandAgent(msgspec.Struct, frozen=True):
    """A program: its words, with the input in the place of `{input}`, or on standard input. Its output is the answer.

    It is started anew for each input of a conversation; what it shall remember stands in the workspace.

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

    @asynccontextmanager
    async def conversation(self, place: EvalPlace) -> AsyncIterator[Respond]:
        """Run the program on each input. `ExpectationError` if it exits with another code."""
        yield lambda prompt: self._answer(prompt, place)

    @property
    def made_of(self) -> bytes:
        """The content of the files that its words name."""
        return b"\0".join(content_of(self._found(word)) for word in self.argv)

    async def _answer(self, prompt: str, place: EvalPlace) -> str:
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
    """A function of ours: it gets the input, and the place if it takes a second argument. It returns the answer.

    It is called for each input of a conversation; `place.said` has what was said before.

    Args:
        function: it may be asynchronous.
        given: its arguments after `*`, by name.
    """

    function: Callable[..., Any]
    given: Mapping[str, Any] = {}

    @asynccontextmanager
    async def conversation(self, place: EvalPlace) -> AsyncIterator[Respond]:
        """Call the function for each input; one that is not asynchronous, in a thread."""
        place.settled(Path.home())
        said: list[tuple[str, str]] = []

        async def respond(prompt: str) -> str:
            answer = await self._answer(prompt, place._replace(said=tuple(said)))
            said.append((prompt, answer))
            return answer

        yield respond

    @property
    def made_of(self) -> bytes:
        """The file that defines the function; what that imports does not belong to it."""
        return code_of(self.function)

    async def _answer(self, prompt: str, place: EvalPlace) -> str:
        parameters = inspect.signature(self.function).parameters.values()
        takes = sum(one.kind is not one.KEYWORD_ONLY for one in parameters)
        arguments = (prompt, place)[:takes]
        try:
            if inspect.iscoroutinefunction(self.function):
                answer = await self.function(*arguments, **self.given)
            else:
                if takes > 1:  # a folder that is made in another thread would outlive a signal that ends us
                    _ = place.workspace.root
                answer = await asyncio.to_thread(self.function, *arguments, **self.given)
        except SystemExit as error:  # it would end the eval
            raise AppError("the agent has asked the program to end", seen=f"SystemExit: {error}") from None
        if not isinstance(answer, str):
            raise ScriptError(
                f"{self.function.__name__} returned no answer", expected="a text", seen=repr(answer)
            )
        return answer


class ModelAgent(msgspec.Struct, frozen=True):
    """A model alone: each input is a message of the user, its reply the answer; tool calls without a text, as JSON.

    Args:
        model: its name.
        settings: of each request, by the names of the format, such as `temperature`; `tools` are
            those of OpenAI's chat.
        chat: whether an input is several messages: a JSON list, as OpenAI's chat has them.
        system: the system text; none if empty.
    """

    model: str
    settings: Mapping[str, Any] = {}
    chat: bool = False
    system: str = ""

    @asynccontextmanager
    async def conversation(self, place: EvalPlace) -> AsyncIterator[Respond]:
        """Ask the model once for each input, with the conversation so far."""
        messages: list[Message] = [system(self.system)] if self.system else []

        async def respond(prompt: str) -> str:
            request = self._request(prompt)
            messages.extend(request.messages)
            reply = await complete(place.model, msgspec.structs.replace(request, messages=tuple(messages)))
            messages.append(reply.message())
            return reply.text if reply.text or not reply.tool_calls else _calls(reply.tool_calls)

        yield respond

    def _request(self, prompt: str) -> ModelRequest:
        settings = dict(self.settings)
        if not self.chat and "tools" not in settings:
            return ModelRequest(model=self.model, messages=(user(prompt),), settings=settings)
        messages = msgspec.json.decode(prompt) if self.chat else [{"role": "user", "content": prompt}]
        asked = {"model": self.model, "messages": messages}
        asked |= {name: settings.pop(name) for name in ("tools", "tool_choice") if name in settings}
        found = CODECS["openai-chat"].decode(msgspec.json.encode(asked), {})
        return msgspec.structs.replace(found, format="", settings={**found.settings, **settings})


def _calls(calls: Sequence[ToolCall]) -> str:
    """Tool calls as JSON, as OpenAI's chat has them."""
    told = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments_json},
        }
        for call in calls
    ]
    return msgspec.json.encode(told).decode()


class PromptedAgent(msgspec.Struct, frozen=True):
    """An agent that gets each input within a text, in the place of its `{input}`.

    Args:
        agent: the agent.
        prompt: the text.
    """

    agent: EvalAgent
    prompt: str

    @property
    def made_of(self) -> bytes:
        """That of the agent, and the text."""
        return made_of(self.agent) + self.prompt.encode()

    @asynccontextmanager
    async def conversation(self, place: EvalPlace) -> AsyncIterator[Respond]:
        """A conversation of the agent."""
        async with self.agent.conversation(place) as respond:
            yield lambda prompt: respond(self.prompt.replace(INPUT, prompt))


def is_model_alone(agent: EvalAgent) -> bool:
    """Whether an agent asks the model in process, with or without a prompt around its inputs; it needs no port."""
    return isinstance(agent.agent if isinstance(agent, PromptedAgent) else agent, ModelAgent)


class ClaudeCodeAgent(msgspec.Struct, frozen=True):
    """The real Claude Code CLI, with options of `soundstage.claude_code.ClaudeCode`."""

    options: Mapping[str, Any] = {}

    @asynccontextmanager
    async def conversation(self, place: EvalPlace) -> AsyncIterator[Respond]:
        """Give it each input, in a session of its own."""
        from soundstage.claude_code import ClaudeCode

        agent = ClaudeCode(place.journal, place.server, place.workspace, **self.options)

        async def respond(prompt: str) -> str:
            return (await agent.prompt(prompt, within=float("inf"))).text

        await agent.start()
        try:
            place.settled(agent.home)
            yield respond
        finally:
            await agent.stop()
