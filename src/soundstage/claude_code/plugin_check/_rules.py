"""The rules: what can be wrong with a plugin, how bad it is, and what to do about it. One table.

Facts about Claude Code are those of CLI 2.1.330, found by experiment; `docs/plugin-test.md` lists the rules.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from soundstage.claude_code.plugin_check._finding import Severity


class PluginRule(NamedTuple):
    """A rule: how bad it is to break it, what it says, and the next step."""

    severity: Severity
    says: str
    hint: str


RULES: Final[dict[str, PluginRule]] = {
    "file-missing": PluginRule("error", "what is named is there", "correct the path, or add the file"),
    "file-unreadable": PluginRule("error", "a file can be read, as UTF-8", "save it as UTF-8"),
    "json": PluginRule(
        "error", "a JSON file is JSON", "correct it; `python3 -m json.tool FILE` shows the place"
    ),
    "key-twice": PluginRule("error", "a key is there once", "remove one of them"),
    "type": PluginRule("error", "a value has the type that Claude Code expects", "correct the value"),
    "key-unknown": PluginRule("warning", "Claude Code knows the key", "correct or remove it; it is ignored"),
    "name": PluginRule("error", "a plugin has a name without spaces", 'add "name": "my-plugin"'),
    "name-style": PluginRule("warning", "names are in kebab-case", "use small letters, digits and hyphens"),
    "version": PluginRule(
        "error", "a version is one of semver", "write it as MAJOR.MINOR.PATCH, for example 1.0.0"
    ),
    "path-form": PluginRule("error", "paths in a manifest begin with ./", "write ./ before it"),
    "path-escape": PluginRule(
        "error", "paths stay inside of the plugin", "move the file into the plugin's folder"
    ),
    "folder-ignored": PluginRule(
        "warning",
        "a folder is loaded",
        "name it in the manifest too, or move the files; the list replaces it",
    ),
    "same-name": PluginRule("error", "names differ", "rename one of them; only one can be called"),
    "front-matter": PluginRule(
        "warning", "a Markdown file begins with front matter", "begin it with --- / description: ... / ---"
    ),
    "front-matter-yaml": PluginRule(
        "error", "front matter is YAML", "correct it; put values with : [ ] # in quotes"
    ),
    "front-matter-quotes": PluginRule(
        "warning", "front matter is YAML", "put the value in quotes; the CLI guesses, other tools do not"
    ),
    "description": PluginRule("warning", "there is a description", "add `description:` to the front matter"),
    "body": PluginRule(
        "error", "there is something to say to the model", "write the prompt below the front matter"
    ),
    "tool-unknown": PluginRule("error", "Claude Code has the tool", "correct the name; it is case-sensitive"),
    "hooks-shape": PluginRule(
        "error",
        "hooks have the shape that Claude Code reads",
        'write {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": ".."}]}]}}',
    ),
    "hook-event": PluginRule(
        "error", "Claude Code has the event", "use one of its events; the hook never runs"
    ),
    "hook-matcher": PluginRule("error", "the matcher is a regular expression", "correct the expression"),
    "hook-matches-nothing": PluginRule(
        "warning", "the matcher fits a tool", "tools are case-sensitive: Bash, Edit|Write, mcp__server__.*"
    ),
    "hook-timeout": PluginRule("warning", "a timeout is in seconds", "give seconds, not milliseconds"),
    "script-missing": PluginRule(
        "error", "a script that is named is there", "correct the path, or add the file"
    ),
    "script-not-executable": PluginRule(
        "error", "a script that is started can be", "chmod +x, or start it with `sh`"
    ),
    "script-relative": PluginRule(
        "error", "a script is found from anywhere", 'write "${CLAUDE_PLUGIN_ROOT}"/ before the path'
    ),
    "server-shape": PluginRule(
        "error", "a server has a command or a url", 'add "command", or "type" and "url"'
    ),
    "variable-unknown": PluginRule(
        "error",
        "Claude Code sets the variable",
        "use ${CLAUDE_PLUGIN_ROOT}, or give a default: ${NAME:-value}",
    ),
    "variable-unset": PluginRule(
        "warning",
        "variables have a value everywhere",
        "give a default: ${NAME:-value}, or say it in the README",
    ),
    "marketplace-name": PluginRule(
        "warning", "a marketplace calls a plugin as it calls itself", "use one name"
    ),
    "not-loaded": PluginRule(
        "error", "the CLI loads the plugin", "correct what the CLI says; until then nothing of it works"
    ),
    "refused": PluginRule("error", "the CLI takes every part of it", "see the message of the CLI"),
    "remark": PluginRule("warning", "the CLI has no remark", "see the message of the CLI"),
    "not-listed": PluginRule(
        "error", "the CLI offers what is declared", "see the other findings in this file"
    ),
    "not-expanded": PluginRule(
        "error",
        "a command reaches the model",
        "a shell command in it needs `allowed-tools` in the front matter",
    ),
    "expansion": PluginRule("error", "the model gets the whole text", "compare the text with what was sent"),
    "hook-fails": PluginRule(
        "error",
        "a hook exits with 0, or with 2 to block",
        "correct it; any other code lets the action through",
    ),
    "hook-silent": PluginRule("warning", "a hook that blocks says why", "write the reason to standard error"),
    "hook-output": PluginRule(
        "error", "the output of a hook is understood", "correct the JSON that it prints"
    ),
    "hook-output-keys": PluginRule(
        "warning", "keys in the output of a hook are known", "correct the key; it is ignored"
    ),
    "hook-hangs": PluginRule(
        "error", "a hook ends in time", "end it sooner; a hook that is cancelled lets the action through"
    ),
    "hook-endless": PluginRule(
        "warning", "an agent can stop in the end", "let it stop when `stop_hook_active` is true"
    ),
    "hook-noise": PluginRule(
        "warning", "a hook that succeeds is silent on standard error", "see what it complains about"
    ),
    "server-fails": PluginRule(
        "error", "a server starts and answers", "start its command by hand and see what it says"
    ),
    "server-hangs": PluginRule(
        "error", "a server answers in time", "start its command by hand and see what it does"
    ),
    "server-tools": PluginRule(
        "error", "the tools of a server are as MCP wants them", "correct the list of tools"
    ),
    "egress": PluginRule(
        "error",
        "nothing reaches for the internet",
        "bring what it needs with the plugin, or ask at first use",
    ),
    "leftover": PluginRule("warning", "nothing runs on after its end", "end what was started"),
}
