"""The hooks of our plugins, run as the CLI runs them: a process, a payload on its input, an exit code."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "examples" / "plugins"
ALLOWED, BLOCKED = 0, 2


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def remark(self) -> str:
        return json.loads(self.out)["hookSpecificOutput"]["additionalContext"] if self.out else ""


def hook(plugin: str, script: str, payload: Any, folder: Path, **variables: str) -> Answer:
    """The script's answer; a payload that is a text is sent as it is."""
    text = payload if isinstance(payload, str) else json.dumps({"cwd": str(folder), **payload})
    done = subprocess.run(
        [sys.executable, "-B", str(PLUGINS / plugin / "hooks" / script)],
        input=text.encode(),
        capture_output=True,
        cwd=folder,
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(folder), **variables},
        timeout=50,
        check=False,
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def bash(command: str) -> dict[str, Any]:
    return {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}


def wrote(path: Path, tool: str = "Write", event: str = "PostToolUse") -> dict[str, Any]:
    return {"hook_event_name": event, "tool_name": tool, "tool_input": {"file_path": str(path)}}


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=T", "-c", "user.email=t@t.invalid"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


GUARDS = [
    (path.parent.parent.name, path.name)
    for path in sorted(PLUGINS.glob("*/hooks/*.py"))
    if not path.name.startswith("_")
]


@pytest.mark.parametrize(("plugin", "script"), GUARDS)
@pytest.mark.parametrize("payload", ["", "not json", "[]", "{}"])
def test_a_guard_that_cannot_read_its_payload_blocks_and_says_so(plugin, script, payload, tmp_path):
    answer = hook(plugin, script, payload, tmp_path)
    assert answer.code == BLOCKED
    assert "cannot tell" in answer.err


@pytest.mark.parametrize("file", sorted(PLUGINS.glob("*/hooks/hooks.json")), ids=lambda path: path.parts[-3])
def test_every_hook_is_started_with_a_script_that_exists_and_leaves_no_bytecode(file):
    events = json.loads(file.read_text())["hooks"]
    commands = [shlex.split(h["command"]) for groups in events.values() for g in groups for h in g["hooks"]]
    assert commands
    for program, flag, script in commands:
        assert (program, flag) == ("python3", "-B")
        assert Path(script.replace("${CLAUDE_PLUGIN_ROOT}", str(file.parents[1]))).is_file()


# --- agent-loop


COMMITS = [
    "git commit -m 'fix: x'",
    "git add -A && git commit -qam 'fix: x'",
    "cd . ; GIT_EDITOR=true git -c a.b=c commit -m 'fix: x' | cat",
    "git status\ngit commit -m 'fix: x'",
    "(git commit -m 'fix: x')",
    "sh -c \"git commit -m 'fix: x'\"",
    "echo $(git commit -m 'fix: x')",
    "/usr/bin/git commit -m 'fix: x'",
    "git commit -m \"it's broken",
    "git \\\n  commit -m 'fix: x'",
    "if true; then git commit -m 'fix: x'; fi",
]


@pytest.mark.parametrize("command", COMMITS)
def test_agent_loop_blocks_every_form_of_a_commit_without_a_plan(command, tmp_path):
    answer = hook("agent-loop", "pre_commit.py", bash(command), tmp_path)
    assert answer.code == BLOCKED
    assert "PLAN.md, .plan.md, .agent_planning" in answer.err
    assert "/agent-loop:plan" in answer.err


