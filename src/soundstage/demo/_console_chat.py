"""A console chat app, in process, on virtual time.

The app is an ordinary loop: read a line, ask the model, print the answer as it streams. The model takes its
time (virtual seconds), fails once with a busy error, and the app retries after the pause that it was told.
"""

from __future__ import annotations

from typing import Final

from soundstage.demo._scenario import DemoScenario
from soundstage.errors import ProviderError
from soundstage.host import AppContext, Host, HostBuilder
from soundstage.messages import Message, ModelRequest, TextChunk, assistant, system, user
from soundstage.models import Script
from soundstage.trace import assert_model_requests

PROMPT: Final = "You are a terse travel guide."


async def chat(app: AppContext) -> None:
    """The app under test."""
    history: list[Message] = [system(PROMPT)]
    while (line := await app.console.read_line()) is not None:
        if not line.strip():
            continue
        history.append(user(line))
        answer = await _answer(app, history)
        history.append(assistant(answer))


async def _answer(app: AppContext, history: list[Message]) -> str:
    request = ModelRequest(model="gpt-4.1", messages=tuple(history), stream=True)
    while True:
        text = ""
        try:
            async for chunk in app.model.stream(request):
                if isinstance(chunk, TextChunk):
                    app.console.write(chunk.text)
                    text += chunk.text
        except ProviderError as error:
            app.console.write_line(f"(busy, trying again in {error.headers['retry-after']} s)")
            await app.clock.sleep(float(error.headers["retry-after"]))
            continue
        app.console.write_line()
        return text


def _script() -> Script:
    script = Script(strict=True)
    script.on(user="Oslo").reply(
        "Oslo: take the ferry to the islands, then walk the roof of the opera house.",
        first_token_after=0.8,
        tokens_per_second=20,
    )
    script.on(user="rain", times=1).error(529, "overloaded", type="overloaded_error", retry_after=30)
    script.on(user="rain", turn=2).reply("Then the Munch museum: thirteen floors, all of them dry.")
    return script


def setup(builder: HostBuilder) -> HostBuilder:
    """A console, a script, the app."""
    return builder.with_script(_script()).with_console().with_app(chat)


async def body(host: Host) -> None:
    """Two turns, an empty line, an overloaded model; thirty seconds of patience that take no time."""
    await host.console.send("What should I see in Oslo?")
    await host.console.expect("/opera house/")
    await host.console.send("")
    await host.console.expect_nothing(within=10)
    await host.console.send("And if it should rain?")
    await host.console.expect("trying again in 30 s")
    await host.console.expect("Munch museum", within=60)
    assert_model_requests(host.trace, 3)


SCENARIO = DemoScenario(
    "console chat, in process, virtual time",
    "A chat app on a virtual console. The model is slow and once overloaded; waiting takes no time.",
    setup,
    body,
)
