"""Programs on the Claude Agent SDK run on a recording as with the CLI, and what they do otherwise is told."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, query

from soundstage.clock import VirtualClock, run
from soundstage.errors import InvalidStateError, ReplayMismatchError
from soundstage.journal import FileChanged, HookFired
from soundstage.scenarios import ScenarioVersionError
from support import sdk_reviewer_agent, sdk_shop_agent

REVIEW = """\
review: I read it.
review: total() leaves out the first price.
turns: 2, cost: $0.0075
"""
SHOP = """\
asked: may it mcp__shop__price
tool: price of pear
asked: may it Edit prices.txt
asked: may it Write other.txt
agent: The pear has its price.
hook: refused Bash
agent: I may not.
prices.txt: pear: 5
"""


def play(replayed, main):
    """Run a program on virtual time, where processes and networks are refused. Returns the seconds that passed."""
    clock = VirtualClock()
    began = clock.now()
    with replayed:
        run(main(str(replayed.workspace)), clock=clock)
    return clock.now() - began


def test_an_application_on_query_that_nobody_adapted_says_what_it_said_when_it_was_recorded(replay, capsys):
    play(replay("reviewer"), sdk_reviewer_agent.review)
    assert capsys.readouterr().out == REVIEW


def test_hooks_permissions_and_tools_of_a_client_are_called_in_recorded_order_and_its_files_change(
    replay, capsys
):
    replayed = replay("shop")
    play(replayed, sdk_shop_agent.work)
    assert capsys.readouterr().out == SHOP
    assert {path.name: path.read_text() for path in replayed.workspace.iterdir()} == {
        "prices.txt": "pear: 5\n",
        ".env": "COLOUR=blue\n",
    }
    hooks = [event.hook for event in replayed.journal.events(HookFired)]
    assert hooks == [
        "CanUseTool:mcp__shop__price",
        "PreToolUse:Read",
        "CanUseTool:Edit",
        "CanUseTool:Write",
        "PreToolUse:Bash",
    ]
    assert [(one.path, one.change) for one in replayed.journal.events(FileChanged)] == [
        ("prices.txt", "modified")
    ]
    assert [(one.name, one.is_error) for one in replayed.result.tools] == [
        ("mcp__shop__price", False),
        ("Read", False),
        ("Edit", False),
        ("Write", True),
        ("Bash", True),
    ]


def test_recorded_delays_pass_on_virtual_time(replay):
    replayed = replay("reviewer")
    frames = replayed.recording.frames
    waited = [
        frame.at - before.at
        for before, frame in itertools.pairwise(frames)
        if not frame.of_the_sdk  # for what the program sends, it takes the time that it takes
    ]
    assert sum(waited) > 0.3
    assert play(replayed, sdk_reviewer_agent.review) == pytest.approx(sum(waited), abs=0.001)


def test_on_the_machines_time_there_are_no_delays_unless_a_speed_is_given(replay):
    async def seconds():
        began = asyncio.get_running_loop().time()
        await sdk_reviewer_agent.review(str(replayed.workspace))
        return asyncio.get_running_loop().time() - began

    with replay("reviewer", speed=0.5) as replayed:
        last = replayed.recording.frames[-1].at
        assert asyncio.run(seconds()) >= last


def other_prompt(patch):
    async def reviewed(folder):
        options = ClaudeAgentOptions(
            cwd=folder,
            system_prompt="You review code. Be brief.",
            model="claude-sonnet-4-5",
            allowed_tools=["Read"],
            max_turns=5,
            setting_sources=[],
        )
        async for _ in query(prompt="Review shop.py: is total() right?", options=options):
            pass

    patch.setattr(sdk_reviewer_agent, "review", reviewed)


def other_options(**changes):
    def change(patch):
        made = ClaudeAgentOptions
        for module in (sdk_reviewer_agent, sdk_shop_agent):
            patch.setattr(module, "ClaudeAgentOptions", lambda **known: made(**{**known, **changes}))

    return change


def other_price(patch):
    patch.setitem(sdk_shop_agent.PRICES, "pear", 7)


def other_tool(patch):
    patch.setattr(sdk_shop_agent.price, "description", "Look up what a fruit costs")


def other_permission(patch):
    async def allow_all(*_):
        return sdk_shop_agent.PermissionResultAllow()

    patch.setattr(sdk_shop_agent, "allow_lists", allow_all)


def other_hook(patch):
    async def pass_on(*_):
        return {}

    patch.setattr(sdk_shop_agent, "protect_secrets", pass_on)


def one_more_prompt(patch):
    async def ask(folder):
        async with ClaudeSDKClient(
            ClaudeAgentOptions(
                cwd=folder,
                system_prompt="You review code. Be brief.",
                model="claude-sonnet-4-5",
                allowed_tools=["Read"],
                max_turns=5,
                setting_sources=[],
            )
        ) as client:
            for _ in range(2):
                await client.query("Review shop.py: does total() count right?")

    patch.setattr(sdk_reviewer_agent, "review", ask)


@pytest.mark.parametrize(
    ("name", "change", "cause", "where", "words"),
    [
        ("reviewer", other_prompt, "prompt edited", "a prompt", "is total() right?"),
        (
            "reviewer",
            other_options(system_prompt="Be kind."),
            "system prompt edited",
            "the options",
            "Be kind",
        ),
        (
            "reviewer",
            other_options(model="claude-opus-4"),
            "other model or settings",
            "model",
            "claude-opus-4",
        ),
        ("reviewer", other_options(allowed_tools=["Bash"]), "tool list changed", "Read", "not on offer"),
        ("reviewer", other_options(max_turns=9), "other model or settings", "max-turns", "9"),
        ("reviewer", one_more_prompt, "extra call", "user", "does total() count right"),
        ("shop", other_price, "tool result differs", "the answer", "7"),
        ("shop", other_tool, "tool schema changed", "price.description", "what a fruit costs"),
        ("shop", other_permission, "reply differs", "CanUseTool", "allow"),
        ("shop", other_hook, "reply differs", "hooks/005-PreToolUse", "deny"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_a_program_does_otherwise_ends_the_replay_with_the_verdict_and_both_sides(
    replay, monkeypatch, name, change, cause, where, words
):
    change(monkeypatch)
    main = {"reviewer": "review", "shop": "work"}[name]
    module = {"reviewer": sdk_reviewer_agent, "shop": sdk_shop_agent}[name]
    with pytest.raises(ReplayMismatchError) as caught:
        play(replay(name), getattr(module, main))
    assert f"differs: {cause}" in str(caught.value)
    assert where in str(caught.value)
    assert words in str(caught.value)


def test_a_program_that_sends_less_than_was_recorded_is_told_what_is_missing(replay):
    async def only_connects(folder):
        await asyncio.sleep(0)

    with pytest.raises(ReplayMismatchError, match="missing call: session 1"):
        play(replay("reviewer"), only_connects)


def test_the_cli_says_nothing_before_the_program_has_sent_what_it_answered(replay, monkeypatch, capsys):
    send = ClaudeSDKClient.query

    async def late(client, prompt):
        await asyncio.sleep(5)
        sys.stdout.write(f"sent: {prompt}\n")
        await send(client, prompt)

    monkeypatch.setattr(ClaudeSDKClient, "query", late)
    assert play(replay("shop"), sdk_shop_agent.work) > 10
    said = capsys.readouterr().out
    marks = [
        "sent: Put the price",
        "tool: price",
        "agent: The pear",
        "sent: Now delete",
        "hook: refused Bash",
    ]
    assert [said.index(mark) for mark in marks] == sorted(said.index(mark) for mark in marks)


def test_a_program_that_ends_before_its_last_prompt_is_told_what_is_missing(replay, monkeypatch):
    class OneTurnError(Exception):
        pass

    send = ClaudeSDKClient.query

    async def once(client, prompt):
        if prompt.startswith("Now"):
            raise OneTurnError
        await send(client, prompt)

    async def hurried(folder):
        with contextlib.suppress(OneTurnError):
            await sdk_shop_agent.work(folder)

    monkeypatch.setattr(ClaudeSDKClient, "query", once)
    with pytest.raises(ReplayMismatchError, match=r"missing call(.|\n)*Now delete"):
        play(replay("shop"), hurried)


def test_a_program_that_swallows_the_verdict_fails_at_the_end(replay, monkeypatch):
    other_prompt(monkeypatch)

    async def careless(folder):
        with contextlib.suppress(ReplayMismatchError):
            await sdk_reviewer_agent.review(folder)

    with pytest.raises(ReplayMismatchError, match="prompt edited"):
        play(replay("reviewer"), careless)


def test_a_relaxed_replay_goes_on_and_lists_the_differences(replay, monkeypatch, capsys):
    other_price(monkeypatch)
    replayed = replay("shop", relaxed=True)
    play(replayed, sdk_shop_agent.work)
    assert capsys.readouterr().out == SHOP
    assert [one.cause for one in replayed.differences] == ["tool result differs"]


def test_afterwards_the_sdk_has_its_own_transport_also_when_the_program_failed(replay):
    from claude_agent_sdk._internal import client
    from claude_agent_sdk._internal.transport import subprocess_cli

    before = client.SubprocessCLITransport, subprocess_cli.SubprocessCLITransport
    with pytest.raises(ZeroDivisionError), replay("reviewer"):
        assert client.SubprocessCLITransport is not before[0]
        raise ZeroDivisionError
    assert (client.SubprocessCLITransport, subprocess_cli.SubprocessCLITransport) == before


def test_two_replays_at_once_are_refused(replay):
    with pytest.raises(InvalidStateError, match="one at a time"), replay("shop"), replay("shop"):
        pass


def test_a_workspace_with_other_files_is_refused_before_anything_is_written(replay, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "mine.txt").write_text("mine")
    with pytest.raises(ScenarioVersionError, match="mine"), replay("shop"):
        pass
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["mine.txt"]


def test_a_recording_of_another_sdk_is_refused(replay, monkeypatch):
    monkeypatch.setattr("soundstage.scenarios._replay.sdk_version", lambda: "9.9.9")
    with pytest.raises(ScenarioVersionError, match=r"9\.9\.9"), replay("shop"):
        pass


def test_lines_go_through_the_sdks_own_parser_so_that_a_change_of_its_shapes_shows(replay, own_data):
    frames = own_data / "recorded/reviewer/frames.jsonl"
    lines = [json.loads(line) for line in frames.read_text().splitlines()]
    for line in lines:
        if (line.get("line") or {}).get("type") == "assistant":
            del line["line"]["message"]["model"]
    frames.write_text("".join(json.dumps(line) + "\n" for line in lines))
    from soundstage.scenarios._folder import read_metadata, seal

    seal(frames.parent, read_metadata(frames.parent))
    from claude_agent_sdk._errors import MessageParseError

    with pytest.raises(MessageParseError, match="model"):
        play(replay("reviewer", own_data), sdk_reviewer_agent.review)
