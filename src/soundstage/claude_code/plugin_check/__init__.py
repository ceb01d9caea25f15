"""Tests a Claude Code plugin that has no test yet: `soundstage plugin test DIR`.

The files are read first, then everything that they declare is run in a copy of the plugin: servers are started,
hooks get a payload for every occasion of their events, and the real CLI loads the plugin and expands its commands.
"""

from soundstage.claude_code.plugin_check._finding import CheckedPart, PluginFinding, PluginReport
from soundstage.claude_code.plugin_check._html import report_html
from soundstage.claude_code.plugin_check._junit import report_junit
from soundstage.claude_code.plugin_check._rules import RULES, PluginRule
from soundstage.claude_code.plugin_check._run import PluginTestOptions, inspect_plugin, run_plugin_test
from soundstage.claude_code.plugin_check._text import report_text

__all__ = [
    "RULES",
    "CheckedPart",
    "PluginFinding",
    "PluginReport",
    "PluginRule",
    "PluginTestOptions",
    "inspect_plugin",
    "report_html",
    "report_junit",
    "report_text",
    "run_plugin_test",
]
