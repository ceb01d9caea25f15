"""The interface behind a server: a script, a tape, or a real server answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from soundstage.mcp._answer import Json, Mishap


class Served(NamedTuple):
    """The result of a request, unless it is an `RpcError`.

    Args:
        result: the result as the protocol has it.
        served_by: where it comes from, in words.
        delay: seconds until it is there.
        mishap: what goes wrong on the way back.
    """

    result: Json
    served_by: str = ""
    delay: float = 0.0
    mishap: Mishap | None = None


class Backend(Protocol):
    """Answers the requests of clients."""

    async def initialize(self, params: Json) -> Json:
        """The result of the handshake, without the version, which the session agrees on."""
        ...

    async def serve(self, method: str, params: Json) -> Served:
        """The answer to a request.

        Raises:
            RpcError: where it is an error.
        """
        ...


Tell = Callable[[str, dict[str, Any]], None]
"""Gets the method and the params of a notification."""
