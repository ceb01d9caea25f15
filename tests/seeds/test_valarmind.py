"""ValarMind Code: eight agents and an orchestrator, tested without a token. The team is that of `examples/coding_team`.

Snapshots of prompts, tool permissions, timeouts, the flow of one agent, the trajectory of many, prompts that overflow,
and sessions that are recorded once and replayed.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from examples.coding_team.agents import AGENTS, ORCHESTRATOR
from examples.coding_team.team import make_loop, make_planner, team_registry
from soundstage import Script
from soundstage.agents.prompts import TRIMMED, PromptAssembler, PromptBuilder
from soundstage.agents.runtime import (
    AgentDefinition,
    AgentLoop,
    AgentRegistry,
    AgentTask,
    ShellHook,
    ShellHooks,
    listening,
    tool,
)
from soundstage.clock import SystemClock, run
from soundstage.errors import ModelError, ReplayMismatchError
from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    Journal,
    ModelRequested,
    ToolCalled,
    ToolReturned,
)
from soundstage.messages import ModelRequest, call, user
from soundstage.models import ScriptedModel, complete
from soundstage.snapshots import assert_snapshot
from soundstage.tapes import RecordingModel, ReplayModel, Tape
from soundstage.trace import Trace, assert_agent_sequence, assert_tool_calls

AGENT = {agent.slug: agent for agent in AGENTS}
ALL = {**AGENT, "orchestrator": ORCHESTRATOR}
SNAPSHOTS = (
    Path(__file__).parents[1] / "examples/__snapshots__/test_coding_team"
)  # the ones of the example itself
EACH = pytest.mark.parametrize("agent", AGENTS, ids=list(AGENT))

# AGENT_PERMISSIONS
PERMISSIONS = {
    "search": {"read"},
    "research": {"read", "web"},
    "code": {"read", "write"},
    "test": {"read", "write", "execute"},
    "init": {"read"},
    "review": {"read"},
    "qa": {"read", "execute"},
    "docs": {"read", "write"},
    "orchestrator": {"read"},
}


# The scripted client: a queue of responses that captures every call


def scripted(*responses):
    script = Script(strict=True)
    script.queue(*responses)
    return script


def ask(model, *messages, **fields):
    return run(complete(model, ModelRequest(model="m", messages=messages or (user("go"),), **fields)))


def test_responses_come_in_order_and_the_client_captures_what_it_was_asked():
    loop, outcome = work(scripted(call("glob", {"pattern": "*.py"}), "Found 5 files"))
    assert outcome.output == "Found 5 files"
    first, second = asked(loop)
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "tool"]
    assert first.messages == second.messages[:2]


def test_a_scripted_error_is_raised_on_the_first_call():
    with pytest.raises(ModelError, match="API down"):
        ask(ScriptedModel(scripted(RuntimeError("API down"))))


# Prompt snapshots


@pytest.mark.parametrize("agent", ALL.values(), ids=list(ALL))
def test_a_system_prompt_does_not_drift(agent):
    known = {"project_context": "A shop that sells tea.", "conventions": "Lines end before column 100."}
    prompt = PromptAssembler(**known).build(agent).text
    assert_snapshot(SNAPSHOTS / f"test_a_prompt_changes_only_on_purpose({agent.slug}).txt", prompt)


@pytest.mark.parametrize("slug", ["code", "review"])
def test_conventions_are_appended_when_there_are_some(slug):
    with_some = PromptAssembler(conventions="Tabs.").build(AGENT[slug]).text
    assert with_some.endswith("## Conventions\n\nTabs.")
    assert "## Conventions" not in PromptAssembler(conventions="").build(AGENT[slug]).text


@EACH
def test_init_alone_excludes_the_project_context(agent):
    assert agent.project_context is (agent.slug != "init")
    prompt = PromptAssembler(project_context="A shop.").build(agent).text
    assert ("A shop." in prompt) is (agent.slug != "init")


# Tool permissions


@pytest.mark.parametrize("agent", ALL.values(), ids=list(ALL))
def test_permissions_match_the_table(agent):
    assert agent.permissions == PERMISSIONS[agent.slug]


@EACH
def test_every_allowed_tool_has_its_permission(agent, tmp_path):
    for used in team_registry(tmp_path).tools_of(agent.slug):
        assert used.permissions <= agent.permissions, used.name


@EACH
@pytest.mark.parametrize(
    ("permission", "tools"),
    [
        ("write", {"write_file", "edit_file"}),
        ("execute", {"bash"}),
        ("web", {"web_search", "web_fetch"}),
    ],
)
def test_without_a_permission_there_are_none_of_its_tools(agent, permission, tools):
    assert permission in agent.permissions or not tools & set(agent.tools)


def test_only_the_research_agent_has_a_model_suffix():
    assert {agent.slug: agent.model_suffix for agent in AGENTS if agent.model_suffix} == {
        "research": ":online"
    }


# The agent runner: timeout, abort, flow


@tool
def glob(pattern: str) -> str:
    """Find files.

    Args:
        pattern: which.
    """
    return "a.py b.py"


@tool
def read_file(path: str) -> str:
    """Read a file.

    Args:
        path: which.
    """
    if path == "missing":
        raise FileNotFoundError(path)
    return f"content of {path}"


def make_runner(script, **options):
    """One agent with two tools."""
    fields = {"slug": "worker", "prompt": "You work.", "tools": ("glob", "read_file")}
    definition = AgentDefinition(**{**fields, **options.pop("agent", {})})
    return AgentLoop(ScriptedModel(script), AgentRegistry([definition], [glob, read_file]), **options)


def work(script, task=None, **options):
    """Have the agent do one task on virtual time: the runner, and the outcome."""

    async def flow():
        loop = make_runner(script, **options)
        return loop, await loop.run(
            AgentTask(**{"id": "t1", "agent": "worker", "prompt": "go", **(task or {})})
        )

    return run(flow())


def asked(loop):
    return [event.request for event in loop.journal.events(ModelRequested)]


def result_in(request):
    """The tool result that a request brings."""
    return request.tool_results[-1].text


def test_timeout_fires():
    loop, outcome = work(scripted({"text": "late", "delay": 60}), agent={"timeout": 0.05})
    assert (outcome.success, outcome.reason) == (False, "timeout")
    [started], [ended] = loop.journal.events(AgentStarted), loop.journal.events(AgentFinished)
    assert (ended.agent, ended.outcome, ended.task_id) == ("worker", "failure", "t1")
    assert started.task == "t1"


def test_abort_stops_the_loop():
    script = Script()
    script.on(user="go").reply(call("glob", {"pattern": "*"}), delay=10)

    async def flow():
        loop = make_runner(script)
        running = asyncio.create_task(loop.run(AgentTask(id="t1", agent="worker", prompt="go")))
        await asyncio.sleep(25)
        assert loop.abort("t1")
        outcome = await running
        await asyncio.sleep(3600)
        return loop, outcome

    loop, outcome = run(flow())
    assert (outcome.success, outcome.reason) == (False, "aborted")
    assert len(asked(loop)) == 3


@pytest.mark.parametrize(("override", "limit"), [(None, 60), (90, 90), (10_000, 360)])
def test_an_override_is_capped_at_three_times_the_maximum(override, limit):
    slow = scripted({"text": "late", "delay": 100_000})
    loop, _ = work(slow, {"timeout": override}, agent={"timeout": 60.0, "max_timeout": 120.0})
    [ended] = loop.journal.read(type=AgentFinished)
    assert ended.time == limit


def test_fast_completion_is_no_timeout():
    assert work(scripted("quick"), agent={"timeout": 5.0})[1].success


def test_a_single_tool_call():
    loop, outcome = work(scripted(call("glob", {"pattern": "*.py"}), "Found 2 files"))
    assert outcome.output == "Found 2 files"
    assert_tool_calls(Trace.of(loop.journal), ("glob", {"pattern": "*.py"}))
    assert result_in(asked(loop)[1]) == "a.py b.py"


def test_two_tool_calls_in_one_response_are_both_run():
    both = {"tool_calls": [call("glob", {"pattern": "*"}), call("read_file", {"path": "a.py"})]}
    loop, _ = work(scripted(both, "Done"))
    assert_tool_calls(Trace.of(loop.journal), "glob", "read_file")
    assert len(asked(loop)) == 2


def test_a_truncated_answer_is_continued():
    loop, outcome = work(scripted({"text": "The first half", "finish": "length"}, " and the second."))
    assert outcome.output == "The first half and the second."
    last = asked(loop)[1].messages
    assert [message.role for message in last[-2:]] == ["assistant", "user"]


def test_a_tool_error_reaches_the_model_with_its_prefix():
    loop, _ = work(scripted(call("read_file", {"path": "missing"}), "It is not there."))
    assert result_in(asked(loop)[1]) == "ERROR: FileNotFoundError: missing"


def test_exactly_the_allowed_tools_are_provided():
    loop, _ = work(scripted("ok"), agent={"tools": ("glob",)})
    assert [offered.name for offered in asked(loop)[0].tools] == ["glob"]


def test_max_turns_is_a_failure():
    script = Script()
    script.on(user="go").reply(call("glob", {"pattern": "*"}))
    _, outcome = work(script, agent={"max_turns": 3})
    assert (outcome.success, outcome.error, outcome.turns) == (False, "Max turns reached (3)", 3)


def test_hooks_are_called_with_the_tool_in_their_environment(tmp_path):
    before = 'echo "$VALARMIND_TOOL $VALARMIND_AGENT $VALARMIND_ARGS" >> log'
    after = 'echo "$VALARMIND_TOOL $VALARMIND_SUCCESS" >> log'
    hooks = ShellHooks(
        [ShellHook(event="PreToolUse", command=before), ShellHook(event="PostToolUse", command=after)],
        project=tmp_path,
    )
    calls = [call("glob", {"pattern": "*"}), call("read_file", {"path": "missing"})]
    work(scripted(*calls, "x"), hooks=hooks)
    assert (tmp_path / "log").read_text().splitlines() == [
        'glob worker {"pattern":"*"}',
        "glob true",
        'read_file worker {"path":"missing"}',
        "read_file false",
    ]


def test_events_come_in_the_order_of_the_flow():
    heard = []

    async def flow():
        loop = make_runner(scripted(call("glob", {"pattern": "*"}), "Done"))
        async with listening(loop.journal, lambda record: heard.append(type(record.event))):
            await loop.run(AgentTask(id="t1", agent="worker", prompt="go"))

    run(flow())
    assert heard == [AgentStarted, ToolCalled, ToolReturned, AgentFinished]


@pytest.mark.parametrize(("default", "sent"), [("m", "m:online"), (None, "")])
def test_the_model_suffix_is_added_to_a_default_model(default, sent):
    options = {} if default is None else {"default_model": default}
    loop, _ = work(scripted("ok"), agent={"model_suffix": ":online"}, **options)
    assert asked(loop)[0].model == sent


# The orchestrator: which agents, in which order


def plan(*tasks):
    listed = [{"agent": a, "description": d, "dependsOn": list(needs)} for a, d, *needs in tasks]
    return json.dumps({"plan": "as follows", "tasks": listed})


def writes(*paths):
    return {
        "tool_calls": [
            {"name": "write_file", "arguments": {"path": path, "content": "x = 1\n"}} for path in paths
        ]
    }


APPROVED = json.dumps({"approved": True})
REJECTED = json.dumps({"approved": False, "issues": [{"message": "it is slow", "file": "a.py"}]})
PASSED = json.dumps({"passed": True})


@pytest.fixture
def orchestrate(tmp_path):
    """Have the real team carry out a plan; gives the result and the trace."""

    def orchestrate(script):
        async def flow():
            journal = Journal()
            loop = make_loop(ScriptedModel(script), tmp_path, journal, model_name="m")
            return await make_planner(loop).run("Do it"), Trace.of(journal)

        return run(flow(), clock=SystemClock())

    return orchestrate


def team_script(*tasks, **lines):
    """The orchestrator's plan, and for each agent what it says, in order."""
    script = Script(strict=True)
    script.on(agent="orchestrator").reply(plan(*tasks))
    for agent, said in lines.items():
        for reply in said:
            script.on(agent=agent, times=1).reply(reply)
    return script


