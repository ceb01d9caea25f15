"""Script files of models: YAML or JSON in, rules out, or every problem with its line.

A file is read in four steps, and the first that fails ends it: text to data with lines (`_source`), data to
records (`_check`), what the records say about each other (here), records to rules. Files of other tools
take another second step (`Wing.rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from soundstage.models._conditions import CONDITION_SOURCES
from soundstage.models._identify import phase_matcher
from soundstage.models._parsed import ParsedRule, ParsedScript
from soundstage.models._reply import as_reply
from soundstage.scripts import (
    FORMS,
    SourceNode,
    SourceReport,
    in_words,
    items_of,
    read_source,
    read_source_file,
    report_conditions,
    reporting,
    right_version,
    shown,
    sorted_problems,
    where,
    wrap_source,
)
from soundstage.wings import load_target, wings

_CONTENT: Final = ("text", "chunks", "blocks", "tool_calls")


def parse_file(path: Path | str) -> ParsedScript:
    """The rules of a YAML or JSON file, or of all that lie in a folder."""
    if Path(path).is_dir():
        return _parse_folder(Path(path))
    report = SourceReport(shown(Path(path)))
    node = read_source_file(Path(path), report, others=(".py",))
    return _parse(node, report) if node is not None else ParsedScript(problems=tuple(report.problems))


def _parse_folder(folder: Path) -> ParsedScript:
    """One script of the files of a folder, in the order of their names. Of two defaults the last holds."""
    files = sorted(one for one in folder.iterdir() if one.suffix.lower() in FORMS and one.is_file())
    if not files:
        report = SourceReport(shown(folder))
        report.add(0, "", f"no file in this folder ends in one of {', '.join(FORMS)}")
        return ParsedScript(problems=tuple(report.problems))
    parts = [parse_file(file) for file in files]
    problems = tuple(problem for part in parts for problem in part.problems)
    if problems:
        return ParsedScript(problems=problems)
    return ParsedScript(
        agents=tuple(agent for part in parts for agent in part.agents),
        rules=tuple(rule for part in parts for rule in part.rules),
        default=next((part.default for part in reversed(parts) if part.default is not None), None),
        strict=next((part.strict for part in reversed(parts) if part.strict is not None), None),
        name=next((part.name for part in parts if part.name), ""),
        check_signatures=next(
            (part.check_signatures for part in reversed(parts) if part.check_signatures is not None), None
        ),
    )


def parse_text(text: str, source: str, *, form: str = "") -> ParsedScript:
    """Parse a script from a text in YAML or JSON."""
    report = SourceReport(source)
    node = read_source(text, report, form=form)
    return _parse(node, report) if node is not None else ParsedScript(problems=tuple(report.problems))


def parse_data(data: Mapping[str, Any], source: str) -> ParsedScript:
    """Parse a script from plain data."""
    return _parse(wrap_source(data), SourceReport(source))


def _parse(node: SourceNode, report: SourceReport) -> ParsedScript:
    if not isinstance(node.value, dict):
        report.add(node.line, "", f"a script is a mapping with `rules`, got {in_words(node.value)}")
        return ParsedScript(problems=tuple(report.problems))
    read = _script if "rules" in node.fields else _reader_of(node)
    parsed = read(node, report)
    return parsed if not report.problems else ParsedScript(problems=sorted_problems(report))


def _reader_of(node: SourceNode) -> Callable[[SourceNode, SourceReport], ParsedScript]:
    """The reader of a script without rules: that of a wing, if the script has one of its keys."""
    for wing in wings():
        for key in set(node.fields) & set(wing.rules):
            read: Callable[[SourceNode, SourceReport], ParsedScript] = load_target(wing.rules[key])
            return read
    return _script


def _script(node: SourceNode, report: SourceReport) -> ParsedScript:
    from soundstage.models._spec import ScriptSpec
    from soundstage.scripts import convert_source

    if not right_version(node, report):
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
        for rule, item in zip(spec.rules, items_of(node, "rules"), strict=True)
    )
    default = as_reply(spec.default) if spec.default is not None else None
    return ParsedScript((), spec.agents, rules, default, spec.strict, spec.name, spec.check_signatures)


def _check_rules(node: SourceNode, report: SourceReport) -> None:
    field = node.fields.get("rules")
    if field is not None and field.node.value == []:
        report.add(field.line, "rules", "there are no rules")
    for number, rule in enumerate(items_of(node, "rules")):
        key = f"rules[{number}]"
        if "when" in rule.fields:
            report_conditions(rule.fields["when"].node, f"{key}.when", report, _compiled)
        if "reply" in rule.fields:
            _check_empty(rule.fields["reply"].node, f"{key}.reply", report)


def _check_agents(node: SourceNode, report: SourceReport) -> None:
    for number, agent in enumerate(items_of(node, "agents")):
        if "when" in agent.fields:
            report_conditions(agent.fields["when"].node, f"agents[{number}].when", report, _compiled)
        phase = agent.fields.get("phase")
        if phase is not None and isinstance(phase.node.value, str):
            with reporting(report, phase.node, f"agents[{number}].phase"):
                phase_matcher(phase.node.value)


def _compiled(name: str, spec: Any) -> None:
    if name in CONDITION_SOURCES:
        CONDITION_SOURCES[name].compile(spec)


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
