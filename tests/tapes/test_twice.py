"""A program that is recorded twice: masks are learnt and written, and a third run has no divergence."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import typer

from soundstage.lifecycle import LoopThread
from soundstage.models import load_script
from soundstage.tapes import Tape
from soundstage.tapes._commands import record, replay
from soundstage.tapes._run import RunOptions, run_with_tape
from soundstage.tapes._twice import keep_masks, run_again, told
from support.programs import ASK
from support.taping import KEY, provider

AGENT = (
    ASK
    + """
import datetime, random, sys, tempfile, time, uuid

now = datetime.datetime.now()
system = f"You are careful. Now: {now.isoformat()} ({now:%H:%M:%S.%f}). Session {uuid.uuid4()}. Released 2024-01-02."
said = [{"role": "system", "content": system},
        {"role": "user", "content": f"joke; pid {os.getpid()}, ticket {random.randrange(10**4, 10**6)}, version 3"}]
reply = ask(said, seed=random.randrange(10**9))
look = f"look at {tempfile.mkdtemp()}/x.txt, at {time.time()}, key {random.randbytes(12).hex()}"
said += [{"role": "assistant", "content": reply}, {"role": "user", "content": look}]
if "words" in sys.argv:
    said[-1]["content"] += " for " + os.environ.get("FOR", "ann")
print(ask(said))
"""
)
SCRIPT = """
version: 1
rules:
- {when: {user: look}, reply: {text: looked}}
- {when: {user: joke}, reply: {text: Knock knock.}}
"""


@pytest.fixture
def options(tmp_path, monkeypatch):
    """A folder with an agent and a script, and its recording."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    Path("agent.py").write_text(AGENT)
    Path("s.yaml").write_text(SCRIPT)

    def of(*arguments):
        command = (sys.executable, "agent.py", *arguments)
        made = RunOptions(Path("t.tape"), command, mode="all", script=Path("s.yaml"), isolation="process")
        assert run_with_tape(made).recorded == 2
        return made

    return of


def test_masks_of_the_second_run_let_a_third_one_replay(options):
    first = options()
    second = run_again(first)
    assert second.steady
    assert second.outcome.code == 0
    assert Tape.load("t.tape").head.masks == ()
    keep_masks(first, second)
    masks = Tape.load("t.tape").head.masks
    assert {mask.stands for mask in masks} == {"<time>", "<id>", "<number>", "<name>"}
    assert all(mask.why for mask in masks)
    assert len([*told(second)]) == len(masks)
    third = run_with_tape(first._replace(mode="none", script=None))
    assert (third.code, third.verdicts, third.played) == (0, (), 2)


def test_other_words_are_told_and_still_a_divergence(options, monkeypatch):
    first = options("words")
    monkeypatch.setenv("FOR", "bob")
    second = run_again(first)
    assert not second.steady
    [left] = [line for line in told(second) if line.startswith("not masked")]
    assert left.startswith(
        "not masked: prompt edited: request 2, messages[3] user, part 1: 'ann', then 'bob' (plain words"
    )
    keep_masks(first, second)
    outcome = run_with_tape(first._replace(mode="none", script=None))
    assert [verdict.cause for verdict in outcome.verdicts] == ["prompt edited"]
    assert outcome.verdicts[0].request == 2


def test_real_tools_are_left_the_network_while_the_models_are_on_the_tape(options, capfd):
    Path("agent.py").write_text(
        f"import os\nprint(os.environ.get('HTTPS_PROXY', 'open'), flush=True)\n{AGENT}"
    )
    first = options()._replace(script=None, mode="none", relaxed=True)
    capfd.readouterr()
    for tools, said in (("closed", "http://"), ("real", "open")):
        outcome = run_with_tape(first._replace(tools=tools))
        assert (outcome.code, outcome.played) == (0, 2)
        printed = capfd.readouterr().out
        assert printed.startswith(said)
        assert printed.endswith("looked\n")
    with pytest.raises(typer.BadParameter, match="leave --isolation out"):
        replay([*first.command], first.tape, tools="real", isolation="process")


def test_the_command_tells_each_mask_with_both_texts_and_ends_with_1_if_something_has_none(
    options, capfd, monkeypatch
):
    command = [*options("words").command]
    Path("t.tape").unlink()
    with LoopThread("provider") as beside:
        standing = provider(load_script(Path("s.yaml")))
        upstream = beside.call(standing.__aenter__())
        assert _exit_code(command, f"openai={upstream.openai_url}") == 0
        beside.call(standing.__aexit__(None, None, None))
    told = capfd.readouterr().err
    assert re.search(r"mask: <number>  \(\?<=joke; pid \).*: '\d+', then '\d+'\)", told), told
    assert re.search(r"\d+ mask\(s\) written into the first line of t.tape: review them", told)
    assert "not masked" not in told
    monkeypatch.setenv("FOR", "bob")  # the tape is there, so it is the first run: no provider is asked
    assert _exit_code(command, "openai=http://127.0.0.1:9") == 1
    told = capfd.readouterr().err
    assert "not masked: prompt edited: request 2" in told
    assert "mask: " not in told, told  # those of the first time do for all that differs by nature


def _exit_code(command, upstream):
    with pytest.raises(typer.Exit) as ended:
        record(command, Path("t.tape"), upstream=[upstream], twice=True)
    return ended.value.exit_code
