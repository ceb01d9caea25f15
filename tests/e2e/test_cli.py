"""The command line, as processes: what it prints, what it exits with, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import jsonschema
import pytest
import yaml

from soundstage.journal import ModelRequested, ModelResponded, RunFinished, RunStarted, read_journal
from support.wires import controlling

MODULE = (sys.executable, "-m", "soundstage.cli")
CONSOLE = (str(Path(sys.executable).with_name("soundstage")),)
GOOD = "version: 1\nrules:\n  - when: {user: hello}\n    reply: hi there\n"
SHADOWED = GOOD + "  - when: {user: hello world}\n    reply: never\n"
BAD = "version: 1\nrules:\n  - when: {usr: hello}\n    reply: hi\n  - when: {user: /(/}\n    reply: x\n"
MCP = "mcp:\n  notes:\n    tools:\n      - name: search\n        {}\n"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
CHAT = "/v1/chat/completions"


def environment(home, **more):
    """The variables that a command sees: as few as possible."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "COLUMNS": "100", "TERM": "dumb", **more}


@pytest.fixture
def soundstage(tmp_path):
    """Runs a command in a folder of its own."""

    def go(*arguments, program=MODULE, **more):
        return subprocess.run(
            [*program, *map(str, arguments)],
            cwd=tmp_path,
            env=environment(tmp_path, **more),
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    return go


@pytest.fixture
def script(tmp_path):
    """Writes a script and gives its path."""

    def write(text, name="script.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


class Running:
    """A server in a process of its own."""

    def __init__(self, process, line):
        self.process = process
        self.line = line
        self.url = line.split()[-1]

    async def end(self, number=signal.SIGTERM):
        """Send a signal; the exit code and what was printed since the first line."""
        self.process.send_signal(number)
        out, err = await self.process.communicate()
        return self.process.returncode, out.decode(), err.decode()


@contextlib.asynccontextmanager
async def serving(folder, *arguments, **more):
    """`soundstage serve` on a free port, and a client of it."""
    process = await asyncio.create_subprocess_exec(
        *MODULE,
        "serve",
        "--port",
        "0",
        *map(str, arguments),
        cwd=folder,
        env=environment(folder, **more),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        line = (await process.stdout.readline()).decode()
        assert line.startswith("serving http://127.0.0.1:"), (await process.stderr.read()).decode()
        running = Running(process, line)
        told = (await process.stdout.readline()).decode()
        assert f"{running.url}/_soundstage/" in told
        header, _, token = told.rpartition("`")[0].rpartition("`")[2].partition(": ")
        hooks = {"request": [controlling({header: token})]}
        async with httpx.AsyncClient(
            base_url=running.url, timeout=40, trust_env=False, verify=False, event_hooks=hooks
        ) as http:
            yield running, http
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


def run(main):
    async def limited():
        async with asyncio.timeout(50):
            return await main

    return asyncio.run(limited())


def text_of(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]["message"]["content"]


# --- serve


def test_serve_prints_one_line_and_accepts_requests_from_then_on(tmp_path, script):
    path = script(GOOD)

    async def main():
        async with serving(tmp_path, "--script", path) as (server, http):
            assert server.line == f"serving {server.url}\n"
            assert text_of(await http.post(CHAT, json=ASK)) == "hi there"
            assert await server.end() == (0, "", "")

    run(main())


SLOW = """
import asyncio
from pathlib import Path
from soundstage.models import Script

script = Script()

async def slow(request):
    return await asyncio.to_thread(Path("pipe").read_text)

script.on(user="hello").reply(slow)
script.on(user="never").reply("x")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_what_is_in_flight_finish_and_closes_the_journal(tmp_path, script, number):
    """The reply comes through a pipe that the test fills only after it has sent the signal."""
    path, pipe, journal = script(SLOW, "script.py"), tmp_path / "pipe", tmp_path / "run.jsonl"
    os.mkfifo(pipe)

    async def main():
        async with serving(tmp_path, "--script", path, "--journal", journal) as (server, http):
            asking = asyncio.create_task(http.post(CHAT, json=ASK))
            after = 0
            while not any(isinstance(record.event, ModelRequested) for record in read_journal(journal)):
                news = await http.get("/_soundstage/journal", params={"after": after, "within": 30})
                after += len(news.text.splitlines())
            server.process.send_signal(number)
            await asyncio.to_thread(pipe.write_text, "worth waiting for")
            assert text_of(await asking) == "worth waiting for"
            out, err = await server.process.communicate()
            return server.process.returncode, out.decode(), err.decode()

    code, out, err = run(main())
    assert (code, out) == (0, "")
    assert err.startswith("soundstage: never used: rule 2")
    records = read_journal(journal)
    assert [type(record.event) for record in (records[0], records[-1])] == [RunStarted, RunFinished]
    [replied] = [record.event for record in records if isinstance(record.event, ModelResponded)]
    assert replied.response.text == "worth waiting for"
    assert journal.read_bytes().endswith(b"\n")


def test_a_port_in_use_is_exit_code_2_with_a_hint(soundstage, script):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = soundstage("serve", "--script", script(GOOD), "--port", port)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {port} of 127.0.0.1 is in use" in done.stderr
    assert "use --port 0 for a free port" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_script_is_exit_code_2_with_every_line(soundstage, script):
    done = soundstage("serve", "--script", script(BAD, "bad.yaml"), "--port", 0)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bad.yaml:3: rules[0].when.usr: unknown key; did you mean 'user'?" in done.stderr
    assert "bad.yaml:5: rules[1].when.user" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_script_with_a_shadowed_rule_is_served_with_a_warning(tmp_path, script):
    path = script(SHADOWED)

    async def main():
        async with serving(tmp_path, "--script", path) as (server, http):
            await http.post(CHAT, json=ASK)
            return await server.end()

    code, _, err = run(main())
    assert code == 0
    assert "script.yaml:5: rule 2" in err
    assert "can never fire" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--host", "0.0.0.0"), "--token"),
        (("--host", "192.0.2.1", "--token", "t" * 20), "an address of this machine"),
        (("--port", "65536"), "less than or equal to 65535"),
        (("--port", "many"), "valid integer"),
        (("--journal", "/proc/none/run.jsonl"), "choose a folder that you may write to"),
        (("--nonsense",), "--nonsense"),
    ],
)
def test_what_cannot_be_served_is_exit_code_2_that_says_what_to_do(soundstage, script, arguments, words):
    done = soundstage("serve", "--script", script(GOOD), "--port", 0, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_strict_makes_a_request_without_a_rule_an_error(tmp_path, script):
    path = script(GOOD)
    other = {**ASK, "messages": [{"role": "user", "content": "something else"}]}

    async def main():
        async with serving(tmp_path, "--script", path) as (_, http):
            assert text_of(await http.post(CHAT, json=other)) == "nothing scripted for that"
        async with serving(tmp_path, "--script", path, "--strict") as (server, http):
            answer = await http.post(CHAT, json=other)
            assert (answer.status_code, answer.headers["x-should-retry"]) == (400, "false")
            assert "script.yaml:3" in answer.json()["error"]["message"]
            code, _, err = await server.end()
            assert code == 0
            assert "never used: rule 1 (script.yaml:3)" in err

    run(main())


def test_two_servers_with_one_seed_give_the_same_ids(tmp_path, script):
    path = script(
        "rules:\n  - when: {user: hello}\n    reply: {check_calls: false, tool_calls: [{name: look}]}\n"
    )

    async def ids(seed):
        async with serving(tmp_path, "--script", path, "--seed", seed) as (_, http):
            answer = (await http.post(CHAT, json=ASK)).json()
            return answer["id"], answer["choices"][0]["message"]["tool_calls"][0]["id"]

    async def main():
        return await asyncio.gather(ids(7), ids(7), ids(8))

    first, second, other = run(main())
    assert first == second
    assert not {*first} & {*other}


@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_token_is_asked_for_and_is_not_in_the_journal(tmp_path, script, by):
    path, journal, token = script(GOOD), tmp_path / "run.jsonl", "planted-token-4711"
    options = ("--token", token) if by == "option" else ()
    variables = {} if by == "option" else {"SOUNDSTAGE_TOKEN": token}
    said = {**ASK, "messages": [{"role": "user", "content": f"hello, the token is {token}"}]}

    async def main():
        start = serving(tmp_path, "--script", path, "--journal", journal, *options, **variables)
        async with start as (server, http):
            assert (await http.post(CHAT, json=said)).status_code == 401
            headers = {"authorization": f"Bearer {token}"}
            assert text_of(await http.post(CHAT, json=said, headers=headers)) == "hi there"
            await server.end()

    run(main())
    assert token not in journal.read_text()
    assert len(read_journal(journal)) > 4


def test_a_journal_is_continued(tmp_path, script):
    path, journal = script(GOOD), tmp_path / "deep" / "run.jsonl"

    async def main():
        for _ in range(2):
            async with serving(tmp_path, "--script", path, "--journal", journal) as (server, http):
                await http.post(CHAT, json=ASK)
                await server.end()

    run(main())
    records = read_journal(journal)
    assert [record.position for record in records] == list(range(1, len(records) + 1))
    assert [type(record.event) for record in records].count(RunFinished) == 2


def test_settings_reach_the_server_and_the_command_line_wins(tmp_path, script):
    path = script(GOOD)
    (tmp_path / "soundstage.toml").write_text('strict = true\nseed = 5\njournal = "kept/run.jsonl"\n')
    other = {**ASK, "messages": [{"role": "user", "content": "something else"}]}

    async def main():
        async with serving(tmp_path, "--script", path, "--seed", "6", SOUNDSTAGE_STRICT="false") as (
            server,
            http,
        ):
            assert text_of(await http.post(CHAT, json=other)) == "nothing scripted for that"
            await server.end()

    run(main())
    assert read_journal(tmp_path / "kept" / "run.jsonl")[0].event.seed == 6


def test_a_wrong_setting_is_exit_code_2_that_names_its_file(soundstage, script, tmp_path):
    (tmp_path / "soundstage.toml").write_text("sed = 5\n")
    done = soundstage("serve", "--script", script(GOOD))
    assert (done.returncode, done.stdout) == (2, "")
    assert "soundstage.toml: there is no setting 'sed'" in done.stderr
    assert "write 'seed'" in done.stderr


# --- check


def test_check_says_that_a_script_is_good(soundstage, script):
    for path in (script(GOOD), script(json.dumps(yaml.safe_load(GOOD)), "s.json"), script(SLOW, "s.py")):
        done = soundstage("check", path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith(": good\n")


def test_check_reports_a_shadowed_rule_with_both_lines(soundstage, script):
    done = soundstage("check", script(SHADOWED))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("script.yaml:5: rule 2")
    assert "can never fire" in done.stdout
    assert "script.yaml:3" in done.stdout


def test_check_warns_of_a_rule_that_may_answer_for_another_and_calls_the_script_good(soundstage, script):
    rules = "rules: [{when: {user: go}, times: 1, reply: x}, {when: {user: good bye}, reply: y}]\n"
    done = soundstage("check", script(rules))
    assert (done.returncode, done.stderr) == (0, "")
    warning, good = done.stdout.splitlines()
    assert warning.startswith("script.yaml:1: warning: rule 1")
    assert good.endswith(": good, 1 warning(s)")


def test_check_reports_every_problem_with_file_and_line(soundstage, script):
    done = soundstage("check", script(BAD))
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["script.yaml:3", "script.yaml:5"]


def test_check_of_a_script_of_mcp_servers_says_what_is_wrong_with_it(soundstage, script):
    good = script(MCP.format("description: d"), "good.yaml")
    done = soundstage("check", good)
    assert (done.returncode, done.stdout) == (0, f"{good}: good\n")
    done = soundstage("check", script(MCP.format("descr: d"), "bad.yaml"))
    assert done.returncode == 1
    assert "bad.yaml:5" in done.stdout
    assert "descr" in done.stdout


@pytest.mark.parametrize("arguments", [("nowhere.yaml",), (), ("a.yaml", "b.yaml")])
def test_check_of_something_else_than_a_file_or_folder_is_exit_code_2(soundstage, arguments):
    done = soundstage("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


# --- schema


def test_schema_prints_a_valid_schema_that_fits_good_scripts_and_no_others(soundstage):
    done = soundstage("schema")
    assert (done.returncode, done.stderr) == (0, "")
    schema = json.loads(done.stdout)
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    assert validator(schema).is_valid(yaml.safe_load(GOOD))
    assert not validator(schema).is_valid(yaml.safe_load(BAD))


# --- show


@pytest.fixture
def journal(tmp_path, script):
    """A journal that a server has written."""
    path, journal = script(GOOD), tmp_path / "run.jsonl"

    async def main():
        async with serving(tmp_path, "--script", path, "--journal", journal) as (server, http):
            await http.post(CHAT, json=ASK)
            await server.end()

    run(main())
    return journal


def test_show_prints_the_trace(soundstage, journal):
    done = soundstage("show", journal)
    assert (done.returncode, done.stderr) == (0, "")
    assert "hi there" in done.stdout
    assert "\x1b" not in done.stdout  # no colours in a pipe


def test_show_of_a_torn_journal_shows_what_is_whole(soundstage, journal):
    with journal.open("ab") as file:
        file.write(b'{"position": 99, "ti')
    done = soundstage("show", journal)
    assert done.returncode == 0
    assert "hi there" in done.stdout


def test_show_writes_a_page_and_says_where(soundstage, journal, tmp_path):
    done = soundstage("show", journal, "--html", "pages/trace.html")
    page = tmp_path / "pages" / "trace.html"
    assert (done.returncode, done.stderr) == (0, "")
    assert str(page.resolve()) in done.stdout
    assert "hi there" in page.read_text()


def test_show_of_something_else_than_a_journal_is_exit_code_2(soundstage, script):
    for arguments in ((script(GOOD),), ("nowhere.jsonl",), (".",), ()):
        done = soundstage("show", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr


# --- diff


def test_diff_of_two_served_runs_names_the_first_divergence_and_its_cause(soundstage, tmp_path, script):
    journals = [tmp_path / "good.jsonl", tmp_path / "bad.jsonl"]
    path = script(GOOD)

    async def main():
        for journal, words in zip(journals, ("hello", "hello there"), strict=True):
            async with serving(tmp_path, "--script", path, "--journal", journal) as (server, http):
                ask = {**ASK, "messages": [{"role": "user", "content": words}]}
                text_of(await http.post(CHAT, json=ask))
                await server.end()

    run(main())
    same = soundstage("diff", journals[0], journals[0])
    assert (same.returncode, same.stdout, same.stderr) == (0, "same: 1 step\n", "")
    done = soundstage("diff", *journals, "--html", "diff.html")
    assert done.returncode == 1
    assert done.stdout.startswith("divergence: prompt edited\nmain, step 1 (A @3, B @3); - is A, good.jsonl;")
    assert (tmp_path / "diff.html").is_file()
    found = json.loads(soundstage("diff", *journals, "--json").stdout)
    assert (found["same"], found["first"]["found"][0]["cause"]) == (False, "prompt edited")
    assert soundstage("diff", *journals, "--mask", "/hello.*/").returncode == 0
    for wrong in ((journals[0], path), (journals[0],), (journals[0], journals[1], "--mask", "")):
        assert soundstage("diff", *wrong).returncode == 2


# --- the command line itself


@pytest.mark.parametrize("program", [MODULE, CONSOLE], ids=["module", "console"])
def test_help_lists_the_commands_and_the_exit_codes(soundstage, program):
    done = soundstage("--help", program=program)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("demo", "serve", "check", "schema", "show", "diff", "Exit codes: 0 good"):
        assert word in done.stdout
    assert soundstage("-h", program=program).stdout == done.stdout


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("demo", ["--out", "HTML page", "Exit code 1"]),
        (
            "serve",
            [
                "--script",
                "--token",
                "SOUNDSTAGE_TOKEN",
                "soundstage.toml",
                "OPENAI_BASE_URL",
                "SIGTERM",
                "/_soundstage/journal",
            ],
        ),
        ("check", ["script.yaml", "Exit code 1"]),
        ("schema", ["yaml-language-server", "soundstage schema >"]),
        ("show", ["--html", "run.jsonl", "serve --journal"]),
    ],
)
def test_the_help_of_a_command_teaches(soundstage, command, words):
    done = soundstage(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert [word for word in words if word not in done.stdout] == []


@pytest.mark.parametrize("arguments", [("shwo",), ("--nonsense",), ("serve",), ("schema", "extra")])
def test_wrong_usage_is_exit_code_2(soundstage, arguments):
    done = soundstage(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["schema", "show", "check"])
def test_a_reader_that_has_left_is_no_failure(tmp_path, script, journal, command):
    """Like `soundstage schema | head -1`, with a reader that is quicker than any."""
    arguments = {"schema": (), "show": (journal,), "check": (script(GOOD),)}[command]
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*MODULE, command, *map(str, arguments)],
            env=environment(tmp_path),
            stdout=write,
            stderr=subprocess.PIPE,
            timeout=50,
            check=False,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_project_new_makes_a_project_whose_own_tests_pass_and_says_how_to_run_them(soundstage, tmp_path):
    done = soundstage("project", "new", "calc", "--name", "Calculator App", "--git")
    assert done.returncode == 0, done.stderr
    assert "Calculator App: cli in python" in done.stdout
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path / "calc",
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=tmp_path / "calc", capture_output=True, text=True, check=True
    )
    assert log.stdout == "Initial commit\n"


def test_project_new_refuses_what_it_does_not_know(soundstage):
    done = soundstage("project", "new", "calc", "--language", "cobol")
    assert done.returncode == 2
    assert "cobol" in done.stderr
    assert "python, javascript, go" in done.stderr


def test_plugin_test_finds_a_defect_with_file_and_line_and_exits_with_1(soundstage, tmp_path):
    plugin = tmp_path / "broken"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "broken", "version": "1.0.0"}')
    (plugin / "hooks").mkdir()
    (plugin / "hooks" / "hooks.json").write_text('{\n  "hooks": {\n    "pre-commit": []\n  }\n}\n')
    done = soundstage("plugin", "test", str(plugin), "--junit", "report.xml")
    assert done.returncode == 1, done.stderr
    assert "hooks.json" in done.stdout
    assert "pre-commit" in done.stdout
    assert "<testsuite" in (tmp_path / "report.xml").read_text()


def test_plugin_test_names_the_isolation_levels_it_knows(soundstage, tmp_path):
    done = soundstage("plugin", "test", str(tmp_path), "--isolation", "moat")
    assert done.returncode == 2
    assert "process" in done.stderr
    assert "netns" in done.stderr


def test_mcp_over_http_wants_its_token_and_says_that_it_is_up(tmp_path):
    command = [*MODULE, "mcp", "--http", "--port", "0", "--token", "sesame"]
    with subprocess.Popen(
        command, env=environment(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            url = next(word for word in server.stdout.readline().split() if word.startswith("http"))
            base = url.removesuffix("/mcp").rstrip("/")
            assert httpx.get(f"{base}/health").status_code == 200
            assert httpx.post(f"{base}/mcp", json={}).status_code == 401
        finally:
            server.send_signal(signal.SIGTERM)
    assert server.returncode == 0
