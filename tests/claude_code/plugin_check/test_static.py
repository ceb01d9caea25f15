"""Defects that a plugin's files show without running anything, each with its file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code.plugin_check import RULES, PluginFinding
from soundstage.claude_code.plugin_check._declared import DeclaredPlugin
from soundstage.claude_code.plugin_check._findings import Findings
from soundstage.claude_code.plugin_check._static import read_folder
from support.plugins import GREET, Make, hooks, manifest, servers

EXAMPLES = Path(__file__).parents[3] / "examples/plugins"
MANIFEST = ".claude-plugin/plugin.json"
ROOT = "${CLAUDE_PLUGIN_ROOT}"


def look(folder: Path) -> tuple[tuple[DeclaredPlugin, ...], list[PluginFinding]]:
    findings = Findings(folder.resolve())
    found = read_folder(folder.resolve(), findings)
    return found, [finding for check in findings.close() for finding in check.findings]


def two(first: str, second: str) -> str:
    return f"---\n{first}\n{second}\n---\nbody\n"


CASES: list[tuple[str, dict[str, Any], str, str, int]] = [
    ("no JSON", {MANIFEST: '{"name": "mine",\n "version": }\n'}, "json", MANIFEST, 2),
    ("no object", {MANIFEST: "\n[]"}, "type", MANIFEST, 2),
    ("no name", {MANIFEST: {"version": "1.0.0"}}, "name", MANIFEST, 1),
    ("a name with spaces", {MANIFEST: {"version": "1.0.0", "name": "my own"}}, "name", MANIFEST, 3),
    ("a name in capitals", {MANIFEST: {"version": "1.0.0", "name": "Mine"}}, "name-style", MANIFEST, 3),
    ("a bad version", {MANIFEST: {"name": "mine", "version": "1.x"}}, "version", MANIFEST, 3),
    ("a version as a number", {MANIFEST: {"name": "mine", "version": 1}}, "version", MANIFEST, 3),
    ("a key twice", {MANIFEST: '{"name": "mine",\n"name": "mine"}'}, "key-twice", MANIFEST, 2),
    ("an unknown key", {MANIFEST: manifest(comands="./commands")}, "key-unknown", MANIFEST, 5),
    ("an author as text", {MANIFEST: manifest(author="me")}, "type", MANIFEST, 5),
    ("a path outside", {MANIFEST: manifest(commands="../other")}, "path-escape", MANIFEST, 5),
    ("a path that is not there", {MANIFEST: manifest(commands="./other")}, "file-missing", MANIFEST, 5),
    (
        "a path without ./",
        {MANIFEST: manifest(skills="more"), "more/a/SKILL.md": two("name: a", "description: a")},
        "path-form",
        MANIFEST,
        5,
    ),
    (
        "agents as a folder",
        {MANIFEST: manifest(agents="./agents/"), "agents/a.md": GREET},
        "path-form",
        MANIFEST,
        5,
    ),
    (
        "commands that are not loaded",
        {MANIFEST: manifest(commands=["./extra/b.md"]), "extra/b.md": GREET, "commands/a.md": GREET},
        "folder-ignored",
        MANIFEST,
        5,
    ),
    ("a command of neither kind", {MANIFEST: manifest(commands={"a": {}})}, "type", MANIFEST, 6),
    ("a command without front matter", {"commands/a.md": "Do it.\n"}, "front-matter", "commands/a.md", 1),
    (
        "open front matter",
        {"commands/a.md": "---\ndescription: x\nDo.\n"},
        "front-matter",
        "commands/a.md",
        1,
    ),
    (
        "no YAML",
        {"commands/a.md": two("description: d", 'model: "x')},
        "front-matter-yaml",
        "commands/a.md",
        4,
    ),
    ("no mapping", {"commands/a.md": two("- a", "- b")}, "front-matter-yaml", "commands/a.md", 2),
    (
        "a colon",
        {"commands/a.md": two("model: x", "description: do: it")},
        "front-matter-quotes",
        "commands/a.md",
        3,
    ),
    ("no description", {"commands/a.md": two("model: x", "effort: low")}, "description", "commands/a.md", 1),
    (
        "an unknown key of front matter",
        {"commands/a.md": two("description: d", "tool: x")},
        "key-unknown",
        "commands/a.md",
        3,
    ),
    (
        "a tool that is none",
        {"commands/a.md": two("description: d", "allowed-tools: Read, Bsh(ls *)")},
        "tool-unknown",
        "commands/a.md",
        3,
    ),
    ("no text", {"commands/a.md": "---\ndescription: d\n---\n\n"}, "body", "commands/a.md", 5),
    ("no UTF-8", {"commands/a.md": "---\ndescription: d\n---\nx"}, "file-unreadable", "commands/a.md", 0),
    (
        "an agent with an unknown tool",
        {"agents/a.md": "---\nname: a\ndescription: d\ntools: [Read, Wrte]\n---\nx\n"},
        "tool-unknown",
        "agents/a.md",
        4,
    ),
    ("a skill without its file", {"skills/a/notes.md": "x"}, "file-missing", "skills/a", 0),
    (
        "a command and a skill of one name",
        {"commands/a.md": GREET, "skills/a/SKILL.md": two("name: a", "description: d")},
        "same-name",
        "skills/a/SKILL.md",
        2,
    ),
    (
        "two commands of one name",
        {"commands/a.md": GREET, "commands/b.md": "---\ndescription: d\nname: a\n---\nx\n"},
        "same-name",
        "commands/b.md",
        3,
    ),
    ("hooks as a list", {"hooks/hooks.json": [1]}, "hooks-shape", "hooks/hooks.json", 1),
    ("no hooks", {"hooks/hooks.json": {}}, "hooks-shape", "hooks/hooks.json", 1),
    (
        "an unknown event",
        {"hooks/hooks.json": hooks("PreCommit", "true")},
        "hook-event",
        "hooks/hooks.json",
        3,
    ),
    (
        "an event without a list",
        {"hooks/hooks.json": {"hooks": {"Stop": {}}}},
        "hooks-shape",
        "hooks/hooks.json",
        3,
    ),
    (
        "a matcher without hooks",
        {"hooks/hooks.json": {"hooks": {"Stop": [{"command": "x"}]}}},
        "hooks-shape",
        "hooks/hooks.json",
        4,
    ),
    (
        "a hook without a type",
        {"hooks/hooks.json": {"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}},
        "hooks-shape",
        "hooks/hooks.json",
        6,
    ),
    (
        "a hook without a command",
        {"hooks/hooks.json": {"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}},
        "hooks-shape",
        "hooks/hooks.json",
        6,
    ),
    (
        "no regular expression",
        {
            "hooks/hooks.json": {
                "hooks": {"PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "true"}]}]}
            }
        },
        "hook-matcher",
        "hooks/hooks.json",
        5,
    ),
    (
        "a matcher in small letters",
        {
            "hooks/hooks.json": {
                "hooks": {
                    "PreToolUse": [{"matcher": "bash", "hooks": [{"type": "command", "command": "true"}]}]
                }
            }
        },
        "hook-matches-nothing",
        "hooks/hooks.json",
        5,
    ),
    (
        "a timeout in milliseconds",
        {"hooks/hooks.json": hooks("Stop", "true", timeout=5000)},
        "hook-timeout",
        "hooks/hooks.json",
        9,
    ),
    (
        "a timeout that is none",
        {"hooks/hooks.json": hooks("Stop", "true", timeout="5")},
        "hooks-shape",
        "hooks/hooks.json",
        9,
    ),
    (
        "a script that is not there",
        {"hooks/hooks.json": hooks("Stop", f'"{ROOT}"/hooks/x.sh')},
        "script-missing",
        "hooks/hooks.json",
        8,
    ),
    (
        "a script that cannot be run",
        {"hooks/hooks.json": hooks("Stop", f"{ROOT}/hooks/x.sh"), "hooks/x.sh": "true\n"},
        "script-not-executable",
        "hooks/hooks.json",
        8,
    ),
    (
        "a script outside",
        {"hooks/hooks.json": hooks("Stop", f"{ROOT}/../x.sh")},
        "path-escape",
        "hooks/hooks.json",
        8,
    ),
    (
        "a relative script",
        {"hooks/hooks.json": hooks("Stop", "sh ./hooks/x.sh"), "hooks/x.sh": "true\n"},
        "script-relative",
        "hooks/hooks.json",
        8,
    ),
    ("a server without a command", {".mcp.json": servers(a={"args": []})}, "server-shape", ".mcp.json", 3),
    (
        "a server of another type",
        {".mcp.json": servers(a={"type": "tcp", "url": "x"})},
        "server-shape",
        ".mcp.json",
        4,
    ),
    (
        "a url without a type",
        {".mcp.json": servers(a={"url": "http://127.0.0.1/"})},
        "server-shape",
        ".mcp.json",
        4,
    ),
    (
        "arguments as text",
        {".mcp.json": servers(a={"command": "x", "args": "-v"})},
        "server-shape",
        ".mcp.json",
        5,
    ),
    (
        "a server's script that is not there",
        {".mcp.json": servers(a={"command": "python3", "args": [f"{ROOT}/s.py"]})},
        "script-missing",
        ".mcp.json",
        6,
    ),
    (
        "a variable of nobody",
        {".mcp.json": servers(a={"command": "x", "env": {"A": "${CLAUDE_PLUGIN_DIR}"}})},
        "variable-unknown",
        ".mcp.json",
        6,
    ),
    (
        "a variable of the user",
        {".mcp.json": servers(a={"command": "x", "env": {"A": "${MY_TOKEN}"}})},
        "variable-unset",
        ".mcp.json",
        6,
    ),
    ("servers as a list", {".mcp.json": {"mcpServers": []}}, "server-shape", ".mcp.json", 2),
]


@pytest.mark.parametrize(
    ("files", "rule", "file", "line"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_defect_is_found_with_file_and_line(
    make: Make, files: dict[str, Any], rule: str, file: str, line: int
) -> None:
    folder = make(files)
    if rule == "file-unreadable":
        (folder / file).write_bytes(b"---\ndescription: \xff\n---\nx\n")
    _, findings = look(folder)
    assert [(found.rule, found.file, found.line) for found in findings] == [(rule, file, line)]
    assert findings[0].severity == RULES[rule].severity
    assert findings[0].hint


def test_a_folder_without_a_manifest_is_a_finding(tmp_path: Path) -> None:
    _, (finding,) = look(tmp_path)
    assert (finding.rule, finding.file) == ("file-missing", MANIFEST)


def test_a_link_to_a_file_outside_is_an_escape(make: Make, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(GREET)
    folder = make({MANIFEST: manifest(commands="./commands/a.md"), "commands/b.md": GREET})
    (folder / "commands/a.md").symlink_to(tmp_path / "secret.md")
    rules = [finding.rule for finding in look(folder)[1]]
    assert "path-escape" in rules


def test_a_good_plugin_declares_everything_and_has_no_finding(make: Make) -> None:
    folder = make(
        {
            "commands/greet.md": GREET,
            "commands/deep/greet.md": GREET,
            "agents/reviewer.md": "---\nname: rev\ndescription: d\ntools: Read, mcp__a__b, Bash(git *)\n---\nx\n",
            "skills/tidy/SKILL.md": two("name: tidy", "description: tidies"),
            "hooks/hooks.json": hooks("PreToolUse", f'python3 "{ROOT}/hooks/x.py" --all', timeout=5),
            "hooks/x.py": "",
            ".mcp.json": {"a": {"command": "python3", "args": [f"{ROOT}/s.py", "${LEVEL:-2}"]}},
            "s.py": "",
        }
    )
    (plugin,), findings = look(folder)
    assert findings == []
    assert [item.name for item in plugin.commands] == ["mine:deep:greet", "mine:greet"]
    assert [item.name for item in (*plugin.agents, *plugin.skills)] == ["mine:rev", "mine:tidy"]
    assert [(hook.event, hook.matcher) for hook in plugin.hooks] == [("PreToolUse", "")]
    assert [server.name for server in plugin.servers] == ["a"]


def test_what_the_manifest_names_is_read_too(make: Make) -> None:
    files = {
        MANIFEST: manifest(
            commands={"go": {"source": "./extra/c.md"}, "inline": {"content": "Do it."}},
            hooks="./extra/h.json",
            mcpServers={"b": {"command": "x"}},
            skills=["./extra/skill"],
        ),
        "extra/c.md": GREET,
        "extra/h.json": hooks("Stop", "true"),
        "extra/skill/SKILL.md": two("name: skill", "description: d"),
        "hooks/hooks.json": hooks("SessionStart", "true"),
    }
    (plugin,), findings = look(make(files))
    assert findings == []
    assert [item.name for item in (*plugin.commands, *plugin.skills)] == ["mine:go", "mine:skill"]
    assert [hook.event for hook in plugin.hooks] == ["SessionStart", "Stop"]
    assert [server.name for server in plugin.servers] == ["b"]


@pytest.mark.parametrize(
    ("change", "rule", "line"),
    [
        ({"name": ""}, "name", 2),
        ({"owner": "me"}, "type", 3),
        ({"plugins": {}}, "type", 4),
        ({"plugins": [{"source": "./mine"}]}, "name", 5),
        ({"plugins": [{"name": "mine"}]}, "type", 5),
        ({"plugins": [{"name": "mine", "source": "./gone"}]}, "file-missing", 7),
        ({"plugins": [{"name": "mine", "source": "../mine"}]}, "path-escape", 7),
        ({"plugins": [{"name": "mine", "source": "./mine"}] * 2}, "same-name", 10),
        ({"plugins": [{"name": "other", "source": "./mine"}]}, "marketplace-name", 6),
    ],
)
def test_defects_of_a_marketplace_are_found(
    make: Make, tmp_path: Path, change: dict[str, Any], rule: str, line: int
) -> None:
    make({"commands/a.md": GREET})
    good = {"name": "market", "owner": {"name": "me"}, "plugins": [{"name": "mine", "source": "./mine"}]}
    data = good | change
    text = (
        "{\n" + ",\n".join(f'"{key}": {json.dumps(value, indent=0)}' for key, value in data.items()) + "\n}"
    )
    if "owner" not in change:
        text = text.replace('{\n"name": "me"\n}', '{"name": "me"}')
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin/marketplace.json").write_text(text)
    _, findings = look(tmp_path)
    assert [(found.rule, found.line) for found in findings] == [(rule, line)], text


def test_our_own_plugins_and_their_marketplace_have_no_finding() -> None:
    plugins, findings = look(EXAMPLES)
    assert findings == []
    assert [plugin.name for plugin in plugins] == ["agent-loop", "epti", "visual-iteration", "promptctl"]
