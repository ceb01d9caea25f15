"""The same runs on each kind of target: an app in process, a command, a program on a terminal, the real Claude Code."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from soundstage.agents import (
    AgentPrompt,
    AgentResponse,
    AgentThought,
    ChatReceived,
    ChatReply,
    configured_app,
)
from soundstage.claude_code import ClaudeCode, bundled_cli
from soundstage.clock import SystemClock, VirtualClock, run
from soundstage.drivers import Command
from soundstage.errors import ExpectationError, WrongTypeError
from soundstage.journal import Journal, MessageSent, ModelRequested, ModelResponded, ProcessStarted, event
from soundstage.lifecycle import Daemon
from soundstage.models import Script, ScriptedModel
from soundstage.runs import AgentRunner, AppSession, AttemptFailed, Budget, Retry, RunAbortedError, RunConfig
from soundstage.terminal import Terminal
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace

PROGRAM = """
import json, os, sys, urllib.request
prompt = {read}
body = json.dumps({{"model": "gpt-4o", "messages": [{{"role": "user", "content": prompt}}]}}).encode()
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
request = urllib.request.Request(url, body, {{"content-type": "application/json"}})
with urllib.request.urlopen(request, timeout=60) as answer:
    print(json.load(answer)["choices"][0]["message"]["content"])
