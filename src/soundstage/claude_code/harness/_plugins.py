"""Category 1: plugins of the throw-away home, installed by the real CLI."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Meta

from soundstage.claude_code import Plugin
from soundstage.claude_code.harness._arguments import PluginName
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._paths import PluginFolder


class Installed(TypedDict):
    status: str
    plugin_id: str
    loaded: bool
    version: str
    defects: list[str]


class Uninstalled(TypedDict):
    status: str
    plugin_name: str
    uninstalled: bool


class PluginList(TypedDict):
    status: str
    plugins: list[dict[str, Any]]
    total: int


class PluginStatus(TypedDict):
    status: str
    plugin_id: str
    version: str
    enabled: bool
    defects: list[str]


Marketplace = Annotated[
    PluginFolder | None,
    Meta(
        description="Folder with .claude-plugin/marketplace.json, below a folder for plugins; it is added first. "
        "Needed once per marketplace.",
        examples=["/home/me/my-marketplace"],
    ),
]


async def install_plugin(
    harness: Harness, plugin_name: PluginName, marketplace_path: Marketplace = None
) -> Installed:
    """Install a plugin with the real CLI, and check that all parts of it load.

    It counts for conversations that are started afterwards; those that run already have it after their next
    start. A folder marketplace is read in place. To load a plugin for one conversation only, without a
    marketplace, give its folder to start_conversation in plugin_dirs.

    Returns plugin_id (name@marketplace), loaded (false when a part of it cannot be loaded), version, and
    defects: what cannot be loaded, with the file.

    Errors: the plugin or the marketplace is unknown; the manifest is invalid.

    Example: install_plugin(plugin_name="agent-loop", marketplace_path="/home/me/my-marketplace")
    """
    claude = await harness.claude()
    plugin = await claude.plugins.install(
        plugin_name, marketplace=marketplace_path.path if marketplace_path is not None else None
    )
    return {
        "status": "success",
        "plugin_id": plugin.id,
        "loaded": plugin.status == "loaded",
        "version": plugin.version,
        "defects": _defects(plugin),
    }


async def uninstall_plugin(harness: Harness, plugin_name: PluginName) -> Uninstalled:
    """Remove a plugin with its commands, agents, hooks and MCP servers, for conversations started afterwards.

    Returns plugin_name and uninstalled.

    Errors: it is not installed.

    Example: uninstall_plugin(plugin_name="agent-loop")
    """
    claude = await harness.claude()
    plugin = await claude.plugins.status(plugin_name)
    await claude.plugins.uninstall(plugin.id)
    return {"status": "success", "plugin_name": plugin.name, "uninstalled": True}


async def list_plugins(harness: Harness) -> PluginList:
    """List the installed plugins.

    Returns plugins, each with name, plugin_id, version, status (loaded, unloaded, error), path, mcp_servers
    and defects; and their total. Plugins of one conversation (plugin_dirs) are not installed and not listed.

    Example: list_plugins()
    """
    claude = await harness.claude()
    plugins = [_described(plugin) for plugin in await claude.plugins.list()]
    return {"status": "success", "plugins": plugins, "total": len(plugins)}


async def get_plugin_status(harness: Harness, plugin_name: PluginName) -> PluginStatus:
    """Return the status of an installed plugin.

    Returns status: "loaded"; "unloaded" when it is disabled; "error" when a part of it does not load, and
    then `error` says which part and why. Also plugin_id, version, enabled and defects.

    Errors: it is not installed.

    Example: get_plugin_status(plugin_name="agent-loop")
    """
    claude = await harness.claude()
    plugin = await claude.plugins.status(plugin_name)
    found: PluginStatus = {
        "status": plugin.status,
        "plugin_id": plugin.id,
        "version": plugin.version,
        "enabled": plugin.enabled,
        "defects": _defects(plugin),
    }
    if plugin.status == "error":
        return found | {"error": "\n".join(found["defects"])}  # type: ignore[return-value]
    return found


def _defects(plugin: Plugin) -> list[str]:
    return [str(defect) for defect in plugin.defects]


def _described(plugin: Plugin) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "plugin_id": plugin.id,
        "version": plugin.version,
        "status": plugin.status,
        "path": plugin.folder,
        "mcp_servers": list(plugin.mcp_servers),
        "defects": _defects(plugin),
    }
