"""The two parts of the suite: what `make test` leaves to `make test-all`, and why.

The fast part is all that is in process, codecs, the wire with official SDKs, and one scenario of each real component.
A test belongs to the full part if its id matches a pattern of `FULL` and none of `KEPT`, or if it has the mark `full`.
The table in CONTRIBUTING.md is this one; a test compares them.
"""

from __future__ import annotations

import re
from typing import Final

FULL: Final = {
    "the real Claude Code CLI in full: each start costs half a second": (
        "e2e/claude_code/",
        "e2e/test_workflow.py",
        "claude_code/test_",
        "claude_code/harness/test_(agent_client|conversations|hooks|plugins|stages).py",
        "claude_code/plugin_check/test_(run|reports|known|expansion).py",
        "mcp/test_(claude_code|stubs).py",
        "examples/test_(plugins|plugin_hooks).py",
        "tapes/test_claude_code.py",
        "evals/test_claude_code.py",
        "scenarios/test_record.py",
        r"runs/runner/test_targets\.py::.*\[claude",
    ),
    "containers and compose: they need an engine and images": (
        "containers/",
        "claude_code/harness/test_environment.py",
    ),
    "browsers: a page of Chromium for each test": (
        "report/browser/",
        "examples/test_plugin_browser.py",
    ),
    "example programs as processes, and frameworks of others": (
        r"examples/\w+\.py::\w*\[.*program",
        r"examples/\w+\.py::\w*(program|killed|torn|next_run|run_in_process|hosts_at_once)",
        "examples/test_(openai_agents_team|langgraph_team).py",
        "e2e/test_demo.py",
        r"agents/teams/test_reference\.py::.*program",
    ),
    "runs that are repeated, killed, interrupted or waited for": (
        r"drivers/test_isolation\.py::test_a_run_that_is_(killed|interrupted)",
        "e2e/test_principles_isolation.py",
        r"e2e/test_principles\.py::test_(the_same_run_with_programs|another_process)",
        r"e2e/test_principles\.py::.*\[(sdk|tape|program|terminal|discord|nostr)\]",
        "terminal/test_terminal_hostile.py",
        r"lifecycle/test_scratch\.py::test_a_process_that_is_between",
        r"wire/test_app\.py::test_two_hundred_requests",
        r"wire/test_faults\.py::test_a_client_that_goes_away_in_a_big_answer.*\[(?!openai-chat-streamed)",
        r"journal/test_redact_ways\.py::test_what_anybody_may_teach",
        r"terminal/test_screen\.py::test_a_flood_ends_where",
        r"examples/test_discord_agent\.py::test_(a_rate_limit|a_channel_in_which).*\[by hand\]",
    ),
    "programs that are started for each test: our commands, pytest, servers on pipes, other languages": (
        "e2e/test_(cli|secrets).py",
        "evals/test_(command|mark).py",
        "evals/workers/test_(executors|same_report).py",
        "tapes/test_(run|divergences|clients|codegen|pytest|mcp_servers|mcp_runs|mcp_pytest|twice|fork_command).py",
        r"tapes/test_doctor\.py::test_the_(sources_of_a_program|command_ends)",
        r"tapes/test_minimise\.py::test_the_shortest_tape_of_a_program",
        "claude_code/harness/test_(transports|mcp|harness).py",
        "pytest_plugin/test_(asynchronous|failures|pages|plugin|worlds|schedules|budget|closed_set|sections|isolation|stage).py",
        "snapshots/test_fixture.py",
        r"models/test_typing\.py::test_mypy",
        r"test_docs\.py::test_the_examples_of_a_document",
        r"claude_code/projects/test_create\.py::test_the_tests_of_a_new_project",
        "mcp/test_(process|faults).py",
        r"mcp/test_real\.py::test_a_process",
        r"tapes/test_mcp_stand_ins\.py::test_a_program_finds",
        "wings/test_mailbox.py",
        "tapes/test_check_players.py",
        "faults/test_(defects|command|fixture|program).py",
    ),
}

KEPT: Final = {
    "one scenario of each real component": (
        r"claude_code/test_session\.py::test_a_denied_tool_is_reported",
        r"runs/runner/test_targets\.py::test_a_run_comes_to_the_answer.*\[claude",
        r"scenarios/test_record\.py::test_the_simple_edit|scenarios/test_record\.py::test_nothing_is_written",
        r"claude_code/plugin_check/test_run\.py::test_our_own_plugins_have_no_finding\[agent-loop\]",
        r"report/browser/test_access\.py::test_the_first_tab_stop",
        r"examples/test_console_agent\.py::test_the_scripted_sentence_is_shown",
        r"examples/test_discord_chat\.py::test_a_message_comes_back_in_its_channel",
        r"e2e/test_cli\.py::test_(serve_prints_one_line|check_says|show_prints_the_trace)",
        r"claude_code/harness/test_transports\.py::test_a_client_over_stdio_has_all_tools",
        r"pytest_plugin/test_plugin\.py::test_a_(passing|failing)_test",
        r"pytest_plugin/test_asynchronous\.py::test_asynchronous_tests",
        r"test_docs\.py::test_the_examples_of_a_document.*(README|pytest)",
        r"mcp/test_process\.py::test_a_real_server",
        r"faults/test_program\.py::test_what_varies_between_two_good_runs",
        r"tapes/test_pytest\.py::test_the_fixture_model_is_recorded",
    ),
    "in process, although beside tests that are not": (
        r"claude_code/test_hooks\.py::test_(what_a_hook_decided|settings_of_another_shape)",
        r"claude_code/test_harness_client\.py::test_(an_address_without|what_is_no_address)",
        r"e2e/test_demo\.py::.*in process, virtual time",
        r"tapes/test_codegen\.py::test_a_literal_is_the_value",
    ),
}


def _any(table: dict[str, tuple[str, ...]]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for patterns in table.values() for pattern in patterns))


_FULL: Final = _any(FULL)
_KEPT: Final = _any(KEPT)


def in_full_part(test: str) -> bool:
    """Whether a test runs in `make test-all` alone; `test` is its id below `tests/`."""
    return bool(_FULL.match(test)) and not _KEPT.match(test)


def table() -> str:
    """The table of CONTRIBUTING.md."""
    rows = ["| where | part | why |", "|---|---|---|"]
    for part, reasons in (("full", FULL), ("fast", KEPT)):
        for why, patterns in reasons.items():
            places = ", ".join(f"`{pattern.replace('|', chr(92) + '|')}`" for pattern in patterns)
            rows.append(f"| {places} | {part} | {why} |")
    return "\n".join(
        [*rows, "| everything else | fast | in process, on loopback, or a program of milliseconds |"]
    )
