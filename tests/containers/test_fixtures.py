"""Services of a compose file as fixtures, in runs of pytest of their own against a real engine."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from soundstage.containers import InContainer
from soundstage.containers._engine import LABEL, Engine, listed
from soundstage.containers._services import find_compose_file
from soundstage.drivers import isolation_problem
from soundstage.errors import ScriptError

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "soundstage/busybox"
INI = "[pytest]\nfilterwarnings = error\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist --strict-markers\n"
READY = {"test": ["CMD", "test", "-e", "/ready"], "interval": "200ms", "retries": 100}
_numbers = itertools.count()


class Box:
    """A compose file with one service, whose network and volume have the same name; nobody else has that name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"box-{os.getpid()}-{next(_numbers)}"

    def write(self, file: str = "docker-compose.yml", **service: Any) -> Path:
        path = self.folder / file
        path.parent.mkdir(exist_ok=True)
        spec = {"image": IMAGE, "command": ["sleep", "1000"], "networks": [self.name], **service}
        spec.setdefault("volumes", [f"{self.name}:/data"])
        names = {"networks": {self.name: None}, "volumes": {self.name: None}}
        path.write_text(yaml.safe_dump({"services": {self.name: spec}, **names}))
        return path

    def left(self) -> list[str]:
        """Everything of it that is in the engine."""
        engine = Engine.connect_now()
        ours = {"label": [LABEL]}
        try:
            found = listed(lambda: engine.client.containers.list(all=True, filters=ours))
            names = [one.labels.get(f"{LABEL}.service", "") for one in found]
            names += [one.name for one in listed(lambda: engine.client.networks.list(filters=ours))]
            names += [one.name for one in listed(lambda: engine.client.volumes.list(filters=ours))]
            return [name for name in names if name.endswith(self.name)]
        finally:
            engine.close()


@pytest.fixture
def no_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")


@pytest.fixture
def box(pytester):
    """A service on a machine that has an engine and the image."""
    problem = isolation_problem(InContainer(IMAGE))
    if problem is not None:
        pytest.skip(str(problem))
    return Box(pytester.path)


@pytest.fixture
def inner(pytester):
    """Runs a test file in a pytest of its own."""
    pytester.makeini(INI)

    def go(text, *options, **names):
        for name, value in names.items():
            text = text.replace(name, value)
        pytester.makepyfile(text)
        return pytester.runpytest_subprocess(*options)

    return go


TWO = """
    import pytest

    @pytest.mark.parametrize("number", [0, 1])
    def test_it(docker_environment, number):
        assert docker_environment.run("BOX", "test", "-e", "/left").code == (0 if number and SHARED else 1)
        assert docker_environment.run("BOX", "touch", "/left").code == 0
"""


@pytest.mark.parametrize(("options", "shared"), [([], "True"), (["--soundstage-services=test"], "False")])
def test_services_are_shared_unless_each_test_is_to_have_its_own_and_leave_nothing(
    box, inner, options, shared
):
    box.write()
    inner(TWO, *options, BOX=box.name, SHARED=shared).assert_outcomes(passed=2)
    assert box.left() == []


def test_a_test_reaches_ports_commands_health_and_journal_of_a_service(box, inner):
    serve = "mkdir /www; echo hello > /www/index.html; echo up; touch /ready; exec httpd -f -p 8080 -h /www"
    box.write(command=["sh", "-c", serve], ports=["0:8080"], healthcheck=READY)
    result = inner(
        """
        import urllib.request
        import pytest
        from soundstage.errors import InvalidStateError
        from soundstage.journal import MessageSent

        def test_it(docker_environment):
            port = docker_environment.port("BOX", 8080)
            page = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/")
            with page:
                assert page.read() == b"hello\\n"
            assert docker_environment.run("BOX", "cat", "/nowhere").code == 1
            assert docker_environment.run("BOX", "sh", "-c", "echo $A", environment={"A": "b"}).stdout == "b\\n"
            assert docker_environment.health("BOX").status == "healthy"
            assert list(docker_environment.states()) == ["BOX"]
            said = docker_environment.call(docker_environment.journal.wait_for(MessageSent, within=20))
            assert (said.event.sender, said.event.text) == ("BOX", "up")
            with pytest.raises(InvalidStateError, match="no service 'db'"):
                docker_environment.port("db", 1)
        """,
        BOX=box.name,
    )
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize("strategy", ["suite", "test"])
def test_a_failed_test_shows_what_the_services_said_and_leaves_nothing(box, inner, strategy):
    box.write(command=["sh", "-c", "echo the disk is full; sleep 1000"])
    result = inner(
        """
        from soundstage.journal import MessageSent

        def test_it(docker_environment):
            docker_environment.call(docker_environment.journal.wait_for(MessageSent, within=20))
            assert False, "on purpose"
        """,
        f"--soundstage-services={strategy}",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*soundstage services*", f"{box.name}: running", "*the disk is full*"])
    assert box.left() == []


def test_a_service_that_is_not_healthy_fails_every_test_with_its_state_and_leaves_nothing(box, inner):
    check = {"test": ["CMD-SHELL", "echo no room; false"], "interval": "100ms", "retries": 2}
    box.write(healthcheck=check, command=["sh", "-c", "echo I begin; sleep 1000"])
    result = inner("def test_one(docker_environment): pass\ndef test_two(docker_environment): pass")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["*the services did not come up*", f"*{box.name}: unhealthy*no room*", "*said last:*", "*I begin"]
    )
    assert "another exception" not in str(result.stdout)
    assert box.left() == []


