"""`.claude-plugin/plugin.json`: the manifest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.claude_code.plugin_check._findings import Entry, Findings
from soundstage.claude_code.plugin_check._known import MANIFEST_KEYS, nearest
from soundstage.claude_code.plugin_check._paths import inside
from soundstage.claude_code.plugin_check._sources import read_json
from soundstage.scripts import SourceNode

MANIFEST: Final = ".claude-plugin/plugin.json"
KEBAB: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# https://semver.org, section "Is there a suggested regular expression"
SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][\w-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][\w-]*))*)?(\+[\w-]+(\.[\w-]+)*)?",
    re.ASCII,
)


class ManifestItem(NamedTuple):
    """Something that the manifest names or holds: a path, or the thing itself; with its line."""

    value: Any
    node: SourceNode
    line: int
    key: str = ""


class PluginManifest(NamedTuple):
    """A plugin's manifest. `entry` is the check of the plugin as a whole."""

    name: str
    version: str
    node: SourceNode
    entry: Entry
    path: Path

    def named(self, key: str) -> list[ManifestItem]:
        """Return the items under a key that takes one, several, or several by name."""
        field = self.node.fields.get(key)
        if field is None:
            return []
        if isinstance(field.node.value, list):
            return [ManifestItem(item.value, item, item.line) for item in field.node.items]
        return [ManifestItem(field.node.value, field.node, field.line)]


def _is_author(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str) and bool(value["name"])


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"[a-z][a-z0-9+.-]*:\S", value, re.IGNORECASE) is not None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_TYPES: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "description": ("text", _is_text),
    "displayName": ("text", _is_text),
    "author": ('an object with a "name"', _is_author),
    "homepage": ("a URL", _is_url),
    "repository": ("text", _is_text),
    "license": ("text", _is_text),
    "keywords": ("a list of texts", _is_texts),
    "defaultEnabled": ("true or false", lambda value: isinstance(value, bool)),
    "commands": ("a path, a list of paths, or an object", lambda value: isinstance(value, str | list | dict)),
    "agents": ("a path or a list of paths", lambda value: isinstance(value, str) or _is_texts(value)),
    "skills": ("a path or a list of paths", lambda value: isinstance(value, str) or _is_texts(value)),
    "hooks": ("a path, a list, or an object", lambda value: isinstance(value, str | list | dict)),
    "mcpServers": ("a path, a list, or an object", lambda value: isinstance(value, str | list | dict)),
}


def read_manifest(root: Path, findings: Findings) -> PluginManifest | None:
    """The manifest of a plugin; nothing without a name in it. All that is wrong is written down."""
    path = root / MANIFEST
    entry = findings.open("plugin", root.resolve().name, path)
    if not path.is_file():
        entry.add("file-missing", f"a plugin has a manifest, {MANIFEST}; it is not there")
        return None
    node = read_json(path, entry, findings)
    if node is None:
        return None
    if not isinstance(node.value, dict):
        entry.add("type", "a manifest is a JSON object", line=node.line)
        return None
    name = _name(node, entry)
    _types(node, entry)
    if not name:
        return None
    entry.name = name
    version = node.value.get("version", "")
    return PluginManifest(name, version if isinstance(version, str) else "", node, entry, path)


def _name(node: SourceNode, entry: Entry) -> str:
    field = node.fields.get("name")
    if field is None:
        entry.add("name", "the manifest has no name", line=node.line)
        return ""
    name = field.node.value
    if not isinstance(name, str) or not name or re.search(r"\s", name):
        entry.add("name", f"{name!r} is no name for a plugin", line=field.line)
        return ""
    if not KEBAB.fullmatch(name):
        entry.add("name-style", f"the name {name!r} is not in kebab-case", line=field.line)
    return name


