"""Installed plugins and generated projects of a test, removed after it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from soundstage.claude_code import Plugin, PluginError
from soundstage.claude_code._warm import WarmSession, empty
from soundstage.claude_code.projects import Project, create_project
from soundstage.lifecycle import remove_tree


class PluginFactory:
    """Installs plugins in the home of a test. Got as `plugin_installed`.

    Example:
        ::

            def test_it(plugin_installed, test_session):
                plugin = plugin_installed("agent-loop", marketplace="plugins")
    """

    def __init__(self, session: WarmSession) -> None:
        self._session = session
        self._installed: list[str] = []
        self._marketplaces: list[str] = []

    def __call__(self, name: str, *, marketplace: Path | str | None = None) -> Plugin:
        """Install a plugin, and load it in the session.

        Args:
            name: the plugin's, or `name@marketplace`.
            marketplace: a marketplace folder to add first.

        Raises:
            PluginError: if it is not installed, or a part of it does not load.
        """
        self._session.change()
        call, plugins = self._session.call, self._session.claude.plugins
        if marketplace is not None:
            added = call(plugins.add_marketplace(marketplace)).name
            if added not in self._marketplaces:
                self._marketplaces.append(added)
            name = name if "@" in name else f"{name}@{added}"
        plugin = call(plugins.install(name))
        self._installed.append(plugin.id)
        if plugin.status != "loaded":
            raise PluginError("refused", plugin.id, "\n".join(map(str, plugin.defects)) or plugin.status)
        self._session.load_plugins()
        return plugin

    def uninstall_all(self) -> None:
        """Uninstall what has been installed, newest first, and forget the marketplaces."""
        call, plugins = self._session.call, self._session.claude.plugins
        undo: list[tuple[Callable[[str], Coroutine[Any, Any, None]], str]] = [
            (plugins.remove_marketplace, name) for name in self._marketplaces
        ]
        undo += [(plugins.uninstall, name) for name in self._installed]
        with contextlib.ExitStack() as all_of_them:  # the last one first, whatever one of them raises
            for remove, name in undo:
                all_of_them.callback(lambda remove, name: call(remove(name)), remove, name)
        self._installed.clear()
        self._marketplaces.clear()


class ProjectFactory:
    """Generates projects, and removes them. Got as `test_project`.

    Args:
        folder: where they go unless a test says otherwise.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[Project] = []
        self._kept: set[Path] = set()  # folders that were there before: an agent works in them

    def __call__(
        self,
        type: str = "cli",  # noqa: A002  (the word of the generator)
        language: str = "python",
        name: str = "Test Project",
        *,
        folder: Path | None = None,
    ) -> Project:
        """A new project: `test_project("cli", "python", "Calculator App", folder=test_session.root)`.

        Args:
            type: `web-app`, `cli` or `library`.
            language: `python`, `javascript` or `go`.
            name: as people write it.
            folder: the project's folder; one of its own in the temporary folder of the test unless given.

        Raises:
            ScriptError: for what does not exist, or a folder that has something in it.
        """
        if folder is not None and folder.is_dir():
            self._kept.add(folder.resolve())
        target = folder if folder is not None else self._folder / f"project-{len(self._made) + 1}"
        self._made.append(create_project(type, language, target, name))
        return self._made[-1]

    def remove_all(self) -> None:
        """Remove what has been generated, with whatever has come into it."""
        for project in self._made:
            if project.path in self._kept:
                empty(project.path)
            elif project.path.is_dir():
                remove_tree(project.path)
        self._made.clear()
