"""The isolation levels `netns`, `sandbox` and `service:SOCKET`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec

from soundstage.drivers import own_folders
from soundstage.isolation._netns import Namespace
from soundstage.isolation._sandbox_isolator import SandboxIsolator
from soundstage.isolation._sandbox_view import hidden_folders
from soundstage.isolation._service_isolator import ServiceIsolator
from soundstage.journal import Journal
from soundstage.lifecycle import Isolator


class InNetwork(msgspec.Struct, frozen=True):
    """Isolation in a network in which there is nothing but the servers of the run; `netns` for short.

    Every try to leave is refused and recorded. Files are those of its user.
    """

    reads: ClassVar[tuple[Path, ...]] = ()
    entry_tells: ClassVar = False

    def hidden(self) -> Iterable[Path]:
        """None: it sees all files."""
        return ()

    def make_isolator(self, journal: Journal, root: Path, reads: Sequence[Path]) -> Isolator:
        """A namespace of networks for all programs."""
        return Namespace(journal, root / "etc")

    async def remove_volumes(self) -> list[str]:
        """Nothing is left outside of its folders."""
        return []


class InSandbox(msgspec.Struct, frozen=True):
    """Isolation as `InNetwork`, in a sandbox besides: it writes to its own folders alone, and does not see the user's.

    `sandbox` for short. Its own folders are the throw-away ones and the one that it works in; this adds others.

    Args:
        reads: files and folders that it sees although they are in a home or a temporary folder.
        writes: folders that it may write to.

    Example:
        ::

            Command(["python3", "agent.py"], journal, cwd=project, isolation=InSandbox(reads=(fixtures,)))
    """

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    entry_tells: ClassVar = True

    def hidden(self) -> Iterable[Path]:
        """The user's home, and temporary folders."""
        return hidden_folders()

    def make_isolator(self, journal: Journal, root: Path, reads: Sequence[Path]) -> Isolator:
        """A namespace of mounts for each program."""
        return SandboxIsolator(journal, root / "etc", own=own_folders(root), reads=reads, writes=self.writes)

    async def remove_volumes(self) -> list[str]:
        """Nothing is left outside of its folders."""
        return []


class InService(msgspec.Struct, frozen=True):
    """Isolation in a service that runs already, such as a container of a compose file; `service:SOCKET` for short.

    The program is the service's own, and so are its files, processes and network. The temporary folder of the tests
    and the folders that programs work in have to be shared with it, at the same paths.

    Args:
        socket: where it waits: it runs `_service.py serve SOCKET`; see docs/isolation.md.

    Example:
        ::

            ClaudeCode(journal, server, Path("/projects/shop"), isolation=InService(Path("/sessions/agent.sock")))
    """

    socket: Path
    reads: ClassVar[tuple[Path, ...]] = ()
    entry_tells: ClassVar = False

    def hidden(self) -> Iterable[Path]:
        """None: what is needed has to be in the shared folders."""
        return ()

    def make_isolator(self, journal: Journal, root: Path, reads: Sequence[Path]) -> Isolator:
        """The service starts the programs."""
        return ServiceIsolator(journal, self.socket)

    async def remove_volumes(self) -> list[str]:
        """The service's volumes are its own."""
        return []


def in_service(socket: str) -> InService:
    """The level `service:SOCKET`."""
    return InService(Path(socket))
