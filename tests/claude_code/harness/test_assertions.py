"""Category 7 through a client: verdicts are results, wrong questions are envelopes."""

from __future__ import annotations

from typing import Any


def test_keywords(tools: Any) -> None:
    async def body(call: Any) -> None:
        text = "A Systematic look at the code"
        found = await call.good("assert_contains_keywords", text=text, keywords=["systematic", "plan"])
        assert found == {
            "status": "success",
            "passed": True,
            "found_keywords": ["systematic"],
            "missing_keywords": ["plan"],
            "match_ratio": 0.5,
            "details": "found 1 of 2: 'systematic'; missing: 'plan'",
        }
        every = await call.good(
            "assert_contains_keywords", text=text, keywords=["systematic", "plan"], require_all=True
        )
        assert every["passed"] is False
        assert "no keywords" in await call.bad("assert_contains_keywords", text=text, keywords=[])
        assert "keywords" in await call.bad("assert_contains_keywords", text=text, keywords="systematic")

    tools(body)


def test_transitions(tools: Any) -> None:
    async def body(call: Any) -> None:
        async def went(start: str, end: str, actual: str) -> tuple[bool, bool]:
            found = await call.good(
                "assert_workflow_transition", from_stage=start, to_stage=end, actual_stage=actual
            )
            assert found["expected_transition"] == f"{start} -> {end}"
            assert found["actual_stage"] == actual
            return found["passed"], found["valid"]

        assert await went("exploring", "planning", "Planning") == (True, True)
        assert await went("exploring", "coding", "coding") == (True, False)
        assert await went("exploring", "planning", "exploring") == (False, False)
        assert await went("exploring", "dancing", "dancing") == (True, False)
        assert "a text (minLength 1)" in await call.bad(
            "assert_workflow_transition", from_stage="", to_stage="x", actual_stage="x"
        )

    tools(body)


def test_suggestions(tools: Any) -> None:
    async def body(call: Any) -> None:
        found = await call.good(
            "assert_command_suggested", response="Now, run /agent-loop:plan next.", command_name="plan"
        )
        assert (found["passed"], found["command_found"], found["location"]) == (True, "/agent-loop:plan", 9)
        assert found["context"].startswith("Now, run /agent-loop:plan")
        missed = await call.good("assert_command_suggested", response="/planning", command_name="/plan")
        assert (missed["passed"], missed["command_found"], missed["location"]) == (False, None, -1)
        assert "no name" in await call.bad("assert_command_suggested", response="x", command_name="")

    tools(body)


def test_errors(tools: Any) -> None:
    async def body(call: Any) -> None:
        good = "I couldn't find that file. Let's check the folder."
        found = await call.good("assert_error_handled_gracefully", response=good, error_type="file_not_found")
        assert found["passed"] is found["graceful"] is found["recovery_suggested"] is True
        assert found["error_acknowledged"] is True
        crash = await call.good(
            "assert_error_handled_gracefully", response="Traceback (most recent call last)", error_type="any"
        )
        assert (crash["passed"], crash["graceful"]) == (False, False)
        assert "file_not_found" in await call.bad(
            "assert_error_handled_gracefully", response=good, error_type="gremlins"
        )

    tools(body)
