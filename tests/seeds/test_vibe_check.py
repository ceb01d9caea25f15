"""Vibe-Check: an agent works on a workspace, and the test looks at files, tool calls, timeline and cost.

These are the tests of a single agent's run: what it did, what is left of it when it fails, recorded sessions that are
replayed. Workflows of stages, bundles of runs, judges and cost budgets are not part of the package yet.
"""

from __future__ import annotations

import json

import pytest

from soundstage import Script
from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, AgentTask, workspace_tools
from soundstage.agents.teams import Backoff, RetryingModel
from soundstage.clock import SystemClock, run
from soundstage.errors import ReplayMismatchError, TapeError
from soundstage.journal import AgentFinished, AgentStarted, FileChanged, Journal, Redactor
from soundstage.messages import Usage, call
from soundstage.models import ScriptedModel
from soundstage.tapes import RecordingModel, ReplayModel, Tape
from soundstage.trace import Trace, assert_no_failures, assert_ordered, assert_tool_calls

TOOLS = ("read_file", "write_file", "edit_file", "bash")


@pytest.fixture
def project(tmp_path):
    """The fixture workspace: a small project."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "shop.py").write_text("from sums import add\n")
    return folder


class Run:
    """One run of the agent: its trace, its outcome."""

    def __init__(self, folder, model, *, prompt="Let add add.", timeout=60.0):
        async def work():
            self.journal = Journal()
            tools = workspace_tools(folder)
            needs = {need for used in tools if used.name in TOOLS for need in used.permissions}
            agent = AgentDefinition(
                slug="coder",
                prompt="You code.",
                tools=TOOLS,
                permissions=frozenset(needs),
                timeout=timeout,
                max_timeout=timeout,
            )
            loop = AgentLoop(
                model, AgentRegistry([agent], tools), journal=self.journal, default_model="gpt-4o"
            )
            return await loop.run(AgentTask(id="t1", agent="coder", prompt=prompt))

        self.outcome = run(work(), clock=SystemClock())
        self.trace = Trace.of(self.journal)

    @property
    def changed(self):
        return [event.path for event in self.journal.events(FileChanged)]


def edit(path, old, new):
    return call("edit_file", {"path": path, "old": old, "new": new})


def agent(*replies):
    """The replies of the model, in order."""
    script = Script(strict=True)
    script.queue(*replies)
    return ScriptedModel(script)


def simple_file_edit():
    return agent(
        call("read_file", {"path": "sums.py"}), edit("sums.py", "a - b", "a + b"), "add adds, as asked."
    )


# Scenarios


def test_simple_file_edit(project):
    done = Run(project, simple_file_edit())
    assert done.outcome.success
    assert (project / "sums.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert_tool_calls(done.trace, "read_file", ("edit_file", {"path": "sums.py"}))
    assert done.changed == ["sums.py"]
    assert_no_failures(done.trace)


def test_multi_file_refactor(project):
    both = {
        "tool_calls": [
            edit("sums.py", "def add", "def plus"),
            edit("shop.py", "import add", "import plus"),
        ]
    }
    done = Run(project, agent(both, "Renamed."))
    assert done.changed == ["sums.py", "shop.py"]
    assert done.outcome.files == ("sums.py", "shop.py")


def test_cumulative_changes_name_each_file_once(project):
    twice = [edit("sums.py", "a - b", "a * b"), edit("sums.py", "a * b", "a + b"), "Now it adds."]
    done = Run(project, agent(*twice))
    assert done.changed == ["sums.py", "sums.py"]  # the journal has both
    assert done.outcome.files == ("sums.py",)


def test_tool_usage_shell(project):
    shell = call("bash", {"command": "python3 -c 'import shop, sums; print(sums.add(2, 3))'"})
    done = Run(project, agent(shell, "It says -1."))
    assert "-1" in done.trace.tools[0].result


def test_error_correction_loop(project):
    wrong, right = edit("sums.py", "a / b", "a + b"), edit("sums.py", "a - b", "a + b")
    done = Run(project, agent(wrong, right, "It was a minus."))
    assert [used.is_error for used in done.trace.tools] == [True, False]
    assert done.outcome.success
    assert done.changed == ["sums.py"]


def test_session_timeout_leaves_a_partial_result_with_the_reason(project):
    done = Run(
        project, agent(edit("sums.py", "a - b", "a + b"), {"text": "late", "delay": 3600}), timeout=0.5
    )
    assert (done.outcome.success, done.outcome.reason) == (False, "timeout")
    assert (done.changed, len(done.trace.tools)) == (["sums.py"], 1)


# State: timeline, tool calls, cost


def test_a_fresh_run_has_no_files_no_tools_and_no_timeline():
    trace = Trace.of(Journal())
    assert (trace.files, trace.tools, trace.steps, trace.failures) == ((), (), (), ())


def test_each_run_has_a_context_of_its_own(project):
    first, second = Run(project, agent("one")), Run(project, agent("two"))
    assert first.journal is not second.journal
    assert [one.trace.runs[0].text for one in (first, second)] == ["one", "two"]


def test_a_call_and_its_result_are_one_tool_call(project):
    [read, edited] = Run(project, simple_file_edit()).trace.tools
    assert (read.name, read.arguments) == ("read_file", {"path": "sums.py"})
    assert "return a - b" in read.result
    assert (edited.name, edited.is_error) == ("edit_file", False)


def test_the_timeline_is_in_order(project):
    done = Run(project, simple_file_edit())
    assert_ordered(done.journal, AgentStarted, FileChanged, AgentFinished)
    times = [record.time for record in done.trace.records]
    assert times == sorted(times)


def test_tokens_and_cost_are_added_up(project):
    usage = {"input_tokens": 1_000, "output_tokens": 100}
    done = Run(
        project,
        agent(
            {"tool_calls": [edit("sums.py", "a - b", "a + b")], "usage": usage},
            {"text": "x", "usage": usage},
        ),
    )
    assert done.trace.usage == done.outcome.usage == Usage(input_tokens=2_000, output_tokens=200)
    assert done.trace.cost().usd == pytest.approx(2_000 * 2.5e-6 + 200 * 10e-6)


def test_transient_errors_are_tried_again_with_growing_waits(project):
    script = Script(strict=True)
    script.on(user="add", times=2).error(529, "busy")
    script.on(user="add").reply("It adds.")
    model = RetryingModel(ScriptedModel(script), backoff=Backoff(first=0.01, jitter=0))
    assert Run(project, model).outcome.output == "It adds."


# Recorded sessions


@pytest.fixture
def recorded(project, tmp_path):
    """The session simple-file-edit, recorded; the workspace is as before."""
    path, before = tmp_path / "session.jsonl", (project / "sums.py").read_text()
    Run(project, RecordingModel(simple_file_edit(), Tape.create(path)))
    (project / "sums.py").write_text(before)
    return path


def test_a_replayed_run_is_the_recorded_one(project, recorded):
    live = Run(project, simple_file_edit())
    (project / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    replayed = Run(project, ReplayModel(Tape.load(recorded)))
    assert replayed.outcome.output == live.outcome.output
    assert replayed.changed == ["sums.py"]
    shape = [
        [(used.name, used.arguments, used.result) for used in one.trace.tools] for one in (live, replayed)
    ]
    assert shape[0] == shape[1]


def test_another_input_than_the_recorded_one_fails_fast_with_the_difference(project, recorded):
    with pytest.raises(ReplayMismatchError, match="Let add subtract"):
        Run(project, ReplayModel(Tape.load(recorded)), prompt="Let add subtract.")


def test_a_missing_recording_says_how_to_make_one(tmp_path):
    with pytest.raises(TapeError, match=r"(?s)nothing.jsonl.*next step"):
        Tape.load(tmp_path / "nothing.jsonl")


def test_a_recording_has_inputs_outputs_times_and_no_secret(project, tmp_path):
    (project / "sums.py").write_text("KEY = 'canary-6fd1'\n")
    tape = Tape.create(tmp_path / "s.jsonl", redactor=Redactor(["canary-6fd1"]))
    Run(project, RecordingModel(agent(call("read_file", {"path": "sums.py"}), "Read."), tape))
    text = (tmp_path / "s.jsonl").read_text()
    exchanges = [json.loads(line) for line in text.splitlines() if '"request"' in line]
    assert len(exchanges) == 2
    assert all({"timestamp", "request", "response", "latency_ms"} <= one.keys() for one in exchanges)
    assert "canary-6fd1" not in text
