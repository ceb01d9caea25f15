"""Installation, 3 tests: each plugin with commands, from our marketplace, with the real `claude plugin`."""

from __future__ import annotations

import json

import pytest

from e2e.claude_code.kit import COMMANDS, PLUGINS


@pytest.mark.parametrize("plugin", sorted(COMMANDS))
def test_a_plugin_is_installed_and_offers_all_that_it_brings(plugin, plugin_installed, test_session, script):
    manifest = json.loads((PLUGINS / plugin / ".claude-plugin/plugin.json").read_text())
    installed = plugin_installed(plugin, marketplace=PLUGINS)
    assert (installed.name, installed.version, installed.status) == (plugin, manifest["version"], "loaded")

    offered = {found.name: found for found in test_session.call(test_session.session.commands())}
    mine = {name for name, found in offered.items() if found.plugin == plugin}
    assert mine >= {f"{plugin}:{command}" for command in COMMANDS[plugin]}
    assert all(offered[name].description for name in mine)

    script.queue("hello")
    turn = test_session.prompt("hello")
    assert turn.text == "hello"
    assert turn.plugin_defects == ()
    agents = {path.stem for path in (PLUGINS / plugin / "agents").glob("*.md")}
    assert {f"{plugin}:{agent}" for agent in agents} <= set(turn.init.agents)
    declared = PLUGINS / plugin / ".mcp.json"
    servers = json.loads(declared.read_text())["mcpServers"] if declared.is_file() else {}
    assert {(server["name"], server["status"]) for server in turn.init.mcp_servers} == {
        (f"plugin:{plugin}:{name}", "connected") for name in servers
    }
