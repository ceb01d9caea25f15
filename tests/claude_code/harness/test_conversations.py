"""Categories 2 to 4 through a client: commands, prompts, modes, guidance and stages of the real CLI."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

EXPLORED = "I explored the code. Next: /agent-loop:plan"


@pytest.fixture
def agent_loop(marketplace: Path) -> str:
    return str(marketplace / "agent-loop")


def test_a_command_is_executed_and_leads_to_its_stage(tools: Any, agent_loop: str) -> None:
    async def body(call: Any) -> None:
        started = await call.good(
            "start_conversation",
            config={"script": [EXPLORED, "A plan."], "strict": True, "plugin_dirs": [agent_loop]},
        )
        session = {"session_id": started["session_id"]}
        assert (await call.good("get_workflow_stage", **session))["stage"] == "idle"
        executed = await call.good("execute_command", command="/agent-loop:explore the parser", **session)
        assert executed["response"] == executed["content"] == EXPLORED
        assert executed["workflow_stage"] == "exploring"
        assert executed["metadata"]["command"] == "/agent-loop:explore"
        assert "What to look into: the parser" in executed["metadata"]["expansion"]
        output = await call.good("get_command_output", command_id=executed["command_id"])
        assert (output["output"], output["command"]) == (EXPLORED, "/agent-loop:explore")
        bare = await call.good("execute_command", command="plan", **session)
        assert bare["metadata"]["command"] == "/agent-loop:plan"
        stage = await call.good("get_workflow_stage", **session)
        assert (stage["workflow"], stage["stage"]) == ("agent-loop", "planning")
        assert stage["stages"] == ["idle", "exploring", "planning"]
        passed = await call.good("verify_agent_transition", expected_stage="Planning", **session)
        assert (passed["passed"], passed["previous_stage"]) == (True, "exploring")
        assert "planning" in await call.bad("verify_agent_transition", expected_stage="codng", **session)
        missed = await call.good("verify_agent_transition", expected_stage="coding", **session)
        assert (missed["passed"], missed["actual_stage"]) == (False, "planning")
        guidance = await call.good("get_agent_guidance", **session)
        assert "Claude" in guidance["guidance"]
        assert guidance["command"] == "/agent-loop:plan"
        assert "PLAN.md" in guidance["command_text"]
        assert guidance["last_response"] == "A plan."
        assert "agent-loop:workflow-agent" in guidance["agents"]

    tools(body)


def test_a_prompt_is_answered_and_everything_is_in_the_history(tools: Any, roots: tuple[Path, Path]) -> None:
    (roots[0] / "calculator").mkdir(parents=True)
    write = {"name": "Write", "arguments": {"file_path": "notes.txt", "content": "hello"}}
    script = {"rules": [{"when": {"iteration": 1}, "reply": {"tool_calls": [write]}}], "default": "Done."}

    async def body(call: Any) -> None:
        started = await call.good(
            "start_conversation",
            config={"script": script, "project_path": "calculator", "permission_mode": "acceptEdits"},
        )
        assert started["project_path"] == str(roots[0] / "calculator")
        session = {"session_id": started["session_id"]}
        prompted = await call.good("send_prompt", prompt="take a note", **session)
        found = await call.good("get_response", response_id=prompted["response_id"])
        assert found["response"] == found["content"] == "Done."
        assert [used["name"] for used in found["tool_calls"]] == ["Write"]
        assert (roots[0] / "calculator" / "notes.txt").read_text() == "hello"
        history = await call.good("get_conversation_history", **session)
        assert [entry["role"] for entry in history["history"]] == ["user", "assistant", "tool", "assistant"]
        assert history["total"] == 4
        assert (await call.good("get_agent_mode", **session))["mode"] == "acceptEdits"
        ended = await call.good("end_conversation", **session)
        assert (ended["ended"], ended["unused_rules"]) == (True, [])
        for name in (
            "get_agent_mode",
            "get_conversation_history",
            "get_agent_guidance",
            "get_workflow_stage",
        ):
            assert "no such conversation" in await call.bad(name, **session)

    tools(body)


def test_a_command_that_fails_is_an_error_with_all_its_keys_and_leads_nowhere(
    tools: Any, agent_loop: str
) -> None:
    overloaded = {"error": {"status": 529, "message": "busy"}}

    async def body(call: Any) -> None:
        started = await call.good(
            "start_conversation", config={"script": [EXPLORED, overloaded], "plugin_dirs": [agent_loop]}
        )
        session = {"session_id": started["session_id"]}
        await call.good("execute_command", command="/agent-loop:explore", **session)
        failed = await call("execute_command", command="/agent-loop:plan", **session)
        assert failed["status"] == "error"
        assert "529" in failed["error"]
        assert failed["workflow_stage"] == "exploring"
        assert failed["metadata"]["command"] == "/agent-loop:plan"
        assert "529" in await call.bad("get_command_output", command_id=failed["command_id"])

    tools(body)


def test_the_history_has_every_turn_in_order_the_one_that_took_too_long_too(
    tools: Any, agent_loop: str
) -> None:
    rules = [
        {"when": {"user": "alpha"}, "reply": "first"},
        {"when": {"user": "gamma"}, "reply": {"text": "never", "delay": 600}},
    ]
    script = {"rules": rules, "default": EXPLORED}

    async def body(call: Any) -> None:
        started = await call.good(
            "start_conversation", config={"script": script, "plugin_dirs": [agent_loop]}
        )
        session = {"session_id": started["session_id"]}
        await call.good("send_prompt", prompt="alpha", **session)
        await call.good("execute_command", command="/agent-loop:explore beta", **session)
        assert "within 0.5 s" in await call.bad("send_prompt", prompt="gamma", timeout=0.5, **session)
        history = (await call.good("get_conversation_history", **session))["history"]
        assert [(entry["role"], entry["content"]) for entry in history[:5]] == [
            ("user", "alpha"),
            ("assistant", "first"),
            ("user", "/agent-loop:explore beta"),
            ("assistant", EXPLORED),
            ("user", "gamma"),
        ]
        assert all(entry["role"] != "user" for entry in history[5:])

    tools(body)


def test_a_turn_that_fails_is_an_error_with_its_words(tools: Any) -> None:
    async def body(call: Any) -> None:
        overloaded = {"error": {"status": 529, "message": "busy"}}
        started = await call.good("start_conversation", config={"script": [overloaded]})
        prompted = await call.good("send_prompt", prompt="hello", session_id=started["session_id"])
        assert "529" in await call.bad("get_response", response_id=prompted["response_id"])

    tools(body)


def test_a_strict_script_that_runs_dry_ends_the_session_with_the_reason(tools: Any) -> None:
    async def body(call: Any) -> None:
        started = await call.good("start_conversation", config={"strict": True})
        session = {"session_id": started["session_id"]}
        assert "the model had no answer" in await call.bad("send_prompt", prompt="hello", **session)
        await call.bad("send_prompt", prompt="hello again", **session)
        history = (await call.good("get_conversation_history", **session))["history"]
        assert history[0] == {"role": "user", "content": "hello"}
        assert "the model had no answer" in history[-1]["content"]
        await call.good("end_conversation", **session)

    tools(body)


def test_one_prompt_at_a_time(tools: Any) -> None:
    async def body(call: Any) -> None:
        started = await call.good("start_conversation", config={"script": ["one", "two"]})
        session = {"session_id": started["session_id"]}
        found = await asyncio.gather(*(call("send_prompt", prompt="hello", **session) for _ in range(2)))
        assert sorted(result["status"] for result in found) == ["error", "success"]
        assert "a turn is under way" in "".join(result.get("error", "") for result in found)

    tools(body)


def test_two_conversations_at_once_have_scripts_of_their_own(tools: Any) -> None:
    async def body(call: Any) -> None:
        sessions = [
            (await call.good("start_conversation", config={"script": [word], "strict": True}))["session_id"]
            for word in ("one", "two")
        ]
        for session, word in zip(reversed(sessions), ("two", "one"), strict=True):
            prompted = await call.good("send_prompt", prompt="hello", session_id=session)
            assert (await call.good("get_response", response_id=prompted["response_id"]))["response"] == word

    tools(body)


def test_expansion_is_verified_on_the_wire(tools: Any, agent_loop: str) -> None:
    async def body(call: Any) -> None:
        started = await call.good("start_conversation", config={"plugin_dirs": [agent_loop]})
        session = {"session_id": started["session_id"]}
        listed = await call.good("list_available_commands", **session)
        assert "/agent-loop:commit" in listed["commands"]
        assert listed["total"] == len(listed["details"])
        found = await call.good("verify_command_expansion", command="/agent-loop:plan a door", **session)
        assert (found["exists"], found["expands"]) == (True, True)
        assert "The goal: a door" in found["expansion"]
        missing = await call.good("verify_command_expansion", command="/agent-loop:paln", **session)
        assert (missing["exists"], missing["expands"], missing["expansion"]) == (False, False, "")
        near = await call.bad("execute_command", command="/agent-loop:paln", **session)
        assert "perhaps /agent-loop:plan" in near

    tools(body)


def test_expansion_is_that_of_the_conversation_its_project_and_settings_included(
    tools: Any, roots: tuple[Path, Path]
) -> None:
    command = roots[0] / "shop/.claude/commands/count.md"
    command.parent.mkdir(parents=True)
    command.write_text("---\ndescription: counts\n---\nCount $ARGUMENTS: !`cat goods.txt`\n")
    (roots[0] / "shop/goods.txt").write_text("three apples")

    async def body(call: Any) -> None:
        config = {"script": [], "project_path": "shop", "allowed_tools": ["Bash(cat *)"]}
        started = await call.good("start_conversation", config=config)
        session = {"session_id": started["session_id"]}
        found = await call.good("verify_command_expansion", command="/count all", **session)
        assert (found["exists"], found["expands"]) == (True, True)
        assert "Count all: three apples" in found["expansion"]
        alone = await call.good("verify_command_expansion", command="/count all")
        assert (alone["exists"], alone["expands"]) == (False, False)
        builtin = await call.good("verify_command_expansion", command="/context", **session)
        assert (builtin["exists"], builtin["expands"]) == (True, False)
        assert (await call.good("get_conversation_history", **session))["history"] == []

    tools(body)


def test_expansion_in_a_conversation_without_a_project_is_that_of_its_own_folder(tools: Any) -> None:
    async def body(call: Any) -> None:
        started = await call.good("start_conversation", config={"allowed_tools": ["Bash(cat *)"]})
        folder = Path(started["project_path"])
        command = folder / ".claude/commands/count.md"
        command.parent.mkdir(parents=True)
        command.write_text("Count $ARGUMENTS: !`cat goods.txt`\n")
        (folder / "goods.txt").write_text("three apples")
        found = await call.good(
            "verify_command_expansion", command="/count all", session_id=started["session_id"]
        )
        assert (found["exists"], found["expands"]) == (True, True)
        assert "Count all: three apples" in found["expansion"]
        other = await call.good("start_conversation")
        assert other["project_path"] != started["project_path"]
        alone = await call.good(
            "verify_command_expansion", command="/count all", session_id=other["session_id"]
        )
        assert (alone["exists"], alone["expands"]) == (False, False)

    tools(body)


@pytest.mark.parametrize(
    ("config", "seen"),
    [
        ({"scrip": []}, "scrip"),
        ({"script": {"rules": [{"when": {"usr": "x"}, "reply": "y"}]}}, "usr"),
        ({"script": "hello"}, "no script"),
        ({"script": ["x"], "permission_mode": "yolo"}, "acceptEdits"),
        ({"project_path": "nowhere"}, "no such folder"),
        ({"plugin_dirs": ["/"]}, "does not go there"),
        ({"workflow": "waterfall"}, "agent-loop"),
    ],
)
def test_a_bad_config_is_refused_and_starts_nothing(tools: Any, config: dict[str, Any], seen: str) -> None:
    async def body(call: Any) -> None:
        assert seen in await call.bad("start_conversation", config=config)

    tools(body)


def test_ids_that_nobody_was_given_are_refused(tools: Any) -> None:
    async def body(call: Any) -> None:
        for name, arguments in {
            "get_response": {"response_id": "resp_x"},
            "get_command_output": {"command_id": "cmd_x"},
            "send_prompt": {"prompt": "x", "session_id": "x"},
            "execute_command": {"command": "/x", "session_id": "x"},
            "get_agent_mode": {"session_id": "x"},
            "get_agent_guidance": {"session_id": "x"},
            "get_workflow_stage": {"session_id": "x"},
            "verify_agent_transition": {"session_id": "x", "expected_stage": "idle"},
            "list_available_commands": {"session_id": "x"},
            "verify_command_expansion": {"command": "/x", "session_id": "x"},
        }.items():
            assert "there is no such" in await call.bad(name, **arguments)
        ended = await call("end_conversation", session_id="x")
        assert (ended["status"], ended["ended"]) == ("error", False)

    tools(body)


def test_a_conversation_without_a_workflow_has_no_stage(tools: Any, roots: tuple[Path, Path]) -> None:
    command = roots[0] / "shop/.claude/commands/count.md"
    command.parent.mkdir(parents=True)
    command.write_text("---\ndescription: counts\n---\nCount.\n")

    async def body(call: Any) -> None:
        started = await call.good("start_conversation", config={"project_path": "shop"})
        session = {"session_id": started["session_id"]}
        assert (await call.good("execute_command", command="/count", **session))["workflow_stage"] == ""
        assert "no workflow" in await call.bad("get_workflow_stage", **session)
        assert "no workflow" in await call.bad("verify_agent_transition", expected_stage="idle", **session)

    tools(body)


def test_stages_of_ones_own_are_the_ones_that_can_be_expected(tools: Any, agent_loop: str) -> None:
    async def body(call: Any) -> None:
        own = {"agent-loop:explore": "looking"}
        started = await call.good(
            "start_conversation", config={"script": ["a"], "plugin_dirs": [agent_loop], "workflow": own}
        )
        session = {"session_id": started["session_id"]}
        assert (await call.good("verify_agent_transition", expected_stage="idle", **session))[
            "passed"
        ] is True
        await call.good("execute_command", command="/agent-loop:explore", **session)
        assert (await call.good("verify_agent_transition", expected_stage="looking", **session))[
            "passed"
        ] is True
        assert "idle, looking" in await call.bad(
            "verify_agent_transition", expected_stage="exploring", **session
        )

    tools(body)
