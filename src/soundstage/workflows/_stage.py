"""Stages: the pieces of a workflow, as their author declares them."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from soundstage.errors import WrongTypeError, WrongValueError

if TYPE_CHECKING:
    from soundstage.workflows._context import WorkflowContext

LIMIT: Final = 10
Work = Callable[["WorkflowContext"], Awaitable[object]]
Question = Callable[["WorkflowContext"], "bool | Awaitable[bool]"]
Prompt = str | AsyncIterable[str]


class Until(msgspec.Struct, frozen=True):
    """The end of a repetition: a question after each run, and a limit.

    Args:
        predicate: gets the context, may be a coroutine function; true ends the repetition.
        limit: so many runs at most.

    Raises:
        ValueError: for a limit below 1.

    Example:
        >>> Until(lambda context: "all tests pass" in context.output, limit=3).limit
        3
    """

    predicate: Question
    limit: int = LIMIT

    def __post_init__(self) -> None:
        if type(self.limit) is not int or self.limit < 1:
            raise WrongValueError(
                "a stage cannot be repeated so often", expected="a limit of 1 or more", seen=repr(self.limit)
            )


class Stage(msgspec.Struct, frozen=True):
    """One stage of a workflow: a prompt for an agent, or a function of the context.

    Args:
        name: as messages, the journal and the page call it.
        work: the function. It may drive anything: a person on a terminal or in a Discord channel, an app in process,
            several runs of agents (`context.run_agent`). Instead of `prompt`.
        prompt: goes to an agent, whose run is the stage; a text, chunks, or a function of the context that gives one.
        target: the agent of the prompt: a driver, a session, a coroutine function, an `AgentRunner`. The context's,
            unless given.
        options: overrides for the runs of the prompt, as `AgentRunner.run` takes them.
        should_run: the gate: gets the context, may be a coroutine function; `False` skips the stage.
        until: repeats the stage.
        metadata: any JSON; it comes back in the result and the page.

    Raises:
        WrongValueError: without a name, without work, or with a prompt and work.

    Example:
        >>> Stage("plan", prompt="Write a plan.").name
        'plan'
        >>> Stage("build", prompt=lambda context: f"Do this: {context.output}").until
    """

    name: str
    work: Work | None = None
    prompt: Prompt | Callable[[WorkflowContext], Prompt] | None = None
    target: Any = None
    options: dict[str, Any] = {}
    should_run: Question | None = None
    until: Until | None = None
    metadata: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise WrongValueError("a stage has a name", seen=repr(self.name))
        if (self.work is None) == (self.prompt is None):
            raise WrongValueError(
                f"the stage {self.name!r} has {'no work' if self.work is None else 'two kinds of work'}",
                expected="a prompt or a function: Stage('plan', prompt='...') or Stage('plan', work=function)",
            )
        if self.work is not None and (self.target is not None or self.options):
            raise WrongValueError(
                f"the function of the stage {self.name!r} runs agents itself",
                hint="await context.run_agent(prompt, target=..., **options) in the function",
            )
        if self.work is not None and not callable(self.work):
            raise WrongTypeError(
                f"the work of the stage {self.name!r} is a function of the context", seen=repr(self.work)
            )


async def answer_of(question: Question, context: WorkflowContext) -> bool:
    """The answer to a question about the context, awaited if it has to be.

    Raises:
        WrongTypeError: for an answer that is neither true nor false.
    """
    answer = question(context)
    found = await answer if inspect.isawaitable(answer) else answer
    if not isinstance(found, bool):
        raise WrongTypeError(
            f"the answer of {getattr(question, '__qualname__', question)!r} is neither True nor False",
            seen=repr(found),
        )
    return found
