"""Journals as real runs write them: scripted models behind a journal, on virtual time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from soundstage.clock import run
from soundstage.errors import ModelError
from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    EgressTried,
    Event,
    FileChanged,
    HookFired,
    Journal,
    MessageReceived,
    MessageSent,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
    PhaseChanged,
    ProcessExited,
    ProcessStarted,
    Record,
    Routed,
    RunFinished,
    RunStarted,
    ScreenChanged,
    ToolCalled,
    ToolReturned,
)
from soundstage.messages import (
    Caller,
    Message,
    ModelRequest,
    ModelResponse,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    Usage,
    assistant,
    system,
    tool,
    user,
)
from soundstage.models import (
    BlockSpec,
    CallSpec,
    JournaledModel,
    Reply,
    Script,
    ScriptedModel,
    complete,
    working_on,
)

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (
    ToolDefinition(name="read_file", description="Read a file of the workspace.", schema=PATH),
    ToolDefinition(name="run_tests", description="Run the test suite.", schema={"type": "object"}),
)
WALL = "2026-01-01T00:00:00+00:00"
TASK = "Values in settings.ini lose their blanks. Please fix it."
SOURCE = "def parse(line):\n    name, _, value = line.partition('=')\n    return name, value\n"
PATCH = SOURCE.replace("name, value\n", "name.strip(), value.strip()\n")


def team_script() -> Script:
    """The script of the team's models."""
    script = Script()
    looks = (
        BlockSpec(thinking="The test fails in parse(). I need the file and the failing test first."),
        BlockSpec(text="I look at the parser and run the tests."),
        BlockSpec(tool_call=CallSpec(name="read_file", arguments={"path": "src/settings.py"}, id="call_1")),
        BlockSpec(
            tool_call=CallSpec(name="run_tests", arguments={"only": "tests/test_blanks.py"}, id="call_2")
        ),
    )
    write = CallSpec(name="write_file", arguments={"path": "src/settings.py", "content": PATCH}, id="call_3")
    pace: dict[str, Any] = {"first_token_after": 0.3, "tokens_per_second": 100}
    script.on(purpose="title").reply("Settings parser", delay=0.2)
    script.on(agent="orchestrator", iteration=1).reply("The coder first, then a review.", **pace)
    script.on(agent="coder", iteration=1).error(529, "Overloaded", type="overloaded_error", retry_after=1)
    script.on(agent="coder", iteration=2).reply(Reply(blocks=looks, **pace))
    script.on(agent="coder", iteration=3).reply(
        Reply(text="Not stripped.", tool_calls=(write,), check_calls=False, **pace)
    )
    script.on(agent="coder", iteration=4).reply("Fixed: values are stripped now.", **pace)
    cut = Reply(text="I have read the change and " * 3)
    script.on(agent="reviewer", iteration=1).fault("cut", cut, after=3)
    script.on(agent="reviewer", iteration=2).reply("Approved. The tests cover it.", **pace)
    script.on(agent="orchestrator").reply("Done: blanks around values are gone.", **pace)
    return script


