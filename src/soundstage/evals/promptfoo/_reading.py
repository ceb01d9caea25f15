"""Shared by the readers of a promptfoo configuration: its folder, its files, the problems found so far."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from soundstage.errors import did_you_mean
from soundstage.scripts import SourceField, SourceNode, SourceReport, read_source_file, shown, wrap_source

FILE: Final = "file://"


class PromptfooReading:
    """One configuration that is being read.

    Args:
        path: of the configuration.
        report: gets every problem.
    """

    def __init__(self, path: Path, report: SourceReport) -> None:
        self.folder = path.parent
        self.report = report
        self.notes: list[str] = []
        self.read: list[Path] = []  # files that belong to it

    def refuse(self, node: SourceNode, key: str, message: str, *, file: str = "") -> None:
        """One more problem, at the line of a node."""
        report = self.report if not file else SourceReport(file)
        report.add(node.line, key, message)
        if report is not self.report:
            self.report.problems += report.problems

    def known(
        self, node: SourceNode, key: str, served: set[str], refused: dict[str, str], noted: dict[str, str]
    ) -> bool:
        """Whether a mapping has only keys that are served; others are told, those that change nothing as a note."""
        if not isinstance(node.value, dict):
            self.refuse(node, key, f"expected a mapping, got {type(node.value).__name__}")
            return False
        good = True
        for name, field in node.fields.items():
            place = f"{key}.{name}" if key else name
            if name in noted:
                self.notes.append(f"{self.report.source}:{field.line}: {place}: {noted[name]}")
            elif name not in served:
                near = did_you_mean(name, served)
                words = refused.get(name) or f"there is no such key{f'; {near}' if near else ''}"
                self.report.add(field.line, place, words)
                good = False
        return good

    def paths(self, reference: str, node: SourceNode, key: str) -> list[Path]:
        """The files of a reference: a path or a pattern, with or without `file://`."""
        name = reference.removeprefix(FILE)
        found = sorted(self.folder.glob(name)) if set(name) & set("*?[") else [self.folder / name]
        files = [path for path in found if path.is_file()]
        if not files:
            self.refuse(node, key, f"there is no {name}")
        self.read += files
        return files

    def data(self, path: Path) -> SourceNode | None:
        """The data of a YAML or JSON file."""
        own = SourceReport(shown(path))
        found = read_source_file(path, own)
        self.report.problems += own.problems
        return found

    def text(self, path: Path, node: SourceNode, key: str) -> str | None:
        """The text of a file."""
        try:
            return path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.refuse(node, key, f"{path.name} cannot be read: {error}")
            return None

    def relative(self, path: Path) -> str:
        """A file as the suite names it."""
        return os.path.relpath(path, self.folder)


def resolved(
    node: SourceNode, root: SourceNode, refuse: Callable[[SourceNode, str], None], depth: int = 0
) -> SourceNode:
    """The same data, with the parts that `$ref: "#/..."` names in their places."""
    reference = node.fields.get("$ref")
    if reference is not None and isinstance(reference.node.value, str):
        found = root
        for step in reference.node.value.removeprefix("#/").split("/"):
            if step not in found.fields:
                refuse(reference.node, f"there is no {reference.node.value} in this file")
                return node
            found = found.fields[step].node
        if depth > 20:
            refuse(reference.node, "this reference leads to itself")
            return node
        return resolved(found, root, refuse, depth + 1)
    if node.fields:
        fields = {
            name: SourceField(line, resolved(part, root, refuse, depth))
            for name, (line, part) in node.fields.items()
        }
        return SourceNode(
            {name: field.node.value for name, field in fields.items()}, node.line, fields=fields
        )
    if node.items:
        items = [resolved(part, root, refuse, depth) for part in node.items]
        return SourceNode([part.value for part in items], node.line, items=items)
    return node


def each(node: SourceNode | None, key: str) -> Iterator[tuple[str, SourceNode]]:
    """The elements of a list with their keys; a single value is a list of one."""
    if node is None:
        return
    if isinstance(node.value, list):
        for number, item in enumerate(node.items):
            yield f"{key}[{number}]", item
    else:
        yield key, node


def part_of(node: SourceNode, name: str) -> SourceNode | None:
    """A field of a mapping, if it is there."""
    return node.fields[name].node if name in node.fields else None


def placed(value: Any, line: int) -> SourceNode:
    """Plain data as nodes that are all at one line."""
    node = wrap_source(value)
    waiting = [node]
    while waiting:
        here = waiting.pop()
        here.line = line
        here.fields = {name: SourceField(line, field.node) for name, field in here.fields.items()}
        waiting += [*here.items, *(field.node for field in here.fields.values())]
    return node
