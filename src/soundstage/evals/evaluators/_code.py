"""Evaluators that run code: a program in the workspace, a function of the user's, an expression without I/O."""

from __future__ import annotations

import importlib
from typing import Any

import msgspec

from soundstage.clock import SystemClock
from soundstage.drivers import Command
from soundstage.errors import WaitTimeout, WrongValueError
from soundstage.evals._errors import AbsentDataError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.evals.evaluators._expression import compile_expression
from soundstage.journal import Journal


class ProgramSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program, its exit code, and the seconds that it may take."""

    command: list[str]
    code: int = 0
    within: float = 60.0


def program(spec: list[str] | ProgramSpec) -> Evaluator:
    """A program exits with 0 in the workspace as the agent left it: its words, or `{command, code, within}`."""
    wanted = ProgramSpec(spec) if isinstance(spec, list) else spec
    if not wanted.command or wanted.within <= 0:
        raise WrongValueError(
            "`program` runs a program", expected="its words, and seconds above 0", seen=repr(spec)
        )

    async def evaluate(run: EvalRun) -> Grade:
        if run.folder is None:
            raise AbsentDataError("this run has no workspace in which a program could run")
        journal = Journal(clock=SystemClock())
        command = Command(wanted.command, journal, cwd=run.folder, code=None)
        await command.start()
        try:
            found = await command.wait(None, within=wanted.within)
        except WaitTimeout as error:
            return Grade(passed=False, reason=error.summary)
        finally:
            await command.stop()
            journal.close()
        last = [*command.lines("stdout"), *command.lines("stderr")][-5:]
        reason = "" if found == wanted.code else f"exit code {found}, not {wanted.code}: " + " | ".join(last)
        return Grade(passed=found == wanted.code, reason=reason)

    return evaluate


def python(spec: str) -> Evaluator:
    """A function of yours: `module:function`. It gets the run and returns pass, score, label or grade."""
    module, colon, name = spec.partition(":")
    if not (module and colon and name):
        raise WrongValueError("`python` names a function", expected="module:function", seen=repr(spec))
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise WrongValueError(
            f"there is no {spec}", seen=str(error), hint="modules beside the suite can be imported"
        ) from None
    if not callable(found):
        raise WrongValueError(f"{spec} is no function", seen=repr(found))
    evaluator: Evaluator = found
    return evaluator


def expression(spec: str) -> Evaluator:
    """A Python expression that is true. It knows `output`, `input`, `expected`, `metadata`, `tools` (names of those
    called), `files` (paths changed), `tokens`, `latency` and `cost`, functions without I/O, and methods of texts."""
    calculate = compile_expression(spec, _NAMES)

    def evaluate(run: EvalRun) -> Grade:
        passed = bool(calculate(lambda name: _NAMES[name](run)))
        return Grade(passed=passed, reason="" if passed else f"{spec} is not true")

    return evaluate


_NAMES: Any = {
    "output": lambda run: run.output,
    "input": lambda run: run.case.input,
    "expected": lambda run: run.case.expected,
    "metadata": lambda run: dict(run.case.metadata),
    "tools": lambda run: [use.name for use in run.trace.tools],
    "files": lambda run: [file.path for file in run.result.files],
    "tokens": lambda run: run.result.usage.total_tokens,
    "latency": lambda run: run.result.duration,
    "cost": lambda run: run.cost,
}
