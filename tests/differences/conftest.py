"""Requests to compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soundstage.messages import Message, ModelRequest, ToolDefinition
from support.scenes import traced

__all__ = ["traced"]


def _request(*messages: Message, tools: tuple[Any, ...] = (), **fields: Any) -> ModelRequest:
    offered = (ToolDefinition(name=tool) if isinstance(tool, str) else tool for tool in tools)
    return ModelRequest(**{"model": "m", "messages": messages, "tools": tuple(offered), **fields})


@pytest.fixture(scope="session")
def request_of() -> Callable[..., ModelRequest]:
    """Builds a request: `request_of(user("hello"), tools=("look",), settings={...})`."""
    return _request
