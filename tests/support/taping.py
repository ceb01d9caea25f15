"""A stand-in provider behind a tape server: recorded and replayed in one process, for tests of tapes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

from soundstage.journal import Journal, Redactor
from soundstage.messages import call
from soundstage.models import ErrorSpec, Reply, ReplyFault, Script, ScriptedModel
from soundstage.tapes import Playback, Surroundings, Tape, TapeServer
from soundstage.wire import ModelServer
from support.wires import run

KEY = "sk-test-0123456789-not-a-real-key"
BODIES = {
    "chat": (
        "/openai/v1/chat/completions",
        {"model": "gpt-4.1", "messages": [{"role": "user", "content": "{}"}]},
    ),
    "responses": ("/openai/v1/responses", {"model": "gpt-4.1", "input": "{}"}),
    "anthropic": (
        "/anthropic/v1/messages",
        {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": [{"role": "user", "content": "{}"}]},
    ),
    "gemini": (
        "/gemini/v1beta/models/gemini-2.5-flash:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "{}"}]}]},
    ),
}
"""A request of each format: where it goes, and its body with a place for the prompt."""


def provider_script() -> Script:
    """A script of a provider: text in pieces, calls of tools, errors, answers that break off."""
    script = Script()
    script.on(user="joke").reply(Reply(text="Knock knock. Who is there? \u00dcn\u00efcode."))
    script.on(user="tool").reply(call("get_weather", {"city": "Paris"}), check_calls=False)
    script.on(user="busy").reply(Reply(error=ErrorSpec(status=429, message="slow down", retry_after=1)))
    script.on(user="broken").reply(
        Reply(text="half of it never comes", fault=ReplyFault(type="cut", after=1))
    )
    script.default = Reply(text="as you say")
    return script


@contextlib.asynccontextmanager
async def provider(script: Script | None = None) -> AsyncIterator[ModelServer]:
    """A provider's stand-in on loopback."""
    model = ScriptedModel(script if script is not None else provider_script())
    server = ModelServer(model, Journal())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def recording(
    path: Path, upstream: ModelServer, redactor: Redactor | None = None
) -> AsyncIterator[TapeServer]:
    """A tape server that records what passes to a stand-in."""
    tape = Tape.create(path, redactor=redactor)
    async with served(TapeServer(tape, Journal(), upstreams=upstreams(upstream))) as server:
        yield server


@contextlib.asynccontextmanager
async def replaying(
    path: Path, journal: Journal | None = None, redactor: Redactor | None = None, **options: object
) -> AsyncIterator[TapeServer]:
    """A tape server that plays a tape, and lets nothing out."""
    tape = Tape.load(path, redactor=redactor)
    playback = Playback(tape, here=Surroundings())
    made = TapeServer(tape, journal if journal is not None else Journal(), playback=playback, **options)  # type: ignore[arg-type]
    async with served(made) as server:
        yield server


@contextlib.asynccontextmanager
async def served(server: TapeServer) -> AsyncIterator[TapeServer]:
    """A server from its start to its end."""
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def upstreams(server: ModelServer) -> Mapping[str, str]:
    """The stand-in's addresses, as SDKs take them."""
    return {"openai": server.openai_url, "anthropic": server.anthropic_url, "gemini": server.gemini_url}


def body_of(name: str, prompt: str, *, stream: bool) -> tuple[str, dict[str, object]]:
    """Path and body of a request of a format."""
    path, template = BODIES[name]
    body = _filled(template, prompt)
    if name == "gemini":
        return (path.replace(":generate", ":streamGenerate") + "?alt=sse" if stream else path), body
    usage = {"stream_options": {"include_usage": True}} if name == "chat" and stream else {}
    return path, {**body, "stream": stream, **usage}


def _filled(value: object, prompt: str) -> dict[str, object]:
    if isinstance(value, dict):
        return {name: _filled(part, prompt) for name, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, prompt) for part in value]  # type: ignore[return-value]
    return value.format(prompt) if isinstance(value, str) else value  # type: ignore[return-value]


def with_sockets(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an asynchronous test on the machine's time."""

    @functools.wraps(test)
    def whole(**values: object) -> None:
        run(test(**values))  # type: ignore[arg-type]

    return whole
