"""Evaluators that are code of the user's: JavaScript in a program of its own, on node, and Python.

Code sees the answer as `output`, as data if a transform has made some, and `context` with `vars`, `prompt`, `config`
and `metadata`. It says pass or not, a score, or `{pass, score, reason}`. Code that fails has judged nothing: its grade
says so, and does not pass, not even under a `not`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.clock import SystemClock
from soundstage.drivers import Command
from soundstage.errors import EnvironmentProblem, WaitTimeout, WrongValueError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.journal import Journal

MARK: Final = "soundstage-value:"  # begins the line of standard output that has the value
WITHIN: Final = 60.0  # seconds for a piece of code
NODE_HOST: Final = r"""
const {pathToFileURL} = require('node:url');
const body = code => {
  const one = code.trim();
  if (one.includes('\n')) return code;
  const told = one.replace(/;\s*$/, ''), last = told.lastIndexOf(';');
  return /^(const|let|var)\s/.test(told) && last > 0
    ? `${told.slice(0, last)}; return ${told.slice(last + 1)}` : `return ${told}`;
};
let text = '';
process.stdin.on('data', piece => { text += piece; }).on('end', async () => {
  const {code, file, name, output, context, construct, given} = JSON.parse(text);
  const tell = found => process.stdout.write('\n' + MARK + JSON.stringify(found) + '\n', () => process.exit(0));
  try {
    let call;
    if (file) {
      const found = await import(pathToFileURL(file));
      const main = found.default ?? found;
      call = name ? found[name] ?? main[name] : main;
      if (construct && call.prototype?.callApi) call = new call(context.options);
      if (construct && call.callApi) call = call.callApi.bind(call);
    } else if (given) call = new Function(...Object.keys(given), 'process', code);
    else call = new Function('output', 'context', 'process', body(code));
    const last = given ? process : construct ? context.options : process;
    const value = await call(...(given ? Object.values(given) : [output, context]), last);
    const kind = value === null ? 'null' : typeof value;
    tell(['function', 'undefined', 'symbol', 'bigint'].includes(kind) ? {kind} : {kind, value});
  } catch (error) { tell({error: String(error)}); }
});
""".replace("MARK", json.dumps(MARK))


class CodeSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Code in place, or a file and the name of the function in it; its threshold and what it is given as `config`."""

    code: str = ""
    file: str = ""
    function: str = ""
    threshold: float | None = None
    config: Any = None


Value = tuple[Any, str]  # and the problem, if there is one


def javascript(spec: str | CodeSpec) -> Evaluator:
    """JavaScript on node: `output.length < 100`, lines with `return`, or `{code or file, function, threshold, config}`.
    It sees `output` and `context` (`vars`, `prompt`, `config`), and says pass, a score, or `{pass, score, reason}`."""
    return _judging(spec, javascript_value)


def python_code(spec: str | CodeSpec) -> Evaluator:
    """Python: an expression, lines with `return`, or `{code or file, function, threshold, config}`; the function of a
    file is `get_assert(output, context)` unless given. It says pass, a score, or `{pass, score, reason}`."""
    return _judging(spec, python_value)


def _judging(spec: str | CodeSpec, language: Callable[[CodeSpec], Any]) -> Evaluator:
    wanted = CodeSpec(code=spec) if isinstance(spec, str) else spec
    value_of = language(wanted)

    async def evaluate(run: EvalRun) -> Grade:
        value, problem = await value_of(run)
        if problem:
            return Grade(absent=True, reason=f"the code judges nothing: {problem}")
        return _verdict(value, wanted.threshold)

    vars(evaluate)["made_of"] = getattr(value_of, "made_of", "")
    return evaluate


def _verdict(value: Any, threshold: float | None) -> Grade:
    """The grade that code has given."""
    if isinstance(value, bool):
        return Grade(passed=value, reason="" if value else "the code says no")
    if isinstance(value, int | float):
        score = float(value)
        passed = score > 0 if threshold is None else score >= threshold
        return Grade(
            passed=passed, score=score if math.isfinite(score) else None, reason=f"the code says {score:g}"
        )
    if isinstance(value, Mapping):
        told, points, reason = value.get("pass", value.get("pass_")), value.get("score"), value.get("reason")
        if isinstance(told, bool) and isinstance(points, int | float) and isinstance(reason, str):
            return Grade(passed=told and points >= (threshold or 0), score=float(points), reason=reason)
    seen = json.dumps(value, default=str)[:100]
    return Grade(
        absent=True, reason=f"the code says neither pass nor a score nor {{pass, score, reason}}: {seen}"
    )


def javascript_value(spec: CodeSpec) -> Callable[[EvalRun], Awaitable[Value]]:
    """The value of code on node.

    Raises:
        EnvironmentProblem: if there is no node.
        WrongValueError: for neither code nor a file, and for a file that is not there.
    """
    file = _checked(spec, "javascript", (".js", ".cjs", ".mjs"))
    node = node_program()

    async def value(run: EvalRun) -> Value:
        asked = {"code": spec.code, "file": file, "name": spec.function, **_seen(run, spec)}
        return await node_value(node, asked)

    vars(value)["made_of"] = _content_of(file)
    return value