def test_search_then_code(orchestrate):
    script = team_script(
        ("search", "find it"), ("code", "change it", 0), search=["in a.py"], code=["changed"]
    )
    result, trace = orchestrate(script)
    assert_agent_sequence(trace, "orchestrator", "search", "code")
    assert "in a.py" in trace.runs[2].steps[0].request.messages[-1].text
    assert "2/2 tasks completed" in result.summary


def test_two_searches_run_before_code(orchestrate):
    script = Script(strict=True)
    script.on(agent="orchestrator").reply(plan(("search", "one"), ("search", "two"), ("code", "it", 0, 1)))
    script.on(agent="search", user="one").reply("1")
    script.on(agent="search", user="two").reply("2")
    script.on(agent="code", contains=["1", "2"]).reply("changed")
    _, trace = orchestrate(script)
    assert_agent_sequence(trace, "orchestrator", "search", "search", "code")


def test_a_change_of_many_files_passes_the_quality_gates(orchestrate):
    code = [writes("a.py", "b.py", "c.py"), "changed"]
    _, trace = orchestrate(team_script(("code", "it"), code=code, review=[APPROVED], qa=[PASSED]))
    assert_agent_sequence(trace, "orchestrator", "code", "review", "qa")


def test_a_failed_review_is_fixed_and_reviewed_again(orchestrate):
    code = [writes("a.py", "b.py", "c.py"), "changed", writes("a.py"), "fixed"]
    script = team_script(("code", "it"), code=code, review=[REJECTED, APPROVED], qa=[PASSED])
    _, trace = orchestrate(script)
    assert_agent_sequence(trace, "orchestrator", "code", "review", "code", "review", "qa")
    assert "it is slow" in trace.runs[3].steps[0].request.messages[-1].text


