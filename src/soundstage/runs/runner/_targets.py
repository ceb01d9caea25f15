"""Targets: what a runner can drive, each with one way to begin, to be asked, and to end.

    a driver with sessions      `ClaudeCode`, `ClaudeSession`: the prompt, whole
    a program                   `Command`: each piece is a line of its input, which then ends; its standard output
    a program on a terminal     `Terminal`: typed piece by piece, then Enter; it has to exit; its last screen
    an async function           `async def agent(prompt, run)`: the prompt as it was given; what it returns
    a function that makes one   `def target(config)`: called anew for each attempt, with the `RunConfig`

A driver that does not run yet is started and stopped. One that runs is left running, unless the run is aborted: then it
is stopped too, because nobody can know what it would do next.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from soundstage.clock import Clock
from soundstage.drivers import Command, DriverSession, DriverTurn
from soundstage.errors import ConfigError, WrongTypeError
from soundstage.journal import Journal, MessageReceived, MessageSent
from soundstage.lifecycle import Daemon, Status
from soundstage.runs.runner._config import RunConfig
from soundstage.runs.runner._prompt import PromptPieces, joined


class AgentReply(NamedTuple):
    """The answer of a target to a prompt."""

    text: str
    is_error: bool = False


class RunContext(NamedTuple):
    """The surroundings of an agent in process.

    Args:
        journal: of the run: append what the agent does.
        clock: of the run.
        config: with what it is to be started.
        attempt: from 1.
    """

    journal: Journal
    clock: Clock
    config: RunConfig
    attempt: int


class TargetPeer(ABC):
    """One kind of target."""

    def __init__(self, target: Any) -> None:
        self.target = target

    @abstractmethod
    async def ask(self, prompt: str | PromptPieces, run: RunContext) -> AgentReply:
        """Hand the prompt over and wait for the answer."""

    @property
    def runs(self) -> bool:
        """Whether the target has been started, by whoever made it."""
        return self.target.status is Status.RUNNING

    async def stop(self) -> None:
        """End the target, with all that it has started."""
        await self.target.stop()


class _SessionPeer(TargetPeer):
    async def ask(self, prompt: str | PromptPieces, run: RunContext) -> AgentReply:
        turn: DriverTurn = await self.target.prompt(
            await joined(prompt), within=run.config.session_timeout or math.inf
        )
        return AgentReply(turn.text, turn.is_error)

    @property
    def runs(self) -> bool:
        return not isinstance(self.target, Daemon) or super().runs

    async def stop(self) -> None:
        await (self.target.stop if isinstance(self.target, Daemon) else self.target.end)()


class _CommandPeer(TargetPeer):
    async def ask(self, prompt: str | PromptPieces, run: RunContext) -> AgentReply:
        program: Command = self.target
        async for piece in _pieces(prompt):
            await program.send(piece)
        program.end_input()
        await program.wait(within=run.config.session_timeout or math.inf)
        return AgentReply("\n".join(program.lines()))


class _TerminalPeer(TargetPeer):
    async def ask(self, prompt: str | PromptPieces, run: RunContext) -> AgentReply:
        terminal: TypedProgram = self.target
        async for piece in _pieces(prompt):
            await terminal.send(piece)
        await terminal.press("Enter")
        await terminal.expect_exit(within=run.config.session_timeout or math.inf)
        return AgentReply(terminal.screen.text)


class FunctionPeer(TargetPeer):
    """An async function."""

    async def ask(self, prompt: str | PromptPieces, run: RunContext) -> AgentReply:
        name = name_of(self.target)

        def received(text: str) -> None:
            run.journal.append(MessageReceived(text=text, channel=name, sender="test"), source=name)

        if isinstance(prompt, str):
            received(prompt)
        else:
            prompt.told = received
        answer = await self.target(prompt, run)
        reply = _reply(answer, name)
        run.journal.append(MessageSent(text=reply.text, channel=name, sender=name), source=name)
        return reply

    @property
    def runs(self) -> bool:
        return False  # between two calls

    async def stop(self) -> None: ...  # it has been cancelled; nothing else of it is ours


def _reply(answer: object, name: str) -> AgentReply:
    if answer is None or isinstance(answer, str):
        return AgentReply(answer or "")
    text, is_error = getattr(answer, "text", None), getattr(answer, "is_error", False)
    if not isinstance(text, str) or not isinstance(is_error, bool):
        raise WrongTypeError(
            f"{name} returned no answer",
            expected="a text, None, or something with `text` and `is_error`",
            seen=repr(answer),
        )
    return AgentReply(text, is_error)


async def _pieces(prompt: str | PromptPieces) -> AsyncIterator[str]:
    if isinstance(prompt, str):
        yield prompt
    else:
        async for piece in prompt:
            yield piece


@runtime_checkable
class TypedProgram(Protocol):
    """A program on a terminal, such as `soundstage.terminal.Terminal`."""

    @property
    def screen(self) -> Any:
        """The screen; `text` is it in words."""
        ...

    async def send(self, text: str) -> int:
        """Type a text."""
        ...

    async def press(self, *keys: str) -> int:
        """Press keys."""
        ...

    async def expect_exit(self, code: int | None = 0, *, within: float | None = None) -> int:
        """Wait until it has exited."""
        ...


class AgentFunction(Protocol):
    """An agent in process: gets the prompt, a text or an async iterator of its pieces, and what is around it.

    It returns its answer: a text, or something with `text` and `is_error`.
    """

    def __call__(self, prompt: Any, run: RunContext, /) -> Awaitable[object]:
        """Answer a prompt."""
        ...


TargetMaker = Callable[[RunConfig], DriverSession | Command | TypedProgram | AgentFunction]
"""A function that makes a target for one attempt."""
AgentTarget = DriverSession | Command | TypedProgram | AgentFunction | TargetMaker
"""Everything that a runner can drive."""


def name_of(target: object) -> str:
    """How messages and journal call a target."""
    for name in ("name", "__name__"):
        if isinstance(found := getattr(target, name, None), str) and found:
            return found
    return type(target).__name__


def require_no_start(target: object, config: RunConfig) -> None:
    """Refuse options for the start of a target that has been made already.

    Raises:
        ConfigError: if there are any; the message has the path and the source of the first.
    """
    if not config.start:
        return
    path = "model" if config.model else f"options.{next(iter(config.options))}"
    raise ConfigError(
        f"{config.source(path)}.{path}: {name_of(target)} has been made already, and cannot be started with it",
        expected="a function that makes the target, so that it is started with exactly this",
        hint="AgentRunner(lambda config: ClaudeCode(journal, server, workspace, **config.start), ...)",
    )


def peer_of(target: object, *, made_by: str = "") -> TargetPeer | None:
    """How a target is driven; `None` for a function that makes one.

    Args:
        target: what was given, or made.
        made_by: the name of the function that made it.

    Raises:
        WrongTypeError: if it is none of the kinds above.
    """
    for fits, kind in _KINDS:
        if fits(target):
            return kind(target)
    if callable(target) and not made_by:
        return None
    raise WrongTypeError(
        f"{made_by} made no target" if made_by else "this is no target",
        expected="a driver, a Command, a Terminal, `async def agent(prompt, run)`, "
        "or a function of the configuration that makes one",
        seen=repr(target),
    )


def _is_function(target: object) -> bool:
    call = getattr(target, "__call__", None)  # noqa: B004  (an object may have an async one)
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(call)


_KINDS: Final[tuple[tuple[Callable[[object], bool], type[TargetPeer]], ...]] = (
    (lambda target: isinstance(target, Command), _CommandPeer),
    (lambda target: isinstance(target, TypedProgram), _TerminalPeer),
    (lambda target: inspect.iscoroutinefunction(getattr(target, "prompt", None)), _SessionPeer),
    (_is_function, FunctionPeer),
)


@asynccontextmanager
async def opened(peer: TargetPeer) -> AsyncIterator[TargetPeer]:
    """A target that is ready to be asked. One that was not running is stopped at the end, whatever happens."""
    target = peer.target
    if not isinstance(target, Daemon) or peer.runs:
        yield peer
        return
    await target.start()
    try:
        yield peer
    except BaseException as error:
        try:
            await target.stop()
        except Exception as another:  # noqa: BLE001  (the first error is the one to be raised)
            error.add_note(f"and when it was stopped: {type(another).__name__}: {another}")
        raise
    await target.stop()
