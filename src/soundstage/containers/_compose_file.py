"""Compose files: the part of the Compose specification that our services need. Pure, but for reading the file.

What we do not know is an error that names the key, instead of something that silently does nothing. Variables are
written `${NAME}` or `${NAME:-default}`. Paths are relative to the file; a folder that is not there is an error,
where other tools make an empty one that belongs to root.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml

from soundstage.containers._health import HealthCheck
from soundstage.errors import ScriptError

_VARIABLE: Final = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}|\$\$")
_DURATION: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LOOPBACK: Final = ("127.0.0.1", "localhost", "")


class Build(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an image is built."""

    context: str
    dockerfile: str = "Dockerfile"
    args: dict[str, str] = {}


class HealthCheckSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`healthcheck`."""

    test: list[str]
    interval: str = "5s"
    timeout: str = "3s"
    retries: int = 3
    start_period: str = "0s"


class Dependency(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A service that has to be there first."""

    condition: Literal["service_started", "service_healthy"] = "service_started"


class Service(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of `services`."""

    image: str
    build: Build | None = None
    command: list[str] | str = []
    environment: dict[str, str | int | float | bool | None] | list[str] = {}
    volumes: list[str] = []
    networks: list[str] = []
    ports: list[str] = []
    healthcheck: HealthCheckSpec | None = None
    depends_on: dict[str, Dependency] | list[str] = {}
    init: bool = False
    user: str = ""
    working_dir: str = ""

    @property
    def argv(self) -> list[str]:
        """The command that it runs."""
        return shlex.split(self.command) if isinstance(self.command, str) else self.command

    @property
    def variables(self) -> dict[str, str]:
        """Its environment."""
        given = self.environment
        if isinstance(given, list):
            return dict(variable.partition("=")[::2] for variable in given)
        return {name: _text(value) for name, value in given.items() if value is not None}

    @property
    def check(self) -> HealthCheck | None:
        """Its health check."""
        found = self.healthcheck
        if found is None:
            return None
        kind, *command = found.test
        return HealthCheck(
            ("/bin/sh", "-c", *command) if kind == "CMD-SHELL" else tuple(command),
            interval=seconds(found.interval),
            timeout=seconds(found.timeout),
            retries=found.retries,
            start=seconds(found.start_period),
        )

    @property
    def published(self) -> dict[int, int]:
        """Its ports, and where they are reached."""
        found = {}
        for port in self.ports:
            host, _, rest = port.rpartition(":")
            address, _, outside = host.rpartition(":")
            if address not in _LOOPBACK or not rest.isdecimal() or not outside.isdecimal():
                raise ScriptError(
                    f"the port {port!r} cannot be published", expected="[127.0.0.1:]OUTSIDE:INSIDE"
                )
            found[int(rest)] = int(outside)
        return found


class NetworkSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of `networks`."""

    internal: bool = False


class ComposeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A compose file that we understand."""

    services: dict[str, Service]
    name: str = "soundstage"
    networks: dict[str, NetworkSpec | None] = {}
    volumes: dict[str, None] = {}

    def order(self) -> list[str]:
        """The services, each after those that it depends on.

        Raises:
            ScriptError: if they depend on each other in a circle, or on one that is not there.
        """
        graph = {name: list(service.depends_on) for name, service in self.services.items()}
        for name, needed in graph.items():
            _need(needed, self.services, f"the service {name!r} depends on")
        try:
            return list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            raise ScriptError(
                "services depend on each other in a circle", seen=" -> ".join(error.args[1])
            ) from None


def read_compose(path: Path, environment: Mapping[str, str]) -> ComposeFile:
    """Read a compose file.

    Args:
        path: the file.
        environment: the variables that it may use.

    Raises:
        ScriptError: if it is not there, is no YAML, or says something that we do not understand.
    """
    try:
        data = yaml.safe_load(path.read_text())
        found = msgspec.convert(_filled_in(data, environment), ComposeFile)
    except (OSError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise ScriptError(
            f"{path} is not a compose file that Soundstage understands",
            expected="the keys that docs/isolation.md lists",
            seen=str(error),
        ) from None
    found.order()
    for name, service in found.services.items():
        _ = service.published, service.check  # what is wrong with them is told now
        _need(service.networks, found.networks, f"the service {name!r} is on the network")
        for volume in service.volumes:
            source = volume.split(":")[0]
            if is_path(source) and not (path.parent / source).exists():
                raise ScriptError(
                    f"the service {name!r} mounts a folder that is not there", seen=str(path.parent / source)
                )
            if not is_path(source):
                _need([source], found.volumes, f"the service {name!r} mounts the volume")
    return found


def is_path(source: str) -> bool:
    """Whether a mount is of a path; it is of a volume otherwise."""
    return source.startswith((".", "/", "~"))


def seconds(text: str) -> float:
    """A duration of a compose file in seconds.

    >>> seconds("1m30s"), seconds("500ms")
    (90.0, 0.5)
    """
    if not re.fullmatch(rf"({_DURATION.pattern})+".replace("?P<number>", "").replace("?P<unit>", ""), text):
        raise ScriptError(f"{text!r} is no duration", expected="such as 5s, 1m30s or 500ms")
    return sum(float(part["number"]) * _UNITS[part["unit"]] for part in _DURATION.finditer(text))


def _need(names: list[str], known: Mapping[str, Any], what: str) -> None:
    for name in names:
        if name not in known:
            raise ScriptError(f"{what} {name!r}, which is not there", expected=", ".join(known) or "none")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filled_in(data: Any, environment: Mapping[str, str]) -> Any:
    """The data with its variables replaced."""
    if isinstance(data, dict):
        return {key: _filled_in(value, environment) for key, value in data.items()}
    if isinstance(data, list):
        return [_filled_in(value, environment) for value in data]
    if isinstance(data, str):
        return _VARIABLE.sub(lambda found: _value(found, environment), data)
    return data


def _value(found: re.Match[str], environment: Mapping[str, str]) -> str:
    if found[0] == "$$":
        return "$"
    value = environment.get(found["name"]) or found["default"]
    if value is None:
        raise ScriptError(f"the variable {found['name']} is not set", hint="set it, or give it a default")
    return value
