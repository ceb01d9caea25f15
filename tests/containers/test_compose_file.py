"""Compose files: what we understand, and what we refuse with a word that helps."""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from soundstage.claude_code import bundled_cli
from soundstage.containers._compose_file import read_compose, seconds
from soundstage.containers._health import Health, HealthCheck, health_of
from soundstage.errors import ScriptError

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "containers" / "compose.yaml"


def written(folder: Path, data: Any) -> Path:
    path = folder / "compose.yaml"
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data))
    return path


def with_web(folder: Path, **web: Any) -> Path:
    data = {
        "services": {"web": {"image": "x", **web}},
        "networks": {"closed": {"internal": True}},
        "volumes": {"v": None},
    }
    return written(folder, data)


def test_the_file_that_we_ship_says_what_it_should():
    found = read_compose(SHIPPED, {"SOUNDSTAGE_MCP_TOKEN": "secret"})
    assert found.order() == ["claude-code", "test-harness"]
    agent, harness = found.services["claude-code"], found.services["test-harness"]
    assert agent.check == HealthCheck(("claude", "--version"), interval=5, timeout=3, retries=3)
    assert "../examples/plugins:/plugins:ro" in agent.volumes
    assert agent.variables["ANTHROPIC_BASE_URL"] == "http://test-harness:8000"
    assert agent.networks == ["closed"]
    assert found.networks["closed"].internal
    assert harness.published == {3000: 3000}
    assert "../src:/app/src:ro" in harness.volumes
    assert harness.depends_on["claude-code"].condition == "service_healthy"
    assert "version" not in yaml.safe_load(SHIPPED.read_text())


def dockerfile(name: str) -> str:
    return (ROOT / "containers" / name / "Dockerfile").read_text()


def variables_of(name: str) -> set[str]:
    """The variables that an image has by itself."""
    (block,) = re.findall(r"^ENV (?:HOME|PYTHON\w+)=(?:.*\\\n)*.*$", dockerfile(name), re.MULTILINE)
    return set(re.findall(r"(\w+)=", block))


def has_word(data: mmap.mmap, word: bytes) -> bool:
    """Whether a word is there, not as a part of another; an expression takes a minute for 200 MB."""
    at = data.find(word)
    while at >= 0:
        around = data[at - 1 : at] + data[at + len(word) : at + len(word) + 1]
        if not re.search(rb"\w", around):
            return True
        at = data.find(word, at + 1)
    return False


@pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
def test_every_setting_of_the_agent_is_one_that_the_cli_reads():
    agent = read_compose(SHIPPED, {"SOUNDSTAGE_MCP_TOKEN": "secret"}).services["claude-code"]
    names = {*agent.variables, *variables_of("agent")} - {"HOME"}
    with Path(str(bundled_cli())).open("rb") as file:
        cli = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        assert [name for name in names if not has_word(cli, name.encode())] == []
        cli.close()
    places = [volume.split(":")[1] for volume in agent.volumes]
    working = re.findall("^WORKDIR (.*)$", dockerfile("agent"), re.MULTILINE)
    read = [*agent.variables.values(), *working, *(f"{folder}/.mcp.json" for folder in working)]
    read += ["/app/src" for word in agent.argv if (ROOT / word.removeprefix("/app/")).is_file()]
    assert [place for place in places if place not in read] == []


def test_every_setting_of_the_harness_is_read():
    harness = read_compose(SHIPPED, {"SOUNDSTAGE_MCP_TOKEN": "secret"}).services["test-harness"]
    code = (
        "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
        + (ROOT / "containers/harness/start.sh").read_text()
    )
    names = {*harness.variables, *variables_of("harness")} - {"PYTHONDONTWRITEBYTECODE"}
    assert [name for name in names if name not in code] == []
    places = [volume.split(":")[1] for volume in harness.volumes]
    assert "/plugins" in places
    used = "\n".join([dockerfile("harness"), *harness.variables.values()])
    assert [place for place in places if place not in used and place != "/app/src"] == []


def test_the_harness_starts_programs_where_the_agent_waits_for_them_in_a_folder_of_both():
    services = read_compose(SHIPPED, {"SOUNDSTAGE_MCP_TOKEN": "secret"}).services
    agent, harness = services["claude-code"], services["test-harness"]
    assert agent.argv[-2] == "serve"
    assert harness.variables["ISOLATION"] == f"service:{agent.argv[-1]}"
    shared = {volume for volume in agent.volumes if volume in harness.volumes}
    assert {"sessions:/sessions", "./projects:/projects", "../examples/plugins:/plugins:ro"} <= shared
    assert Path(agent.argv[-1]).parent == Path(harness.variables["TMPDIR"]) == Path("/sessions")


