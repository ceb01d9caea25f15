"""The seven principles, each tested on real runs of every kind, and each shown to be able to fail.

1. Determinism: the same run twice is the same run.
2. Scripted models look at the whole context, and conversations share nothing.
3. The trace is complete.
4. Assertions can be read.
5. Isolation, in test_principles_isolation: a run reaches nothing outside, and leaves nothing behind.
6. The components are the real ones, whichever model is behind them.
7. Only the model and what is outside are replaced.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import httpx
import msgspec
import pytest

from soundstage import Script
from soundstage.agents.runtime import AgentLoop, tool
from soundstage.agents.scenarios import SCENARIOS, TeamStage, feedback_loop, play, scenario
from soundstage.clock import SystemClock, run
from soundstage.errors import ExpectationError
from soundstage.host import HostBuilder
from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    Event,
    Journal,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    ProcessExited,
    ProcessStarted,
    Record,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from soundstage.live import LiveModel
from soundstage.messages import Caller, ModelRequest, user
from soundstage.models import complete
from soundstage.trace import (
    Trace,
    assert_agent_sequence,
    assert_feedback_propagated,
    assert_phase_transitions,
    assert_tool_calls,
    build_trace,
    diff,
    normalise,
)
from support.kinds import IN_PROCESS, KINDS, PROGRAMS, ROOT, Kind, perform

# 1. determinism


def journal_bytes(kind: Kind, path: Path) -> bytes:
    perform(kind, path)
    return path.read_bytes()


@pytest.mark.parametrize("name", IN_PROCESS)
def test_the_same_run_in_process_writes_the_same_journal_to_the_byte(name, tmp_path):
    first = journal_bytes(IN_PROCESS[name], tmp_path / "first.jsonl")
    assert first.count(b"\n") > 20
    assert journal_bytes(IN_PROCESS[name], tmp_path / "second.jsonl") == first


@pytest.mark.parametrize("name", IN_PROCESS)
def test_another_process_with_other_hashes_writes_the_same_journal(name, tmp_path):
    path = tmp_path / "other.jsonl"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "PYTHONHASHSEED": "4711"}
    subprocess.run(
        [sys.executable, "-m", "support.kinds", name, path], env=environment, check=True, timeout=50
    )
    assert path.read_bytes() == journal_bytes(IN_PROCESS[name], tmp_path / "here.jsonl")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_run_with_programs_has_the_same_trace(name):
    first, second = (build_trace(perform(PROGRAMS[name]).records) for _ in range(2))
    assert first.steps or first.records
    assert diff(normalise(first), normalise(second)) == ""


def test_an_app_with_dice_of_its_own_is_noticed(tmp_path):
    """The comparison is no formality: what is not a function of script, seed and app is different."""

    async def dicey(app):
        app.console.write_line(f"{random.SystemRandom().random()}")

    kind = Kind(lambda builder: builder.with_console().with_app(dicey), lambda host: host.console.expect("."))
    one, other = (journal_bytes(kind, tmp_path / f"{number}.jsonl") for number in range(2))
    assert one != other


# 2. context, and what conversations share


def ask(model, text, *, agent="", conversation="", before=()):
    caller = Caller(agent=agent, conversation=conversation)
    request = ModelRequest(model="m", messages=(*before, user(text)), caller=caller)
    return complete(model, request)


def test_the_same_words_get_another_answer_in_another_context():
    script = Script(strict=True)
    script.on(agent="executor", iteration=1).reply("first of the executor")
    script.on(agent="executor", iteration=2).reply("second of the executor")
    script.on(agent="verifier", contains="earlier").reply("knows what was said")
    script.on(agent="verifier").reply("knows nothing")

    async def body(host):
        asked = [
            await ask(host.model, "go on", agent="executor"),
            await ask(host.model, "go on", agent="executor"),
            await ask(host.model, "go on", agent="verifier"),
            await ask(host.model, "go on", agent="verifier", before=(user("earlier"),)),
        ]
        return [answer.text for answer in asked]

    said = HostBuilder().with_script(script).run(body)
    assert said == [
        "first of the executor",
        "second of the executor",
        "knows nothing",
        "knows what was said",
    ]


def counting(times: int) -> Script:
    script = Script(strict=True)
    for number in range(1, times + 1):
        script.on(iteration=number).reply(f"answer {number}", delay=0.1 * number)
    return script


async def converse(model, conversation: str, times: int) -> list[str]:
    return [(await ask(model, "go on", conversation=conversation)).text for _ in range(times)]


def test_conversations_side_by_side_do_not_share_counters():
    async def body(host):
        return await asyncio.gather(*(converse(host.model, f"c{number}", 3) for number in range(5)))

    said = HostBuilder().with_script(counting(3)).run(body)
    assert said == [["answer 1", "answer 2", "answer 3"]] * 5


def test_conversations_over_the_wire_do_not_share_counters():
    async def body(host):
        async def talk(client, name):
            said = []
            for _ in range(3):
                body = {"model": "m", "messages": [{"role": "user", "content": "go on"}]}
                headers = {"x-soundstage-conversation": name}
                answer = await client.post("/chat/completions", json=body, headers=headers)
                said.append(answer.json()["choices"][0]["message"]["content"])
            return said

        async with httpx.AsyncClient(base_url=host.server.openai_url) as client:
            return await asyncio.gather(*(talk(client, f"c{number}") for number in range(4)))

    said = HostBuilder().with_script(counting(3)).with_server().run(body)
    assert said == [["answer 1", "answer 2", "answer 3"]] * 4


def test_one_conversation_does_share_its_counter():
    """So the two tests above can fail: requests of one conversation count together."""

    async def body(host):
        return await asyncio.gather(*(converse(host.model, "the same", 1) for _ in range(3)))

    said = HostBuilder().with_script(counting(3)).run(body)
    assert sorted(said) == [["answer 1"], ["answer 2"], ["answer 3"]]


def test_runs_with_one_script_do_not_share_what_has_been_used():
    script = Script(strict=True)
    script.on(user="go on", times=1).reply("only once")

    async def body(host):
        return (await ask(host.model, "go on")).text

    assert [HostBuilder().with_script(script).run(body) for _ in range(2)] == ["only once"] * 2


# 3. the trace is complete

ENDS: dict[type[Event], tuple[type[Event], ...]] = {
    ModelRequested: (ModelResponded, ModelFailed),
    ToolCalled: (ToolReturned,),
    AgentStarted: (AgentFinished,),
    ProcessStarted: (ProcessExited,),
}


def open_ends(records: Sequence[Record]) -> list[str]:
    """Everything that begins in a journal and does not end exactly once."""
    found = []
    for begin in records:
        ends = ENDS.get(type(begin.event), ())
        ended = [
            one for one in records if isinstance(one.event, ends or Event) and one.cause == begin.position
        ]
        if ends and len(ended) != 1:
            found.append(f"{type(begin.event).__name__} @{begin.position} ends {len(ended)} times")
    bounds = [type(one.event).__name__ for one in (records[0], records[-1])] if records else []
    if bounds != ["RunStarted", "RunFinished"]:
        found.append(f"the run has the bounds {bounds}")
    found += [f"nobody answered {use.name}" for use in build_trace(records).tools if use.result is None]
    found += [
        f"@{one.position} is caused by @{one.cause}"
        for place, one in enumerate(records, start=1)
        if one.position != place or (one.cause is not None and not 0 < one.cause < one.position)
    ]
    return found


@pytest.mark.parametrize("name", KINDS)
def test_all_that_begins_in_a_run_ends_in_its_trace(name):
    assert open_ends(perform(KINDS[name]).records) == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_all_that_begins_in_a_scenario_of_a_team_ends_in_its_trace(name):
    """Among them: tools that fail, an overloaded model, an empty reply, arguments that are no JSON."""
    made = scenario(name)

    async def main():
        async with TeamStage(made) as stage:
            if made.drive is not None:
                await made.drive(stage)
            else:
                await stage.run_all(made.messages)
        return stage.journal.read()

    assert open_ends(run(main())) == []


def test_a_request_whose_app_is_stopped_ends_in_the_trace():
    async def app(surroundings):
        await ask(surroundings.model, "hello")

    async def main():
        script = Script()
        script.otherwise("too late", delay=3600)
        host = HostBuilder().with_script(script).with_console().with_app(app).build()
        with pytest.raises(ValueError, match="the test has enough"):
            async with host:
                await host.journal.wait_for(ModelRequested, within=1)
                raise ValueError("the test has enough")
        return host.journal.read()

    records = run(main())
    assert open_ends(records) == []
    assert [one.event.reason for one in records if isinstance(one.event, ModelFailed)] == ["client_gone"]


def test_a_tool_whose_run_is_stopped_ends_in_the_trace():
    @tool
    async def dig() -> str:
        """Dig a hole, for ever."""
        await asyncio.Event().wait()
        return "never"

    async def main():
        from soundstage.agents.scenarios import route, team

        async with TeamStage(agents=team("dig"), tools=[dig]) as stage:
            stage.script.on(agent="orchestrator").reply(route("executor"))
            stage.script.on(agent="executor").reply(tool_calls=[{"name": "dig"}])
            working = asyncio.create_task(stage.run(stage.create("Dig")))
            await stage.journal.wait_for(ToolCalled, within=1)
            working.cancel()
            await asyncio.wait([working])
        return stage.journal.read()

    assert open_ends(run(main())) == []


@pytest.mark.parametrize(
    "missing",
    [ModelResponded, ToolReturned, AgentFinished, ProcessExited, RunStarted, RunFinished],
    ids=lambda kind: kind.__name__,
)
def test_a_trace_with_a_gap_is_noticed(missing):
    records = perform(KINDS["program" if missing is ProcessExited else "team"]).records
    last = max(one.position for one in records if isinstance(one.event, missing))
    assert open_ends([one for one in records if one.position != last]) != []


def test_an_answer_that_comes_twice_is_noticed():
    records = perform(KINDS["console"]).records
    twice = next(one for one in records if isinstance(one.event, ModelResponded))
    again = msgspec.structs.replace(twice, position=len(records) + 1)
    assert open_ends([*records, again])


# 4. assertions can be read


WRONG = {
    "the order of agents": lambda trace: assert_agent_sequence(trace, "orchestrator", "test-pm"),
    "the phases": lambda trace: assert_phase_transitions(trace, "plan", "execute"),
    "the tools": lambda trace: assert_tool_calls(trace, "complete", agent="executor"),
    "the feedback": lambda trace: assert_feedback_propagated(trace, "test-pm", "executor", "bcrypt"),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_assertion_that_fails_speaks_of_the_workflow(what):
    [trace] = run(play(feedback_loop()))
    with pytest.raises(ExpectationError) as caught:
        WRONG[what](trace)
    told = str(caught.value)
    assert "expected:" in told
    assert "seen:" in told
    assert any(word in told for word in ("orchestrator", "executor", "test-pm", "verification"))
    assert " object at 0x" not in told
    assert max(map(len, told.splitlines())) < 200


# 6. real components


def reference(model, journal):
    from examples.team.team import make_router

    return make_router(model, journal)


async def work(router) -> None:
    await router.run(router.coordinator.create("Implement auth"))


def scripted_team():
    script = Script()
    feedback_loop().write(script)

    async def body(host):
        await work(reference(host.model, host.journal))
        return host.trace

    return HostBuilder().with_script(script).run(body)


def live_team():
    """The same team on a live model, which asks a server over HTTP; what the server saw is checked, too."""
    script = Script()
    feedback_loop().write(script)

    async def body(host):
        journal = Journal(clock=SystemClock())
        model = LiveModel("openai", base_url=host.server.openai_url, api_key="test", allow=True)
        await work(reference(model, journal))
        served = [one for one in host.journal.read() if isinstance(one.event, ModelRequested)]
        assert [one.source for one in served] == ["wire"] * 8
        return Trace.of(journal)

    return HostBuilder().with_script(script).with_server().run(body)


def team_of_the_demo():
    return build_trace(perform(KINDS["team"]).records)


def team_on_a_stage():
    return run(play(feedback_loop()))[0]


@pytest.mark.parametrize("way", [scripted_team, live_team, team_of_the_demo, team_on_a_stage])
def test_whoever_answers_the_loop_that_works_is_the_one_of_production(way, monkeypatch):
    runs = []
    real = AgentLoop.run

    async def counted(self, task):
        runs.append((type(self), task.agent))
        return await real(self, task)

    monkeypatch.setattr(AgentLoop, "run", counted)
    way()
    assert runs == [
        (AgentLoop, agent) for agent in ["orchestrator", "executor", "orchestrator", "test-pm"] * 2
    ]


def test_the_trace_on_a_scripted_model_is_that_on_a_live_one():
    assert diff(normalise(scripted_team()), normalise(live_team())) == ""


# 7. clear boundaries


FOR_TESTS = ("pytest", "_pytest", "unittest", "hypothesis", "doctest")
STAGE = (
    *("soundstage.testing", "soundstage.pytest_plugin", "soundstage.host", "soundstage.demo"),
    *("soundstage.agents.scenarios", "soundstage.agents.testing"),
)
SCRIPTED = {"Script", "ScriptedModel", "Faulty", "VirtualClock", "VirtualDiscordGateway", "Console"}
PRODUCTION = {
    "examples": sorted(
        path
        for path in (ROOT / "examples").rglob("*.py")
        if {ROOT / "examples/scenarios", ROOT / "examples/evals"}.isdisjoint(
            path.parents
        )  # they have scripts
    ),
    "programs of the demo": [
        ROOT / "src/soundstage/demo" / name for name in ("sdk_agent.py", "terminal_app.py", "discord_bot.py")
    ],
    "components of teams": sorted(
        path
        for path in (ROOT / "src/soundstage/agents").rglob("*.py")
        if path.relative_to(ROOT / "src/soundstage/agents").parts[0] not in ("scenarios", "testing")
    ),
}


def crossings(source: str) -> list[str]:
    """The imports of a source that only belong to tests, at any depth of its code."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
    return sorted(
        f"{module} {name}".strip()
        for module, name in found
        if module.split(".")[0] in FOR_TESTS
        or any(f"{module}.{name}.".startswith(f"{stage}.") for stage in STAGE)
        or (module.startswith("soundstage") and name in SCRIPTED)
    )