@pytest.mark.parametrize("plan", ["PLAN.md", ".plan.md", ".agent_planning"])
def test_agent_loop_allows_a_commit_with_a_plan_in_the_repository(plan, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / plan).mkdir() if plan == ".agent_planning" else (tmp_path / plan).write_text("steps")
    below = tmp_path / "src"
    below.mkdir()
    for folder in (tmp_path, below):
        assert hook("agent-loop", "pre_commit.py", bash(COMMITS[0]), folder).code == ALLOWED
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert (
        hook("agent-loop", "pre_commit.py", bash("git -C other commit -m 'fix: x'"), tmp_path).code == BLOCKED
    )


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git log --grep commit",
        "git log # the last commit",
        "ls # then; git commit -m x",
        "git commit --dry-run -m x",
        "echo git commit",
        "cat > notes.md <<'EOF'\ngit commit -m x\nit's\nEOF",
        "git commit-graph write",
        "ls commit",
    ],
)
def test_agent_loop_lets_every_other_command_be(command, tmp_path):
    for script in ("pre_commit.py", "commit_msg.py"):
        assert hook("agent-loop", script, bash(command), tmp_path) == (ALLOWED, "", "")


@pytest.mark.parametrize("plugin", ["agent-loop", "epti"])
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("git commit -m 'fix: add adds'", ""),
        ("git commit -qam 'feat(cli)!: a flag'", ""),
        ("git commit -m'docs: say why' -m 'Because it was asked.'", ""),
        ("git commit --message='chore: tidy' --amend", ""),
        ("git commit --message 'ci: run it'", ""),
        ("git commit --amend --no-edit", ""),
        ("git commit --fixup HEAD~1", ""),
        ("git commit -C HEAD", ""),
        ('git commit -m "$(cat <<\'EOF\'\nfix: don\'t "lose" it\n\nA body.\nEOF\n)"', ""),
        ("git commit -F - <<'EOF'\nfix: from the input\nEOF", ""),
        ("git commit -F message.txt", ""),
        ("git commit -m 'updated stuff'", "begins with 'updated stuff'"),
        ("git commit -m 'fix:no space'", "begins with"),
        ("git commit -m 'feature: x'", "begins with"),
        ("git commit -m 'fix(): x'", "begins with"),
        ("git commit -m ''", "is empty"),
        ("git commit -m 'fix: x\nmore'", "second line"),
        ("git commit -m \"$(cat <<'EOF'\nWIP\nEOF\n)\"", "begins with 'WIP'"),
        ("git commit -F - <<EOF\nWIP\nEOF", "begins with 'WIP'"),
        ("git commit -m 'fix: good' && git commit -m bad", "begins with 'bad'"),
        ("git commit", "cannot be seen"),
        ("git commit -F missing.txt", "cannot be seen"),
        ('git commit -m "open', "cannot be seen"),
    ],
)
def test_a_commit_message_has_the_conventional_form(plugin, command, problem, tmp_path):
    (tmp_path / "message.txt").write_text("perf: from a file\n")
    answer = hook(plugin, "commit_msg.py", bash(command), tmp_path)
    assert answer.code == (BLOCKED if problem else ALLOWED), answer
    assert problem in answer.err


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.py", "x = 1\n", ""),
        ("a.py", "def f(:\n", "line 1"),
        ("a.py", "\udcff", "is broken"),
        ("a.json", '{"a": 1}', ""),
        ("a.json", "{a}", "is broken"),
        ("a.js", "(((", ""),
    ],
)
def test_agent_loop_points_out_a_broken_file_and_asks_for_the_tests(name, text, problem, tmp_path):
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    answer = hook("agent-loop", "post_code.py", wrote(tmp_path / name), tmp_path)
    assert answer.code == (BLOCKED if problem else ALLOWED)
    assert problem in answer.err
    assert problem or "Run the tests" in answer.remark


def test_agent_loop_says_nothing_about_prose(tmp_path):
    assert hook("agent-loop", "post_code.py", wrote(tmp_path / "README.md"), tmp_path) == (ALLOWED, "", "")


def test_plugins_that_share_a_hook_have_equal_copies():
    shared = ("_hook.py", "_commits.py", "commit_msg.py")
    for name in shared:
        copies = {path.read_text() for path in PLUGINS.glob(f"*/hooks/{name}")}
        assert len(copies) == 1, name


# --- epti


def edit(path: Path) -> dict[str, Any]:
    return wrote(path, "Edit", "PreToolUse")


