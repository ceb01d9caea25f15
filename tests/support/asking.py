"""Requests in one line, and answers without an event loop of one's own: for tests of models and of tapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soundstage.clock import run
from soundstage.messages import Caller, Message, ModelRequest, ModelResponse, ToolDefinition, system, user
from soundstage.models import Model, complete


def _request(
    text: str | None = "hello",
    *messages: Message,
    prompt: str = "",
    tools: tuple[str, ...] = (),
    model: str = "m",
    stream: bool = False,
    purpose: str = "main",
    wire: str = "",
    settings: dict[str, Any] | None = None,
    **caller: Any,
) -> ModelRequest:
    said = (user(text),) if text is not None else ()
    return ModelRequest(
        model=model,
        messages=((system(prompt),) if prompt else ()) + said + messages,
        tools=tuple(ToolDefinition(name=name) for name in tools),
        stream=stream,
        purpose=purpose,
        format=wire,
        settings=settings or {},
        caller=Caller(**caller),
    )


@pytest.fixture(scope="session")
def request_of() -> Callable[..., ModelRequest]:
    """Builds a request: `request_of("hello", prompt="You are..", agent="executor")`."""
    return _request


@pytest.fixture(scope="session")
def ask() -> Callable[..., ModelResponse]:
    """The whole reply of a model on virtual time: `ask(model, "hello", agent="executor")`."""

    def asking(
        asked: Model, given: str | ModelRequest | None = "hello", /, *more: Any, **fields: Any
    ) -> ModelResponse:
        request = given if isinstance(given, ModelRequest) else _request(given, *more, **fields)
        return run(complete(asked, request))

    return asking