def test_the_agent_has_the_cli_of_the_version_that_is_tested_and_the_harness_none():
    pinned = re.findall(r"claude-agent-sdk==([\d.]+)", (ROOT / "pyproject.toml").read_text())
    assert re.findall(r"CLAUDE_AGENT_SDK=([\d.]+)", dockerfile("agent")) == [pinned[0]]
    assert "--editable '.[mcp]'" in dockerfile("harness")


def test_the_harness_is_not_started_without_a_token():
    with pytest.raises(ScriptError, match="SOUNDSTAGE_MCP_TOKEN is not set"):
        read_compose(SHIPPED, {})


def test_variables_are_filled_in_with_defaults_and_a_dollar_can_be_written(tmp_path):
    path = with_web(tmp_path, command=["${A}", "${B:-b}", "${EMPTY:-}", "$$HOME", "costs ${A}${B:-x}"])
    found = read_compose(path, {"A": "a", "B": ""})
    assert found.services["web"].argv == ["a", "b", "", "$HOME", "costs ax"]


def test_lists_and_texts_mean_the_same_as_elsewhere(tmp_path):
    path = with_web(
        tmp_path,
        command="sh -c 'echo one two'",
        environment=["A=1", "B=x=y"],
        ports=["80:8080", "127.0.0.1:0:9000"],
        healthcheck={"test": ["CMD-SHELL", "test -e /ready"], "interval": "1m30s"},
    )
    web = read_compose(path, {}).services["web"]
    assert web.argv == ["sh", "-c", "echo one two"]
    assert web.variables == {"A": "1", "B": "x=y"}
    assert web.published == {8080: 80, 9000: 0}
    assert web.check == HealthCheck(("/bin/sh", "-c", "test -e /ready"), interval=90)


def test_values_of_the_environment_are_texts(tmp_path):
    path = with_web(tmp_path, environment={"NUMBER": 5, "YES": True, "NONE": None, "TEXT": "t"})
    assert read_compose(path, {}).services["web"].variables == {"NUMBER": "5", "YES": "true", "TEXT": "t"}


@pytest.mark.parametrize(
    ("web", "told"),
    [
        ({"privileged": True}, "privileged"),
        ({"image": 5}, "Expected `str`"),
        ({"depends_on": ["db"]}, "depends on 'db'"),
        ({"depends_on": {"web": {"condition": "service_completed"}}}, "service_completed"),
        ({"depends_on": ["web"]}, "web -> web"),
        ({"networks": ["open"]}, "on the network 'open'"),
        ({"volumes": ["data:/data"]}, "the volume 'data'"),
        ({"volumes": ["./missing:/data"]}, "a folder that is not there"),
        ({"ports": ["0.0.0.0:80:80"]}, "0.0.0.0:80:80"),
        ({"ports": ["80"]}, "OUTSIDE:INSIDE"),
        ({"healthcheck": {"test": ["CMD", "true"], "interval": "soon"}}, "'soon' is no duration"),
        ({"command": "${NOWHERE}"}, "NOWHERE is not set"),
    ],
)
def test_what_is_wrong_with_a_service_is_told(tmp_path, web, told):
    with pytest.raises(ScriptError) as caught:
        read_compose(with_web(tmp_path, **web), {})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "text", ["services: [", "", "- a\n", "services: {}\nextra: 1\n", "version: '3'\nservices: {}"]
)
def test_what_is_no_compose_file_is_refused_with_its_path(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(ScriptError, match=str(path)):
        read_compose(path, {})


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ScriptError, match=r"none\.yaml"):
        read_compose(tmp_path / "none.yaml", {})


@given(st.floats(min_value=0.001, max_value=1000, allow_nan=False).map(lambda number: round(number, 3)))
def test_durations_are_read(number):
    assert seconds(f"{number}s") == pytest.approx(number)


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-5s", "5sec"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ScriptError, match="is no duration"):
        seconds(text)


@pytest.mark.parametrize(
    ("state", "health", "shown"),
    [
        ({"Running": True, "Health": {"Status": "healthy"}}, Health("healthy"), "healthy"),
        ({"Running": True, "Health": {"Status": "unhealthy"}}, Health("unhealthy"), "unhealthy"),
        ({"Running": True, "Health": {"Status": "starting", "Log": None}}, Health("starting"), "starting"),
        ({"Running": True, "Health": {"Status": ""}}, Health("none"), "running"),
        ({"Running": True}, Health("none"), "running"),
        ({"Running": True, "Health": {"Status": "quite healthy"}}, Health("none"), "running"),
        (
            {"Running": False, "ExitCode": 3, "Health": {"Status": "healthy"}},
            Health("healthy", running=False, exit_code=3),
            "exited with 3",
        ),
        ({}, Health("none", running=False), "does not run"),
    ],
)
def test_health_is_what_the_engine_has_in_its_place_for_it(state, health, shown):
    found = health_of({"Name": "healthy", "State": state})
    assert found == health
    assert str(found) == shown