def test_a_failed_task_does_not_block_independent_ones(orchestrate):
    script = team_script(
        ("search", "find it"), ("docs", "describe it"), ("code", "change it", 0), docs=["described"]
    )
    script.on(agent="search").error(400, "no")
    result, trace = orchestrate(script)
    assert [task.status for task in result.tasks] == ["failed", "completed", "skipped"]
    assert "code" not in trace.agents


def test_a_chain_of_three(orchestrate):
    script = team_script(
        ("search", "s"),
        ("code", "c", 0),
        ("test", "t", 1),
        search=["found"],
        code=["changed"],
        test=["tested"],
    )
    assert_agent_sequence(orchestrate(script)[1], "orchestrator", "search", "code", "test")


def test_one_harmless_file_needs_no_gates(orchestrate):
    script = team_script(("code", "it"), code=[writes("a.py"), "changed"])
    assert_agent_sequence(orchestrate(script)[1], "orchestrator", "code")


def test_plan_mode_creates_approves_and_rejects(tmp_path):
    async def flow():
        script = team_script(("search", "find it"), search=["found"])
        loop = make_loop(ScriptedModel(script), tmp_path, Journal(), model_name="m")
        planner = make_planner(loop)
        await planner.create("Do it")
        assert planner.reject()
        assert await planner.approve() is None
        await planner.create("Do it")
        return await planner.approve()

    result = run(flow(), clock=SystemClock())
    assert [task.output for task in result.tasks] == ["found"]


