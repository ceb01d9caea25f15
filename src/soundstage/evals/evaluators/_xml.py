"""Evaluators of XML in the answer.

A whole answer is read by expat, strictly and with namespaces. A document that declares entities is refused: none can
grow. Fragments in prose are no documents, and models write `a & b` in them: they are found by their tags alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple
from xml.parsers import expat

from soundstage.errors import WrongValueError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.match import preview

_DEEPEST: Final = 100  # elements within each other, as promptfoo has it
_START: Final = (
    ":A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME: Final = rf"[{_START}][-.0-9\xb7\u0300-\u036f\u203f-\u2040{_START}]*+"
_QUOTED: Final = r"\"[^\"]*+\"|'[^']*+'"
_MARKUP: Final = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)"
    rf"|<!(?:[^\[>\"']|{_QUOTED}|\[(?:[^\]\"']|{_QUOTED})*+\])*+(?:>|\Z)"
    r"|<\?(?P<instruction>.*?)(?:\?>|\Z)"
    rf"|<(?P<end>/?)(?P<name>{_NAME})(?P<rest>(?:[^<>\"']|{_QUOTED})*+)>",
    re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(r"([^\s=]+)\s*(?:=\s*(?:\"[^\"]*\"|'[^']*'))?")

XmlSpec = Literal[True] | list[str]


def is_xml(spec: XmlSpec) -> Evaluator:
    """The whole answer is an XML document: `true`, or paths that it has, such as `order.item.0.@_id`. Elements of one
    name are a list; `#text` is a text beside attributes or elements. Entities of its own are refused."""
    return _with_paths(spec, "is_xml", _problem_of_document)


def contains_xml(spec: XmlSpec) -> Evaluator:
    """An XML element stands in the answer: `true`, or paths as of `is_xml`, which elements side by side may have
    together. An element is a tag and the one that ends it; what else XML asks for is not looked at."""
    return _with_paths(spec, "contains_xml", _problem_of_fragments)


def _with_paths(spec: XmlSpec, kind: str, problem_of: Any) -> Evaluator:
    paths = [] if spec is True else spec
    if spec is not True and (not spec or "" in spec):
        raise WrongValueError(f"`{kind}` takes true, or paths of elements", seen=repr(spec))

    def evaluate(run: EvalRun) -> Grade:
        problem = problem_of(run.output, paths)
        return Grade(passed=not problem, reason=f"{problem}: {preview(run.output)}" if problem else "")

    return evaluate


class _BadXmlError(Exception):
    """Says why a text is not the XML that it should be."""


class _Tree:
    """A document as nested mappings, built of what a reader finds: elements by name, attributes as `@_name`."""

    def __init__(self) -> None:
        self._open: list[tuple[str, dict[str, Any], list[str]]] = [("", {}, [])]

    @property
    def root(self) -> dict[str, Any]:
        if len(self._open) != 1:
            raise _BadXmlError(f"<{self._open[-1][0]}> does not end")
        return self._open[0][1]

    def start(self, name: str, attributes: Sequence[str]) -> None:
        if len(self._open) > _DEEPEST + 1:
            raise _BadXmlError(f"more than {_DEEPEST} elements are within each other")
        self._open.append((name, {f"@_{one}": "" for one in attributes}, []))

    def end(self, name: str) -> None:
        began, parts, texts = self._open.pop()
        if not self._open or began != name:
            raise _BadXmlError(f"</{name}> ends no element")
        if parts and any(texts):
            parts["#text"] = ""
        self._add(name, parts or "")

    def text(self, text: str) -> None:
        if text.strip():
            self._open[-1][2].append(text)

    def instruction(self, name: str, data: str) -> None:
        self._add(f"?{name}", {f"@_{one[1]}": "" for one in _ATTRIBUTE.finditer(data)} or "")

    def _add(self, name: str, node: Any) -> None:
        parts = self._open[-1][1]
        if name not in parts:
            parts[name] = node
        elif isinstance(parts[name], list):
            parts[name].append(node)
        else:
            parts[name] = [parts[name], node]


def _missing(tree: dict[str, Any], paths: Sequence[str]) -> str:
    missing = [path for path in paths if not _has(tree, path.split("."))]
    return f"the XML has no {', '.join(missing)}" if missing else ""


def _has(node: Any, path: Sequence[str]) -> bool:
    for step in path:
        if isinstance(node, list):
            if not re.fullmatch(r"0|[1-9][0-9]{0,8}", step) or int(step) >= len(node):
                return False
            node = node[int(step)]
        elif isinstance(node, dict) and step in node:
            node = node[step]
        else:
            return False
    return True


def _problem_of_document(text: str, paths: Sequence[str]) -> str:
    try:
        return _missing(_document(text), paths)
    except (expat.ExpatError, _BadXmlError, UnicodeEncodeError) as error:
        return f"the answer is not XML: {error}"


def _document(text: str) -> dict[str, Any]:
    """The tree of a document, read twice: a reader that knows namespaces does not tell names as they are written."""
    data = text.encode()
    strict = expat.ParserCreate("utf-8", " ")  # the text is one already: what it says of its encoding is past
    strict.StartDoctypeDeclHandler = _refuse_declarations
    strict.XmlDeclHandler = _refuse_version
    strict.Parse(data, True)  # noqa: FBT003  (expat takes it by place)
    tree, reader = _Tree(), expat.ParserCreate("utf-8")
    reader.ordered_attributes = True
    reader.buffer_text = True
    reader.StartElementHandler = lambda name, given: tree.start(name, given[::2])
    reader.EndElementHandler = tree.end
    reader.CharacterDataHandler = tree.text
    reader.SkippedEntityHandler = lambda name, _: tree.text(name)
    reader.ProcessingInstructionHandler = tree.instruction
    reader.XmlDeclHandler = lambda *given: tree.instruction("xml", _declared(*given))
    reader.Parse(data, True)  # noqa: FBT003
    return tree.root


def _declared(_: str, encoding: str | None, standalone: int) -> str:
    return " ".join(
        ["version", *(["encoding"] if encoding else []), *(["standalone"] if standalone >= 0 else [])]
    )


def _refuse_declarations(name: str, system: str | None, public: str | None, subset: int) -> None:
    del name, public
    if subset:
        raise _BadXmlError("it declares entities or elements of its own")
    if system is not None and "#" in system:
        raise _BadXmlError(f"the address {system!r} in its DOCTYPE has a fragment")


def _refuse_version(version: str | None, encoding: str | None, standalone: int) -> None:
    del encoding, standalone
    if version is None or not re.fullmatch(r"1\.[0-9]+", version):
        raise _BadXmlError(f"its version is {version}")


class _Element(NamedTuple):
    """An element in a text, and where the one begins that it is in, if there is one that does not end."""

    start: int
    end: int
    parent: int


def _problem_of_fragments(text: str, paths: Sequence[str]) -> str:
    marks = list(_MARKUP.finditer(text))
    problem, read = "no XML element stands in the answer", [(0, 0)]
    for begin, end in _spans(_elements(marks)):
        if any(start <= begin and end <= stop for start, stop in read):
            continue
        try:
            problem = _missing(_fragment(text, marks, begin, end), paths)
        except _BadXmlError as error:
            problem = str(error)
            continue
        if not problem:
            return ""
        read.append((begin, end))
    return problem


def _elements(marks: Sequence[re.Match[str]]) -> list[_Element]:
    """The elements whose tags belong together; a tag that ends another one ends them all."""
    found: list[_Element] = []
    begun: list[re.Match[str]] = []
    for mark in marks:
        name = mark["name"]
        if name is None:
            continue
        start = mark
        if not mark["end"]:
            if not mark["rest"].rstrip().endswith("/"):
                begun.append(mark)
                continue
        elif begun and begun[-1]["name"] == name:
            start = begun.pop()
        else:
            begun.clear()
            continue
        found.append(_Element(start.start(), mark.end(), begun[-1].start() if begun else -1))
    return found


def _spans(elements: Sequence[_Element]) -> Iterator[tuple[int, int]]:
    """The outermost elements that are side by side, all together; then each alone."""
    starts = {one.start for one in elements}
    outer = sorted(one for one in elements if one.parent not in starts)
    groups: dict[int, list[_Element]] = {}
    for one in outer:
        groups.setdefault(one.parent, []).append(one)
    yield from ((group[0].start, group[-1].end) for group in groups.values())
    yield from ((one.start, one.end) for one in outer)


def _fragment(text: str, marks: Sequence[re.Match[str]], begin: int, end: int) -> dict[str, Any]:
    """The tree of a part of a text."""
    tree, place = _Tree(), begin
    for mark in marks:
        if mark.start() < begin or mark.end() > end:
            continue
        tree.text(text[place : mark.start()])
        place = mark.end()
        if mark["data"] is not None:
            tree.text(mark["data"])
        elif mark["instruction"] is not None:
            name, _, data = mark["instruction"].partition(" ")
            tree.instruction(name, data)
        elif mark["name"] is not None:
            _tag(tree, mark)
    return tree.root


def _tag(tree: _Tree, mark: re.Match[str]) -> None:
    rest = mark["rest"].rstrip()
    if mark["end"]:
        tree.end(mark["name"])
        return
    tree.start(mark["name"], [one[1] for one in _ATTRIBUTE.finditer(rest.removesuffix("/"))])
    if rest.endswith("/"):
        tree.end(mark["name"])