def node_program() -> str:
    """Where node is.

    Raises:
        EnvironmentProblem: if it is not there.
    """
    found = shutil.which("node")
    if found is None:
        raise EnvironmentProblem(
            "there is no node, which JavaScript needs", hint="install nodejs, or write the code in Python"
        )
    return found


async def node_value(node: str, asked: Mapping[str, Any]) -> Value:
    """The value of a piece of code in a program of its own, with a throw-away home and no way out."""
    journal = Journal(clock=SystemClock())
    folder = Path(asked["file"]).parent if asked["file"] else None
    command = Command(
        [node, "-e", NODE_HOST], journal, cwd=folder, stdin=msgspec.json.encode(asked).decode(), code=None
    )
    try:
        await command.start()
        await command.wait(None, within=WITHIN)
    except WaitTimeout:
        return None, f"it is not over after {WITHIN:g} s"
    finally:
        await command.stop()
        journal.close()
    return value_in(command.lines("stdout"), command.lines("stderr"))


def value_in(output: list[str], errors: list[str]) -> Value:
    """The value that a program has told among its other lines."""
    found = [line for line in output if line.startswith(MARK)]
    if not found:
        return None, "it ended without a value: " + " | ".join(errors[-3:])
    told = json.loads(found[-1].removeprefix(MARK))
    if "value" in told:
        value = told["value"]
        return (math.nan if value is None and told["kind"] == "number" else value), ""
    return None, told.get("error") or f"it comes to {told['kind']}"


def python_value(spec: CodeSpec) -> Callable[[EvalRun], Awaitable[Value]]:
    """The value of Python code.

    Raises:
        WrongValueError: for neither code nor a file, a file that is not there, and code that is no Python.
    """
    file = _checked(spec, "python_code", (".py",))
    call = _function(file, spec.function or "get_assert") if file else _compiled(spec.code)

    async def value(run: EvalRun) -> Value:
        seen = _seen(run, spec)
        try:
            found = call(seen["output"], seen["context"])
            return (await found if inspect.isawaitable(found) else found), ""
        except Exception as error:  # noqa: BLE001  (the user's own code: what it raises is told)
            return None, f"{type(error).__name__}: {error}"

    vars(value)["made_of"] = _content_of(file)
    return value


def _content_of(file: str) -> str:
    """A mark of what stands in a file: a suite whose code was changed is another one."""
    return f" {hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]}" if file else ""


def _compiled(code: str) -> Callable[[Any, Any], Any]:
    """An expression, or if there are several lines the body of a function."""
    body = code if "\n" in code else f"return {code}"
    names: dict[str, Any] = {}
    try:
        program = compile(f"def main(output, context):\n{textwrap.indent(body, '    ')}", "<python>", "exec")
        exec(program, names)  # noqa: S102  (code of the suite's author, like a function that it names)
    except SyntaxError as error:
        raise WrongValueError("this is no Python", seen=f"{error.msg}: {code}") from None
    found: Callable[[Any, Any], Any] = names["main"]
    return found


def _function(file: str, name: str) -> Callable[[Any, Any], Any]:
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    module = importlib.util.module_from_spec(spec) if spec is not None else None
    try:
        spec.loader.exec_module(module)  # type: ignore[union-attr, arg-type]
        found: Callable[[Any, Any], Any] = getattr(module, name)
    except Exception as error:  # noqa: BLE001  (a module of the user's may raise anything)
        raise WrongValueError(
            f"{file} has no function {name}", seen=f"{type(error).__name__}: {error}"
        ) from None
    return found


def _checked(spec: CodeSpec, kind: str, endings: tuple[str, ...]) -> str:
    """The whole path of the file, or nothing if the code stands in place."""
    if bool(spec.code.strip()) == bool(spec.file):
        raise WrongValueError(f"`{kind}` runs code", expected="one of `code` and `file`", seen=repr(spec))
    if not spec.file:
        return ""
    if Path(spec.file).suffix not in endings:
        raise WrongValueError(f"`{kind}` runs a file", expected=" or ".join(endings), seen=spec.file)
    for folder in ("", *sys.path):  # where the suite is, modules are found too
        path = Path(folder, spec.file)
        if path.is_file():
            return str(path.resolve())
    raise WrongValueError(f"there is no {spec.file}", hint="files beside the suite are found")


def _seen(run: EvalRun, spec: CodeSpec) -> dict[str, Any]:
    """The arguments of code."""
    metadata = dict(run.case.metadata)
    context = {
        "vars": metadata.get("vars", metadata),
        "prompt": run.case.input,
        "config": spec.config if spec.config is not None else {},
        "metadata": metadata,
        "test": {"vars": metadata.get("vars", metadata), "metadata": metadata},
    }
    return {"output": run.output if run.value is None else run.value, "context": context}
