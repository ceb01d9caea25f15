"""The plugins of a throw-away home: `claude.plugins`.

Every call runs the real `claude plugin ...` once, a quarter of a second each. What is installed counts for
sessions that are opened afterwards; `ClaudeSession.reload_plugins` tells one that runs already.

Traps that are handled here, all seen with 2.1.330. `enable` says ok for a plugin that does not exist, and
disabling twice is an error though nothing is wrong. `install NAME` for a name that no marketplace has, and
`list --available` always, ask the internet. A plugin whose hooks cannot be loaded installs without a word. Two
plugins of one name, or a command and a skill of one name, hide each other silently.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.claude_code import _plugin_decode as decode
from soundstage.claude_code._cli import Cli, as_json
from soundstage.claude_code._events import PluginManaged
from soundstage.claude_code._plugin_types import (
    FAILURES,
    Cause,
    Defect,
    Marketplace,
    Plugin,
    PluginError,
    PluginHook,
    Validation,
)
from soundstage.errors import EnvironmentProblem
from soundstage.lifecycle import Finished
from soundstage.match import preview

_HINTS: Final[dict[str, str]] = {
    "unknown plugin": "`await claude.plugins.add_marketplace(FOLDER)` first, or correct the name",
    "invalid manifest": "`await claude.plugins.validate(FOLDER)` lists every defect, with file and line",
    "unknown marketplace": "give the folder that has .claude-plugin/marketplace.json",
    "not installed": "`await claude.plugins.list()` shows what is installed",
}


class Plugins:
    """Installs, lists and checks plugins, with the real CLI. Got as `claude.plugins`.

    A plugin is named `name@marketplace`, or by its name alone where that is enough.

    Example:
        ::

            await claude.plugins.add_marketplace(FOLDER)
            plugin = await claude.plugins.install("agent-loop")
            assert plugin.status == "loaded", plugin.defects
    """

    def __init__(self, cli: Callable[[Path | None], Cli], needs: Callable[[Path], None]) -> None:
        self._cli = cli
        self._needs = needs  # says that programs have to read a folder, which a container would not show them

    async def add_marketplace(self, folder: Path | str) -> Marketplace:
        """Make the plugins of a marketplace folder known. It is read in place: hooks run from there.

        Raises:
            PluginError: if there is none, or its manifest is invalid.
        """
        wanted = await self._add(folder)
        known = await self.marketplaces()
        found = next((item for item in known if item.path == wanted), None)
        if found is None:
            raise EnvironmentProblem(
                "the CLI has taken a marketplace and does not list it",
                expected=f"{wanted} in `claude plugin marketplace list`",
                seen=", ".join(item.path for item in known) or "no marketplace at all",
                hint="in a container: the folder has to be visible there, at the same path",
            )
        return found

    async def _add(self, folder: Path | str) -> str:
        wanted = _full(folder)
        self._needs(Path(wanted))
        await self._manage("marketplace add", wanted, "marketplace", "add", wanted, "--json")
        return wanted

    async def remove_marketplace(self, name: str) -> None:
        """Forget a marketplace, with the plugins from it.

        Raises:
            PluginError: if there is none of this name.
        """
        await self._manage(
            "marketplace remove", name, "marketplace", "remove", name, cause="unknown marketplace"
        )

    async def marketplaces(self) -> tuple[Marketplace, ...]:
        """The marketplaces that the home knows."""
        return decode.marketplaces(as_json(await self._run("marketplace", "list", "--json")))

    async def install(self, plugin: str, *, marketplace: Path | str | None = None) -> Plugin:
        """Install a plugin, and look whether it would load: see `status` and `defects` of what is returned.

        Args:
            plugin: `name@marketplace`, or a name.
            marketplace: a marketplace folder to add first.

        Raises:
            PluginError: if it is unknown, or its manifest is invalid; `cause` tells.
        """
        if marketplace is not None:
            added = Path(await self._add(marketplace))
            plugin = plugin if "@" in plugin else f"{plugin}@{_market_name(added)}"
        if "@" not in plugin:
            plugin = await self._found(plugin)
        await self._manage("install", plugin, "install", plugin, "--json")
        return await self.status(plugin)

    async def _found(self, name: str) -> str:
        """The id of a plugin that some marketplace has. The CLI would ask the internet for an unknown one."""
        known = [
            f"{listed}@{market.name}"
            for market in await self.marketplaces()
            for listed in decode.listed_plugins(market)
        ]
        for identity in known:
            if identity.partition("@")[0] == name:
                return identity
        self._tell("install", name, ok=False, message="no marketplace has it", code="not_found")
        raise PluginError(
            "unknown plugin",
            name,
            f"the marketplaces have {', '.join(known) or 'no plugin at all'}",
            hint=_HINTS["unknown plugin"],
        )

    async def uninstall(self, plugin: str) -> None:
        """Remove a plugin with its commands, agents, hooks and servers.

        Raises:
            PluginError: if it is not installed.
        """
        await self._manage("uninstall", plugin, "uninstall", plugin, "--json")
        if any(plugin in (found.id, found.name) for found in await self.list()):
            # a session that runs may write back the list that it has read before; seen once in some thousand
            await self._manage("uninstall", plugin, "uninstall", plugin, "--json")

    async def enable(self, plugin: str) -> Plugin:
        """Let new sessions load it.

        Raises:
            PluginError: if it is not installed.
        """
        known = await self.status(plugin)
        return await self._switch("enable", known.id)

    async def disable(self, plugin: str) -> Plugin:
        """Let new sessions leave it out; it stays installed.

        Raises:
            PluginError: if it is not installed.
        """
        return await self._switch("disable", plugin)

    async def update(self, plugin: str) -> Plugin:
        """Bring it to the version that its marketplace has now.

        Raises:
            PluginError: if it is not installed.
        """
        return await self._switch("update", plugin)

    async def _switch(self, action: str, plugin: str) -> Plugin:
        await self._manage(action, plugin, action, plugin, "--json")
        return await self.status(plugin)

    async def list(self, *, cwd: Path | None = None) -> tuple[Plugin, ...]:
        """The installed plugins, with the reasons why parts of them do not load.

        Args:
            cwd: the project whose settings count; the workspace unless given.
        """
        return decode.plugins(as_json(await self._run("list", "--json", cwd=cwd)))

    async def status(self, plugin: str) -> Plugin:
        """One installed plugin.

        Raises:
            PluginError: if it is not installed.
        """
        installed = await self.list()
        for found in installed:
            if plugin in (found.id, found.name):
                return found
        names = ", ".join(found.id for found in installed) or "no plugin at all"
        raise PluginError("not installed", plugin, f"installed: {names}", hint=_HINTS["unknown plugin"])

    async def validate(self, folder: Path | str) -> Validation:
        """Check a plugin or a marketplace without installing it. What is wrong is data, not an exception."""
        found = await self._checked(folder)
        clashes = decode.same_names([found])
        checked = msgspec.structs.replace(found, defects=found.defects + clashes)
        self._tell("validate", str(folder), ok=checked.ok, message="; ".join(checked.causes))
        return checked

    async def clashes(self, *folders: Path | str) -> tuple[Defect, ...]:
        """Names that several commands and skills of these plugins have: only one of them can be called."""
        return decode.same_names([await self._checked(folder) for folder in folders])

    async def _checked(self, folder: Path | str) -> Validation:
        self._needs(Path(_full(folder)))
        output = await self._run("validate", _full(folder), "--json")
        return decode.validation(as_json(output))

    async def hooks(self, *folders: Path | str, cwd: Path | None = None) -> tuple[PluginHook, ...]:
        """The hooks that would run: of all plugins that are enabled (in the project `cwd`), and of `folders`."""
        enabled = {plugin.folder: plugin.id for plugin in await self.list(cwd=cwd) if plugin.enabled}
        found: list[PluginHook] = []
        for folder in dict.fromkeys([*enabled, *map(str, folders)]):
            hooks = (await self._checked(folder)).hooks
            found += (
                msgspec.structs.replace(hook, id=enabled[folder]) if folder in enabled else hook
                for hook in hooks
            )
        return tuple(found)

    async def _manage(
        self, action: str, plugin: str, *arguments: str, cause: Cause = "refused"
    ) -> dict[str, Any]:
        output = await self._run(*arguments)
        answer = as_json(output) if "--json" in arguments else {}
        done = output.code == 0 or bool(answer.get("alreadyInGoalState"))
        message = str(answer.get("message") or output.stderr or output.stdout)
        code = str(answer.get("failureCode", ""))
        self._tell(action, plugin, ok=done, message=message, code=code)
        if not done:
            named = FAILURES.get(code, cause)
            raise PluginError(named, plugin, preview(message, 600), hint=_HINTS.get(named, ""))
        return dict(answer)

    async def _run(self, *arguments: str, cwd: Path | None = None) -> Finished:
        return await self._cli(cwd).run(["plugin", *arguments])

    def _tell(self, action: str, plugin: str, *, ok: bool, message: str, code: str = "") -> None:
        cli = self._cli(None)
        event = PluginManaged(action=action, plugin=plugin, ok=ok, message=message, code=code)
        cli.journal.append(event, source=cli.source)


def _full(folder: Path | str) -> str:
    return str(Path(folder).resolve())


def _market_name(folder: Path) -> str:
    """The name in the manifest of a marketplace that the CLI has just taken; asking the CLI costs 0.2 s."""
    manifest = msgspec.json.decode((folder / ".claude-plugin" / "marketplace.json").read_bytes())
    return str(manifest["name"])