@pytest.mark.parametrize("group", PRODUCTION)
def test_what_runs_in_production_imports_nothing_that_is_for_tests(group):
    files = PRODUCTION[group]
    assert len(files) >= 3
    assert {str(path): found for path in files if (found := crossings(path.read_text()))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pytest",
        "def f():\n    from unittest.mock import patch",
        "from soundstage.agents.scenarios import team",
        "import soundstage.testing",
        "from soundstage import testing",
        "from soundstage.models import ScriptedModel",
        "from soundstage.host import HostBuilder",
    ],
)
def test_an_import_across_the_boundary_is_noticed(source):
    assert crossings(source) != []


OURS_TO_LEAVE_ALONE = {
    "socket": lambda: (socket.socket, socket.create_connection, socket.getaddrinfo),
    "asyncio": lambda: (asyncio.open_connection, asyncio.sleep, asyncio.create_task, asyncio.wait_for),
    "subprocess": lambda: (subprocess.Popen, subprocess.run, os.fork, os.execv),
    "time": lambda: (time.time, time.monotonic, time.sleep, random.random),
    "files": lambda: (builtins.open, os.open, Path.write_text, tempfile.mkdtemp),
    "http": lambda: (httpx.AsyncClient.send, urllib.request.urlopen),
    "streams": lambda: (sys.stdin, sys.stdout, builtins.print, builtins.input),
}


@pytest.mark.parametrize("name", ["console", "team", "discord in process", "discord"])
def test_in_a_run_nothing_of_python_is_replaced(name):
    """Only the model and the worlds that the app was given are not the real ones."""
    kind, inside = KINDS[name], []

    async def body(host):
        inside.append({part: look() for part, look in OURS_TO_LEAVE_ALONE.items()})
        await kind.body(host)

    before = {part: look() for part, look in OURS_TO_LEAVE_ALONE.items()}
    perform(kind._replace(body=body))
    assert inside == [before]