"""
KINDS = ["in process", "command", "terminal", "claude"]
needs_cli = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
EACH = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=needs_cli if kind == "claude" else ()) for kind in KINDS]
)


class Parts(NamedTuple):
    """The parts of a run: its journal, the script of its model, and how its target is made."""

    journal: Journal
    script: Script
    make: Any


def chat(app: Any) -> None:
    """An app that answers each line of its console with what its model says."""
    asked = (ChatReceived, AgentPrompt, lambda said: AgentPrompt(text=said.text, sender=said.sender))
    answered = (AgentResponse, ChatReply, lambda said: ChatReply(text=said.text, sender=said.sender))
    console, agent = app.use_console(), app.use_agent("gpt-4o")
    links = app.covenant().connect(console).connect(agent)
    links.routes(lambda to: (to.route(*asked), to.route(*answered), to.terminal(AgentThought)))


def play(kind: str, body: Any) -> Any:
    """Run `body` with the parts of a kind; all in process is on virtual time."""
    real = kind != "in process"

    async def main() -> Any:
        journal, script = Journal(), Script()
        model = ScriptedModel(script)
        if not real:
            app = configured_app(chat)
            return await body(Parts(journal, script, lambda config: AppSession(app, model, journal)))
        server, workspace = ModelServer(model, journal), Workspace(journal)
        await server.start()
        await workspace.start()

        def make(config: RunConfig) -> Daemon:
            environment = server.environment()
            if kind == "claude":
                return ClaudeCode(journal, server, workspace, **config.start)
            if kind == "command":
                argv = [sys.executable, "-c", PROGRAM.format(read="sys.stdin.read().strip()")]
                return Command(argv, journal, environment=environment)
            argv = [sys.executable, "-c", PROGRAM.format(read="input()")]
            return Terminal(argv, journal, environment=environment)

        try:
            return await body(Parts(journal, script, make))
        finally:
            await workspace.stop()
            await server.stop()

    return run(main(), clock=SystemClock() if real else VirtualClock())


def alive(journal: Journal) -> list[int]:
    """Programs of a run that still exist."""
    return [event.pid for event in journal.events(ProcessStarted) if Path(f"/proc/{event.pid}").exists()]


@EACH
def test_a_run_comes_to_the_answer_of_its_target_with_tokens_and_price_and_leaves_no_process(kind):
    async def body(parts):
        parts.script.on(user="hello").reply("It is done.")
        seen = []

        async def watch(watched):
            seen.append(watched.record)

        runner = AgentRunner(parts.make, journal=parts.journal, watchers=[watch], budget=Budget(cost=10))
        result = await runner.run("hello")
        assert seen == list(result.timeline[:-1]), "all but the last word of the runner"
        return result, alive(parts.journal)

    result, left = play(kind, body)
    assert (result.status, result.reasons, left) == ("complete", (), [])
    assert "It is done." in result.output
    assert result.usage.total_tokens > 0
    assert result.cost.usd > 0
    assert any(isinstance(record.event, ModelResponded) for record in result.timeline)


@EACH
def test_a_watcher_that_sees_the_model_asked_stops_the_target_with_all_its_processes(kind):
    async def body(parts):
        parts.script.on(user="hello").reply("too late", delay=300)

        async def watch(watched):
            return {"abort": isinstance(watched.event, ModelRequested)}

        runner = AgentRunner(parts.make, journal=parts.journal, watchers=[watch])
        with pytest.raises(RunAbortedError) as caught:
            await asyncio.wait_for(runner.run("hello"), 60)
        return caught.value, alive(parts.journal)

    error, left = play(kind, body)
    assert (error.reason, left) == ("watcher", [])
    assert error.partial_result.abort == "watcher"
    assert any(isinstance(record.event, ModelRequested) for record in error.partial_result.timeline)


@pytest.mark.parametrize("kind", ["in process", pytest.param("claude", marks=needs_cli)])
def test_a_turn_that_failed_for_a_moment_is_tried_again_with_a_target_that_is_made_anew(kind):
    """Claude Code makes a turn of the failure; an app raises it."""

    async def body(parts):
        rule = {"user": "hello", "times": 1}
        parts.script.on(**rule).error(529, "overloaded", headers={"x-should-retry": "false"})
        parts.script.on(user="hello").reply("It is done.")
        runner = AgentRunner(parts.make, journal=parts.journal, retry=Retry(base=0.01))
        return await runner.run("hello"), parts.journal.events(AttemptFailed)

    result, failed = play(kind, body)
    assert [attempt.attempt for attempt in failed] == [1]
    assert "529" in failed[0].error
    assert "It is done." in result.output
    assert (result.status, result.reasons) == ("complete", ())
    assert any("529" in warning for warning in result.warnings)


def test_pieces_of_a_prompt_are_lines_of_a_command_one_by_one():
    async def body(parts):
        def make(config):
            return Command(["sed", "-u", "s/^/> /"], parts.journal)

        async def pieces():
            for number in (1, 2):
                yield f"line {number}"
                await parts.journal.wait_for(event(MessageSent, text=f"> line {number}"), within=10)

        return await AgentRunner(make, journal=parts.journal).run(pieces())

    assert play("command", body).output == "> line 1\n> line 2"


def test_a_program_that_exits_with_an_error_is_an_error_of_the_run_with_its_output():
    async def body(parts):
        def make(config):
            return Command(["sh", "-c", "echo half; exit 3"], parts.journal)

        with pytest.raises(ExpectationError, match="exit with code 0") as caught:
            await AgentRunner(make, journal=parts.journal).run("")
        return caught.value.partial_result

    partial = play("command", body)
    assert partial.status == "failed"
    assert "half" in [getattr(record.event, "text", "") for record in partial.timeline]


def test_a_program_that_runs_already_goes_on_after_a_run_and_is_stopped_when_one_is_aborted():
    class Session(Daemon):
        async def _start(self): ...

        async def _stop(self): ...

        async def prompt(self, text, *, within):
            await asyncio.sleep(3)
            return type("Turn", (), {"text": text, "is_error": False})

        async def interrupt(self, *, within): ...

        async def end(self):
            return 0

    async def main():
        journal = Journal()
        session = Session("session", journal)
        await session.start()
        runner = AgentRunner(session, journal=journal)
        assert [(await runner.run(text)).output for text in ("a", "b")] == ["a", "b"]
        assert session.status == "running"
        with pytest.raises(RunAbortedError):
            await runner.run("c", timeout=1)
        return session.status

    assert run(main()) == "completed"


@pytest.mark.parametrize("target", [None, 5, "python agent.py", object()])
def test_what_is_no_target_is_refused_when_the_runner_is_made(target):
    with pytest.raises(WrongTypeError, match="this is no target"):
        AgentRunner(target, journal=Journal())


def test_a_function_that_makes_no_target_is_named():
    def maker(config):
        return "agent.py"

    with pytest.raises(WrongTypeError, match="maker made no target"):
        run(AgentRunner(maker, journal=Journal()).run("go"))


def test_an_answer_that_is_none_is_named():
    async def agent(prompt, context):
        return 5

    with pytest.raises(WrongTypeError, match="agent returned no answer"):
        run(AgentRunner(agent, journal=Journal()).run("go"))
