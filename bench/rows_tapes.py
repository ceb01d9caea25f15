"""Tapes: what recording adds to a proxy, what a replay takes, and a tape of ten thousand exchanges."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from _pairs import median
from _settings import Settings
from _table import Row, micros
from _taped_runs import peer_rows

NAME = "tapes"
REQUESTS = 100
BIG, SMALL = 10_000, 10
TURNS = 20  # of each conversation of the big tape


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    yield _recording(settings)
    yield _replaying(settings)
    yield from _big(settings)
    yield from peer_rows(settings)


def _recording(settings: Settings) -> Row:
    times: dict[str, list[float]] = {"proxy": [], "record": []}
    for number in range(1, settings.rounds + 1):
        settings.tell(f"recording, round {number} of {settings.rounds}")
        for name, found in times.items():
            found.append(asyncio.run(_through(name, settings.scaled(REQUESTS, least=20))))
    ratio = median(times["record"]) / median(times["proxy"])
    figures = f"{micros(times['record'])} against {micros(times['proxy'])} a request"
    return Row("a request that is recorded", "a plain httpx proxy", figures, ratio, 1.5, "at most")


async def _through(name: str, count: int) -> float:
    """Seconds for a request through a proxy of ours."""
    async with _provider() as upstream:
        with tempfile.TemporaryDirectory() as folder:
            async with _plain(upstream.url) if name == "proxy" else _taped(folder, upstream) as url:
                return await _asked(url, count)


@asynccontextmanager
async def _provider() -> AsyncIterator[Any]:
    from soundstage.journal import Journal
    from soundstage.models import Reply, Script, ScriptedModel
    from soundstage.wire import ModelServer

    script = Script()
    script.default = Reply(text="It is sunny in Paris, with a light wind from the west.")
    server = ModelServer(ScriptedModel(script), Journal())
    await server.start()
    yield server
    await server.stop()


@asynccontextmanager
async def _plain(upstream: str) -> AsyncIterator[str]:
    """The least that a proxy on httpx does."""
    import httpx

    from soundstage.journal import Journal
    from soundstage.net import HttpServer

    async with httpx.AsyncClient(trust_env=False) as client:

        async def handle(request: Any, exchange: Any) -> None:
            headers = {"content-type": "application/json", "authorization": request.headers["authorization"]}
            url = upstream + request.path.removeprefix("/openai")
            async with client.stream(request.method, url, content=request.body, headers=headers) as answer:
                await exchange.begin(answer.status_code, {"content-type": answer.headers["content-type"]})
                async for piece in answer.aiter_raw():
                    exchange.write(piece)
                    await exchange.flush()
            await exchange.end()

        server = HttpServer(handle, Journal())
        await server.start()
        yield f"{server.url}/openai/v1"
        await server.stop()


@asynccontextmanager
async def _taped(folder: str, upstream: Any) -> AsyncIterator[str]:
    from soundstage.journal import Journal
    from soundstage.tapes import Tape, TapeServer

    tape = Tape.create(Path(folder) / "t.tape")
    server = TapeServer(tape, Journal(), upstreams={"openai": upstream.openai_url})
    await server.start()
    yield f"{server.url}/openai/v1"
    await server.stop()


async def _asked(url: str, count: int) -> float:
    import httpx

    async with httpx.AsyncClient(
        trust_env=False, headers={"authorization": "Bearer sk-bench-000000"}
    ) as client:
        begun = 0.0
        for number in range(-10, count):
            if number == 0:
                begun = time.perf_counter()
            body = {"model": "m", "messages": [{"role": "user", "content": f"weather, question {number}"}]}
            (await client.post(f"{url}/chat/completions", json=body)).raise_for_status()
        return (time.perf_counter() - begun) / count


def _replaying(settings: Settings) -> Row:
    times: dict[str, list[float]] = {"script": [], "replay": []}
    for number in range(1, settings.rounds + 1):
        settings.tell(f"replay, round {number} of {settings.rounds}")
        for name, found in times.items():
            found.append(asyncio.run(_played(name, settings.scaled(REQUESTS, least=20))))
    ratio = median(times["script"]) / median(times["replay"])
    figures = f"{micros(times['replay'])} against {micros(times['script'])} a request, over HTTP"
    return Row("a request that is replayed", "the scripted model", figures, ratio, 0.7)


async def _played(name: str, count: int) -> float:
    from soundstage.journal import Journal
    from soundstage.tapes import Playback, Tape, TapeServer

    async with _provider() as upstream:
        if name == "script":
            return await _asked(upstream.openai_url, count)
        with tempfile.TemporaryDirectory() as folder:
            async with _taped(folder, upstream) as url:
                await _asked(url, count)
            tape = Tape.load(Path(folder) / "t.tape")
        server = TapeServer(tape, Journal(), playback=Playback(tape))
        await server.start()
        took = await _asked(f"{server.url}/openai/v1", count)
        await server.stop()
        return took


def _big(settings: Settings) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        small, big = (_written(Path(folder) / f"{count}.tape", count) for count in (SMALL, BIG))
        times: dict[Path, list[float]] = {small: [], big: []}
        opened = []
        for number in range(1, settings.rounds + 1):
            settings.tell(f"big tape, round {number} of {settings.rounds}")
            for path, found in times.items():
                begun = time.perf_counter()
                playback, requests = _loaded(path)
                if path is big:
                    opened.append(time.perf_counter() - begun)
                begun = time.perf_counter()
                for request in requests:
                    playback.take(request)
                found.append((time.perf_counter() - begun) / len(requests))
    ratio = median(times[big]) / median(times[small])
    figures = (
        f"{micros(times[big])} against {micros(times[small])} a request; opened in {median(opened):.2f} s"
    )
    yield Row(f"a request on a tape of {BIG:,} exchanges", f"one of {SMALL}", figures, ratio, 2, "at most")


def _loaded(path: Path) -> tuple[Any, list[Any]]:
    """A playback, and equal requests that are other objects: the last of a conversation."""
    import msgspec

    from soundstage.messages import ModelRequest
    from soundstage.tapes import Playback, Tape

    tape = Tape.load(path)
    asked = [one.request for one in tape.exchanges][:SMALL]
    copies = [msgspec.json.decode(msgspec.json.encode(one), type=ModelRequest) for one in asked]
    return Playback(tape), copies


def _written(path: Path, count: int) -> Path:
    from soundstage.messages import ModelRequest, ModelResponse, Text, assistant, system, user
    from soundstage.tapes import RecordedExchange, Tape

    records: list[RecordedExchange] = []
    while len(records) < count:
        talk = len(records) // TURNS
        messages = [system("You are a careful assistant. " * 20)]
        for turn in range(min(TURNS, count - len(records))):
            messages.append(user(f"question {turn} of conversation {talk}: " + "why? " * 20))
            records.append(
                RecordedExchange(
                    number=len(records) + 1,
                    started_ms=10.0 * len(records),
                    latency_ms=5,
                    request=ModelRequest(model="m", messages=tuple(messages)),
                    response=ModelResponse(parts=(Text(text="because " * 20),)),
                )
            )
            messages.append(assistant("because " * 20))
    Tape(records).save(path)
    return path
