"""The commands `soundstage eval record` and `soundstage eval replay`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from soundstage.cli import BAD_INPUT, FAILED, say, warn

if TYPE_CHECKING:
    from soundstage.evals._making import MadeRun
    from soundstage.models import Model

RECORDINGS: Final = Path("fixtures", "eval")
TAPE: Final = "session.jsonl"
SUITE: Final = "suite.yaml"


def record(
    suite: Annotated[
        Path | None,
        typer.Argument(
            exists=True, dir_okay=False, help="A suite with the key `tape`, to be recorded whole."
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="A new recording of one task: its folder.")] = "",
    task: Annotated[str, typer.Option(help="The task, as the agent gets it.")] = "",
    agent: Annotated[
        str,
        typer.Option(
            help="The agent, as a suite has it: 'model: openai/gpt-4.1', 'python: module:function'."
        ),
    ] = "",
    live: Annotated[str, typer.Option(metavar="PROVIDER", help="Who answers: openai/gpt-4.1, ...")] = "",
    script: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A script that answers instead.")
    ] = None,
    folder: Annotated[Path, typer.Option(file_okay=False, help="Where new recordings go.")] = RECORDINGS,
) -> None:
    """Run each case of a suite once, and keep on its tape what the agent and the model say.

    With --name, --task and --agent: one task, into NAME/session.jsonl, with a suite beside it. Your own keys are used,
    and never written. What was recorded before is replaced when all is over.

    Exit codes: 0 recorded, 1 nothing was asked of the model, 2 wrong usage, no key, or a run that could not be made.

    Example: `soundstage eval record suite.yaml --live openai/gpt-4.1`
    """
    if (suite is None) != bool(name and task and agent):
        raise typer.BadParameter("give a suite, or all of --name, --task and --agent")
    if bool(live) == (script is not None):
        raise typer.BadParameter("give --live PROVIDER, or --script FILE")
    import_from_here()
    models = _models(live, script)
    if suite is not None:
        raise typer.Exit(_record(suite, models))
    with _new_recording(folder / name, task, agent) as made:
        raise typer.Exit(_record(made, models))


def replay(
    fixture: Annotated[Path, typer.Option(help="The tape. The suite that names it is in the same folder.")],
    relaxed: Annotated[
        bool,
        typer.Option("--relaxed", help="Go on when a request differs, with the exchange that comes nearest."),
    ] = False,
) -> None:
    """Run each case of a suite once on its tape, without network and keys; print exchanges and differences.

    Exit codes: 0 as recorded, or relaxed and every request was answered; 1 the runs are not the recorded ones, or more
    was asked than is on the tape; 2 wrong usage, or a tape that cannot be read, with the line.

    Example: `soundstage eval replay --fixture fixtures/eval/find/session.jsonl`
    """
    from soundstage.evals._making import verdict_text
    from soundstage.evals._recording import replay_suite, suite_beside
    from soundstage.report import render_text
    from soundstage.tapes import Tape
    from soundstage.trace import build_trace

    import_from_here()
    tape = Tape.load(fixture)
    done = asyncio.run(replay_suite(suite_beside(fixture), tape, relaxed=relaxed))
    for run in done.runs:
        say(f"{run.case}: {run.record.outcome if run.record is not None else 'error'}")
        say(render_text(build_trace(run.journal)) if run.journal else run.problem)
    for verdict in done.verdicts:
        warn(verdict_text(verdict))
    count = sum(run.record is not None for run in done.runs)
    warn(
        f"replayed {count} of {len(done.runs)} case(s) on {fixture}: {len(done.verdicts)} difference(s), 0 tokens"
    )
    if any(run.record is None for run in done.runs):
        raise typer.Exit(BAD_INPUT)
    if any(map(_unanswered, done.runs)) or (done.verdicts and not relaxed):
        raise typer.Exit(FAILED)


def _unanswered(run: MadeRun) -> bool:
    """Whether more was asked than is on the tape: then no exchange is left that could answer, relaxed or not."""
    from soundstage.journal import ModelFailed

    failed = (one.event for one in run.journal if isinstance(one.event, ModelFailed))
    return any(one.reason == "replay_mismatch" for one in failed)


def _record(suite: Path, models: Callable[[], Model]) -> int:
    from soundstage.evals._recording import record_suite, tape_of

    done = asyncio.run(record_suite(suite, models))
    problems = [run for run in done.runs if run.record is None]
    for run in done.runs:
        reason = run.problem or (run.record.reason if run.record is not None else "")
        warn(
            f"{run.case}: {run.record.outcome if run.record is not None else 'error'}{': ' * bool(reason)}{reason}"
        )
    for told in (*done.tape.redacted, *done.tape.problems):
        warn(told)
    if problems or not done.tape.exchanges:
        why = "not every run could be made" if problems else "no agent asked the model"
        warn(f"nothing was written: {why}")
        return BAD_INPUT if problems else FAILED
    say(f"recorded {len(done.tape.exchanges)} exchange(s) of {len(done.runs)} case(s) into {tape_of(suite)}")
    say(f"replay: soundstage eval run {suite}")
    return 0


@contextlib.contextmanager
def _new_recording(folder: Path, task: str, agent: str) -> Iterator[Path]:
    """The suite of a new recording; its folder goes if nothing was recorded."""
    path = folder / SUITE
    if folder.exists():
        raise typer.BadParameter(
            f"there is {folder} already; to record it again: soundstage eval record {path} --live PROVIDER"
        )
    case = {"name": folder.name, "input": task, "expect": ["no_failures"]}
    parts = {"version": 1, "name": folder.name, "agent": _agent(agent, folder), "tape": TAPE, "cases": [case]}
    folder.mkdir(parents=True)
    path.write_text(
        "".join(f"{key}: {json.dumps(value)}\n" for key, value in parts.items()), encoding="utf-8"
    )
    try:
        yield path
    finally:
        if not (folder / TAPE).exists():
            shutil.rmtree(folder)


def _agent(text: str, folder: Path) -> Any:
    """The agent of an option; files that its command names are found from the new folder, too."""
    from soundstage.scripts import SourceReport, read_source

    report = SourceReport("--agent")
    node = read_source(text, report, form="")
    if node is None or not isinstance(node.value, dict):
        raise typer.BadParameter(f"--agent is as in a suite, e.g. 'model: openai/gpt-4.1'; got {text!r}")
    command = node.value.get("command")
    if not isinstance(command, list):
        return node.value
    moved = [os.path.relpath(word, folder) if Path(str(word)).is_file() else word for word in command]
    return {**node.value, "command": moved}


def _models(live: str, script: Path | None) -> Callable[[], Model]:
    from soundstage.evals._read import live_models
    from soundstage.models import ScriptedModel, load_script

    if script is None:
        return live_models(live, allow=True)
    loaded = load_script(script)
    return lambda: ScriptedModel(loaded, shared=True)


def import_from_here() -> None:
    """Let `python: module:function` find modules in this folder, as `python -m` does."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
