"""A model on a loopback port, and one table: how each of the four formats asks, answers and refuses."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

import httpx

from soundstage.clock import SystemClock
from soundstage.journal import Journal, ModelFailed, ModelRequested, ModelResponded
from soundstage.models import Model, Script, ScriptedModel
from soundstage.wire import ModelServer
from support.sockets import no_task_is_left

__all__ = [
    "WIRES",
    "Served",
    "Wire",
    "controlling",
    "error_of",
    "events_of",
    "no_task_is_left",
    "outcomes",
    "run",
    "said",
    "serving",
]

T = TypeVar("T")
Json = dict[str, Any]
WITHIN = 20.0  # seconds of the machine, after which a test has failed


class Wire(NamedTuple):
    """One format. `body` makes a request of what the user says and of a system prompt."""

    name: str
    path: str
    stream_path: str
    body: Callable[[str, str], Json]
    text: Callable[[Json], str]  # of a whole answer
    piece: Callable[[Json], str]  # of one event of a stream
    end: Callable[[str], bool]  # whether the text of a stream came to its regular end
    kinds: dict[int, str]  # status -> error type, as the provider calls it


def _chat(text: str, system: str) -> Json:
    head = [{"role": "system", "content": system}] if system else []
    return {"model": "m", "messages": [*head, {"role": "user", "content": text}]}


def _responses(text: str, system: str) -> Json:
    return {"model": "m", "input": text, **({"instructions": system} if system else {})}


def _anthropic(text: str, system: str) -> Json:
    head = {"system": system} if system else {}
    return {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": text}], **head}


def _gemini(text: str, system: str) -> Json:
    head = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
    return {"contents": [{"role": "user", "parts": [{"text": text}]}], **head}


def _chat_piece(event: Json) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in event["choices"])


def _responses_text(answer: Json) -> str:
    return "".join(part["text"] for item in answer["output"] for part in item.get("content", ()))


def _gemini_text(answer: Json) -> str:
    parts = answer["candidates"][0]["content"].get("parts", ())
    return "".join(part.get("text", "") for part in parts)


_OPENAI_KINDS = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
    500: "server_error",
}
_GEMINI_PATH = "/v1beta/models/m:"

WIRES = {
    wire.name: wire
    for wire in (
        Wire(
            "openai-chat",
            "/v1/chat/completions",
            "/v1/chat/completions",
            _chat,
            lambda answer: answer["choices"][0]["message"]["content"] or "",
            _chat_piece,
            lambda text: text.endswith("data: [DONE]\n\n"),
            _OPENAI_KINDS,
        ),
        Wire(
            "openai-responses",
            "/v1/responses",
            "/v1/responses",
            _responses,
            _responses_text,
            lambda event: event["delta"] if event["type"] == "response.output_text.delta" else "",
            lambda text: "event: response.completed" in text,
            _OPENAI_KINDS,
        ),
        Wire(
            "anthropic",
            "/v1/messages",
            "/v1/messages",
            _anthropic,
            lambda answer: "".join(block["text"] for block in answer["content"]),
            lambda event: event["delta"]["text"] if event["type"] == "content_block_delta" else "",
            lambda text: "event: message_stop" in text,
            {
                400: "invalid_request_error",
                401: "authentication_error",
                404: "not_found_error",
                413: "request_too_large",
                429: "rate_limit_error",
                500: "api_error",
            },
        ),
        Wire(
            "gemini",
            _GEMINI_PATH + "generateContent",
            _GEMINI_PATH + "streamGenerateContent?alt=sse",
            _gemini,
            _gemini_text,
            _gemini_text,
            lambda text: '"finishReason"' in text,
            {
                400: "INVALID_ARGUMENT",
                401: "UNAUTHENTICATED",
                404: "NOT_FOUND",
                413: "INVALID_ARGUMENT",
                429: "RESOURCE_EXHAUSTED",
                500: "INTERNAL",
            },
        ),
    )
}


class Served(NamedTuple):
    """A model that is on a port, and a client of it."""

    server: ModelServer
    journal: Journal
    http: httpx.AsyncClient

    def request(
        self, wire: Wire, text: str = "hello", *, stream: bool = False, system: str = "", **options: Any
    ) -> httpx.Request:
        """A request in the format of `wire`; `options` are those of httpx."""
        body = wire.body(text, system)
        if stream and wire.path == wire.stream_path:
            body["stream"] = True
        options.setdefault("json", body)
        return self.http.build_request("POST", wire.stream_path if stream else wire.path, **options)

    async def ask(self, wire: Wire, text: str = "hello", **options: Any) -> httpx.Response:
        """The whole answer to a request."""
        return await self.http.send(self.request(wire, text, **options))

    async def text(self, wire: Wire, text: str = "hello", **options: Any) -> str:
        """The model's answer to `text`."""
        answer = await self.ask(wire, text, **options)
        assert answer.status_code == 200, answer.text
        return said(wire, answer)

    def events(self, kind: type[T]) -> list[T]:
        """The events of one class."""
        return self.journal.events(kind)  # type: ignore[type-var]


def said(wire: Wire, answer: httpx.Response) -> str:
    """The text in an answer, whole or streamed."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        return "".join(wire.piece(event) for event in events_of(answer.text))
    return wire.text(answer.json())


def events_of(text: str) -> list[Json]:
    """The data of the events in a stream."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def error_of(wire: Wire, answer: httpx.Response) -> tuple[str, str]:
    """Type and message of an error in the provider's shape."""
    body = answer.json()
    error = body["error"]
    if wire.name == "gemini":
        assert error["code"] == answer.status_code
        return error["status"], error["message"]
    if wire.name == "anthropic":
        assert body["type"] == "error"
    else:
        assert set(error) == {"message", "type", "param", "code"}
    return error["type"], error["message"]


@contextlib.asynccontextmanager
async def serving(
    model: Model | Script, *, journal: Journal | None = None, **options: Any
) -> AsyncIterator[Served]:
    """Put a model on a port. `options` are those of `ModelServer`."""
    journal = journal if journal is not None else Journal(clock=SystemClock())
    model = ScriptedModel(model) if isinstance(model, Script) else model
    server = ModelServer(model, journal, **options)
    await server.start()
    try:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx.AsyncClient(
            base_url=server.url,
            timeout=WITHIN,
            trust_env=False,
            verify=False,
            limits=limits,
            event_hooks={"request": [controlling(server.control_headers)]},
        ) as http:
            yield Served(server, journal, http)
    finally:
        await server.stop()


def controlling(headers: dict[str, str]) -> Callable[[httpx.Request], Coroutine[Any, Any, None]]:
    """Lets a client send `headers` to the control endpoints, as a test does, and nowhere else."""

    async def add(request: httpx.Request) -> None:
        if request.url.path.startswith("/_soundstage/"):
            request.headers.update(headers)

    return add


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a test on the machine's time; one that hangs fails."""

    async def limited() -> T:
        async with asyncio.timeout(WITHIN):
            return await main

    return asyncio.run(limited())


def outcomes(journal: Journal) -> list[str]:
    """The outcome of each model request, in order: `ok`, or the reason of the failure."""
    requests = [record.position for record in journal.read(type=ModelRequested)]
    ends = {
        record.cause: getattr(record.event, "reason", "ok")
        for record in journal.read(type=(ModelResponded, ModelFailed))
    }
    return [ends.get(position, "open") for position in requests]
