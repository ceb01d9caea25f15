"""The call that a tool is working on: it tells how far it is, logs, and asks the client for something.

How it works. Each request of a client is served in a task of its own, and the task knows its `McpCall`: a Python
function that is a tool, or a rule's answer, gets it by `this_call()`. What it tells and asks goes out on the stream of
its request, before the answer: over HTTP on the open answer, over stdio on the one pipe. The client's answer comes in
as a message of its own, with the id of the question, and wakes the function. When the request is cancelled or the
connection ends, so does the question.

Source: https://modelcontextprotocol.io/specification/2025-11-25 (basic/utilities/progress, server/utilities/logging,
client/sampling, client/elicitation, client/roots)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, Literal, Protocol, get_args

from soundstage.errors import ScriptError
from soundstage.mcp._answer import Json, text_block
from soundstage.mcp._events import McpClientAnswered, McpClientAsked, McpNotified
from soundstage.mcp._jsonrpc import Id, RpcAnswer, RpcError, notification_bytes, request_bytes

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: Final[tuple[str, ...]] = get_args(LogLevel)
LOGGED: Final = "notifications/message"
PROGRESS: Final = "notifications/progress"
Send = Callable[[bytes], None]
"""Sends one message on the stream of a request."""

_NEEDED: Final = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
"""The methods that a server may ask a client, and the capability that a client has to have declared."""


class _Core(Protocol):
    def tell(self, event: Any, cause: int | None = None) -> int: ...


class Questions:
    """The questions of a server to one client that have no answer yet.

    Args:
        core: where the journal is.
        connection: number of the connection.
    """

    def __init__(self, core: _Core, connection: int) -> None:
        self.capabilities: Json = {}
        self.level = ""
        self._core = core
        self._connection = connection
        self._open: dict[Id, asyncio.Future[RpcAnswer]] = {}
        self._asked = 0

    async def ask(self, method: str, params: Json, send: Send, cause: int | None) -> Json:
        """Ask the client, and wait for its answer.

        Raises:
            RpcError: if the client answers with an error, or has not said that it can be asked for this.
        """
        need = _NEEDED[method]
        if need not in self.capabilities:
            raise RpcError(-32601, f"the client has no {need}: it did not declare this capability")
        self._asked += 1
        identity = f"server-{self._asked}"
        answer: asyncio.Future[RpcAnswer] = asyncio.get_running_loop().create_future()
        self._open[identity] = answer
        asked = McpClientAsked(method=method, params=params, connection=self._connection)
        position = self._core.tell(asked, cause)
        send(request_bytes(identity, method, params))
        try:
            found = await answer
        finally:
            del self._open[identity]
        error = found.error or {}
        words = str(error.get("message", ""))
        result = found.result if isinstance(found.result, dict) else {}
        told = McpClientAnswered(method=method, result=result, error=words, connection=self._connection)
        self._core.tell(told, position)
        if found.error is not None:
            code = error.get("code")
            raise RpcError(code if isinstance(code, int) else -32603, words)
        return result

    def take(self, answer: RpcAnswer) -> bool:
        """Take the client's answer; whether it belongs to a question that is open."""
        waiting = self._open.get(answer.id) if answer.id is not None else None
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True

    def wants(self, method: str, params: Json) -> bool:
        """Whether the client wants to be told this: of the log, what is at its level or above."""
        if method != LOGGED or not self.level:
            return True
        level = params.get("level")
        return level not in LEVELS or LEVELS.index(str(level)) >= LEVELS.index(self.level)