def _types(node: SourceNode, entry: Entry) -> None:
    for key, field in node.fields.items():
        wanted = _TYPES.get(key)
        if key not in MANIFEST_KEYS:
            entry.add(
                "key-unknown",
                f"{key!r} is no key of a manifest{nearest(key, MANIFEST_KEYS)}",
                line=field.line,
            )
        elif wanted is not None and not wanted[1](field.node.value):
            entry.add("type", f"{key} is {wanted[0]}", line=field.line)
    version = node.fields.get("version")
    if version is not None and not (
        isinstance(version.node.value, str) and SEMVER.fullmatch(version.node.value)
    ):
        entry.add("version", f"{version.node.value!r} is no version", line=version.line)


def markdown_files(
    manifest: PluginManifest, root: Path, kind: str, findings: Findings
) -> Iterator[tuple[Path, str]]:
    """Markdown files of commands or agents, each with its name without the plugin's.

    Those that the manifest names take the place of the standard folder.
    """
    standard = root / kind
    field = manifest.node.fields.get(kind)
    if field is None:
        yield from _in_folder(standard)
        return
    here = findings.path(manifest.path)
    if isinstance(field.node.value, dict):
        yield from _by_name(manifest, field.node, root, here)
    seen: set[Path] = set()
    for named in manifest.named(kind) if not isinstance(field.node.value, dict) else ():
        if not isinstance(named.value, str):
            continue
        path = inside(root, named.value, manifest.entry, line=named.line, file=here)
        found = list(_in_folder(path)) if path is not None and path.is_dir() else []
        seen |= {file.resolve() for file, _ in found}
        if kind == "agents" and not named.value.endswith(".md"):
            manifest.entry.add(
                "path-form", f"{named.value}: agents are named file by file, *.md", line=named.line
            )
        elif path is not None:
            found = found or [(path, path.stem)]
            seen |= {file.resolve() for file, _ in found}
            yield from found
    left = [file for file, _ in _in_folder(standard) if file.resolve() not in seen]
    if left:
        manifest.entry.add(
            "folder-ignored",
            f"{findings.path(left[0])} is not loaded: the manifest names other {kind}",
            line=field.line,
        )


def _by_name(manifest: PluginManifest, node: SourceNode, root: Path, here: str) -> Iterator[tuple[Path, str]]:
    """Commands as an object: name to `{"source": path}`. Those with `content` have no file."""
    for name, field in node.fields.items():
        source = field.node.value.get("source") if isinstance(field.node.value, dict) else None
        if isinstance(source, str):
            path = inside(root, source, manifest.entry, line=field.line, file=here)
            if path is not None and path.is_file():
                yield path, name
        elif not (isinstance(field.node.value, dict) and isinstance(field.node.value.get("content"), str)):
            manifest.entry.add(
                "type", f'the command {name!r} has neither "source" nor "content"', line=field.line
            )


def _in_folder(folder: Path) -> Iterator[tuple[Path, str]]:
    """The Markdown files of a folder; folders in it are parts of the name: `sub:plan`."""
    for path in sorted(folder.rglob("*.md")) if folder.is_dir() else ():
        if path.is_file():
            yield path, ":".join(path.relative_to(folder).with_suffix("").parts)


def skill_files(manifest: PluginManifest, root: Path, findings: Findings) -> Iterator[tuple[Path, str]]:
    """The SKILL.md files, each with the name of its folder: of the standard folder, and those that are named."""
    folders = [root / "skills"]
    for named in manifest.named("skills"):
        if isinstance(named.value, str):
            path = inside(
                root, named.value, manifest.entry, line=named.line, file=findings.path(manifest.path)
            )
            if path is not None:
                folders.append(path)
    seen: set[Path] = set()
    for folder in folders:
        for path in [folder / "SKILL.md", *sorted(folder.glob("*/SKILL.md"))]:
            if path.is_file() and path.resolve() not in seen:
                seen.add(path.resolve())
                yield path, path.parent.name
    for folder in sorted((root / "skills").glob("*/")) if (root / "skills").is_dir() else ():
        if not (folder / "SKILL.md").is_file() and any(folder.iterdir()):
            entry = findings.open("skill", folder.name, folder)
            entry.add("file-missing", f"the skill {folder.name} has no SKILL.md")
