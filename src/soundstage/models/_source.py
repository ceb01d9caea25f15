"""Text to data that knows its lines: YAML and JSON as trees of nodes. Pure.

YAML is read by PyYAML's composer, which keeps the place of everything, and its scalars by the rules of YAML
1.2: only `true` and `false` are booleans, so `on`, `yes`, times and dates stay text. JSON is checked by the
standard library, whose messages are better, and then walked once more for the places.
"""

from __future__ import annotations

import bisect
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from soundstage.errors import Problem


class SourceField(NamedTuple):
    """One entry of a mapping: the line of its key, and its value."""

    line: int
    node: SourceNode


class SourceNode:
    """A value, the line where it begins (0: not from a file), and what it is made of."""

    __slots__ = ("fields", "items", "line", "value")

    def __init__(
        self,
        value: Any,
        line: int,
        *,
        fields: dict[str, SourceField] | None = None,
        items: list[SourceNode] | None = None,
    ) -> None:
        self.value = value
        self.line = line
        self.fields = fields if fields is not None else {}
        self.items = items if items is not None else []


class SourceReport:
    """Collects problems of one source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []

    def add(self, line: int, key: str, message: str) -> None:
        """One more problem."""
        self.problems.append(Problem(self.source, line, key, message))


def wrap_source(value: Any) -> SourceNode:
    """Plain data as nodes without lines."""
    if isinstance(value, Mapping):
        fields = {str(key): SourceField(0, wrap_source(part)) for key, part in value.items()}
        return SourceNode({key: field.node.value for key, field in fields.items()}, 0, fields=fields)
    if isinstance(value, list | tuple):
        items = [wrap_source(part) for part in value]
        return SourceNode([item.value for item in items], 0, items=items)
    return SourceNode(value, 0)


def read_source(text: str, report: SourceReport, *, form: str) -> SourceNode | None:
    """The data in `text`, or nothing if it cannot be read; `report` then knows why.

    Args:
        text: the source.
        report: gets what is wrong.
        form: `json`, `yaml`, or empty: JSON if it begins like JSON and is some, else YAML.
    """
    if not form:
        form = "json" if text.lstrip()[:1] == "{" and _is_json(text) else "yaml"
    try:
        return _read_json(text, report) if form == "json" else _read_yaml(text, report)
    except RecursionError:
        report.add(0, "", "it is nested too deeply")
    except UnicodeEncodeError:
        report.add(0, "", "it holds half a surrogate pair, which is no character")
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_WORD: Final = re.compile(r'\s*(?:([{}\[\]:,])|("(?:[^"\\]|\\.)*"|[^\s{}\[\]:,"]+))', re.DOTALL)


def _read_json(text: str, report: SourceReport) -> SourceNode | None:
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        report.add(error.lineno, "", f"this is not JSON: {error.msg} (column {error.colno})")
        return None
    except ValueError as error:
        report.add(0, "", f"this is not JSON: {error}")
        return None
    return _Walk(text, report).value()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON")


class _Walk:
    """One pass over text that is known to be JSON."""

    def __init__(self, text: str, report: SourceReport) -> None:
        ends = [place for place, letter in enumerate(text) if letter == "\n"]
        self._words: Iterator[tuple[str, int]] = (
            (
                found.group(1) or found.group(2),
                1 + bisect.bisect_left(ends, found.start(found.lastindex or 0)),
            )
            for found in _WORD.finditer(text)
        )
        self._report = report

    def value(self) -> SourceNode:
        word, line = next(self._words)
        return self._after(word, line)

    def _after(self, word: str, line: int) -> SourceNode:
        if word == "{":
            return self._mapping(line)
        if word == "[":
            return self._list(line)
        return SourceNode(json.loads(word), line)

    def _mapping(self, line: int) -> SourceNode:
        fields: dict[str, SourceField] = {}
        word, place = next(self._words)
        while word != "}":
            if word != ",":
                next(self._words)  # the colon
                _put(fields, json.loads(word), place, self.value(), self._report)
            word, place = next(self._words)
        return SourceNode({key: field.node.value for key, field in fields.items()}, line, fields=fields)

    def _list(self, line: int) -> SourceNode:
        items: list[SourceNode] = []
        word, place = next(self._words)
        while word != "]":
            if word != ",":
                items.append(self._after(word, place))
            word, place = next(self._words)
        return SourceNode([item.value for item in items], line, items=items)


def _put(fields: dict[str, SourceField], key: str, line: int, node: SourceNode, report: SourceReport) -> None:
    if key in fields:
        report.add(line, key, f"this key is there twice; the first one is in line {fields[key].line}")
    else:
        fields[key] = SourceField(line, node)


def _number(text: str) -> float | str:
    """A number, unless it is too large to be one."""
    value = float(text)
    return value if math.isfinite(value) else text


_YAML: Final = "tag:yaml.org,2002:"
_DEEP: Final = 500  # levels
_QUOTED: Final = frozenset("\"'|>")
_PLAIN: Final[tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...]] = (
    (re.compile(r"(?:~|null|Null|NULL|)"), lambda _: None),
    (re.compile(r"(?:true|True|TRUE)"), lambda _: True),
    (re.compile(r"(?:false|False|FALSE)"), lambda _: False),
    (re.compile(r"[-+]?[0-9]{1,4000}"), int),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), _number),
)


def _read_yaml(text: str, report: SourceReport) -> SourceNode | None:
    import yaml

    loader = yaml.SafeLoader if _deep(text) else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.reader.ReaderError as error:
        line = 1 + text.count("\n", 0, error.position)
        report.add(line, "", f"this is not YAML: {error.reason} (character {error.character:#x})")
        return None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        report.add(mark.line + 1 if mark else 0, "", f"this is not YAML: {reason}")
        return None
    if root is None:
        report.add(0, "", "it is empty")
        return None
    return _Compose(report).node(root)


def _deep(text: str) -> bool:
    """Whether it may be nested so deeply that the fast loader, which is C, would overflow the stack."""
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    in_a_line = max((line.count("- ") + line.count("? ") for line in text.split("\n")), default=0)
    return deepest > _DEEP or in_a_line > _DEEP


class _Compose:
    """From PyYAML's nodes to ours. A node that is used under several names is made once."""

    def __init__(self, report: SourceReport) -> None:
        self._report = report
        self._made: dict[int, SourceNode] = {}
        self._open: set[int] = set()

    def node(self, given: Any) -> SourceNode:
        known = self._made.get(id(given))
        if known is not None:
            return known
        line = given.start_mark.line + 1
        if id(given) in self._open:
            self._report.add(line, "", "this value contains itself")
            return SourceNode(None, line)
        self._open.add(id(given))
        made = self._make(given, line)
        self._open.discard(id(given))
        self._made[id(given)] = made
        return made

    def _make(self, given: Any, line: int) -> SourceNode:
        if given.id == "scalar":
            return SourceNode(self._scalar(given, line), line)
        if given.id == "sequence":
            items = [self.node(item) for item in given.value]
            return SourceNode([item.value for item in items], line, items=items)
        fields: dict[str, SourceField] = {}
        merged: dict[str, SourceField] = {}
        for key, value in given.value:
            place = key.start_mark.line + 1
            if key.tag == _YAML + "merge":
                merged = self._merge(value, place) | merged
            elif key.id != "scalar":
                self._report.add(place, "", "a key is text, not a list or a mapping")
            else:
                _put(fields, key.value, place, self.node(value), self._report)
        fields = {**merged, **fields}
        return SourceNode({key: field.node.value for key, field in fields.items()}, line, fields=fields)

    def _merge(self, value: Any, line: int) -> dict[str, SourceField]:
        """What `<<: *name` or `<<: [*one, *other]` brings; earlier ones win."""
        found: dict[str, SourceField] = {}
        for source in value.value if value.id == "sequence" else [value]:
            if source.id != "mapping":
                self._report.add(line, "<<", "only mappings can be merged")
                continue
            found = {**self.node(source).fields, **found}
        return found

    def _scalar(self, given: Any, line: int) -> Any:
        if not given.tag.startswith(_YAML):
            self._report.add(line, "", f"the tag {given.tag} means nothing here")
            return None
        if given.style in _QUOTED or given.tag == _YAML + "str":
            return given.value
        return next(
            (make(given.value) for shape, make in _PLAIN if shape.fullmatch(given.value)), given.value
        )
