"""Commands, agents and skills: Markdown files with front matter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from soundstage.claude_code.plugin_check._declared import DeclaredText
from soundstage.claude_code.plugin_check._finding import Kind
from soundstage.claude_code.plugin_check._findings import Entry, Findings
from soundstage.claude_code.plugin_check._known import FRONT_MATTER, TOOLS, nearest
from soundstage.claude_code.plugin_check._manifest import PluginManifest
from soundstage.claude_code.plugin_check._sources import Document, read_document

_TOOL_KEYS: Final = ("tools", "allowed-tools", "disallowed-tools", "disallowedTools")
_TOOL: Final = re.compile(r"[A-Za-z_*][\w*.-]*")


def read_texts(
    files: Iterable[tuple[Path, str]], kind: Kind, manifest: PluginManifest, findings: Findings
) -> tuple[DeclaredText, ...]:
    """The commands, agents or skills of a plugin. What is wrong with them is written down."""
    return tuple(
        found for path, name in files if (found := _read(path, name, kind, manifest, findings)) is not None
    )


def _read(
    path: Path, name: str, kind: Kind, manifest: PluginManifest, findings: Findings
) -> DeclaredText | None:
    shown = f"/{manifest.name}:{name}" if kind == "command" else f"{manifest.name}:{name}"
    entry = findings.open(kind, shown, path)
    document = read_document(path, entry, findings)
    if document is None:
        return None
    entry.line = 1
    if document.front is not None:
        _keys(document, kind, entry)
        _tools(document, entry)
    if not document.get("description") and not any(
        finding.rule.startswith("front-matter") for finding in entry.findings
    ):
        entry.add("description", f"this {kind} has no description", line=1)
    if not document.body.strip():
        entry.add("body", f"this {kind} has no text", line=document.text.count("\n") + 1)
    own = document.get("name")
    if kind == "agent":
        name = ":".join([*name.split(":")[:-1], own]) if own else name
    return DeclaredText(f"{manifest.name}:{name}", document, entry)


def _keys(document: Document, kind: Kind, entry: Entry) -> None:
    known = FRONT_MATTER[kind]
    for key, field in document.front.fields.items() if document.front is not None else ():
        if key not in known:
            entry.add(
                "key-unknown",
                f"{key!r} means nothing in the front matter here ({kind}){nearest(key, known)}",
                line=field.line,
            )


def _tools(document: Document, entry: Entry) -> None:
    assert document.front is not None
    for key in _TOOL_KEYS:
        field = document.front.fields.get(key)
        if field is None:
            continue
        for written in tool_names(field.node.value):
            if written not in TOOLS and not written.startswith("mcp__") and "*" not in written:
                entry.add(
                    "tool-unknown",
                    f"{key} names {written!r}, which is no tool of Claude Code{nearest(written, TOOLS)}",
                    line=field.line,
                )


def tool_names(value: Any) -> list[str]:
    """The names of tools in a list, or in a text with commas or spaces between them.

    >>> tool_names("Read, Bash(git add:*, git commit:*), mcp__x__y")
    ['Read', 'Bash', 'mcp__x__y']
    """
    texts = [str(item) for item in value] if isinstance(value, list) else [str(value or "")]
    bare = (re.sub(r"\([^)]*\)", "", text) for text in texts)
    return [name for text in bare for name in _TOOL.findall(text) if name != "*"]


def refuse_same_names(texts: Iterable[DeclaredText]) -> None:
    """Write down commands and skills that have one name: the CLI takes the first and says nothing."""
    owners: dict[str, DeclaredText] = {}
    for text in texts:
        first = owners.setdefault(text.called, text)
        if first is not text:
            text.entry.add(
                "same-name",
                f"/{text.called} is also the {first.entry.kind} in {first.entry.file}",
                line=text.document.line("name"),
            )
