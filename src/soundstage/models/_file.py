"""Script files: YAML, JSON or Python in, rules out, or every problem with its line.

A file is read in four steps, and the first that fails ends it: text to data with lines (`_source`), data to
records (`_check`), what the records say about each other (here), records to rules. Fixture files of aimock
take another second step (`_aimock`).
"""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from soundstage.errors import MatchError, Problem, ScriptError, ScriptLoadError
from soundstage.models._conditions import QUESTIONS
from soundstage.models._parsed import ParsedRule, ParsedScript, in_one_line, where
from soundstage.models._reply import as_reply
from soundstage.models._rule import phase_matcher
from soundstage.models._source import SourceNode, SourceReport, read_source, wrap_source
from soundstage.models._words import in_words

VERSION: Final = 1
FORMS: Final = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
S = TypeVar("S")
_CONTENT: Final = ("text", "chunks", "blocks", "tool_calls")


def read_source_file(path: Path, report: SourceReport, *, others: Sequence[str] = ()) -> SourceNode | None:
    """The data of a YAML or JSON file, or nothing; `report` then knows why.

    Args:
        path: the file; its ending says which of the two it is.
        report: gets every problem.
        others: endings that the caller takes besides, for the message.
    """
    form = FORMS.get(path.suffix.lower())
    if form is None:
        kinds = ", ".join([*FORMS, *others])
        report.add(0, "", f"expected a file that ends in one of {kinds}, got {path.suffix or 'no ending'}")
        return None
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        report.add(0, "", f"the file cannot be read: {error.strerror or error}")
    except UnicodeDecodeError as error:
        report.add(0, "", f"the file is not UTF-8: {error.reason} at byte {error.start}")
    else:
        return read_source(text, report, form=form)
    return None


def parse_file(path: Path | str) -> ParsedScript:
    """The rules of a YAML or JSON file."""
    report = SourceReport(shown(Path(path)))
    node = read_source_file(Path(path), report, others=(".py",))
    return _parse(node, report) if node is not None else ParsedScript(problems=tuple(report.problems))


def parse_text(text: str, source: str, *, form: str = "") -> ParsedScript:
    """Parse a script from a text in YAML or JSON."""
    report = SourceReport(source)
    node = read_source(text, report, form=form)
    return _parse(node, report) if node is not None else ParsedScript(problems=tuple(report.problems))


def parse_data(data: Mapping[str, Any], source: str) -> ParsedScript:
    """Parse a script from plain data."""
    return _parse(wrap_source(data), SourceReport(source))