class McpCall:
    """The call that a tool is working on. A tool gets it by `this_call()`.

    Example:
        ::

            @server.function
            async def book(flight: str) -> str:
                call = this_call()
                call.progress(1, total=2, message="seats found")
                answer = await call.elicit("Window or aisle?", {"seat": {"enum": ["window", "aisle"]}})
                if answer["action"] != "accept":
                    return "not booked"
                return f"booked a {answer['content']['seat']} seat"
    """

    def __init__(
        self, questions: Questions, core: _Core, number: int, params: Json, send: Send, cause: int
    ) -> None:
        meta = params.get("_meta")
        self._token = meta.get("progressToken") if isinstance(meta, dict) else None
        self._questions = questions
        self._core = core
        self._connection = number
        self._send = send
        self._cause = cause
        self._last = float("-inf")

    def progress(self, progress: float, *, total: float | None = None, message: str = "") -> None:
        """Tell how far the call is; nothing is sent to a client that did not ask for it (`progressToken`).

        Args:
            progress: how far; more than what was told before.
            total: what it will be in the end, if that is known.
            message: in words.

        Raises:
            ScriptError: if it is not more than before, which the protocol forbids.
        """
        if not progress > self._last:
            raise ScriptError(
                "progress only grows", expected=f"more than {self._last:g}", seen=f"progress={progress!r}"
            )
        self._last = progress
        if self._token is None:
            return
        params: Json = {"progressToken": self._token, "progress": progress}
        self._notify(
            PROGRESS,
            params | ({} if total is None else {"total": total}) | ({"message": message} if message else {}),
        )

    def log(self, level: LogLevel, data: Any, *, logger: str = "") -> None:
        """Send a line of the log, if the client wants lines of this level.

        Args:
            level: `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert` or `emergency`.
            data: text or JSON.
            logger: who says it.

        Raises:
            ScriptError: for another level.
        """
        params = log_params(level, data, logger)
        if self._questions.wants(LOGGED, params):
            self._notify(LOGGED, params)

    async def sample(
        self,
        messages: str | Sequence[Mapping[str, Any]],
        *,
        max_tokens: int = 1000,
        system: str = "",
        **params: Any,
    ) -> Json:
        """Ask the client's model (`sampling/createMessage`); the result as the protocol has it.

        Args:
            messages: a text of the user, or messages as the protocol writes them.
            max_tokens: the most tokens of the answer.
            system: the system prompt.
            params: more of the protocol's parameters: `temperature`, `modelPreferences`...

        Raises:
            RpcError: if the client refuses, or has no sampling; a tool that does not catch it fails with its words.
        """
        said = (
            [{"role": "user", "content": text_block(messages)}] if isinstance(messages, str) else [*messages]
        )
        asked: Json = {"messages": said, "maxTokens": max_tokens, **params}
        return await self._ask("sampling/createMessage", asked | ({"systemPrompt": system} if system else {}))

    async def elicit(
        self, message: str, properties: Mapping[str, Any], *, required: Sequence[str] = ()
    ) -> Json:
        """Ask the user (`elicitation/create`, a form): `{"action": "accept", "content": {...}}`, `decline`, `cancel`.

        Args:
            message: the question.
            properties: JSON Schema of each field of the form.
            required: the fields that must be filled in.

        Raises:
            RpcError: if the client refuses, or has no elicitation.
        """
        schema: Json = {"type": "object", "properties": dict(properties)}
        asked: Json = {
            "message": message,
            "requestedSchema": schema | ({"required": [*required]} if required else {}),
        }
        return await self._ask("elicitation/create", asked)

    async def roots(self) -> list[Json]:
        """Ask for the folders that the client works in (`roots/list`): each a `uri`, perhaps a `name`.

        Raises:
            RpcError: if the client refuses, or has no roots.
        """
        found = (await self._ask("roots/list", {})).get("roots")
        return [root for root in found if isinstance(root, dict)] if isinstance(found, list) else []

    async def _ask(self, method: str, params: Json) -> Json:
        return await self._questions.ask(method, params, self._send, self._cause)

    def _notify(self, method: str, params: Json) -> None:
        told = McpNotified(method=method, params=params, connection=self._connection, by="server")
        self._core.tell(told, self._cause)
        self._send(notification_bytes(method, params))


def log_params(level: str, data: Any, logger: str) -> Json:
    """The params of a line of the log.

    Raises:
        ScriptError: for a level that does not exist.
    """
    if level not in LEVELS:
        raise ScriptError("a log has no such level", expected="one of " + ", ".join(LEVELS), seen=repr(level))
    return {"level": level, "data": data, **({"logger": logger} if logger else {})}


CURRENT: ContextVar[McpCall | None] = ContextVar("soundstage_mcp_call", default=None)


def this_call() -> McpCall:
    """The call of a tool that is being answered, for the function that answers it.

    Raises:
        ScriptError: where no tool is being called.

    Example:
        >>> from soundstage.mcp import McpScript
        >>> script = McpScript()
        >>> @script.function
        ... async def search(query: str) -> str:
        ...     this_call().progress(1, total=2, message="reading the index")
        ...     return "tomato soup"
    """
    call = CURRENT.get()
    if call is None:
        raise ScriptError(
            "no tool is being called here",
            expected="this_call() in a function that a server calls: server.function, on_tool(...).returns(function)",
        )
    return call
