"""The whole test of a plugin, with the real CLI: what only shows when something is run, and what is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import TESTED_VERSION, bundled_cli
from soundstage.claude_code.plugin_check import PluginReport, inspect_plugin, report_text
from support.plugins import GREET, PYTHON, SERVER, Make, hooks, manifest, servers

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
EXAMPLES = Path(__file__).parents[3] / "examples/plugins"
ROOT = "${CLAUDE_PLUGIN_ROOT}"
HOOKS = "hooks/hooks.json"
MANIFEST = ".claude-plugin/plugin.json"
MCP = ".mcp.json"
REACH = """
import sys, urllib.request
try:
    urllib.request.urlopen("http://{host}/", timeout=5)
except OSError:
    pass
"""


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    yield
    assert list(scratch.iterdir()) == []


def check(folder: Path, **options: Any) -> PluginReport:
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    report = asyncio.run(inspect_plugin(folder, **options))
    assert {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()} == before
    return report


def places(report: PluginReport) -> list[tuple[str, str, int]]:
    return [(finding.rule, finding.file, finding.line) for finding in report.findings]


def script(folder: Path, name: str, text: str) -> str:
    """The command that runs a Python script of the plugin."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return f'{PYTHON} -B "{ROOT}/{name}"'


PLANTED: list[tuple[str, dict[str, Any], str, str, int]] = [
    ("bad version", {MANIFEST: manifest(version="one")}, "version", MANIFEST, 3),
    ("no front matter", {"commands/bare.md": "Do it.\n"}, "front-matter", "commands/bare.md", 1),
    (
        "a shell command that may not run",
        {"commands/shell.md": "---\ndescription: d\n---\nNow:\n!`cat /etc/hostname`\n"},
        "not-expanded",
        "commands/shell.md",
        5,
    ),
    (
        "an unknown tool",
        {"agents/helper.md": "---\nname: helper\ndescription: d\ntools: Read, Bsh\n---\nYou help.\n"},
        "tool-unknown",
        "agents/helper.md",
        4,
    ),
    (
        "a command and a skill of one name",
        {"commands/same.md": GREET, "skills/same/SKILL.md": "---\nname: same\ndescription: d\n---\nTidy.\n"},
        "same-name",
        "skills/same/SKILL.md",
        2,
    ),
    ("an unknown event", {HOOKS: hooks("PreCommit", "true")}, "hook-event", HOOKS, 3),
    ("hooks in the wrong shape", {HOOKS: [{"event": "Stop"}]}, "hooks-shape", HOOKS, 1),
    ("a missing script", {HOOKS: hooks("Stop", f"{ROOT}/gone.sh")}, "script-missing", HOOKS, 8),
    ("a hook that fails", {HOOKS: hooks("Stop", "exit 3")}, "hook-fails", HOOKS, 6),
    (
        "output that is not understood",
        {HOOKS: hooks("Stop", 'echo \'{"decision": "allow"}\'')},
        "hook-output",
        HOOKS,
        6,
    ),
    (
        "a program that is missing",
        {MCP: servers(gone={"command": "no-such-program"})},
        "server-fails",
        MCP,
        3,
    ),
    ("an invalid manifest", {MANIFEST: '{"name": "mine",\n "version" "1.0.0"}'}, "json", MANIFEST, 2),
]
WARNINGS = ("front-matter",)


@pytest.mark.parametrize(
    ("files", "rule", "file", "line"), [case[1:] for case in PLANTED], ids=[case[0] for case in PLANTED]
)
def test_a_planted_defect_is_found_alone_with_file_and_line(
    make: Make, files: dict[str, Any], rule: str, file: str, line: int
) -> None:
    report = check(make(files))
    assert places(report) == [(rule, file, line)], report_text(report)
    assert len(report.errors) == (rule not in WARNINGS)


def test_defects_of_one_plugin_do_not_hide_each_other(make: Make) -> None:
    apart = [case for case in PLANTED if HOOKS not in case[1] and case[0] != "an invalid manifest"]
    whole: dict[str, Any] = {}
    for case in apart:
        whole |= case[1]
    commands = ["exit 3", f"{ROOT}/gone.sh", "sleep infinity"]
    whole[HOOKS] = {
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": text, "timeout": 1}]} for text in commands]
        }
    }
    report = check(make(whole))
    assert {finding.rule for finding in report.warnings} >= {case[2] for case in apart if case[2] in WARNINGS}
    assert sorted(finding.rule for finding in report.errors) == sorted(
        [case[2] for case in apart if case[2] not in WARNINGS]
        + ["hook-fails", "script-missing", "hook-hangs"]
    )
    assert "permission check failed" in report_text(report)