@pytest.fixture
def project(tmp_path):
    """A repository with one commit, and neither code nor tests."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "README.md").write_text("# Sums\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "docs: begin")
    return folder


GOOD, BAD = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a - b\n"
TEST = """import unittest
from sums import add

class Add(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(2, 3), 5)
"""
UNITTEST = f"{shlex.quote(sys.executable)} -B -m unittest -q"


@pytest.mark.parametrize("name", ["sums.py", "src/sums.ts", "cmd/main.go", "testing.py"])
def test_epti_blocks_code_before_the_first_test(name, project):
    answer = hook("epti", "pre_implementation.py", edit(project / name), project)
    assert answer.code == BLOCKED
    assert "/epti:write-tests" in answer.err
    (project / "test_sums.py").touch()  # an empty file is no test
    assert hook("epti", "pre_implementation.py", edit(project / name), project).code == BLOCKED
    (project / "test_sums.py").write_text(TEST)
    assert hook("epti", "pre_implementation.py", edit(project / name), project) == (ALLOWED, "", "")


@pytest.mark.parametrize(
    "name", ["README.md", "test_sums.py", "tests/helpers.py", "src/a.test.ts", "sum_test.go", "config.json"]
)
def test_epti_lets_tests_and_prose_be_written_first(name, project):
    assert hook("epti", "pre_implementation.py", edit(project / name), project) == (ALLOWED, "", "")


def test_epti_leaves_files_outside_of_the_project_alone(project, tmp_path):
    assert hook("epti", "pre_implementation.py", edit(tmp_path / "other.py"), project).code == ALLOWED
    assert hook("epti", "post_code.py", wrote(tmp_path / "other.py"), project) == (ALLOWED, "", "")


def test_epti_does_not_take_tests_of_other_projects_for_tests(project):
    (project / "node_modules/other").mkdir(parents=True)
    (project / "node_modules/other/other.test.js").write_text("x")
    assert hook("epti", "pre_implementation.py", edit(project / "a.js"), project).code == BLOCKED


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("git add test_sums.py && git commit -m 'test: add'", True),
        ("git add test_sums.py NOTES.md && git commit -m 'test: add'", True),
        ("git add NOTES.md; git commit -m 'docs: note'", True),
        ("git add -A && git commit -m 'feat: add'", False),
        ("git add . && git commit -m 'feat: add'", False),
        ("git add sums.py && git commit -m 'feat: add'", False),
        ("git commit -am 'docs: more'", True),
        ("git commit --allow-empty -m 'chore: nothing'", False),
        ("git log", True),
    ],
)
def test_epti_commits_failing_tests_alone_but_never_with_code(command, allowed, project):
    (project / "test_sums.py").write_text(TEST)
    (project / "sums.py").write_text(BAD)
    (project / "NOTES.md").write_text("x")
    (project / "README.md").write_text("# Sums and more\n")
    answer = hook("epti", "pre_commit.py", bash(command), project, EPTI_TEST_COMMAND=UNITTEST)
    assert answer.code == (ALLOWED if allowed else BLOCKED), answer
    assert allowed or "AssertionError: -1 != 5" in answer.err


def test_epti_sees_what_is_staged_already_and_paths_that_the_commit_names(project):
    for name, text in (("test_sums.py", TEST), ("sums.py", GOOD)):
        (project / name).write_text(text)
    git(project, "add", ".")
    git(project, "commit", "-qm", "feat: add")
    (project / "sums.py").write_text(BAD)
    (project / "test_sums.py").write_text(TEST + "\n")
    paths = bash("git commit -m 'test: x' test_sums.py")
    assert hook("epti", "pre_commit.py", paths, project, EPTI_TEST_COMMAND=UNITTEST).code == ALLOWED
    git(project, "add", "sums.py")
    staged = bash("git commit -m 'test: x'")
    assert hook("epti", "pre_commit.py", staged, project, EPTI_TEST_COMMAND=UNITTEST).code == BLOCKED
    (project / "sums.py").write_text(GOOD)
    assert hook("epti", "pre_commit.py", staged, project, EPTI_TEST_COMMAND=UNITTEST) == (ALLOWED, "", "")


def test_epti_uses_the_command_that_the_project_names_and_believes_no_run_without_tests(project):
    (project / "sums.py").write_text(GOOD)
    commit = bash("git add -A && git commit -m 'feat: x'")
    (project / ".epti-tests").write_text("false\n")
    assert "(false)" in hook("epti", "pre_commit.py", commit, project).err
    (project / ".epti-tests").write_text("no-such-program\n")
    assert "cannot be started" in hook("epti", "pre_commit.py", commit, project).err
    (project / ".epti-tests").write_text("true\n")
    assert hook("epti", "pre_commit.py", commit, project).code == ALLOWED
    (project / ".epti-tests").write_text(f"{UNITTEST.removesuffix(' -q')} discover\n")
    answer = hook("epti", "pre_commit.py", commit, project)
    assert (answer.code, "No test was found" in answer.err) == (BLOCKED, True)


@pytest.mark.parametrize(("code", "words"), [(GOOD, "All tests pass"), (BAD, "Tests fail")])
def test_epti_runs_the_tests_after_a_change_of_code(code, words, project):
    (project / "test_sums.py").write_text(TEST)
    (project / "sums.py").write_text(code)
    answer = hook("epti", "post_code.py", wrote(project / "sums.py"), project)
    assert answer.code == ALLOWED
    assert words in answer.remark
    assert not list(project.rglob("__pycache__"))
    assert "verify-fail" in hook("epti", "post_code.py", wrote(project / "test_sums.py"), project).remark
    assert hook("epti", "post_code.py", wrote(project / "README.md"), project) == (ALLOWED, "", "")


# --- promptctl


PROMPTCTL_EVENTS = sorted(json.loads((PLUGINS / "promptctl/hooks/hooks.json").read_text())["hooks"])


def happened(event: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": event, "session_id": "s", **fields}


def rules(folder: Path, *entries: dict[str, str]) -> None:
    (folder / "promptctl.json").write_text(json.dumps({"rules": entries}))


@pytest.mark.parametrize("event", PROMPTCTL_EVENTS)
def test_promptctl_lets_every_harmless_event_be_and_keeps_a_line_without_its_text(event, tmp_path):
    payload = happened(event, tool_name="Bash", tool_input={"command": "ls words"}, prompt="words")
    data = tmp_path / "data"
    assert hook("promptctl", "dispatch.py", payload, tmp_path, CLAUDE_PLUGIN_DATA=str(data)) == (
        ALLOWED,
        "",
        "",
    )
    kept = (data / "events.jsonl").read_text()
    named = ["note-subagents"] if event == "SubagentStop" else []
    assert json.loads(kept) == {"event": event, "session": "s", "tool": "Bash", "rules": named}


def test_promptctl_covers_the_nine_events():
    assert len(PROMPTCTL_EVENTS) == 9


@pytest.mark.parametrize(
    ("prompt", "blocked"),
    [
        ("use sk-abcdefghijklmnopqrstuv", True),
        ("-----BEGIN RSA PRIVATE KEY-----\nx", True),
        ("key AKIAABCDEFGHIJKLMNOP", True),
        ("the task-list is in sk-8", False),
        ("read OPENAI_API_KEY from the environment", False),
    ],
)
def test_promptctl_blocks_prompts_with_keys(prompt, blocked, tmp_path):
    answer = hook("promptctl", "dispatch.py", happened("UserPromptSubmit", prompt=prompt), tmp_path)
    assert answer.code == (BLOCKED if blocked else ALLOWED)
    assert ("no-keys-in-prompts" in answer.err) is blocked


@pytest.mark.parametrize(
    ("tool", "given", "rule"),
    [
        ("Bash", {"command": "rm -rf /"}, "no-wide-deletion"),
        ("Bash", {"command": "cd x && rm -r -f ~/"}, "no-wide-deletion"),
        ("Bash", {"command": 'rm -rf "$HOME"'}, "no-wide-deletion"),
        ("Bash", {"command": "rm -rf /tmp/build"}, ""),
        ("Bash", {"command": "rm -rf ./build"}, ""),
        ("Bash", {"command": "git push --force origin main"}, "no-forced-push"),
        ("Bash", {"command": "git -C x push -uf"}, "no-forced-push"),
        ("Bash", {"command": "git push --force-with-lease"}, ""),
        ("Bash", {"command": "git push origin fix-f"}, ""),
        ("Read", {"file_path": "/p/.env"}, "no-secrets-read"),
        ("Read", {"file_path": "/p/.env.production"}, "no-secrets-read"),
        ("Read", {"file_path": "/p/.env.example"}, ""),
        ("Read", {"file_path": "/p/environment.py"}, ""),
        ("Bash", {"command": "cat ~/.ssh/id_rsa"}, "no-secrets-read"),
        ("Grep", {"pattern": ".env"}, ""),
    ],
)
def test_promptctl_blocks_the_tools_that_its_own_rules_name(tool, given, rule, tmp_path):
    answer = hook(
        "promptctl", "dispatch.py", happened("PreToolUse", tool_name=tool, tool_input=given), tmp_path
    )
    assert answer.code == (BLOCKED if rule else ALLOWED), answer
    assert rule in answer.err


def test_a_project_adds_replaces_and_switches_off_rules(tmp_path):
    rules(
        tmp_path,
        {"name": "english", "on": "UserPromptSubmit", "action": "add", "message": "Answer in English."},
        {"name": "no-forced-push", "on": "PreToolUse", "action": "off"},
        {"name": "stay", "on": "Stop", "pattern": "^TODO", "action": "block", "message": "Not done."},
    )
    assert hook("promptctl", "dispatch.py", happened("UserPromptSubmit", prompt="x"), tmp_path).remark == (
        "Answer in English. [promptctl: english]"
    )
    push = happened("PreToolUse", tool_name="Bash", tool_input={"command": "git push -f"})
    assert hook("promptctl", "dispatch.py", push, tmp_path).code == ALLOWED
    stop = happened("Stop", last_assistant_message="So far:\nTODO")
    assert hook("promptctl", "dispatch.py", stop, tmp_path).code == BLOCKED
    assert hook("promptctl", "dispatch.py", {**stop, "stop_hook_active": True}, tmp_path).code == ALLOWED


GOOD_RULE = {"name": "a", "on": "Stop", "action": "note"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "Expecting"),
        ("[]", 'it should be {"rules": [...]}'),
        (json.dumps({"rules": [3]}), "rule 1 should be an object"),
        (json.dumps({"rules": [GOOD_RULE, {**GOOD_RULE, "name": ""}]}), "rule 2 (without a name)"),
        (json.dumps({"rules": [{**GOOD_RULE, "patern": "x"}]}), "unknown key 'patern'"),
        (json.dumps({"rules": [{**GOOD_RULE, "on": "pre-commit"}]}), "not 'pre-commit'"),
        (json.dumps({"rules": [{**GOOD_RULE, "action": "add"}]}), "is one of block, note, off, not 'add'"),
        (json.dumps({"rules": [{**GOOD_RULE, "action": "block"}]}), "needs a message"),
        (json.dumps({"rules": [{**GOOD_RULE, "pattern": "("}]}), "missing )"),
    ],
)
def test_rules_that_cannot_be_read_block_prompts_and_tools_but_never_the_end(text, problem, tmp_path):
    (tmp_path / "promptctl.json").write_text(text)
    for event in ("UserPromptSubmit", "PreToolUse"):
        answer = hook("promptctl", "dispatch.py", happened(event), tmp_path)
        assert (answer.code, "promptctl.json" in answer.err) == (BLOCKED, True)
        assert problem in answer.err
    for event in ("Stop", "SessionEnd", "PostToolUse"):
        assert hook("promptctl", "dispatch.py", happened(event), tmp_path).code == ALLOWED