def test_a_start_that_is_interrupted_leaves_nothing(box, pytester):
    os.mkfifo(box.folder / "pipe")
    command = ["sh", "-c", "trap '' TERM; echo up > /host/pipe; sleep 1000"]  # its end takes a moment
    box.write(
        command=command,
        healthcheck={**READY, "retries": 10000},
        volumes=[f"{box.name}:/data", f"{box.folder}:/host"],
    )
    pytester.makeini(INI)
    pytester.makepyfile("def test_it(docker_environment): pass")
    argv = [sys.executable, "-m", "pytest", "-q"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=box.folder) as run:
        assert (box.folder / "pipe").read_text() == "up\n"
        assert box.left()
        run.send_signal(signal.SIGINT)
        told, _ = run.communicate(timeout=50)
    assert run.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in told
    assert box.left() == []


def test_file_and_variables_are_what_the_test_suite_says(box, inner):
    path = box.write("elsewhere/box.yaml", environment={"GREETING": "${GREETING}"})
    result = inner(
        """
        import pytest

        @pytest.fixture(scope="session")
        def docker_compose_file():
            return "FILE"

        @pytest.fixture(scope="session")
        def docker_compose_environment():
            return {"GREETING": "hello there"}

        def test_it(docker_environment):
            assert docker_environment.run("BOX", "sh", "-c", "echo $GREETING").stdout == "hello there\\n"
        """,
        BOX=box.name,
        FILE=str(path),
    )
    result.assert_outcomes(passed=1)


def test_the_file_may_use_the_variables_of_the_test_run(box, inner, monkeypatch):
    box.write(environment={"GREETING": "${GREETING}"})
    monkeypatch.setenv("GREETING", "good day")
    result = inner(
        """
        def test_it(docker_environment):
            assert docker_environment.run("BOX", "sh", "-c", "echo $GREETING").stdout == "good day\\n"
        """,
        BOX=box.name,
    )
    result.assert_outcomes(passed=1)


# The compose file that we ship.


@pytest.fixture
def shipped(inner, monkeypatch, tmp_path):
    """Runs a test with the harness of the compose file that we ship; `call` calls a tool that must not fail."""
    for image in ("soundstage/agent", "soundstage/harness"):
        problem = isolation_problem(InContainer(image))
        if problem is not None:
            pytest.skip(f"tools/podman.sh images builds them: {problem}")
    names = {"PROJECTS_DIR": "projects", "ARTIFACTS_DIR": "artifacts"}
    for variable, name in names.items():
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setenv("SOUNDSTAGE_MCP_TOKEN", "the-token-of-the-test")
    monkeypatch.setenv("HARNESS_PORT", "0")
    fixtures = """
        import pytest

        @pytest.fixture(scope="session")
        def docker_compose_file():
            return "FILE"

        @pytest.fixture(scope="session")
        def harness_url(docker_environment):
            return f"http://127.0.0.1:{docker_environment.port('test-harness', 3000)}"

        @pytest.fixture
        def call(harness_client):
            def good(name, **arguments):
                answer = harness_client.call_tool(name, arguments)
                assert answer["status"] in ("success", True), answer
                return answer
            return good
    """
    return lambda text: inner(fixtures + text, FILE=str(ROOT / "containers" / "compose.yaml"))


