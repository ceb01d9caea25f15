"""`.mcp.json` and the `mcpServers` of a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from soundstage.claude_code.plugin_check._declared import DeclaredServer
from soundstage.claude_code.plugin_check._findings import Entry, Findings
from soundstage.claude_code.plugin_check._hook_files import check_script
from soundstage.claude_code.plugin_check._known import VARIABLES, nearest
from soundstage.claude_code.plugin_check._manifest import PluginManifest
from soundstage.claude_code.plugin_check._paths import inside
from soundstage.claude_code.plugin_check._sources import read_json
from soundstage.scripts import SourceField, SourceNode

REMOTE: Final = ("http", "sse", "ws", "sdk")
_VARIABLE: Final = re.compile(r"\$\{(?P<name>[A-Za-z_][\w.]*)(?P<default>:-[^}]*)?\}")
_ROOT: Final = "${CLAUDE_PLUGIN_ROOT}"


def read_servers(manifest: PluginManifest, root: Path, findings: Findings) -> tuple[DeclaredServer, ...]:
    """The MCP servers of a plugin. What is wrong with them is written down."""
    found: dict[str, DeclaredServer] = {}
    for node, file, entry in _sources(manifest, root, findings):
        for server in _servers(node, file, entry, root, findings):
            if server.name in found:
                first = found[server.name].entry
                server.entry.add("same-name", f"there is a server {server.name} in {first.file} already")
            found.setdefault(server.name, server)
    return tuple(found.values())


def _sources(
    manifest: PluginManifest, root: Path, findings: Findings
) -> Iterator[tuple[SourceNode, Path, Entry]]:
    files = [root / ".mcp.json"] if (root / ".mcp.json").is_file() else []
    for named in manifest.named("mcpServers"):
        if isinstance(named.value, str) and not named.value.endswith((".mcpb", ".dxt")):
            path = inside(
                root, named.value, manifest.entry, line=named.line, file=findings.path(manifest.path)
            )
            if path is not None and path.resolve() not in [file.resolve() for file in files]:
                files.append(path)
        elif isinstance(named.value, dict):
            yield named.node, manifest.path, manifest.entry
    for file in files:
        entry = findings.open("plugin", file.name, file)
        node = read_json(file, entry, findings)
        if node is not None:
            wrapped = node.fields.get("mcpServers")
            yield (wrapped.node if wrapped is not None else node), file, entry


def _servers(
    node: SourceNode, file: Path, entry: Entry, root: Path, findings: Findings
) -> Iterator[DeclaredServer]:
    if not isinstance(node.value, dict):
        entry.add(
            "server-shape", '"mcpServers" maps names to servers', line=node.line, file=findings.path(file)
        )
        return
    for name, field in node.fields.items():
        own = findings.open("server", name, file, field.line)
        if _is_server(field, own):
            _variables(field.node, own)
            _scripts(field.node, own, root)
            yield DeclaredServer(name, field.node.value, own)


def _is_server(field: SourceField, entry: Entry) -> bool:
    data = field.node.value
    if not isinstance(data, dict):
        entry.add("server-shape", "a server is an object", line=field.line)
        return False
    kind = data.get("type", "http" if "url" in data and "command" not in data else "stdio")
    if kind not in ("stdio", *REMOTE):
        entry.add("server-shape", f"{kind!r} is no type of server", line=_line(field, "type"))
        return False
    needed = "command" if kind == "stdio" else "url"
    if kind != "sdk" and (not isinstance(data.get(needed), str) or not data[needed]):
        entry.add("server-shape", f'a server of type {kind} has a "{needed}"', line=_line(field, needed))
        return False
    if needed == "url" and "type" not in data:
        entry.add("server-shape", 'a server with a "url" has a "type": http or sse', line=_line(field, "url"))
        return False
    return _has_types(field, data, entry)


def _has_types(field: SourceField, data: Mapping[str, Any], entry: Entry) -> bool:
    args, variables = data.get("args", []), data.get("env", {})
    if not isinstance(args, list) or not all(isinstance(item, str) for item in args):
        entry.add("server-shape", '"args" is a list of texts', line=_line(field, "args"))
    elif not isinstance(variables, dict) or not all(isinstance(item, str) for item in variables.values()):
        entry.add("server-shape", '"env" maps names to texts', line=_line(field, "env"))
    else:
        return True
    return False


def _line(field: SourceField, key: str) -> int:
    inner = field.node.fields.get(key)
    return inner.line if inner is not None else field.line


def _texts(node: SourceNode) -> Iterator[tuple[str, int]]:
    if isinstance(node.value, str):
        yield node.value, node.line
    for inner in [*(field.node for field in node.fields.values()), *node.items]:
        yield from _texts(inner)


def _variables(node: SourceNode, entry: Entry) -> None:
    for text, line in _texts(node):
        for found in _VARIABLE.finditer(text):
            name = found["name"]
            if name in VARIABLES or found["default"] is not None or name.startswith("user_config."):
                continue
            if name.startswith("CLAUDE_"):
                known = nearest(name, VARIABLES)
                entry.add("variable-unknown", f"Claude Code does not set ${{{name}}}{known}", line=line)
            else:
                entry.add("variable-unset", f"${{{name}}} has to be set where the plugin is used", line=line)


def _scripts(node: SourceNode, entry: Entry, root: Path) -> None:
    command = node.fields.get("command")
    arguments = node.fields["args"].node.items if "args" in node.fields else []
    for number, item in enumerate([*([command.node] if command is not None else []), *arguments]):
        if item.value.startswith(_ROOT):
            rest = item.value.removeprefix(_ROOT)
            check_script(rest, entry, root, line=item.line, starts=number == 0 and command is not None)
        elif re.match(r"\.{1,2}/", item.value) and (root / item.value).is_file():
            entry.add("script-relative", f"{item.value} is looked for in the user's project", line=item.line)


def unset_variables(data: Mapping[str, Any], known: Mapping[str, str]) -> list[str]:
    """The variables that a server's program needs and nobody gives it."""
    texts = [str(data.get("command", "")), *data.get("args", []), *data.get("env", {}).values()]
    return [
        found[0]
        for text in texts
        for found in _VARIABLE.finditer(text)
        if found["default"] is None and found["name"] not in known
    ]
