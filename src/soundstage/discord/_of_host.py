"""The Discord of a run, whichever it is."""

from __future__ import annotations

from soundstage.discord._discord import Discord
from soundstage.discord._virtual import VirtualDiscordGateway
from soundstage.errors import InvalidStateError
from soundstage.host import Host


def discord_of(host: Host) -> Discord | VirtualDiscordGateway:
    """The test's side of the run's Discord, for a body that is run both in process and against a program.

    Raises:
        InvalidStateError: if the builder was not told to add one.

    Example:
        ::

            async def body(host: Host) -> None:
                await discord_of(host).user("ann").says("hello", channel="general")

            HostBuilder().add(VirtualDiscordGateway).with_app(bot).run(body)
            HostBuilder().add(Discord).with_program(["python", "bot.py"]).run(body)
    """
    for daemon in host.daemons:
        if isinstance(daemon, Discord | VirtualDiscordGateway):
            return daemon
    raise InvalidStateError(
        "this run has no Discord: it is not configured",
        seen=", ".join(daemon.name for daemon in host.daemons) or "nothing at all",
        hint="tell the builder: .add(VirtualDiscordGateway) in process, .add(Discord) on a port",
    )