def test_the_harness_of_the_compose_file_that_we_ship_drives_the_cli_of_its_service(shipped):
    result = shipped("""
        MARK = "hostname | tee /home/agent/mark made.txt"
        BASH = {"name": "Bash", "arguments": {"command": MARK, "description": "d"}}
        HOOK = {"tool_name": "Bash", "tool_input": {"command": "git commit -m wip"}}
        CLIS = "cat /proc/[0-9]*/comm | grep -c '^claude$'"

        def test_it(call, docker_environment):
            def inside(service, *argv):
                return docker_environment.run(service, *argv)

            assert inside("test-harness", "sh", "-c", "command -v claude").code != 0
            assert inside("test-harness", "find", "/", "-xdev", "-name", "claude", "-type", "f").stdout == ""
            project = call("create_test_project", project_type="cli", language="python", output_path="made")
            assert inside("claude-code", "ls", "/projects").stdout == "made\\n"
            plugin = call("install_plugin", plugin_name="agent-loop", marketplace_path="/plugins")
            assert plugin["loaded"] is True
            session = call(
                "start_conversation",
                config={
                    "script": {"rules": [
                        {"when": {"user": "look", "iteration": 1}, "reply": {"tool_calls": [BASH]}},
                        {"when": {"tool_result": "claude-code"}, "reply": "I am in the service."},
                        {"when": {"user": "Explore"}, "reply": "Explored. Next: /agent-loop:plan"},
                    ]},
                    "strict": True,
                    "project_path": project["project_path"],
                    "allowed_tools": ["Bash"],
                },
            )["session_id"]
            asked = call("send_prompt", prompt="look", session_id=session, timeout=120)
            assert call("get_response", response_id=asked["response_id"])["response"] == "I am in the service."
            assert inside("claude-code", "sh", "-c", CLIS).stdout == "1\\n"
            assert inside("test-harness", "sh", "-c", CLIS).stdout == "0\\n"
            assert inside("claude-code", "cat", "/home/agent/mark", "made/made.txt").stdout == "claude-code\\n" * 2
            assert inside("test-harness", "ls", "/home/agent").code != 0
            done = call("execute_command", command="/agent-loop:explore", session_id=session, timeout=120)
            assert done["workflow_stage"] == "exploring"
            hooks = call("trigger_hook", hook_name="agent-loop/PreToolUse", payload=HOOK, session_id=session)
            assert all(run["outcome"] == "success" or run["blocked"] for run in hooks["runs"])
            serves = {"command": "claude", "args": ["mcp", "serve"]}
            server = call("start_mcp_server", server_name="s", server_config=serves)
            probe = call("verify_mcp_communication", server_id=server["server_id"], timeout=60)
            assert "Bash" in probe["tools"]
            assert call("end_conversation", session_id=session)["unused_rules"] == []

        def test_nothing_of_it_is_left_in_the_service(docker_environment, call):
            assert call("list_plugins")["plugins"] == []
            call("reset_test_environment", system=True)
            assert docker_environment.run("claude-code", "sh", "-c", CLIS).stdout == "0\\n"
            assert docker_environment.run("claude-code", "ls", "/projects").stdout == ""
            assert "soundstage-" not in docker_environment.run("claude-code", "ls", "/sessions").stdout
    """)
    result.assert_outcomes(passed=2)


# Without an engine.


def test_tests_are_skipped_with_the_reason_where_there_is_no_engine(no_engine, pytester, inner, tmp_path):
    Box(pytester.path).write()
    result = inner("def test_it(docker_environment): pass", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*no container engine answers*", "*none.sock*", "*tools/podman.sh*"])


def test_a_defect_of_the_file_is_an_error_where_there_is_no_engine_too(no_engine, pytester, inner):
    Box(pytester.path).write(privileged=True)
    result = inner("def test_it(docker_environment): pass")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ScriptError*docker-compose.yml*", "*privileged*"])


def test_where_a_missing_file_was_looked_for_is_told_where_there_is_no_engine_too(no_engine, pytester, inner):
    result = inner("def test_it(docker_environment): pass")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*there is no compose file*", "*docker-compose.yml*", f"*{pytester.path}/tests*", "*override*"]
    )


def test_tests_with_services_can_be_left_out(no_engine, pytester, inner):
    Box(pytester.path).write()
    result = inner("def test_it(docker_environment): pass\ndef test_other(): pass", "-m", "not docker")
    result.assert_outcomes(passed=1, deselected=1)


def test_an_asynchronous_test_with_services_runs_on_the_machines_time(inner):
    result = inner("""
        import pytest
        from soundstage.clock import SystemClock

        @pytest.fixture
        def docker_environment():
            return "somebody else's"

        async def test_it(docker_environment, journal):
            assert isinstance(journal.clock, SystemClock)
    """)
    result.assert_outcomes(passed=1)


# Which file is meant.


def test_the_file_beside_the_tests_comes_before_the_one_in_the_folder_of_all_tests(tmp_path):
    near, far = (Box(tmp_path / name) for name in ("near", "tests"))
    for box in (near, far):
        box.folder.mkdir()
        box.write()
    (tmp_path / "other").mkdir()
    folders = [near.folder, tmp_path / "other", near.folder]
    assert find_compose_file(folders, far.folder) == near.folder / "docker-compose.yml"
    assert find_compose_file(folders[1:2], far.folder) == far.folder / "docker-compose.yml"


@pytest.mark.parametrize("name", ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"])
def test_the_file_has_one_of_the_names_that_compose_tools_look_for(tmp_path, name):
    Box(tmp_path).write(name)
    assert find_compose_file([tmp_path], tmp_path / "tests") == tmp_path / name


def test_two_files_beside_the_tests_are_refused_with_both_named(tmp_path):
    for name in ("one", "two"):
        Box(tmp_path / name).write()
    with pytest.raises(ScriptError) as caught:
        find_compose_file([tmp_path / "one", tmp_path / "two"], tmp_path)
    assert f"{tmp_path}/one/docker-compose.yml, {tmp_path}/two/docker-compose.yml" in str(caught.value)
