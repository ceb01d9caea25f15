"""Files of a plugin, read so that every value knows its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.claude_code import quoted_front_matter
from soundstage.claude_code.plugin_check._findings import Entry, Findings, add_problems
from soundstage.scripts import SourceNode, SourceReport, read_source

_FENCE: Final = re.compile(r"\A---[ \t]*\r?\n(?P<yaml>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class Document(NamedTuple):
    """A Markdown file: its front matter, if there is some that can be read, and what comes below."""

    path: Path
    text: str
    front: SourceNode | None
    body: str

    def get(self, key: str) -> str:
        """A value of the front matter as text; empty if it is not there."""
        field = self.front.fields.get(key) if self.front is not None else None
        return "" if field is None or field.node.value is None else str(field.node.value)

    def line(self, key: str) -> int:
        """The line of a key, or that of the beginning."""
        field = self.front.fields.get(key) if self.front is not None else None
        return field.line if field is not None else 1


def read_text(path: Path, entry: Entry, findings: Findings) -> str | None:
    """The text of a file; nothing if it cannot be read, which is written down."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        entry.add("file-unreadable", f"this is not UTF-8: {error.reason}", file=findings.path(path), line=0)
    except OSError as error:
        reason = error.strerror or str(error)
        entry.add("file-missing", f"this cannot be read: {reason}", file=findings.path(path), line=0)
    return None


def read_json(path: Path, entry: Entry, findings: Findings) -> SourceNode | None:
    """The data of a JSON file; nothing if it is none, which is written down."""
    text = read_text(path, entry, findings)
    if text is None:
        return None
    report = SourceReport(str(path))
    node = read_source(text, report, form="json")
    add_problems(entry, "json", report.problems, file=findings.path(path))
    return node


def read_document(path: Path, entry: Entry, findings: Findings) -> Document | None:
    """A Markdown file; what is wrong with its front matter is written down."""
    text = read_text(path, entry, findings)
    if text is None:
        return None
    found = _FENCE.match(text)
    if found is None:
        open_ended = text.startswith("---")
        said = "the front matter is never closed with ---" if open_ended else "there is no front matter"
        entry.add("front-matter", said, file=findings.path(path), line=1)
        return Document(path, text, None, text)
    front = _front_matter(found["yaml"], entry, findings.path(path))
    return Document(path, text, front, text[found.end() :])


def _front_matter(text: str, entry: Entry, file: str) -> SourceNode | None:
    report = SourceReport(file)
    lines_above = "\n"  # of the fence, so that lines are those of the file
    front = read_source(lines_above + text, report, form="yaml") if text.strip() else None
    if front is None and report.problems:
        repaired = SourceReport(file)
        front = read_source(lines_above + quoted_front_matter(text), repaired, form="yaml")
        rule = "front-matter-yaml" if front is None else "front-matter-quotes"
        add_problems(entry, rule, report.problems, file=file)
        return front
    add_problems(entry, "front-matter-yaml", report.problems, file=file)
    if front is not None and not isinstance(front.value, dict):
        entry.add(
            "front-matter-yaml", "front matter is `key: value`, line by line", file=file, line=front.line
        )
        return None
    return front
