"""The first half of a test: the files of a plugin, without running anything. Pure, but for reading them."""

from __future__ import annotations

import itertools
from pathlib import Path

from soundstage.claude_code.plugin_check._declared import DeclaredPlugin
from soundstage.claude_code.plugin_check._findings import Findings
from soundstage.claude_code.plugin_check._hook_files import read_hooks
from soundstage.claude_code.plugin_check._manifest import MANIFEST, markdown_files, read_manifest, skill_files
from soundstage.claude_code.plugin_check._marketplace import MARKETPLACE, read_marketplace
from soundstage.claude_code.plugin_check._server_files import read_servers
from soundstage.claude_code.plugin_check._texts import read_texts, refuse_same_names


def read_plugin(root: Path, findings: Findings) -> DeclaredPlugin | None:
    """Return the declared parts of a plugin; `None` without a usable manifest. Problems become findings."""
    manifest = read_manifest(root, findings)
    if manifest is None:
        return None
    commands = read_texts(markdown_files(manifest, root, "commands", findings), "command", manifest, findings)
    agents = read_texts(markdown_files(manifest, root, "agents", findings), "agent", manifest, findings)
    skills = read_texts(skill_files(manifest, root, findings), "skill", manifest, findings)
    refuse_same_names(itertools.chain(commands, skills))
    refuse_same_names(agents)
    return DeclaredPlugin(
        name=manifest.name,
        version=manifest.version,
        root=root,
        entry=manifest.entry,
        commands=commands,
        agents=agents,
        skills=skills,
        hooks=read_hooks(manifest, root, findings),
        servers=read_servers(manifest, root, findings),
    )


def read_folder(folder: Path, findings: Findings) -> tuple[DeclaredPlugin, ...]:
    """The plugin in a folder, or those of the marketplace in it, or both."""
    found: list[DeclaredPlugin | None] = []
    listed = read_marketplace(folder, findings) if (folder / MARKETPLACE).is_file() else ()
    if (folder / MANIFEST).is_file() or not (folder / MARKETPLACE).is_file():
        found.append(read_plugin(folder, findings))
    for item in listed:
        if item.folder.resolve() == folder.resolve():
            continue
        plugin = read_plugin(item.folder, findings)
        found.append(plugin)
        if plugin is not None and plugin.name != item.name:
            message = f"the list calls the plugin {item.name}, its manifest {plugin.name}"
            item.entry.add("marketplace-name", message, line=item.line)
    return tuple(plugin for plugin in found if plugin is not None)
