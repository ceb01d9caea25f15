"""The CLI's JSON about plugins, as records. Pure, but for a look into files for the line of a defect.

As 2.1.330 prints it; a conformance test with the real CLI names every field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.claude_code._hooks import with_details
from soundstage.claude_code._plugin_types import (
    Cause,
    Defect,
    Marketplace,
    Plugin,
    PluginHook,
    PluginServer,
    Severity,
    Validation,
)

# (type of file or of load error, part of the message or of the path) -> cause; the first that fits
_CAUSES: Final[tuple[tuple[str, str, Cause], ...]] = (
    ("", r"path not found|file not found|does not exist", "missing file"),
    ("", r"unknown hook event", "unknown hook event"),
    ("hook", r"", "hooks in the wrong shape"),
    ("", r"no frontmatter", "no front matter"),
    ("path-not-found", r"", "missing file"),
    ("generic-error", r"manifest", "invalid manifest"),
    ("plugin|marketplace", r"", "invalid manifest"),
)
_KEY: Final = re.compile(r"[\w-]+")


def marketplaces(data: Any) -> tuple[Marketplace, ...]:
    """The answer to `plugin marketplace list`."""
    return tuple(
        Marketplace(
            name=str(item.get("name", "")),
            path=str(item.get("path") or item.get("installLocation") or item.get("url") or ""),
            source=str(item.get("source", "")),
        )
        for item in _objects(data)
    )


def listed_plugins(market: Marketplace) -> tuple[str, ...]:
    """Names of the plugins in the manifest of a marketplace folder."""
    manifest = _json_file(Path(market.path) / ".claude-plugin/marketplace.json")
    return tuple(str(item.get("name", "")) for item in _objects(manifest.get("plugins")))


def plugins(data: Any) -> tuple[Plugin, ...]:
    """The answer to `plugin list`."""
    return tuple(_plugin(item) for item in _objects(data))


def _plugin(item: dict[str, Any]) -> Plugin:
    identity = str(item.get("id", ""))
    details = _objects(item.get("errorDetails"))
    texts = [str(text) for text in item.get("errors") or ()]
    return Plugin(
        id=identity,
        version=str(item.get("version", "")),
        enabled=item.get("enabled") is True,
        folder=str(item.get("readFromFolder") or item.get("installPath") or ""),
        mcp_servers=tuple(item.get("mcpServers") or ()),
        defects=tuple(_load_defects(identity.partition("@")[0], details, texts)),
    )


def _load_defects(name: str, details: list[dict[str, Any]], texts: list[str]) -> Iterable[Defect]:
    for number in range(max(len(details), len(texts))):
        detail = details[number] if number < len(details) else {}
        text = texts[number] if number < len(texts) else str(detail.get("message", ""))
        yield load_defect({"plugin": name, "message": text, **detail})


def load_defect(item: dict[str, Any]) -> Defect:
    """A load error of `plugin list`, or of `plugin_errors` in an init message."""
    message = str(item.get("message", ""))
    return Defect(
        cause=_cause(str(item.get("type", "")), message),
        message=message,
        file=str(item.get("path") or ""),
        plugin=str(item.get("plugin", "")),
    )


def validation(data: Any) -> Validation:
    """The answer to `plugin validate`."""
    manifest = data.get("manifest") or {}
    files = [manifest, *_objects(data.get("contents"))]
    provides = data.get("provides") or {}
    root = _root_of(str(data.get("target", "")))
    return Validation(
        path=str(data.get("target", "")),
        ok=data.get("success") is True,
        kind=str(manifest.get("type", "plugin")),
        defects=tuple(defect for file in files for defect in _file_defects(file)),
        commands=tuple(provides.get("commands") or ()),
        agents=tuple(provides.get("agents") or ()),
        skills=tuple(_named(item) for item in provides.get("skills") or ()),
        hooks=with_details((_hook(item, root) for item in _objects(provides.get("hooks"))), Path(root)),
        mcp_servers=tuple(_server(item) for item in _objects(provides.get("mcpServers"))),
    )


def same_names(checked: Sequence[Validation]) -> tuple[Defect, ...]:
    """Names that several commands and skills of these plugins have. The CLI takes the first and says nothing.

    Commands of different plugins differ by the name of the plugin before them: `/a:greet` and `/b:greet`.
    """
    owners: dict[str, list[str]] = {}
    for validation in checked:
        for kind, names in (("command", validation.commands), ("skill", validation.skills)):
            for name in names:
                owners.setdefault(name, []).append(f"{kind} of {validation.path}")
    return tuple(
        Defect(
            cause="same name",
            message=f"/{name} is the {' and the '.join(found)}; the first one is used",
            file=found[1].partition(" of ")[2],
            where=name,
            plugin=name.partition(":")[0],
        )
        for name, found in owners.items()
        if len(found) > 1
    )


def _named(item: Any) -> str:
    return str(item.get("name", "")) if isinstance(item, dict) else str(item)


def _root_of(target: str) -> str:
    """The folder of the plugin whose manifest is `target`."""
    path = Path(target)
    return str(path.parent.parent if path.parent.name == ".claude-plugin" else path)


def _plugin_name(root: str) -> str:
    """The name in the manifest, else that of the folder."""
    return str(_json_file(Path(root) / ".claude-plugin/plugin.json").get("name") or Path(root).name)


def _json_file(path: Path) -> dict[str, Any]:
    """The object in a file; empty if there is none."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _hook(item: dict[str, Any], root: str) -> PluginHook:
    args = item.get("args")
    return PluginHook(
        event=str(item.get("event", "")),
        command=str(item.get("command") or ""),
        matcher=str(item.get("matcher") or ""),
        type=str(item.get("type", "command")),
        plugin=_plugin_name(root),
        root=root,
        args=tuple(map(str, args)) if isinstance(args, list) else None,
        id=f"{_plugin_name(root)}@inline",
    )


def _server(item: dict[str, Any]) -> PluginServer:
    return PluginServer(
        name=str(item.get("name", "")),
        type=str(item.get("type", "")),
        target=str(item.get("target") or ""),
        args=tuple(str(argument) for argument in item.get("args") or ()),
    )


def _file_defects(file: dict[str, Any]) -> Iterable[Defect]:
    levels: tuple[tuple[str, Severity], ...] = (("errors", "error"), ("warnings", "warning"))
    for level, severity in levels:
        for item in _objects(file.get(level)):
            where, message = str(item.get("path", "")), str(item.get("message", ""))
            path = str(file.get("file", ""))
            cause = _cause(str(file.get("type", "")), message)
            if severity == "warning" and cause == "invalid manifest":
                cause = "remark"
            yield Defect(
                cause=cause,
                message=message,
                severity=severity,
                file=path,
                line=_line(path, where, message),
                where=where,
            )


def _cause(kind: str, message: str) -> Cause:
    for of, said, cause in _CAUSES:
        if re.search(of, kind) and re.search(said, message, re.IGNORECASE):
            return cause
    return "refused"


def _line(file: str, where: str, message: str) -> int:
    """The line of the key that is meant: the last one in the path, or named first in the message."""
    path = Path(file)
    if where == "frontmatter":
        return 1
    names = message.partition(":")[0].split(".") if message.startswith(f"{where}.") else [where]
    key = _KEY.match(names[-1])
    if key is None or path.suffix != ".json" or not path.is_file():
        return 0
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((number for number, line in enumerate(lines, 1) if f'"{key[0]}"' in line), 1)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
