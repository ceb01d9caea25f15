"""Text to data that knows its lines: YAML and JSON as trees of nodes. Pure.

YAML is read from the events of PyYAML's parser, which knows the place of everything, and its scalars by the rules of
YAML 1.2: only `true` and `false` are booleans, so `on`, `yes`, times and dates stay text. JSON is checked by the
standard library, whose messages are better, and then walked once more for the places.

A source may come from anybody who reaches the server, so it is bounded: in size, in depth, and in the number of its
values, where one that is used under several names counts each time. PyYAML's own composer, which is C, overflows the
stack where nesting is deep; its parser has no stack, so the depth is counted here while the events come.
"""

from __future__ import annotations

import bisect
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptProblem

LONGEST: Final = 8_000_000  # characters
DEEPEST: Final = 100  # levels
MOST: Final = 1_000_000  # values


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
        self.problems: list[ScriptProblem] = []

    def add(self, line: int, key: str, message: str) -> None:
        """One more problem."""
        self.problems.append(ScriptProblem(self.source, line, key, message))


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
    if len(text) > LONGEST:
        report.add(0, "", f"it is longer than {LONGEST:,} characters")
        return None
    if not form:
        form = "json" if text.lstrip()[:1] == "{" and _is_json(text) else "yaml"
    try:
        return _read_json(text, report) if form == "json" else _read_yaml(text, report)
    except RecursionError:
        report.add(0, "", _TOO_DEEP)
    except _TooMuchError as error:
        report.add(error.line, "", error.problem)
    except UnicodeEncodeError:
        report.add(0, "", "it holds half a surrogate pair, which is no character")
    return None


_TOO_DEEP: Final = f"it is nested too deeply; {DEEPEST} levels are allowed"


class _TooMuchError(Exception):
    """Raised where a source is beyond the bounds."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


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
        self._depth = 0

    def value(self) -> SourceNode:
        word, line = next(self._words)
        return self._after(word, line)

    def _after(self, word: str, line: int) -> SourceNode:
        if word not in ("{", "["):
            return SourceNode(json.loads(word), line)
        self._depth += 1
        if self._depth > DEEPEST:
            raise _TooMuchError(line, _TOO_DEEP)
        made = self._mapping(line) if word == "{" else self._list(line)
        self._depth -= 1
        return made

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

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        try:
            return _Compose(loader, report).document()
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        line = 1 + text.count("\n", 0, error.position)
        report.add(line, "", f"this is not YAML: {error.reason} (character {error.character:#x})")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        report.add(mark.line + 1 if mark else 0, "", f"this is not YAML: {reason}")
    return None


class _Compose:
    """From the events of PyYAML's parser to nodes. A node that is used under several names is made once."""

    def __init__(self, loader: Any, report: SourceReport) -> None:
        self._loader = loader
        self._report = report
        self._named: dict[str, tuple[SourceNode, int] | None] = {}  # with its values; None while it is made
        self._values = 0
        self._depth = 0

    def document(self) -> SourceNode | None:
        """The only document; nothing if there is none."""
        loader = self._loader
        loader.get_event()  # the stream begins
        if type(loader.peek_event()).__name__ == "StreamEndEvent":
            self._report.add(0, "", "it is empty")
            return None
        loader.get_event()  # the document begins
        root = self._node()
        loader.get_event()  # the document ends
        event = loader.get_event()
        if type(event).__name__ != "StreamEndEvent":
            line = event.start_mark.line + 1
            self._report.add(line, "", "this is not YAML: expected a single document, but found another one")
        return root

    def _node(self) -> SourceNode:
        event = self._loader.get_event()
        line = event.start_mark.line + 1
        if type(event).__name__ == "AliasEvent":
            return self._again(event.anchor, line)
        before = self._values
        self._count(1, line)
        if event.anchor is not None:
            self._named[event.anchor] = None
        made = self._made(event, line)
        if event.anchor is not None:
            self._named[event.anchor] = (made, self._values - before)
        return made

    def _again(self, name: str, line: int) -> SourceNode:
        """The node of that name."""
        known = self._named.get(name)
        if known is not None:
            self._count(known[1], line)
            return known[0]
        what = (
            "this value contains itself" if name in self._named else "this is not YAML: found undefined alias"
        )
        self._report.add(line, "", what)
        return SourceNode(None, line)

    def _count(self, values: int, line: int) -> None:
        self._values += values
        if self._values > MOST:
            raise _TooMuchError(
                line, f"it has more than {MOST:,} values, counted as often as their names are used"
            )

    def _made(self, event: Any, line: int) -> SourceNode:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            return SourceNode(self._scalar(event, line), line)
        self._depth += 1
        if self._depth > DEEPEST:
            raise _TooMuchError(line, _TOO_DEEP)
        made = self._sequence(line) if kind == "SequenceStartEvent" else self._mapping(line)
        self._loader.get_event()  # its end
        self._depth -= 1
        return made

    def _more(self, end: str) -> bool:
        return type(self._loader.peek_event()).__name__ != end

    def _sequence(self, line: int) -> SourceNode:
        items = []
        while self._more("SequenceEndEvent"):
            items.append(self._node())
        return SourceNode([item.value for item in items], line, items=items)

    def _mapping(self, line: int) -> SourceNode:
        fields: dict[str, SourceField] = {}
        merged: dict[str, SourceField] = {}
        while self._more("MappingEndEvent"):
            key = self._loader.peek_event()
            place = key.start_mark.line + 1
            name = self._key(place)
            value = self._node()
            if name is not None and self._tag(key) == _YAML + "merge":
                merged = self._merge(value, place) | merged
            elif name is not None:
                _put(fields, name, place, value, self._report)
        fields = {**merged, **fields}
        return SourceNode({key: field.node.value for key, field in fields.items()}, line, fields=fields)

    def _key(self, line: int) -> str | None:
        """The text of a key, if it is one."""
        event = self._loader.peek_event()
        node = self._node()
        if type(event).__name__ == "ScalarEvent":
            return str(event.value)
        if type(event).__name__ == "AliasEvent" and isinstance(node.value, str):
            return node.value
        self._report.add(line, "", "a key is text, not a list or a mapping")
        return None

    def _merge(self, value: SourceNode, line: int) -> dict[str, SourceField]:
        """The fields that `<<: *name` or `<<: [*one, *other]` adds; earlier ones win."""
        found: dict[str, SourceField] = {}
        for source in value.items if isinstance(value.value, list) else [value]:
            if not isinstance(source.value, dict):
                self._report.add(line, "<<", "only mappings can be merged")
                continue
            found = {**source.fields, **found}
        return found

    def _tag(self, event: Any) -> str:
        """The tag of a scalar, or what PyYAML takes it for."""
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":
            return str(tag)
        if type(event).__name__ != "ScalarEvent":
            return ""
        from yaml import ScalarNode

        return str(self._loader.resolve(ScalarNode, event.value, event.implicit))

    def _scalar(self, event: Any, line: int) -> Any:
        tag = self._tag(event)
        if not tag.startswith(_YAML):
            self._report.add(line, "", f"the tag {tag} means nothing here")
            return None
        if event.style in _QUOTED or tag == _YAML + "str":
            return event.value
        return next(
            (make(event.value) for shape, make in _PLAIN if shape.fullmatch(event.value)), event.value
        )