# Context overflow


def test_lower_priority_is_dropped_over_budget_and_kept_within():
    def dropped(size):
        builder = PromptBuilder(cap=100)
        return (
            builder.add("Low", "x" * size, priority=10).add("High", "y" * 200, priority=90).build().manifest
        )

    assert dropped(300).dropped == ("Low",)
    assert dropped(30).dropped == ()


def test_a_large_system_prompt_leaves_no_room_for_the_project():
    code = msgspec.structs.replace(AGENT["code"], prompt="x" * 16_000)
    built = PromptAssembler(project_context="A shop. " * 200).build(code)
    assert built.manifest.dropped == ("Project Context",)


def test_sections_of_higher_priority_are_taken_first_and_keep_their_place():
    builder = PromptBuilder(cap=100).add("Last", "z" * 150, priority=10)
    built = builder.add("First", "a" * 150, priority=90).add("Second", "b" * 150, priority=50).build()
    assert built.manifest.dropped == ("Last",)
    assert built.text.index("## First") < built.text.index("## Second")


@pytest.mark.parametrize("cut", [False, True], ids=["dropped whole", "truncated"])
def test_a_context_of_50k_characters_does_not_overflow(cut):
    built = PromptAssembler(project_context="x" * 50_000, cut=cut).build(AGENT["code"])
    assert built.manifest.total <= 4800
    assert (built.manifest.dropped == ("Project Context",)) is not cut


