"""The real Claude Code CLI as the agent of a suite."""

from __future__ import annotations

import asyncio

from soundstage.evals import Case, ClaudeCodeAgent, EvalTurn, Suite, evaluator_of, load_suite, run_suite
from soundstage.models import CallSpec, Script, ScriptedModel


def test_claude_code_writes_a_file_in_each_of_its_runs_and_the_file_is_told(store):
    def model():
        script = Script()
        write = CallSpec(name="Bash", arguments={"command": "echo hello > note.txt", "description": "write"})
        script.on(user="write hello", times=1).reply(tool_calls=[write])
        script.otherwise("Written.")
        return ScriptedModel(script)

    suite = Suite(
        name="claude",
        agent=ClaudeCodeAgent({"permission_mode": "bypassPermissions"}),
        model=model,
        cases=[
            Case(
                name="note",
                input="write hello",
                expect=(
                    evaluator_of("tool", "Bash"),
                    evaluator_of("files_modified", ["note.txt"]),
                    evaluator_of("contains", "Written"),
                ),
            )
        ],
        repeat=2,
    )
    report = asyncio.run(run_suite(suite, store=store, concurrency=2))
    assert [run.outcome for run in report.cases[0].runs] == ["passed"] * 2, report.cases[0].runs


def test_the_turns_of_a_case_are_one_session_of_claude_code(store):
    def model():
        script = Script()
        script.on(user="my name", times=1).reply("Hello Ada.")
        script.on(user="who am I", turn=2).reply("Ada.")
        script.otherwise("I do not know you.")
        return ScriptedModel(script)

    turns = (
        EvalTurn(input="my name is Ada", expect=(evaluator_of("contains", "Hello"),)),
        EvalTurn(input="who am I", expect=(evaluator_of("equals", "Ada."),)),
    )
    suite = Suite(name="claude", agent=ClaudeCodeAgent(), model=model, cases=[Case(name="name", turns=turns)])
    report = asyncio.run(run_suite(suite, store=store))
    assert report.passed, report.cases[0].runs


def test_the_driver_of_a_suite_in_a_file_gets_its_options(tmp_path):
    (tmp_path / "rules.yaml").write_text("rules: [{when: {user: x}, reply: {text: y}}]")
    (tmp_path / "suite.yaml").write_text(
        "agent: {driver: claude_code, options: {max_turns: 3}}\nscript: rules.yaml\n"
        "expect: [no_failures]\ncases: [{input: x}]\n"
    )
    assert load_suite(tmp_path / "suite.yaml").agent == ClaudeCodeAgent({"max_turns": 3})