def test_of_a_plugin_that_is_not_loaded_nothing_passes(make: Make) -> None:
    """Its hook runs by itself, its server would answer: in the CLI there is neither."""
    folder = make(
        {
            MANIFEST: manifest(agents="../elsewhere"),
            "commands/greet.md": GREET,
            "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: d\n---\nTidy up.\n",
            HOOKS: hooks("Stop", "true"),
        }
    )
    report = check(folder)
    rules = [(finding.rule, finding.file) for finding in report.findings]
    assert rules == [(rule, MANIFEST) for rule in ("not-loaded", "path-escape", "path-form")], report_text(
        report
    )
    assert "does not load mine: " in report.findings[0].message
    assert [item.kind for item in report.checks if not item.failed] == ["command", "skill", "plugin", "hook"]
    assert {item.skipped for item in report.checks if not item.failed} == {"mine is not loaded"}


def test_front_matter_that_is_missing_is_what_the_cli_says_it_is(make: Make, tmp_path: Path) -> None:
    nothing, no_description = "Do it.\n", "---\nname: NAME\n---\nDo it.\n"
    files = {
        f"{folder}/{name}{end}": text.replace("NAME", f"{name}-{folder}")
        for name, text in (("bare", nothing), ("short", no_description))
        for folder, end in (("commands", ".md"), ("agents", ".md"), ("skills", "y/SKILL.md"))
    }
    folder = make(files)
    cli = subprocess.run(
        [str(bundled_cli()), "plugin", "validate", str(folder), "--json"],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        check=False,
    )
    contents = json.loads(cli.stdout)["contents"]
    said = {
        (Path(item["file"]).relative_to(folder).as_posix(), level)
        for item in contents
        for level in ("error", "warning")
        if item[f"{level}s"]
    }
    assert {file for file, _ in said} == set(files)
    report = check(folder)
    assert {(finding.file, finding.severity) for finding in report.findings} == said
    assert {finding.rule for finding in report.findings} == {"front-matter", "description"}


@pytest.mark.parametrize("name", ["agent-loop", "epti", "visual-iteration", "promptctl"])
def test_our_own_plugins_have_no_finding(name: str) -> None:
    report = check(EXAMPLES / name)
    assert report.findings == ()
    assert (report.name, report.cli) == (name, TESTED_VERSION)
    assert not any(item.skipped for item in report.checks), report_text(report)


def test_a_good_plugin_is_run_as_a_whole(make: Make) -> None:
    folder = make(
        {
            "commands/greet.md": GREET,
            "commands/deep/words.md": "---\ndescription: d\n---\nFirst $0, then $1, from ${CLAUDE_PLUGIN_ROOT}.\n",
            "commands/named.md": "---\nname: other\ndescription: d\nallowed-tools: Bash(git *)\n---\n"
            "On !`git branch`.\n",
            "agents/helper.md": "---\nname: helper\ndescription: d\n---\nYou help.\n",
            "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: d\n---\nTidy up.\n",
            "skills/quiet/SKILL.md": "---\nname: quiet\ndescription: d\nuser-invocable: false\n---\nHush.\n",
            "server.py": SERVER,
            ".mcp.json": servers(looker={"command": PYTHON, "args": [f"{ROOT}/server.py"]}),
            HOOKS: hooks("UserPromptSubmit", "cat > /dev/null; echo no >&2; exit 2"),
        }
    )
    report = check(folder)
    assert report.findings == (), report_text(report)
    assert [item.kind for item in report.checks] == [
        *["plugin", "command", "command", "command", "agent", "skill", "skill"],
        *["plugin", "hook", "plugin", "server"],
    ]


