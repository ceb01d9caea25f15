"""`.claude-plugin/marketplace.json`: a list of plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from soundstage.claude_code.plugin_check._findings import Entry, Findings
from soundstage.claude_code.plugin_check._paths import inside
from soundstage.claude_code.plugin_check._sources import read_json
from soundstage.scripts import SourceNode

MARKETPLACE: Final = ".claude-plugin/marketplace.json"


class ListedPlugin(NamedTuple):
    """A plugin of a marketplace that is a folder in it."""

    name: str
    folder: Path
    entry: Entry
    line: int


def read_marketplace(root: Path, findings: Findings) -> tuple[ListedPlugin, ...]:
    """The plugins of a marketplace that are folders in it. All that is wrong is written down."""
    path = root / MARKETPLACE
    entry = findings.open("marketplace", root.resolve().name, path)
    node = read_json(path, entry, findings)
    if node is None:
        return ()
    if not isinstance(node.value, dict):
        entry.add("type", "a marketplace is a JSON object", line=node.line)
        return ()
    _head(node, entry)
    plugins = node.fields.get("plugins")
    if plugins is None or not isinstance(plugins.node.value, list):
        entry.add("type", 'a marketplace has a list "plugins"', line=plugins.line if plugins else node.line)
        return ()
    return _plugins(plugins.node.items, root, entry)


def _head(node: SourceNode, entry: Entry) -> None:
    name, owner = node.fields.get("name"), node.fields.get("owner")
    if name is None or not isinstance(name.node.value, str) or not name.node.value:
        entry.add("name", "the marketplace has no name", line=name.line if name else node.line)
    else:
        entry.name = name.node.value
    if owner is None or not isinstance(owner.node.value, dict) or not owner.node.value.get("name"):
        entry.add("type", 'the owner is an object with a "name"', line=owner.line if owner else node.line)


def _plugins(items: list[SourceNode], root: Path, entry: Entry) -> tuple[ListedPlugin, ...]:
    found: dict[str, ListedPlugin] = {}
    for item in items:
        data = item.value
        name = data.get("name") if isinstance(data, dict) else None
        if not isinstance(name, str) or not name:
            entry.add("name", "a plugin of the list has no name", line=item.line)
            continue
        if name in found:
            entry.add("same-name", f"the plugin {name} is there twice", line=item.fields["name"].line)
            continue
        source = item.fields.get("source")
        if source is None or not isinstance(source.node.value, str | dict):
            entry.add("type", f'the plugin {name} has no "source"', line=source.line if source else item.line)
        elif isinstance(source.node.value, str):
            folder = inside(root, source.node.value, entry, line=source.line, file=entry.file)
            if folder is not None:
                found[name] = ListedPlugin(name, folder, entry, item.fields["name"].line)
    return tuple(found.values())