@pytest.mark.parametrize(("size", "trimmed"), [(9_000, True), (100, False)])
def test_the_runner_trims_large_tool_results_and_leaves_small_ones(tmp_path, size, trimmed):
    (tmp_path / "big.txt").write_text("line\n" * (size // 5))
    turns = 24
    script = Script(strict=True)
    script.on(agent="search", step=turns).reply("done")
    script.on(agent="search").reply(call("read_file", {"path": "big.txt"}))

    async def flow():
        journal = Journal()
        loop = make_loop(ScriptedModel(script), tmp_path, journal, model_name="m")
        await loop.run(AgentTask(id="t1", agent="search", prompt="Read it " + "x" * 200_000 * trimmed))
        return journal.events(ModelRequested)[-1].request

    last = run(flow(), clock=SystemClock())
    assert (TRIMMED in [message.text for message in last.messages]) is trimmed
    assert TRIMMED.startswith("[Previous conversation truncated")


# Record once, replay for nothing


def session(model):
    async def flow():
        loop = AgentLoop(model, AgentRegistry([AgentDefinition(slug="worker", tools=("glob",))], [glob]))
        return await loop.run(AgentTask(id="t1", agent="worker", prompt="go"))

    return run(flow())


@pytest.fixture
def fixture(tmp_path):
    path = tmp_path / "session.jsonl"
    session(
        RecordingModel(ScriptedModel(scripted(call("glob", {"pattern": "*"}), "Found 2")), Tape.create(path))
    )
    return path


def test_a_recorded_exchange_has_time_request_response_and_latency(fixture):
    lines = [json.loads(line) for line in fixture.read_text().splitlines()]
    exchanges = [line for line in lines if "request" in line]
    assert len(exchanges) == 2
    for exchange in exchanges:
        assert {"timestamp", "request", "response", "latency_ms"} <= exchange.keys()


def test_a_replayed_session_is_the_recorded_one(fixture):
    model = ReplayModel(Tape.load(fixture))
    assert session(model).output == "Found 2"
    assert model.unplayed == ()


def test_strict_replay_throws_on_another_request_and_relaxed_replay_lists_it(fixture):
    with pytest.raises(ReplayMismatchError):
        ask(ReplayModel(Tape.load(fixture)), user("something else"))
    relaxed = ReplayModel(Tape.load(fixture), relaxed=True)
    assert ask(relaxed, user("something else")).tool_calls[0].name == "glob"
    assert len(relaxed.verdicts) == 1
