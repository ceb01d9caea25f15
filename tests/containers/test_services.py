"""Services in containers: started, healthy, reachable by name, stopped; and whole compose files."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from soundstage.containers import (
    Compose,
    ComposeStage,
    Container,
    HealthChanged,
    HealthCheck,
    InContainer,
    Mount,
    Network,
)
from soundstage.containers._engine import LABEL, Engine, listed
from soundstage.drivers import isolation_problem
from soundstage.errors import AppError, EnvironmentProblem, InvalidStateError, WaitTimeout
from soundstage.journal import Journal, MessageSent, ProcessExited
from soundstage.lifecycle import Finished

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "soundstage/busybox"
pytestmark = pytest.mark.usefixtures("busybox")


def ours() -> list[str]:
    """Everything in the engine that belongs to this process: containers, networks, volumes."""
    engine = Engine.connect_now()
    try:
        filters = {"label": [f"{LABEL}.owner"]}
        containers = listed(lambda: engine.client.containers.list(all=True, filters=filters))
        others = listed(lambda: engine.client.networks.list(filters=filters))
        others += listed(lambda: engine.client.volumes.list(filters=filters))
        found = [(one.name, one.labels) for one in containers]
        found += [(one.name, one.attrs["Labels"]) for one in others]
        return [name for name, labels in found if labels[f"{LABEL}.owner"].startswith(f"{os.getpid()}-")]
    finally:
        engine.close()


def with_container(
    body: Callable[[Container], Awaitable[Any]], *command: str, **options: Any
) -> tuple[Journal, Any]:
    journal = Journal()

    async def main() -> Any:
        container = Container(IMAGE, journal, command=command, **options)
        await container.start()
        try:
            return await body(container)
        finally:
            await container.stop()

    found = asyncio.run(main())
    assert ours() == []
    return journal, found


async def nothing(_: Container) -> None:
    return


def test_its_lines_are_events_and_its_exit_code_is_known():
    async def body(container: Container) -> int:
        return await container.wait(within=30)

    journal, code = with_container(body, "sh", "-c", "echo out; echo err >&2; exit 4", name="talker")
    assert code == 4
    said = [(event.channel, event.text) for event in journal.events(MessageSent)]
    assert sorted(said) == [("stderr", "err"), ("stdout", "out")]
    assert journal.events(ProcessExited)[0].code == 4


def test_it_is_started_when_it_is_healthy():
    check = HealthCheck(("test", "-e", "/ready"), interval=0.2, retries=100)
    journal, health = with_container(
        lambda container: asyncio.sleep(0, container.health),
        *("sh", "-c", "sleep 0.5; touch /ready; sleep 1000"),
        health=check,
    )
    assert health.status == "healthy"
    assert [event.status for event in journal.events(HealthChanged)][-1] == "healthy"


def test_one_that_is_unhealthy_fails_at_once_with_what_its_check_said():
    check = HealthCheck(("sh", "-c", "echo not yet; exit 1"), interval=0.1, retries=2)
    with pytest.raises(AppError) as caught:
        with_container(nothing, "sleep", "1000", health=check, within=40, name="sick")
    assert "sick is unhealthy" in str(caught.value)
    assert "not yet" in str(caught.value)
    assert ours() == []


def test_one_that_is_late_fails_when_its_time_is_over():
    check = HealthCheck(("false",), interval=0.2, retries=1000)
    with pytest.raises(AppError, match="not healthy within 1 s"):
        with_container(nothing, "sleep", "1000", health=check, within=1)
    assert ours() == []


def test_one_that_ends_instead_fails_with_its_last_words():
    check = HealthCheck(("false",), interval=0.2, retries=1000)
    with pytest.raises(AppError) as caught:
        with_container(nothing, "sh", "-c", "echo no room >&2; exit 9", health=check, within=30)
    assert "exit code 9" in str(caught.value)
    assert "no room" in str(caught.value)
    assert ours() == []


def test_commands_run_in_it_and_their_exit_code_and_outputs_are_told():
    async def body(container: Container) -> list[Any]:
        with pytest.raises(WaitTimeout):
            await container.run("sleep", "1000", within=0.5)
        return [
            await container.run(
                "sh", "-c", "echo $GREETING; echo bad >&2; exit 5", environment={"GREETING": "hello"}
            ),
            await container.run("hostname"),
        ]

    _, (first, second) = with_container(body, "sleep", "1000", name="worker")
    assert first == Finished(5, "hello\n", "bad\n")
    assert second.stdout == "worker\n"


def test_a_mount_is_read_only_unless_it_is_said_otherwise(tmp_path):
    (tmp_path / "notes").write_text("mine\n")

    async def body(container: Container) -> list[Any]:
        return [
            await container.run("cat", "/in/notes"),
            await container.run("touch", "/in/more"),
            await container.run("touch", "/out/more"),
        ]

    (tmp_path / "out").mkdir()
    mounts = [Mount(tmp_path, "/in"), Mount(tmp_path / "out", "/out", write=True)]
    _, (read, refused, written) = with_container(body, "sleep", "1000", mounts=mounts)
    assert read.stdout == "mine\n"
    assert "Read-only file system" in refused.stderr
    assert written.code == 0
    assert (tmp_path / "out" / "more").exists()


def test_no_variable_of_ours_reaches_it(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-live")

    async def body(container: Container) -> str:
        return (await container.run("env")).stdout

    _, seen = with_container(body, "sleep", "1000", environment={"MINE": "1"})
    assert "MINE=1" in seen
    assert "sk-live" not in seen


def test_containers_on_a_network_find_each_other_by_name_and_nothing_outside():
    journal = Journal()

    async def main() -> list[Any]:
        async with Network(journal) as closed:
            serve = ["sh", "-c", "mkdir /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www"]
            check = HealthCheck(("wget", "-q", "-O-", "http://127.0.0.1:8080/"), interval=0.2, retries=100)
            web = Container(
                IMAGE, journal, command=serve, networks=[closed], health=check, name="web", aliases=["site"]
            )
            peer = Container(IMAGE, journal, command=["sleep", "1000"], networks=[closed], name="peer")
            await web.start()
            await peer.start()
            try:
                return [
                    await peer.run("sh", "-c", "until wget -q -O- http://web:8080/; do :; done"),
                    await peer.run("sh", "-c", "until wget -q -O- http://site:8080/; do :; done"),
                    await peer.run("nslookup", "example.com"),
                    await peer.run("ping", "-c", "1", "-W", "2", "203.0.113.1"),
                ]
            finally:
                await peer.stop()
                await web.stop()

    by_name, by_alias, outside, address = asyncio.run(main())
    assert (by_name.stdout, by_alias.stdout) == ("hello\n", "hello\n")
    assert outside.code != 0
    assert address.code != 0
    assert ours() == []


def test_a_published_port_is_reached_on_loopback():
    journal = Journal()

    async def main() -> bytes:
        async with Network(journal, internal=False) as front:
            check = HealthCheck(
                ("wget", "-q", "-O-", "http://127.0.0.1:8080/hosts"), interval=0.2, retries=100
            )
            web = Container(
                IMAGE,
                journal,
                command=["httpd", "-f", "-p", "8080", "-h", "/etc"],
                networks=[front],
                ports={8080: 0},
                health=check,
            )
            await web.start()
            try:
                with pytest.raises(InvalidStateError, match="port 9 of container is not published"):
                    web.port(9)
                return await asyncio.to_thread(fetch, f"http://127.0.0.1:{web.port(8080)}/hosts")
            finally:
                await web.stop()

    assert b"localhost" in asyncio.run(main())


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read()


def test_an_image_that_is_not_there_and_a_program_that_is_not_in_it_are_errors():
    async def start(**options: Any) -> None:
        await Container(journal=Journal(), **{"image": IMAGE, **options}).start()

    with pytest.raises(EnvironmentProblem, match="does not have this image"):
        asyncio.run(start(image="soundstage/nowhere"))
    with pytest.raises((EnvironmentProblem, AppError), match="container"):
        asyncio.run(start(command=["no-such-program"], health=HealthCheck(("true",)), within=20))
    assert ours() == []


@pytest.mark.parametrize("kind", [Container, Network])
def test_what_is_being_made_when_the_start_is_interrupted_is_removed(monkeypatch, kind):
    make = kind._make

    async def main() -> None:
        begun = asyncio.Event()

        def made(self: Any, engine: Engine) -> Any:
            found = make(self, engine)
            loop.call_soon_threadsafe(begun.set)
            assert go_on.wait(30)
            return found

        loop, go_on = asyncio.get_running_loop(), threading.Event()
        monkeypatch.setattr(kind, "_make", made)
        journal = Journal()
        daemon = Container(IMAGE, journal, command=["true"]) if kind is Container else Network(journal)
        starting = asyncio.create_task(daemon.start())
        async with asyncio.timeout(30):
            await begun.wait()
        starting.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await starting

    asyncio.run(main())
    assert ours() == []


# Compose files.

WEB = "mkdir -p /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www"


def compose_file(folder: Path, **services: Any) -> Path:
    path = folder / "compose.yaml"
    data = {
        "services": {name: {"image": IMAGE, **service} for name, service in services.items()},
        "networks": {"closed": {"internal": True}},
        "volumes": {"shared": None},
    }
    path.write_text(yaml.safe_dump(data))
    return path


def probe(*command: str) -> dict[str, Any]:
    return {"test": ["CMD", *command], "interval": "200ms", "retries": 100}


def test_services_come_up_in_order_share_networks_and_volumes_and_leave_nothing(tmp_path):
    path = compose_file(
        tmp_path,
        late={
            "command": [
                "sh",
                "-c",
                "until wget -q -O- http://web:8080/ > /shared/got; do :; done; touch /ready; sleep 1000",
            ],
            "depends_on": {"web": {"condition": "service_healthy"}},
            "networks": ["closed"],
            "volumes": ["shared:/shared"],
            "healthcheck": probe("test", "-e", "/ready"),
        },
        web={
            "command": ["sh", "-c", WEB],
            "networks": ["closed"],
            "volumes": ["shared:/shared:ro"],
            "healthcheck": probe("wget", "-q", "-O-", "http://127.0.0.1:8080/"),
        },
    )

    async def main() -> list[Any]:
        compose = Compose(path, Journal())
        assert compose.states() == {"web": "not started", "late": "not started"}
        await compose.start()
        try:
            assert {name: state.split()[0] for name, state in compose.states().items()} == {
                "web": "healthy",
                "late": "healthy",
            }
            with pytest.raises(InvalidStateError, match="no service 'db'"):
                compose.service("db")
            return [
                await compose.service("web").run("cat", "/shared/got"),
                await compose.service("web").run("touch", "/shared/mine"),
            ]
        finally:
            await compose.stop()

    got, refused = asyncio.run(main())
    assert got.stdout == "hello\n"
    assert "Read-only" in refused.stderr
    assert ours() == []


def test_a_service_that_is_late_fails_with_the_state_of_each_and_what_depends_on_it_never_starts(tmp_path):
    path = compose_file(
        tmp_path,
        good={"command": ["sleep", "1000"]},
        sick={
            "command": ["sleep", "1000"],
            "depends_on": ["good"],
            "healthcheck": {"test": ["CMD", "false"], "interval": "200ms", "retries": 2},
        },
        last={"command": ["sleep", "1000"], "depends_on": {"sick": {"condition": "service_healthy"}}},
    )
    journal = Journal()
    with pytest.raises(AppError) as caught:
        asyncio.run(Compose(path, journal, within=30).start())
    text = str(caught.value)
    for told in ("good: running", "sick: unhealthy", "last: not started"):
        assert told in text
    assert ours() == []


@pytest.mark.parametrize(("strategy", "made"), [("suite", 1), ("test", 2)])
def test_services_are_shared_by_a_suite_or_made_for_each_test(tmp_path, strategy, made):
    path = compose_file(tmp_path, box={"command": ["sleep", "1000"]})
    seen: list[str] = []

    async def clean(compose: Compose) -> None:
        await compose.service("box").run("rm", "-f", "/left")

    async def main() -> None:
        stage = ComposeStage(lambda: Compose(path, Journal()), strategy=strategy, clean=clean)
        for _ in range(2):
            async with stage.test() as compose:
                box = compose.service("box")
                assert (await box.run("test", "-e", "/left")).code == 1
                await box.run("touch", "/left")
                seen.append(box.id)
        await stage.close()
        await stage.close()

    asyncio.run(main())
    assert len(set(seen)) == made
    assert ours() == []


# The images and the compose file that we ship.


@pytest.fixture
def shipped() -> Path:
    for image in ("soundstage/agent", "soundstage/harness"):
        problem = isolation_problem(InContainer(image))
        if problem is not None:
            pytest.skip(f"tools/podman.sh images builds them: {problem}")
    return ROOT / "containers" / "compose.yaml"


CONNECT = "import socket; socket.create_connection(('203.0.113.1', 443), timeout=20)"


def test_the_agent_talks_to_the_scripted_model_and_has_processes_files_and_a_network_of_its_own(
    shipped, tmp_path
):
    for name in ("projects", "artifacts"):
        (tmp_path / name).mkdir()
    environment = {
        "SOUNDSTAGE_MCP_TOKEN": "secret",
        "HARNESS_PORT": "0",
        "PROJECTS_DIR": str(tmp_path / "projects"),
        "ARTIFACTS_DIR": str(tmp_path / "artifacts"),
    }

    async def main() -> None:
        compose = Compose(shipped, Journal(), environment=environment)
        await compose.start()
        try:
            agent, harness = compose.service("claude-code"), compose.service("test-harness")
            health = await asyncio.to_thread(fetch, f"http://127.0.0.1:{harness.port(3000)}/health")
            assert json.loads(health)["status"] == "ok"
            await it_talks_to_the_model(agent)
            await its_processes_are_its_own(agent, harness)
            await its_files_are_its_own(agent, harness)
            await its_network_leads_to_the_harness_alone(agent, harness)
        finally:
            await compose.stop()

    asyncio.run(main())
    assert (tmp_path / "projects" / "made").exists()
    assert ours() == []


async def it_talks_to_the_model(agent: Container) -> None:
    assert await agent.run("claude", "-p", "hello") == (0, "Hello from the scripted model.\n", "", False)
    told = await agent.run("claude", "-p", "hello", "--output-format", "stream-json", "--verbose")
    init = next(json.loads(line) for line in told.stdout.splitlines() if '"init"' in line)
    assert {"agent-loop", "epti"} <= {plugin["name"] for plugin in init["plugins"]}


async def its_processes_are_its_own(agent: Container, harness: Container) -> None:
    running = ("sh", "-c", "cat /proc/[0-9]*/comm")
    assert "soundstage" in (await harness.run(*running)).stdout.split()
    seen = (await agent.run(*running)).stdout.split()
    assert "python3" in seen
    assert "soundstage" not in seen


async def its_files_are_its_own(agent: Container, harness: Container) -> None:
    for service in (agent, harness):
        assert "agent-loop" in (await service.run("ls", "/plugins")).stdout
        for place in ("/plugins", "/app/src"):
            assert "Read-only file system" in (await service.run("touch", f"{place}/new")).stderr
    assert (await agent.run("touch", "/projects/made", "/sessions/made", "/home/agent/made")).code == 0
    assert (await harness.run("ls", "/projects/made", "/sessions/made", "/artifacts")).code == 0
    assert (await harness.run("ls", "/home/agent/made")).code != 0
    assert (await agent.run("ls", "/artifacts")).code != 0


async def its_network_leads_to_the_harness_alone(agent: Container, harness: Container) -> None:
    """The harness has the way out that the agent does not have; so the machine is not what is in the way."""
    routes = ("sh", "-c", "grep -c '^[a-z0-9]*[[:space:]]00000000[[:space:]]' /proc/net/route")
    assert int((await harness.run(*routes)).stdout) > 0
    assert int((await agent.run(*routes)).stdout) == 0
    assert "Network is unreachable" in (await agent.run("python3", "-c", CONNECT)).stderr
