"""`hooks/hooks.json` and the `hooks` of a manifest."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.claude_code import PatternError, javascript, matches
from soundstage.claude_code.plugin_check._declared import DeclaredHook
from soundstage.claude_code.plugin_check._findings import Entry, Findings
from soundstage.claude_code.plugin_check._known import HOOK_TYPES, TOOL_EVENTS, TOOLS, nearest
from soundstage.claude_code.plugin_check._manifest import PluginManifest
from soundstage.claude_code.plugin_check._paths import inside
from soundstage.claude_code.plugin_check._payloads import EVENTS
from soundstage.claude_code.plugin_check._sources import read_json
from soundstage.errors import ScriptError
from soundstage.scripts import SourceField, SourceNode

_ROOT: Final = re.compile(r"\$(?:CLAUDE_PLUGIN_ROOT\b|\{CLAUDE_PLUGIN_ROOT\})")
_LONG: Final = 600  # seconds; a larger number is meant as milliseconds
_FILE_KEYS: Final = frozenset(("$schema", "description", "hooks", "modules"))


class _Source(NamedTuple):
    """One set of hooks: the node, its file, and what findings about the set as a whole belong to."""

    node: SourceNode
    file: Path
    entry: Entry


def read_hooks(manifest: PluginManifest, root: Path, findings: Findings) -> tuple[DeclaredHook, ...]:
    """The hooks of a plugin. What is wrong with them is written down."""
    return tuple(
        hook for source in _sources(manifest, root, findings) for hook in _hooks(source, root, findings)
    )


def _sources(manifest: PluginManifest, root: Path, findings: Findings) -> Iterator[_Source]:
    files = [root / "hooks/hooks.json"] if (root / "hooks/hooks.json").is_file() else []
    for named in manifest.named("hooks"):
        if isinstance(named.value, str):
            path = inside(
                root, named.value, manifest.entry, line=named.line, file=findings.path(manifest.path)
            )
            if path is not None and path.resolve() not in [file.resolve() for file in files]:
                files.append(path)
        elif isinstance(named.value, dict):
            inner = named.node.fields.get("hooks")
            yield _Source(inner.node if inner else named.node, manifest.path, manifest.entry)
    for file in files:
        entry = findings.open("plugin", file.name, file)
        node = read_json(file, entry, findings)
        hooks = _events_of(node, entry) if node is not None else None
        if hooks is not None:
            yield _Source(hooks, file, entry)


def _events_of(node: SourceNode, entry: Entry) -> SourceNode | None:
    if not isinstance(node.value, dict):
        entry.add("hooks-shape", "this is no object with hooks", line=node.line)
        return None
    for key, field in node.fields.items():
        if key not in _FILE_KEYS and "hooks" in node.fields:
            entry.add("key-unknown", f"{key!r} is no key of a hooks file", line=field.line)
    found = node.fields.get("hooks")
    if found is None and "modules" not in node.fields:
        entry.add("hooks-shape", 'the key "hooks" is missing', line=node.line)
    return found.node if found is not None else None


def _hooks(source: _Source, root: Path, findings: Findings) -> Iterator[DeclaredHook]:
    if not isinstance(source.node.value, dict):
        source.entry.add(
            "hooks-shape",
            '"hooks" maps events to lists',
            line=source.node.line,
            file=findings.path(source.file),
        )
        return
    for event, field in source.node.fields.items():
        entry = findings.open("hook", event, source.file, field.line)
        if event not in EVENTS:
            entry.add("hook-event", f"{event!r} is no event of Claude Code{nearest(event, EVENTS)}")
        elif not isinstance(field.node.value, list):
            entry.add("hooks-shape", f"{event} has a list of matchers")
        else:
            findings.entries.remove(entry)  # each hook has one of its own
            for item in field.node.items:
                yield from _of_matcher(event, item, source, root, findings)


def _of_matcher(
    event: str, node: SourceNode, source: _Source, root: Path, findings: Findings
) -> Iterator[DeclaredHook]:
    matcher = node.fields.get("matcher")
    shown = f"{event}:{matcher.node.value}" if matcher and matcher.node.value else event
    hooks = node.fields.get("hooks")
    if hooks is None or not isinstance(hooks.node.value, list):
        entry = findings.open("hook", shown, source.file, node.line)
        entry.add("hooks-shape", f'this matcher of {event} has no list "hooks"')
        return
    for item in hooks.node.items:
        entry = findings.open("hook", shown, source.file, item.line)
        pattern = _matcher(event, matcher, entry) if matcher is not None else ""
        if pattern is None or not _is_hook(item, entry):
            continue
        command = item.fields.get("command")
        if command is not None and isinstance(command.node.value, str):
            args = item.value.get("args")
            _scripts(command, entry, root, shell=not isinstance(args, list))
        yield DeclaredHook(event, pattern, item.value, entry)


def _matcher(event: str, field: SourceField, entry: Entry) -> str | None:
    pattern = field.node.value
    if not isinstance(pattern, str):
        entry.add("hooks-shape", "a matcher is text", line=field.line)
        return None
    if pattern == "*":
        return ""
    try:
        known = [tool for tool in TOOLS if matches(pattern, tool)]
        if not re.fullmatch(r"[\w,| -]*", pattern, re.ASCII):
            javascript(pattern)
    except PatternError as error:
        entry.add("hook-matcher", f"{pattern!r} is no regular expression: {error}", line=field.line)
        return None
    except ScriptError:
        return pattern  # only the CLI can read it
    if pattern and event in TOOL_EVENTS and "mcp__" not in pattern and not known:
        near = nearest(pattern, TOOLS)
        entry.add("hook-matches-nothing", f"{pattern!r} fits no tool of Claude Code{near}", line=field.line)
    return pattern


def _is_hook(node: SourceNode, entry: Entry) -> bool:
    kind = node.value.get("type") if isinstance(node.value, dict) else None
    if not isinstance(kind, str) or kind not in HOOK_TYPES:
        expected = ", ".join(HOOK_TYPES)
        entry.add("hooks-shape", f"a hook has a type, one of {expected}, and not {kind!r}", line=node.line)
        return False
    needed = HOOK_TYPES[kind]
    if not isinstance(node.value.get(needed), str) or not node.value[needed]:
        entry.add("hooks-shape", f'a hook of type {kind} has a "{needed}"', line=node.line)
        return False
    return _timeout(node, entry)


def _timeout(node: SourceNode, entry: Entry) -> bool:
    field = node.fields.get("timeout")
    if field is None:
        return True
    seconds = field.node.value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
        entry.add("hooks-shape", "a timeout is a number of seconds, more than 0", line=field.line)
        return False
    if seconds > _LONG:
        entry.add(
            "hook-timeout", f"a timeout of {seconds:g} seconds is {seconds / 60:.0f} minutes", line=field.line
        )
    return True


def _scripts(field: SourceField, entry: Entry, root: Path, *, shell: bool) -> None:
    """Look for the scripts that a command names: those below the plugin's folder."""
    command = field.node.value
    try:
        words = shlex.split(command) if shell else [command]
    except ValueError:  # quotes that do not close; the shell will say so
        return
    for number, word in enumerate(words):
        if _ROOT.search(word):
            check_script(_ROOT.sub("", word, count=1), entry, root, line=field.line, starts=number == 0)
        elif re.match(r"\.{0,2}[\w.-]*/", word) and not Path(word).is_absolute() and (root / word).is_file():
            entry.add(
                "script-relative",
                f"{word} is looked for in the user's project, where it is not",
                line=field.line,
            )


def check_script(rest: str, entry: Entry, root: Path, *, line: int, starts: bool) -> None:
    """Look for a file that is written as `${CLAUDE_PLUGIN_ROOT}/rest`."""
    relative = rest.lstrip("/")
    if not relative or re.search(r"[$*?;|&<>`]", relative) or not rest.startswith("/"):
        return  # the folder itself, or more than a path
    path = root / relative
    if ".." in Path(relative).parts or not path.resolve().is_relative_to(root.resolve()):
        entry.add("path-escape", f"{relative} is outside of the plugin", line=line)
    elif not path.exists():
        entry.add("script-missing", f"{relative} does not exist", line=line)
    elif starts and not (path.is_file() and os.access(path, os.X_OK)):
        entry.add("script-not-executable", f"{relative} is not executable", line=line)