def shown(path: Path) -> str:
    """A path as messages and journals give it: the same on every machine, where it is below this folder."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path)


def _failed(source: str, message: str) -> ParsedScript:
    return ParsedScript(problems=(Problem(source, 0, "", message),))


def _parse(node: SourceNode, report: SourceReport) -> ParsedScript:
    if not isinstance(node.value, dict):
        report.add(node.line, "", f"a script is a mapping with `rules`, got {in_words(node.value)}")
        return ParsedScript(problems=tuple(report.problems))
    if "fixtures" in node.fields:
        from soundstage.models._aimock import convert

        parsed = convert(node, report)
    else:
        parsed = _script(node, report)
    return (
        parsed if not report.problems else ParsedScript(problems=tuple(sorted(report.problems, key=_by_line)))
    )


def _by_line(problem: Problem) -> int:
    return problem.line


def _script(node: SourceNode, report: SourceReport) -> ParsedScript:
    from soundstage.models._check import convert_source
    from soundstage.models._spec import ScriptSpec

    if not _right_version(node, report):
        return ParsedScript()
    spec = convert_source(ScriptSpec, node, report)
    _check_rules(node, report)
    _check_agents(node, report)
    _check_default(node, report)
    if spec is None or report.problems:
        return ParsedScript()
    rules = tuple(
        ParsedRule(
            when=rule.when,
            reply=as_reply(rule.reply),
            priority=rule.priority,
            times=rule.times,
            name=rule.name,
            where=where(report, item),
        )
        for rule, item in zip(spec.rules, node.fields["rules"].node.items, strict=True)
    )
    default = as_reply(spec.default) if spec.default is not None else None
    return ParsedScript((), spec.agents, rules, default, spec.strict, spec.name)


def _right_version(node: SourceNode, report: SourceReport) -> bool:
    """Whether this form is known; if not, nothing else can be said about the file."""
    field = node.fields.get("version")
    if field is None or (type(field.node.value) is int and field.node.value == VERSION):
        return True
    report.add(
        field.node.line,
        "version",
        f"this Soundstage reads version {VERSION}, got {in_words(field.node.value)}",
    )
    return False


def _check_rules(node: SourceNode, report: SourceReport) -> None:
    field = node.fields.get("rules")
    if field is not None and field.node.value == []:
        report.add(field.line, "rules", "there are no rules")
    for number, rule in _list(node, "rules"):
        key = f"rules[{number}]"
        if "when" in rule.fields:
            _check_when(rule.fields["when"].node, f"{key}.when", report)
        if "reply" in rule.fields:
            _check_empty(rule.fields["reply"].node, f"{key}.reply", report)


def _check_agents(node: SourceNode, report: SourceReport) -> None:
    for number, agent in _list(node, "agents"):
        if "when" in agent.fields:
            _check_when(agent.fields["when"].node, f"agents[{number}].when", report)
        phase = agent.fields.get("phase")
        if phase is not None and isinstance(phase.node.value, str):
            try:
                phase_matcher(phase.node.value)
            except MatchError as error:
                report.add(phase.node.line, f"agents[{number}].phase", in_one_line(error))


def _check_when(when: SourceNode, key: str, report: SourceReport) -> None:
    """Expressions that are no expressions; types have been checked by then, and their problems are known."""
    known = {problem.key for problem in report.problems}
    for name, (_, part) in when.fields.items():
        if name in QUESTIONS and f"{key}.{name}" not in known:
            try:
                QUESTIONS[name].compile(part.value)
            except MatchError as error:
                report.add(part.line, f"{key}.{name}", in_one_line(error))


def _check_empty(reply: SourceNode, key: str, report: SourceReport) -> None:
    """A reply that says nothing is a slip, unless it goes wrong on purpose."""
    said = [reply.fields[name].node for name in _CONTENT if name in reply.fields]
    if reply.value == "" or (
        said and not any(part.value for part in said) and not {"error", "fault"} & set(reply.fields)
    ):
        line = said[0].line if said else reply.line
        report.add(
            line, key, "the reply is empty; for a model that says nothing write {fault: {type: empty}}"
        )


def _check_default(node: SourceNode, report: SourceReport) -> None:
    strict, default = node.fields.get("strict"), node.fields.get("default")
    if default is None:
        return
    _check_empty(default.node, "default", report)
    if strict is not None and strict.node.value is True:
        later = max(strict.line, default.line)
        report.add(later, "default", "a strict script has no default: a request without a rule is an error")


def _list(node: SourceNode, name: str) -> Iterator[tuple[int, SourceNode]]:
    field = node.fields.get(name)
    return enumerate(field.node.items if field is not None else [])


def load_python(path: Path | str, kind: type[S]) -> S:
    """The `script` that a Python file defines.

    Raises:
        ScriptLoadError: if the file fails, or defines no such script.
    """
    source = shown(Path(path))
    try:
        names = runpy.run_path(str(path), run_name="soundstage_script")
    except ScriptLoadError:
        raise
    except OSError as error:
        raise _refused(source, 0, f"the file cannot be read: {error.strerror or error}") from None
    except SyntaxError as error:
        raise _refused(source, error.lineno or 0, f"this is not Python: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise _refused(source, _line_in(path, error), _failure(error)) from error
    script = names.get("script")
    if not isinstance(script, kind):
        got = f"got {in_words(script)}" if "script" in names else "got no such name"
        raise _refused(source, 0, f"expected `script`, a {kind.__name__}; {got}")
    return script


def _failure(error: BaseException) -> str:
    return in_one_line(error) if isinstance(error, ScriptError) else f"{type(error).__name__}: {error}"


def _line_in(path: Path | str, error: BaseException) -> int:
    """The last line of the file that was at work when it failed."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == str(path)), 0)


def _refused(source: str, line: int, message: str) -> ScriptLoadError:
    return ScriptLoadError([Problem(source, line, "", message)])
