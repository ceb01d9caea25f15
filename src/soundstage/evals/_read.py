"""Suites in files: YAML or JSON, with the cases in it, or beside it in JSON Lines or CSV. Problems have their lines."""

from __future__ import annotations

import csv
import functools
import hashlib
import importlib
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.errors import EnvironmentProblem, ScriptError, did_you_mean
from soundstage.evals._agents import (
    INPUT,
    ClaudeCodeAgent,
    CommandAgent,
    EvalAgent,
    FunctionAgent,
    ModelAgent,
    PromptedAgent,
)
from soundstage.evals._combination import combine
from soundstage.evals._errors import EvalConfigError, MatrixError
from soundstage.evals._made_of import folder_content, made_of, user_code_in
from soundstage.evals._matrix_read import Meaning, read_matrix, report_matrix, take_matrix
from soundstage.evals._provider import ProviderAgent, ProviderSource
from soundstage.evals._run import Case, EvalTurn, NamedEvaluator
from soundstage.evals._suite import TIMEOUT, EvalBudget, Suite, wrong_turns
from soundstage.evals.evaluators._judge import judges_in
from soundstage.evals.evaluators._kinds import evaluator_of
from soundstage.evals.promptfoo._suite import is_promptfoo, read_promptfoo
from soundstage.guard import real_variable
from soundstage.live import ProviderLimits
from soundstage.models import Model, Script, ScriptedModel, load_script
from soundstage.scripts import (
    SourceField,
    SourceNode,
    SourceReport,
    convert_source,
    in_one_line,
    items_of,
    line_of,
    read_json_lines,
    read_source_file,
    right_version,
    shown,
    sorted_problems,
    wrap_source,
)
from soundstage.wings import reader_of

DRIVERS: Final = ("claude_code",)
PROVIDERS: Final = ("openai", "anthropic", "gemini")
Expected = list[str | dict[str, Any]]


class AgentSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `agent` of a suite in a file: one of `command`, `python`, `driver`, `model` and `provider`."""

    command: list[str] | None = None
    python: str | None = None
    driver: str | None = None
    model: str | None = None
    provider: ProviderSource | None = None
    system: str | None = None
    code: int | None = None
    env: list[str] | None = None
    options: dict[str, Any] | None = None
    settings: dict[str, Any] | None = None
    chat: bool | None = None


class LiveSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider that is asked for real: its format, where it is, and the variable that has the key."""

    format: str
    model: str = ""
    base_url: str = ""
    key: str = ""


class TurnSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A turn of a case in a file."""

    input: str
    expect: Expected = []


class CaseSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case in a file."""

    input: str = ""
    turns: list[TurnSource] = []
    name: str = ""
    expected: Any = None
    files: dict[str, str] = {}
    metadata: dict[str, Any] = {}
    expect: Expected = []
    repeat: int | None = None
    pass_rate: float | None = None
    agent: AgentSource | None = None
    live: str | LiveSource | None = None


class SuiteSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A suite in a file."""

    agent: AgentSource
    cases: list[CaseSource] | str
    version: int = 1
    name: str = ""
    script: str | None = None
    tape: str | None = None
    live: str | LiveSource | None = None
    expect: Expected = []
    repeat: int = 1
    pass_rate: float = 1.0
    timeout: float = TIMEOUT
    workspace: str | None = None
    limits: dict[str, Any] = {}
    budget: EvalBudget = EvalBudget()
    prompt: str | None = None


def load_suite(path: Path | str, *, model: Callable[[], Model] | None = None, replay: bool = False) -> Suite:
    """The suite of a YAML or JSON file.

    Files that it names are looked up beside it, and its folder is put on `sys.path` for `python:`.

    Args:
        path: the file.
        model: makes the model of each run, in the place of the script, the tape or the live model of the file.
        replay: whether its tape answers, also in the place of a live model.

    Raises:
        EvalConfigError: with all that is wrong, each with file, line and key.
        ScriptLoadError: if its script cannot be used.
        TapeError: if its tape cannot be used.

    Example:
        ::

            suite = load_suite("evals/suite.yaml")
            print([case.name for case in suite.cases])
    """
    return _Reading(Path(path), model, replay=replay).suite()


class _Reading:
    """Reads one suite; everything that is wrong is collected in one report."""

    def __init__(self, path: Path, model: Callable[[], Model] | None = None, *, replay: bool = False) -> None:
        self._path = path
        self._given, self._replay = model, replay
        self._replayed = ""
        self._prompt: str | None = None
        self._alone = False  # whether the agent of the suite says which model is asked
        self._folder = path.parent
        self._report = SourceReport(shown(path))
        self._read: list[bytes] = []  # all that belongs to the suite
        self._notes: tuple[str, ...] = ()

    def suite(self) -> Suite:
        node = read_source_file(self._path, self._report)
        if node is not None and is_promptfoo(node):
            imported = read_promptfoo(self._path, node, self._report)
            node = imported.node if imported is not None else None
            self._read += [path.read_bytes() for path in imported.read] if imported is not None else []
            self._notes = imported.notes if imported is not None else ()
        source = None
        matrix = None
        if node is not None and right_version(node, self._report):
            matrix = take_matrix(node, self._report)
            source = convert_source(SuiteSource, node, self._report)
        if node is None or source is None:
            raise EvalConfigError(sorted_problems(self._report))
        self._read.append(self._path.read_bytes())
        folder = str(self._folder.resolve())
        if folder not in sys.path:
            sys.path.insert(0, folder)  # for functions beside the suite, and what they import later
        self._prompt = source.prompt
        self._alone = source.script == source.tape == source.live is None and source.agent.model is not None
        agent, model = self._agent(source.agent, node.fields["agent"]), self._model(source, node)
        if source.prompt is not None and INPUT not in source.prompt:
            self._report.add(node.fields["prompt"].line, "prompt", f"expected a text with {INPUT}")
        agent = self._prompted(agent)
        cases = self._cases(source, node)
        expect = self._evaluators(items_of(node, "expect"), "expect")
        limits = self._limits(node)
        workspace = self._workspace(node.fields["workspace"].node, "workspace") if source.workspace else None
        if self._report.problems or agent is None or model is None:
            raise EvalConfigError(sorted_problems(self._report))
        try:
            suite = Suite(
                name=source.name or self._path.name.partition(".")[0],
                agent=agent,
                cases=cases,
                model=model,
                expect=expect,
                repeat=source.repeat,
                pass_rate=source.pass_rate,
                timeout=source.timeout,
                workspace=workspace,
                limits=limits,
                budget=source.budget,
                replayed=self._replayed,
                fingerprint=hashlib.sha256(b"\0".join(self._read)).hexdigest(),
                notes=self._notes,
            )
        except EvalConfigError as error:
            for problem in error.problems:
                self._report.add(line_of(node, problem.key), problem.key, problem.message)
            raise EvalConfigError(sorted_problems(self._report)) from None
        return suite if matrix is None else self._combined(suite, source, matrix)

    def _combined(self, suite: Suite, source: SuiteSource, matrix: SourceNode) -> Suite:
        """The suite in every combination of its matrix."""
        live = live_models if self._alone and self._given is None else None
        meanings: dict[str, Meaning] = {
            **{kind: functools.partial(self._models, kind) for kind in ("script", "tape", "live")},
            "workspace": self._workspace,
            "agent": self._agent_of,
        }
        if live is not None:
            meanings["model"] = lambda node, key: self._models("live", node, key) and node.value
        found = read_matrix(matrix, self._report, meanings)
        digest = hashlib.sha256(b"\0".join(self._read)).hexdigest()  # with all files that values name
        try:
            return combine(msgspec.structs.replace(suite, fingerprint=digest), found, live=live)
        except MatrixError as error:
            raise report_matrix(error, matrix, self._report) from None

    def _agent_of(self, node: SourceNode, key: str) -> EvalAgent | None:
        source = convert_source(AgentSource, node, self._report, key=key)
        return None if source is None else self._agent(source, SourceField(node.line, node), key)

    def _prompted(self, agent: EvalAgent | None) -> EvalAgent | None:
        """An agent with the prompt of the suite around its inputs."""
        return agent if agent is None or self._prompt is None else PromptedAgent(agent, self._prompt)

    def _agent(self, source: AgentSource, field: SourceField, key: str = "agent") -> EvalAgent | None:
        kinds = [kind for kind in _AGENTS if getattr(source, kind) is not None]
        if len(kinds) != 1:
            got = " and ".join(kinds) or "none"
            self._report.add(field.line, key, f"expected one of {', '.join(_AGENTS)}; got {got}")
            return None
        for option, kind in _OPTIONS:
            if getattr(source, option) is not None and kind != kinds[0]:
                line = field.node.fields[option].line
                self._report.add(line, f"{key}.{option}", f"only an agent with `{kind}` has this")
        try:
            agent = _AGENTS[kinds[0]](source, self._folder)
        except ScriptError as error:
            line = field.node.fields[kinds[0]].line
            self._report.add(line, f"{key}.{kinds[0]}", in_one_line(error))
            return None
        self._read.append(made_of(agent))
        return agent

    def _model(self, source: SuiteSource, node: SourceNode) -> Callable[[], Model] | None:
        if self._given is not None:
            return self._given
        given = [name for name in ("script", "tape", "live") if getattr(source, name) is not None]
        if self._replay and "tape" not in given:
            seen = " and ".join(given) or "none"
            self._report.add(
                node.line, "tape", f"there is no recording to replay: expected a tape; got {seen}"
            )
            return None
        if given == ["tape", "live"]:
            given.remove("live" if self._replay else "tape")
        if not given and source.agent.model is not None:
            return live_models(source.agent.model)
        if not given and source.agent.provider is not None:
            script = Script()  # it may do without any model; a request is an error
            return lambda: ScriptedModel(script, shared=True)
        if len(given) != 1:
            got = " and ".join(given) or "none"
            self._report.add(
                node.line, "script", f"expected one of script, tape and live (or tape with live); got {got}"
            )
            return None
        return self._models(given[0], node.fields[given[0]].node, given[0])

    def _models(self, kind: str, node: SourceNode, key: str) -> Callable[[], Model] | None:
        """That which makes a model for each run."""
        if self._given is not None:
            self._report.add(
                node.line, key, "models of an eval that is recorded or replayed are not of its matrix"
            )
            return None
        if kind == "live":
            try:
                return live_models(msgspec.convert(node.value, str | LiveSource))
            except (ScriptError, msgspec.ValidationError) as error:
                told = in_one_line(error) if isinstance(error, ScriptError) else str(error)
                self._report.add(node.line, key, told)
                return None
        path = self._file(node.value, node.line, key)
        if path is None:
            return None
        if kind == "script":
            script = load_script(path)
            return lambda: ScriptedModel(script, shared=True)
        made = reader_of(path, lambda wing: wing.models)
        if made is None:
            self._report.add(node.line, key, f"{path.name} is no tape")
            return None
        models: Callable[[], Model] = made(path)
        self._replayed = path.name
        return models

    def _limits(self, node: SourceNode) -> dict[str, ProviderLimits]:
        """Limits of all providers, or by the name of one."""
        if "limits" not in node.fields:
            return {}
        given = node.fields["limits"].node
        if not any(field.node.fields for field in given.fields.values()):
            of_all = convert_source(ProviderLimits, given, self._report, key="limits")
            return {} if of_all is None else {"": of_all}
        found = {}
        for name, field in given.fields.items():
            key = f"limits.{name}"
            if name not in PROVIDERS:
                hint = did_you_mean(name, PROVIDERS)
                told = f"expected a provider ({', '.join(PROVIDERS)}) with its limits; got {name!r}"
                self._report.add(field.line, key, "; ".join(filter(None, (told, hint))))
            elif (limits := convert_source(ProviderLimits, field.node, self._report, key=key)) is not None:
                found[name] = limits
        return found

    def _asked(self, source: str | LiveSource, node: SourceNode, place: str) -> Callable[[], Model] | None:
        """The model of a case, which its key `live` names, or its agent."""
        key = "live" if "live" in node.fields else "agent"
        try:
            return live_models(source)
        except ScriptError as error:
            self._report.add(node.fields[key].line, f"{place}{key}", in_one_line(error))
            return None

    def _file(self, name: object, line: int, key: str) -> Path | None:
        path = self._folder / str(name)
        if not path.exists():
            self._report.add(line, key, f"there is no {path}")
            return None
        if path.is_file():
            self._read.append(path.read_bytes())
        return path

    def _workspace(self, node: SourceNode, key: str) -> Path:
        path = self._folder / str(node.value)
        if not path.is_dir():
            self._report.add(node.line, key, f"there is no folder {path}")
        self._read.append(folder_content(path))
        return path

    def _cases(self, source: SuiteSource, node: SourceNode) -> list[Case]:
        field = node.fields["cases"]
        if isinstance(source.cases, str):
            path = self._file(source.cases, field.line, "cases")
            return [] if path is None else self._cases_of_file(path, field.line)
        return [
            self._case(case, item, f"cases[{number}]", number + 1, self._report)
            for number, (case, item) in enumerate(zip(source.cases, field.node.items, strict=True))
        ]

    def _cases_of_file(self, path: Path, line: int) -> list[Case]:
        readers = {".jsonl": read_json_lines, ".csv": _csv_rows}
        if path.suffix not in readers:
            known = ", ".join(readers)
            self._report.add(line, "cases", f"expected a file that ends in one of {known}; got {path.name}")
            return []
        cases: list[Case] = []
        names: set[str] = set()
        report = SourceReport(shown(path))
        for number, (at, node) in enumerate(readers[path.suffix](path.read_text("utf-8-sig"), report)):
            own = SourceReport(report.source)
            source = convert_source(CaseSource, node, own)
            if source is not None:
                case = self._case(source, node, "", number + 1, own)
                if case.name in names:
                    own.add(at, "name", f"two cases are called {case.name!r}")
                names.add(case.name)
                cases.append(case)
                for key, message in wrong_turns(case):
                    own.add(at, key, message)
            for problem in own.problems:
                report.add(at, problem.key, problem.message)
        self._report.problems += report.problems
        return cases

    def _case(
        self, source: CaseSource, node: SourceNode, key: str, number: int, report: SourceReport
    ) -> Case:
        place = f"{key}." if key else ""
        turns = [
            EvalTurn(
                input=turn.input,
                expect=self._evaluators(items_of(item, "expect"), f"{place}turns[{at}].expect", report),
            )
            for at, (turn, item) in enumerate(zip(source.turns, items_of(node, "turns"), strict=True))
        ]
        fields = msgspec.structs.asdict(source)
        agent, live = fields.pop("agent"), fields.pop("live")
        if live is None and agent is not None and self._alone:
            live = agent.model
        given = self._given is not None or self._replay  # one model for all cases
        return Case(
            **{
                **fields,
                "agent": None
                if agent is None
                else self._prompted(self._agent(agent, node.fields["agent"], f"{place}agent")),
                "model": None if live is None or given else self._asked(live, node, place),
                "name": source.name or f"case {number}",
                "turns": tuple(turns),
                "expect": self._evaluators(items_of(node, "expect"), f"{place}expect", report),
            }
        )

    def _evaluators(
        self, items: Sequence[SourceNode], key: str, report: SourceReport | None = None
    ) -> tuple[NamedEvaluator, ...]:
        report = report or self._report
        found = []
        for number, item in enumerate(items):
            specs = {item.value: True} if isinstance(item.value, str) else item.value
            for kind, spec in specs.items():
                try:
                    found.append(made := evaluator_of(kind, spec, folder=self._folder))
                    self._read.append(made.source.encode() + user_code_in(made.evaluate))
                    asks = self._replay and any(
                        one.script is one.tape is None for one in judges_in(made.evaluate)
                    )
                    if asks:
                        raise ScriptError(
                            "a live judge would be asked", expected="with --replay a script or a tape"
                        )
                except ScriptError as error:
                    line = item.fields[kind].line if kind in item.fields else item.line
                    report.add(line, f"{key}[{number}].{kind}", in_one_line(error))
            if not specs:
                report.add(item.line, f"{key}[{number}]", "expected an evaluator, got none")
        return tuple(found)


def _command(source: AgentSource, folder: Path) -> EvalAgent:
    if not source.command:
        raise ScriptError("a command needs at least the program")
    return CommandAgent(tuple(source.command), folder, source.code or 0, tuple(source.env or ()))


def _function(source: AgentSource, _: Path) -> EvalAgent:
    module, _colon, name = (source.python or "").partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ScriptError(
            f"there is no {source.python}", expected="module:function", seen=str(error)
        ) from None
    return FunctionAgent(found)


def _driver(source: AgentSource, _: Path) -> EvalAgent:
    if source.driver not in DRIVERS:
        hint = did_you_mean(source.driver, DRIVERS)
        raise ScriptError(f"there is no driver {source.driver!r}", expected=", ".join(DRIVERS), hint=hint)
    return ClaudeCodeAgent(source.options or {})


def _alone(source: AgentSource, _: Path) -> EvalAgent:
    return ModelAgent(
        (source.model or "").partition("/")[2] or source.model or "",
        source.settings or {},
        bool(source.chat),
        source.system or "",
    )


def _provider(source: AgentSource, folder: Path) -> EvalAgent:
    return ProviderAgent(source.provider or ProviderSource(), folder)


_AGENTS: Final[dict[str, Callable[[AgentSource, Path], EvalAgent]]] = {
    "command": _command,
    "python": _function,
    "driver": _driver,
    "model": _alone,
    "provider": _provider,
}
_OPTIONS: Final = (
    ("code", "command"),
    ("env", "command"),
    ("options", "driver"),
    ("settings", "model"),
    ("chat", "model"),
    ("system", "model"),
)


def live_models(source: str | LiveSource, *, allow: bool = False) -> Callable[[], Model]:
    """Live models: `openai`, `openai/gpt-4.1`, or format, model and address.

    Args:
        source: which.
        allow: whether the user has asked for live calls; unless given, the variable says so.
    """
    from soundstage.live import LiveModel

    if isinstance(source, str):
        provider, _, model = source.partition("/")
        source = LiveSource(provider, model)
    kind: Any = source.format
    options: dict[str, Any] = {"model": source.model, "base_url": source.base_url, "allow": allow}
    if source.key:
        options["api_key"] = real_variable(source.key) or ""
        if not options["api_key"]:
            raise EnvironmentProblem(
                f"there is no API key for {source.model}", hint=f"export {source.key}=..."
            )

    def made() -> Model:
        return LiveModel(kind, **options)

    made()  # says what is missing before anything starts
    return made


def _csv_rows(text: str, report: SourceReport) -> list[tuple[int, SourceNode]]:
    """Rows as cases: the columns `name`, `input` and `expected`; all others are metadata."""
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    found = []
    try:
        for row in reader:
            own = {key: row.pop(key) for key in ("name", "input", "expected") if row.get(key) is not None}
            if "" in row or None in row.values():
                report.add(
                    reader.line_num,
                    "",
                    f"expected {len(reader.fieldnames or ())} columns, as in the first line",
                )
            else:
                found.append((reader.line_num, wrap_source({**own, "metadata": row})))
    except csv.Error as error:
        report.add(reader.line_num, "", f"this is not CSV: {error}")
    return found
