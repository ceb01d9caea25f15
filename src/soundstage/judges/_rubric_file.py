"""Rubrics in files, YAML or JSON, and as plain data: problems have their lines and the paths of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from soundstage.errors import near_names
from soundstage.judges._errors import RubricError
from soundstage.judges._rubric import CRITERION_THRESHOLD, MODEL, PASS_THRESHOLD, Criterion, Rubric
from soundstage.scripts import (
    SourceNode,
    SourceReport,
    convert_source,
    items_of,
    line_of,
    published_schema,
    read_source_file,
    right_version,
    shown,
    sorted_problems,
    wrap_source,
)

_SLIP = 0.75  # how like a known key an unknown one is that nobody can have meant to be his own


class CriterionSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that a judge looks at. It needs `id` or `name`, which mean the same.

    Args:
        description: what has to be so, in words for the judge.
        id: another one for each criterion.
        name: the same as `id`.
        weight: its share of the score; criteria without one share what is left equally.
        threshold: the score below which a run does not pass, whatever the other criteria.
    """

    description: str
    id: str = ""
    name: str = ""
    weight: float | None = None
    threshold: float = CRITERION_THRESHOLD


class RubricSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The criteria by which a run is judged. Further keys are kept for you.

    Args:
        name: how reports call it.
        criteria: at least one, in the order in which the judge reads them.
        version: of this form.
        pass_threshold: the score from which a run passes.
        model: who judges, e.g. `openai/gpt-4.1`.
    """

    name: str
    criteria: list[CriterionSource]
    version: int = 1
    pass_threshold: float = PASS_THRESHOLD
    model: str = MODEL


def load_rubric(path: Path | str) -> Rubric:
    """The rubric of a YAML or JSON file.

    Raises:
        RubricError: with all that is wrong, each with file, line and key.

    Example:
        ::

            rubric = load_rubric("rubrics/repair.yaml")
            print([one.id for one in rubric.criteria])
    """
    path = Path(path)
    report = SourceReport(shown(path))
    node = read_source_file(path, report)
    if node is None:
        raise RubricError(sorted_problems(report))
    return msgspec.structs.replace(_rubric(node, report), path=path)


def rubric_of(data: Mapping[str, Any]) -> Rubric:
    """The rubric of plain data, with the keys of a file.

    Raises:
        RubricError: with all that is wrong, each with the path of its field.

    Example:
        >>> rubric = rubric_of({"name": "repair", "criteria": [{"name": "small", "description": "one line"}]})
        >>> rubric.criteria[0].id
        'small'
    """
    return _rubric(wrap_source(data), SourceReport("rubric"))


def rubric_schema() -> dict[str, Any]:
    """The JSON Schema of a rubric in a file, draft 2020-12.

    Example:
        >>> sorted(rubric_schema()["required"])
        ['criteria', 'name']
    """
    schema = published_schema(RubricSource, "Soundstage rubric")
    criterion = schema["$defs"][CriterionSource.__name__]
    for part in (schema, criterion):  # further keys are the user's
        part["additionalProperties"] = True
        for name in ("pass_threshold", "threshold", "weight"):
            if name in part["properties"]:
                part["properties"][name].update(minimum=0, maximum=1)
    schema["properties"]["criteria"]["minItems"] = 1
    criterion["anyOf"] = [{"required": ["id"]}, {"required": ["name"]}]
    return schema


def _rubric(node: SourceNode, report: SourceReport) -> Rubric:
    source: RubricSource | None = None
    extra: dict[str, Any] = {}
    extras: list[dict[str, Any]] = []
    if right_version(node, report):
        own, extra = _split(node, RubricSource, "", report)
        items = [
            _split(item, CriterionSource, f"criteria[{number}]", report)
            for number, item in enumerate(items_of(node, "criteria"))
        ]
        extras = [found for _, found in items]
        source = convert_source(RubricSource, _with_criteria(own, [item for item, _ in items]), report)
    if source is None or report.problems:
        raise RubricError(sorted_problems(report))
    criteria = tuple(
        _criterion(one, more, f"criteria[{number}]", node, report)
        for number, (one, more) in enumerate(zip(source.criteria, extras, strict=True))
    )
    try:
        made = Rubric(
            name=source.name,
            criteria=criteria,
            pass_threshold=source.pass_threshold,
            model=source.model,
            extra=extra,
        )
    except RubricError as error:
        for problem in error.problems:
            report.add(line_of(node, problem.key), problem.key, problem.message)
        made = None
    if made is None or report.problems:
        raise RubricError(sorted_problems(report))
    return made


def _criterion(
    source: CriterionSource, extra: dict[str, Any], key: str, node: SourceNode, report: SourceReport
) -> Criterion:
    if source.id and source.name and source.id != source.name:
        message = f"`id` and `name` mean the same, got {source.id!r} and {source.name!r}"
        report.add(line_of(node, f"{key}.name"), f"{key}.name", message)
    return Criterion(
        id=source.id or source.name,
        description=source.description,
        weight=source.weight,
        threshold=source.threshold,
        extra=extra,
    )


def _split(
    node: SourceNode, kind: type[msgspec.Struct], key: str, report: SourceReport
) -> tuple[SourceNode, dict[str, Any]]:
    """A mapping without its unknown keys, and these. One that is a slip of the pen is a problem."""
    if not isinstance(node.value, dict):
        return node, {}
    known = kind.__struct_fields__
    own = {name: field for name, field in node.fields.items() if name in known}
    extra = {name: field.node.value for name, field in node.fields.items() if name not in known}
    for name in extra:
        if near := near_names(name, known, cutoff=_SLIP):
            place = f"{key}.{name}" if key else name
            report.add(node.fields[name].line, place, f"unknown key; did you mean {near[0]!r}?")
    return SourceNode({name: field.node.value for name, field in own.items()}, node.line, fields=own), extra


def _with_criteria(node: SourceNode, items: list[SourceNode]) -> SourceNode:
    """The mapping with other criteria."""
    if not items:
        return node
    field = node.fields["criteria"]
    criteria = SourceNode([item.value for item in items], field.node.line, items=items)
    fields = {**node.fields, "criteria": field._replace(node=criteria)}
    return SourceNode({**node.value, "criteria": criteria.value}, node.line, fields=fields)