class Team:
    """A small multi-agent app: an orchestrator, a coder with tools, a reviewer."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.model = JournaledModel(ScriptedModel(team_script()), journal, source="model")

    async def ask(self, agent: str, messages: list[Message], **fields: Any) -> Message:
        parent = "" if agent == "orchestrator" else "orchestrator"
        request = ModelRequest(
            model=fields.pop("model", "claude-sonnet-5-5"),
            messages=tuple(messages),
            stream=True,
            caller=Caller(agent=agent, conversation="c1", parent=parent),
            **fields,
        )
        reply = (await complete(self.model, request)).message()
        messages.append(reply)
        return reply

    async def use(self, call: ToolCall, seconds: float, text: str, *, is_error: bool = False) -> Message:
        """The coder uses a tool."""
        cause = next(
            record.position
            for record in self.journal.read_backward()
            if isinstance(record.event, ModelResponded) and call in record.event.response.parts
        )
        event = ToolCalled(
            call_id=call.id, name=call.name, arguments=call.arguments, agent="coder", conversation="c1"
        )
        started = self.journal.append(event, source="coder", cause=cause)
        await asyncio.sleep(seconds)
        event = ToolReturned(call_id=call.id, text=text, is_error=is_error)
        self.journal.append(event, source="coder", cause=started)
        return tool(call.id, text, is_error=is_error, name=call.name)

    async def code(self, task: str) -> str:
        append = self.journal.append
        append(
            AgentStarted(agent="coder", conversation="c1", parent="orchestrator", task=task), source="team"
        )
        history = [system("You are the coder. Keep changes small."), user(task)]
        with contextlib.suppress(ModelError):
            await self.ask("coder", history, tools=TOOLS)
        await asyncio.sleep(1)
        reply = await self.ask("coder", history, tools=TOOLS)
        read, test = [part for part in reply.parts if isinstance(part, ToolCall)]
        failed = "FAILED tests/test_blanks.py::test_blanks\n1 failed, 12 passed"
        history += await asyncio.gather(
            self.use(read, 0.05, SOURCE), self.use(test, 1.8, failed, is_error=True)
        )
        reply = await self.ask("coder", history, tools=TOOLS)
        write = next(part for part in reply.parts if isinstance(part, ToolCall))
        history.append(await self.use(write, 0.02, "written"))
        changed = FileChanged(path="src/settings.py", change="modified", before="a" * 64, after="b" * 64)
        append(changed, source="workspace")
        hook = HookFired(
            hook="format-on-save",
            event="PostToolUse",
            outcome="allowed",
            exit_code=0,
            output="1 file unchanged",
        )
        append(hook, source="hooks")
        append(EgressTried(host="telemetry.example.com", port=443, method="CONNECT"), source="network")
        reply = await self.ask("coder", history, tools=TOOLS)
        append(AgentFinished(agent="coder", conversation="c1", text=reply.text), source="team")
        return reply.text

    async def review(self, text: str) -> str:
        history = [system("You are the reviewer."), user(f"Review this: {text}")]
        with contextlib.suppress(ModelError):
            await self.ask("reviewer", history)
        return (await self.ask("reviewer", history)).text

    async def work(self) -> None:
        append = self.journal.append
        append(RunStarted(name="settings team", wall=WALL), source="host")
        received = append(MessageReceived(text=TASK, channel="console", sender="ana"), source="console")
        working_on.set(received)
        append(PhaseChanged(entered="plan", conversation="c1"), source="team")
        history = [system("You are the orchestrator."), user(TASK)]
        title = [user("A title for: settings")]
        await asyncio.gather(
            self.ask("orchestrator", history),
            self.ask("orchestrator", title, purpose="title", model="claude-haiku-5-5"),
        )
        append(
            Routed(agents=("coder",), phase="build", reason="code first", conversation="c1"), source="team"
        )
        append(PhaseChanged(left="plan", entered="build", conversation="c1"), source="team")
        done = await self.code("Strip the blanks around values in settings.ini.")
        append(Routed(agents=("reviewer",), phase="review", conversation="c1"), source="team")
        verdict = await self.review(done)
        history.append(user(f"coder: {done}\nreviewer: {verdict}"))
        reply = await self.ask("orchestrator", history)
        said = MessageSent(text=reply.text, channel="console", sender="team")
        append(said, source="console", cause=received)
        append(ScreenChanged(text=f"$ team\n> {reply.text}\n", channel="tty"), source="console")
        append(RunFinished(outcome="passed"), source="host")


def journal_of(main: Callable[[Journal], Any]) -> list[Record]:
    """The records that `main` writes, on virtual time."""

    async def write() -> list[Record]:
        journal = Journal(run="r1")
        await main(journal)
        return journal.read()

    return run(write())


@pytest.fixture(scope="session")
def team() -> list[Record]:
    """Several agents, tools, thinking, an error, a cut stream, files, hooks, an attempt to reach a host."""
    return journal_of(lambda journal: Team(journal).work())


@pytest.fixture(scope="session")
def failing() -> list[Record]:
    """A program that a driver runs: it asks a model that has no price, and fails."""

    async def main(journal: Journal) -> None:
        journal.append(RunStarted(wall=WALL), source="host")
        started = ProcessStarted(command=("app", "--once"), pid=7, environment=("HOME", "PATH"))
        journal.append(started, source="driver")
        script = Script()
        script.on(user="hello").reply("hi")
        model = JournaledModel(ScriptedModel(script), journal)
        await complete(model, ModelRequest(model="house-model", messages=(user("hello"),)))
        journal.append(Noted(text="about to give up", data={"attempt": 1}), source="test")
        error = "Traceback ...\nValueError: no such setting"
        journal.append(ProcessExited(code=3, stderr=error), source="driver")
        reason = "the program ended with exit code 3"
        journal.append(RunFinished(outcome="failed", reason=reason), source="host")

    return journal_of(main)


HOSTILE = (
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 2</script>",
    "<!-- <script>",
    "<img src=x onerror='window.pwned = 3'>",
    '" onmouseover="window.pwned = 4',
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.pwned=5",
    "line\u2028separator\u2029\x00\x1b[2J",
    "&lt;b&gt; &amp;",
    "W" * 4000,
)


@pytest.fixture(scope="session")
def hostile() -> list[Record]:
    """Every text that a model, a tool or an app may write, written by an enemy."""

    async def main(journal: Journal) -> None:
        for text in HOSTILE:
            script = Script()
            calls = (CallSpec(name=text, arguments={text: text, "list": [text, {text: None}]}, id=text),)
            script.otherwise(Reply(text=text, tool_calls=calls, headers={"x": text}, model=text))
            model = JournaledModel(ScriptedModel(script), journal, source=text)
            await complete(model, hostile_request(text))
            journal.append(Noted(text=text, data={text: text}), source=text)
            journal.append(MessageSent(text=text, channel=text, sender=text), source="console")
            journal.append(ScreenChanged(text=text), source="console")
            journal.append(ModelFailed(reason="error", message=text, kind=text), source=text, cause=1)
            journal.append(EgressTried(host=text, port=1, method=text), source="network")
        journal.append(RunFinished(outcome="failed", reason=HOSTILE[0]), source="host")

    return journal_of(main)


def hostile_request(text: str) -> ModelRequest:
    """A request that says `text` wherever it can."""
    parts = (Opaque(type=text, data={text: text}), Thinking(text=text))
    return ModelRequest(
        model=text,
        messages=(
            system(text),
            user(text),
            assistant(text, ToolCall(id=text, name=text, raw=text)),
            tool(text, text, is_error=True, name=text),
            Message(role="user", parts=parts),
        ),
        tools=(ToolDefinition(name=text, description=text, schema={text: text}),),
        settings={text: text},
        caller=Caller(agent=text, conversation=text, parent=text, phase=text, headers={text: text}),
    )


@pytest.fixture(scope="session")
def many() -> Callable[[int], list[Record]]:
    """Makes so many records: request, reply, tool call, tool result, and so on."""
    return many_records


def many_records(count: int) -> list[Record]:
    records: list[Record] = []
    history: list[Message] = [system("You are patient."), user("Count to a large number.")]

    def add(event: Event, time: float, cause: int | None = None) -> int:
        position = len(records) + 1
        source = f"source-{position % 5}"
        records.append(Record(position=position, time=time, run="r", source=source, cause=cause, event=event))
        return position

    turn = 0
    while len(records) < count:
        turn += 1
        now, agent = turn * 1.5, f"agent-{turn % 3}"
        messages = (*history[:2], *history[-6:])
        request = ModelRequest(model="gpt-4o", messages=messages, caller=Caller(agent=agent))
        asked = add(ModelRequested(request=request, model_kind="scripted"), now)
        call = ToolCall(id=f"call_{turn}", name="count", arguments={"from": turn})
        parts = (Text(text=f"now {turn}"), call)
        usage = Usage(input_tokens=9, output_tokens=3)
        answer = ModelResponse(parts=parts, finish="tool_calls", usage=usage)
        replied = add(ModelResponded(response=answer), now + 0.7, asked)
        event = ToolCalled(call_id=call.id, name="count", arguments=call.arguments, agent=agent)
        called = add(event, now + 0.7, replied)
        add(ToolReturned(call_id=call.id, text=f"counted to {turn}"), now + 1.2, called)
        history += [assistant(f"now {turn}", call), tool(call.id, f"counted to {turn}")]
    return records[:count]