ODD = {
    "file": ("", "Look at @hello.py now."),
    "data": ("", "In ${CLAUDE_PLUGIN_DATA}, ${CLAUDE_PROJECT_DIR}, ${CLAUDE_SESSION_ID}, ${HOME} and $HOME."),
    "price": ("", "It costs $10 or $1.50, $ARGUMENTS[1], \\$ARGUMENTS, \\$1."),
    "named": ("arguments: [who, what]\n", "Hello $who and $what."),
    "lines": ("", "One\r\n\r\n\ttwo  \r\nthree\r\n"),
    "block": ("allowed-tools: Bash(echo:*)\n", "Before\n```!\necho hi\n```\nafter !`echo a` and `!` alone."),
    "fork": ("context: fork\n", "Do it in a fork."),
    "model": ("model: haiku\n", "Be quick."),
    "hidden": ("user-invocable: false\n", "Be quiet."),
    "own": ("disable-model-invocation: true\n", "  <!-- hidden --> <b>& open</b>"),
}


def test_commands_with_everything_that_the_cli_replaces_have_no_finding(make: Make) -> None:
    files = {
        f"commands/{name}.md": f"---\ndescription: d\n{front}---\n{body}\n"
        for name, (front, body) in ODD.items()
    }
    report = check(make(files))
    assert report.findings == (), report_text(report)


