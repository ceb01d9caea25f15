"""The container engine, by the Docker API; the only place that imports the Docker SDK.

How it works. Docker and Podman's service speak the same API. The SDK blocks, so its calls run in threads (`call`),
and every foreign error becomes one of ours there. Everything that we make in the engine carries labels that say
which process on which machine it belongs to. The first connection of a process removes what belongs to processes
of this machine that are dead; so whatever a killed run has left goes at the next start. It also asks what kind of
engine that is, which takes Podman a second or more; later connections to the same place ask nothing.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from soundstage.errors import EnvironmentProblem
from soundstage.lifecycle import owner_is_dead, started_at

T = TypeVar("T")
ADDRESS: Final = "DOCKER_HOST"
TIMEOUT: Final = 60  # seconds for one call
LISTED: Final = 20  # times that a list is asked for again
LABEL: Final = "soundstage"
_swept: set[str] = set()


class _Kind(NamedTuple):
    """The properties of an engine that do not change while it runs."""

    api_version: str
    is_podman: bool
    is_rootless: bool


_kinds: dict[str, _Kind] = {}  # by address


def address(environment: Mapping[str, str]) -> str:
    """Where the engine is: $DOCKER_HOST, else the first socket that is there, of Docker or of Podman."""
    if found := environment.get(ADDRESS):
        return found
    places = ["/var/run/docker.sock", "/run/podman/podman.sock"]
    if folder := environment.get("XDG_RUNTIME_DIR"):
        places.insert(1, f"{folder}/podman/podman.sock")
    return f"unix://{next((place for place in places if Path(place).exists()), places[0])}"


def own_labels() -> dict[str, str]:
    """Return the labels that mark something in the engine as made by this process."""
    pid = os.getpid()
    return {
        LABEL: "1",
        f"{LABEL}.machine": socket.gethostname(),
        f"{LABEL}.owner": f"{pid}-{started_at(pid)}",
    }


class Engine:
    """A connection to the container engine. Made by `Engine.connect`; close it.

    Args:
        client: the SDK's client.
        base_url: where it is.
    """

    def __init__(self, client: Any, base_url: str) -> None:
        self.client = client
        self.base_url = base_url
        if base_url not in _kinds:
            _kinds[base_url] = _kind_of(client)
        self.is_podman = _kinds[base_url].is_podman
        self.is_rootless = _kinds[base_url].is_rootless

    @classmethod
    async def connect(cls) -> Engine:
        """Connect, and remove what dead processes have left, the first time.

        Raises:
            EnvironmentProblem: if there is no engine, or the SDK is not installed.
        """
        return await asyncio.to_thread(cls.connect_now)

    @classmethod
    def connect_now(cls) -> Engine:
        """The same for those who may block."""
        base_url = address(os.environ)
        try:
            import docker
        except ImportError:
            raise EnvironmentProblem(
                "containers need the Docker SDK", hint="pip install 'soundstage[container]'"
            ) from None
        _look_for(base_url)
        known = _kinds.get(base_url)  # without a version, the SDK asks for it
        version = known.api_version if known is not None else None
        make = partial(docker.DockerClient, base_url=base_url, version=version, timeout=TIMEOUT)
        engine = guarded(lambda: cls(make(), base_url))
        if base_url not in _swept:
            _swept.add(base_url)
            engine.sweep()
        return engine

    @property
    def socket(self) -> str:
        """The path of its Unix socket.

        Raises:
            EnvironmentProblem: if it is somewhere else, where programs on this machine cannot be its containers.
        """
        if not self.base_url.startswith("unix://"):
            raise EnvironmentProblem(
                "the container engine is not on this machine",
                expected="a Unix socket",
                seen=f"${ADDRESS} is {self.base_url}",
                hint="use an engine on this machine, or the compose file for one elsewhere",
            )
        return self.base_url.removeprefix("unix://")

    @property
    def user(self) -> str:
        """Who programs in containers are, so that files which they make are ours."""
        return "" if self.is_rootless else f"{os.getuid()}:{os.getgid()}"

    async def call(self, work: Callable[[], T]) -> T:
        """Do something that blocks, in a thread.

        Raises:
            EnvironmentProblem: with what the engine says, if it refuses.
        """
        return await asyncio.to_thread(guarded, work)

    async def make(self, work: Callable[[], T], undo: Callable[[T], Any]) -> T:
        """Make something that blocks, in a thread, which goes on when we are interrupted: then it is undone.

        Raises:
            EnvironmentProblem: with what the engine says, if it refuses.
        """
        making = asyncio.ensure_future(self.call(work))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            await asyncio.wait({making})
            if making.exception() is None:
                await self.call(partial(forgiving, partial(undo, making.result())))
            raise

    def close(self) -> None:
        """Close the connection. Harmless when repeated."""
        self.client.close()

    def sweep(self) -> None:
        """Remove what belongs to processes of this machine that are dead."""
        mine = {"label": [f"{LABEL}.machine={socket.gethostname()}"]}
        guarded(lambda: self._remove(mine, _is_stale))

    def remove_labelled(self, label: str) -> None:
        """Remove everything with a label: containers first, then networks and volumes."""
        guarded(lambda: self._remove({"label": [label]}, lambda _: True))

    def remove_own_volumes(self) -> list[str]:
        """Remove the volumes of this process that no container uses. Returns the names of those that are left."""
        mine = {"label": [f"{LABEL}.owner={own_labels()[f'{LABEL}.owner']}"]}
        for volume in listed(partial(self.client.volumes.list, filters=mine)):
            forgiving(partial(volume.remove))
        return [volume.name for volume in listed(partial(self.client.volumes.list, filters=mine))]

    def _remove(self, filters: dict[str, Any], wanted: Callable[[Mapping[str, str]], bool]) -> None:
        for container in listed(partial(self.client.containers.list, all=True, filters=filters)):
            if wanted(container.labels):
                forgiving(partial(container.remove, force=True, v=True))
        for network in listed(partial(self.client.networks.list, filters=filters)):
            if wanted(network.attrs.get("Labels") or {}):
                forgiving(network.remove)
        for volume in listed(partial(self.client.volumes.list, filters=filters)):
            if wanted(volume.attrs.get("Labels") or {}):
                forgiving(partial(volume.remove, force=True))


def engine_problem() -> EnvironmentProblem | None:
    """Return the reason why this machine cannot run services in containers; `None` if it can.

    For tests that are to be skipped where they cannot run.

    Example:
        ::

            problem = engine_problem()
            if problem is not None:
                pytest.skip(str(problem))
    """
    try:
        engine = Engine.connect_now()
        try:
            engine.socket  # noqa: B018  (it has to be on this machine)
        finally:
            engine.close()
    except EnvironmentProblem as problem:
        return problem
    return None


def _kind_of(client: Any) -> _Kind:
    components = client.version()["Components"]
    options = client.info().get("SecurityOptions") or ()
    return _Kind(
        api_version=str(client.api.api_version),
        is_podman=any(part.get("Name") == "Podman Engine" for part in components),
        is_rootless=any("rootless" in option for option in options),
    )


def _look_for(base_url: str) -> None:
    """Fail early if nobody listens on a Unix socket: the SDK would leave a socket of its own open."""
    if base_url.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as tried:
            try:
                tried.connect(base_url.removeprefix("unix://"))
            except OSError as error:
                raise _no_engine(base_url, error) from None


def _is_stale(labels: Mapping[str, str]) -> bool:
    pid, _, start = labels.get(f"{LABEL}.owner", "").partition("-")
    return pid.isdecimal() and start.isdecimal() and owner_is_dead(int(pid), int(start))


def forgiving(work: Callable[[], Any]) -> None:
    """Remove something that may be gone already, or be under removal by somebody else."""
    import docker

    try:
        work()
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as error:
        if error.status_code != 409:  # Conflict: "removal of container ... is already in progress"
            raise


def listed(work: Callable[[], list[Any]]) -> list[Any]:
    """List things in the engine. Podman fails when something is removed while it lists; then it is asked again."""
    import docker

    for _ in range(LISTED):
        try:
            return work()
        except docker.errors.APIError as error:
            if "no such" not in str(error.explanation).lower():
                raise
    return work()


def guarded(work: Callable[[], T]) -> T:
    """Return the result of `work`; raise the SDK's errors as ours."""
    import docker
    import requests

    try:
        return work()
    except docker.errors.ImageNotFound as error:
        raise EnvironmentProblem(
            "the container engine does not have this image",
            seen=error.explanation or str(error),
            hint="build it: see docs/isolation.md; tools/podman.sh builds the base images of the tests",
        ) from None
    except docker.errors.APIError as error:
        raise EnvironmentProblem(
            "the container engine refuses", seen=error.explanation or str(error)
        ) from None
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise _no_engine(address(os.environ), error) from None


def _no_engine(base_url: str, error: Exception) -> EnvironmentProblem:
    return EnvironmentProblem(
        "no container engine answers",
        expected=f"Docker, or Podman's service, at {base_url}",
        seen=str(error),
        hint=f'start one, or say where it is in ${ADDRESS}; on a Debian machine: eval "$(tools/podman.sh)"',
    )