def test_the_payloads_reach_a_hook_as_the_cli_sends_them(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    folder = make({})
    command = script(
        folder,
        "hooks/keep.py",
        "import json, os, sys\n"
        f"log = open({str(log)!r}, 'a')\n"
        "names = ('CLAUDE_PLUGIN_ROOT', 'CLAUDE_PROJECT_DIR', 'CLAUDE_PLUGIN_DATA', 'HOME')\n"
        "json.dump([json.load(sys.stdin), {name: os.environ[name] for name in names}], log)\n"
        "log.write('\\n')\n",
    )
    entry = {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": command}]}
    exact = {"hooks": [{"type": "command", "command": PYTHON, "args": [f"{ROOT}/hooks/keep.py"]}]}
    (folder / HOOKS).write_text(json.dumps({"hooks": {"PreToolUse": [entry], "SessionEnd": [exact]}}))
    assert check(folder).findings == ()
    runs = [json.loads(line) for line in log.read_text().splitlines()]
    asked = [payload for payload, _ in runs]
    assert [payload.get("tool_name") or payload["reason"] for payload in asked] == [
        *("Edit", "Write"),
        *("clear", "logout", "prompt_input_exit", "other"),
    ]
    assert all(payload["hook_event_name"] and payload["session_id"] for payload in asked)
    assert (
        asked[0]["cwd"]
        == runs[0][1]["CLAUDE_PROJECT_DIR"]
        == str(Path(asked[0]["tool_input"]["file_path"]).parent)
    )
    assert all(Path(variables["HOME"]) != Path.home() for _, variables in runs)


def test_a_failure_in_a_script_is_told_with_the_line_of_the_script(make: Make) -> None:
    folder = make({})
    command = script(folder, "hooks/broken.py", "import sys\n\nsys.stdin.read()\nint('x')\n")
    (folder / HOOKS).write_text(json.dumps(hooks("Stop", command)))
    (finding,) = check(folder).findings
    assert (finding.rule, finding.file, finding.line) == ("hook-fails", "hooks/broken.py", 4)
    assert "exits with code 1" in finding.message
    assert "ValueError" in finding.message


def test_a_hook_that_hangs_is_ended_in_time_with_all_that_it_started(make: Make, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    folder = make({})
    command = script(
        folder,
        "hooks/hang.py",
        "import os, signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "signal.pause()\n",
    )
    (folder / HOOKS).write_text(json.dumps(hooks("Stop", command, timeout=1), indent=2))
    (finding, *others) = check(folder).findings
    assert (finding.rule, finding.file, finding.line) == ("hook-hangs", HOOKS, 6)
    assert "does not end within 1 s, given Stop, its own timeout" in finding.message
    assert [other.rule for other in others] in ([], ["leftover"])
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_a_server_that_hangs_is_ended_in_time(make: Make) -> None:
    folder = make({"server.py": "import sys\nprint('one moment', file=sys.stderr)\nsys.stdin.read()\n"})
    (folder / ".mcp.json").write_text(
        json.dumps(servers(slow={"command": PYTHON, "args": [f"{ROOT}/server.py"]}), indent=2)
    )
    report = check(folder, within=1.5)
    assert places(report) == [("server-hangs", ".mcp.json", 3)]
    assert "one moment" in report.errors[0].message


@pytest.mark.parametrize(
    ("change", "rule", "said"),
    [
        (("SERVER", "import sys; sys.exit('no licence')"), "server-fails", "no licence"),
        (('"name": "look"', '"name": "look around"'), "server-tools", "'look around' cannot be the name"),
        (('"type": "object"', '"type": "list"'), "server-tools", "inputSchema of look"),
        (("TOOLS = [", "TOOLS = 2 * ["), "server-tools", "two tools look"),
        (('"tools/list": {"tools": TOOLS}', '"tools/list": {}'), "server-fails", 'without a list "tools"'),
        (
            ('"result": answer', '"error": {"code": 1, "message": "no"}'),
            "server-fails",
            "answers with an error",
        ),
    ],
    ids=["exits", "name", "schema", "twice", "no list", "error"],
)
def test_defects_of_a_server_are_found(make: Make, change: tuple[str, str], rule: str, said: str) -> None:
    text = change[1] if change[0] == "SERVER" else SERVER.replace(*change)
    folder = make(
        {
            "server.py": text,
            ".mcp.json": servers(looker={"command": PYTHON, "args": [f"{ROOT}/server.py"]}),
        }
    )
    report = check(folder)
    assert places(report) == [(rule, ".mcp.json", 3)], report_text(report)
    assert said in report.errors[0].message


@pytest.mark.parametrize("isolation", ["process", "netns", "sandbox"])
def test_who_tries_to_reach_the_internet_is_named_with_the_host(make: Make, isolation: str) -> None:
    if isolation != "process":
        pytest.importorskip("soundstage.isolation._netns")
        if not _has_namespaces():
            pytest.skip("the kernel allows no network namespaces here")
    folder = make(
        {
            "server.py": REACH.format(host="server.example") + SERVER,
            ".mcp.json": servers(looker={"command": PYTHON, "args": [f"{ROOT}/server.py"]}),
        }
    )
    command = script(folder, "hooks/reach.py", REACH.format(host="hook.example"))
    (folder / HOOKS).write_text(json.dumps(hooks("Stop", command), indent=2))
    report = check(folder, isolation=isolation)
    assert {(rule, file) for rule, file, _ in places(report)} == {("egress", ".mcp.json"), ("egress", HOOKS)}
    told = {finding.file: finding.message for finding in report.errors}
    assert "looker tries to reach server.example" in told[".mcp.json"]
    assert "Stop tries to reach hook.example" in told[HOOKS]


def _has_namespaces() -> bool:
    from soundstage.drivers import Command
    from soundstage.errors import EnvironmentProblem
    from soundstage.journal import Journal

    async def main() -> None:
        program = Command([sys.executable, "-c", ""], Journal(), isolation="netns")
        await program.start()
        await program.stop()

    try:
        asyncio.run(main())
    except EnvironmentProblem:
        return False
    return True


def test_a_remote_server_is_not_run_and_the_report_says_so(make: Make) -> None:
    folder = make({".mcp.json": servers(far={"type": "http", "url": "https://far.example/mcp"})})
    report = check(folder)
    assert report.findings == ()
    assert [item.skipped for item in report.checks if item.kind == "server"] == [
        "it is elsewhere, at https://far.example/mcp"
    ]


def test_all_plugins_of_a_marketplace_are_tested(tmp_path: Path, make: Make) -> None:
    make({"commands/a.md": GREET}, name="one")
    make({"commands/a.md": "Nothing above.\n"}, name="two")
    listed = [{"name": name, "source": f"./{name}"} for name in ("one", "two")]
    market = {"name": "market", "owner": {"name": "me"}, "plugins": listed}
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin/marketplace.json").write_text(json.dumps(market))
    report = asyncio.run(inspect_plugin(tmp_path))
    assert report.name == "market"
    assert places(report) == [("front-matter", "two/commands/a.md", 1)]


def test_what_only_the_cli_knows_is_in_the_report(make: Make) -> None:
    """A theme that is not there: a kind of file that the first pass does not look into."""
    folder = make({".claude-plugin/plugin.json": manifest(outputStyles="./styles")})
    report = check(folder)
    assert [finding.rule for finding in report.findings] == ["refused"]
    assert report.findings[0].file == ".claude-plugin/plugin.json"
