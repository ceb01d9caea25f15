"""REST routes of application commands: global ones, and those of the guild.

Source: https://discord.com/developers/docs/interactions/application-commands
"""

from __future__ import annotations

import re
from typing import Any, Final

from soundstage.discord import _payloads as payloads
from soundstage.discord._call import Call, Route
from soundstage.discord._events import DiscordCommandsRegistered
from soundstage.discord._problems import (
    UNKNOWN_APPLICATION,
    UNKNOWN_COMMAND,
    UNKNOWN_GUILD,
    RestRefused,
    invalid,
)
from soundstage.discord._records import ApplicationCommand

CHAT_INPUT: Final = 1
LONGEST_NAME: Final = 32
_NAME: Final = re.compile(r"[-_'\w\u0900-\u097f\u0e00-\u0e7f]{1,32}")


def _scope(call: Call) -> int | None:
    """The guild in the path, if there is one; who asks must be the application itself."""
    if call.params["application_id"] != call.me:
        raise RestRefused(UNKNOWN_APPLICATION)
    guild_id: int | None = call.params.get("guild_id")
    if guild_id not in (None, call.platform.state.guild.id):
        raise RestRefused(UNKNOWN_GUILD)
    return guild_id


def _those(call: Call) -> list[ApplicationCommand]:
    scope = _scope(call)
    return [command for command in call.platform.state.commands.values() if command.guild_id == scope]


def _that(call: Call) -> ApplicationCommand:
    for command in _those(call):
        if command.id == call.params["command_id"]:
            return command
    raise RestRefused(UNKNOWN_COMMAND)


def _checked(spec: Any, field: str = "") -> dict[str, Any]:
    """A command as it is sent, or Discord's 400."""
    dot = f"{field}." if field else ""
    if not isinstance(spec, dict):
        raise invalid(field or "body", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
    name = spec.get("name")
    chat = spec.get("type", CHAT_INPUT) == CHAT_INPUT
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME:
        raise invalid(
            f"{dot}name", "BASE_TYPE_BAD_LENGTH", f"Must be between 1 and {LONGEST_NAME} in length."
        )
    if chat and (not _NAME.fullmatch(name) or name != name.lower()):
        raise invalid(f"{dot}name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    if chat and not spec.get("description"):
        raise invalid(f"{dot}description", "BASE_TYPE_REQUIRED", "This field is required")
    return spec


def _keep(call: Call, spec: dict[str, Any]) -> ApplicationCommand:
    """Add a command, or replace the one of the same name and type."""
    scope, kind = _scope(call), spec.get("type", CHAT_INPUT)
    same = [command.id for command in _those(call) if (command.name, command.type) == (spec["name"], kind)]
    number = same[0] if same else call.platform.snowflakes.draw()
    command = ApplicationCommand(id=number, name=spec["name"], type=kind, spec=spec, guild_id=scope)
    call.platform.state.commands[number] = command
    return command


def _told(call: Call) -> None:
    names = tuple(shown(command) for command in _those(call))
    guild = _scope(call) is not None
    call.platform.record(DiscordCommandsRegistered(commands=names, scope="guild" if guild else "global"))


def shown(command: ApplicationCommand) -> str:
    """A command as users write it: `/ask`; commands of menus have no slash."""
    return f"/{command.name}" if command.type == CHAT_INPUT else command.name


def list_commands(call: Call) -> Any:
    return [payloads.command(call.platform.state, command) for command in _those(call)]


def get_command(call: Call) -> Any:
    return payloads.command(call.platform.state, _that(call))


def make_command(call: Call) -> Any:
    command = _keep(call, _checked(call.body))
    _told(call)
    return payloads.command(call.platform.state, command)


def replace_commands(call: Call) -> Any:
    """The commands in the body, and no others."""
    if not isinstance(call.body, list):
        raise invalid("body", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    specs = [_checked(spec, str(place)) for place, spec in enumerate(call.body)]
    before = {command.id for command in _those(call)}
    kept = [_keep(call, spec) for spec in specs]
    for number in before - {command.id for command in kept}:
        del call.platform.state.commands[number]
    _told(call)
    return [payloads.command(call.platform.state, command) for command in kept]


def edit_command(call: Call) -> Any:
    old = _that(call)
    spec = _checked(old.spec | call.fields)
    newer = ApplicationCommand(id=old.id, name=spec["name"], type=old.type, spec=spec, guild_id=old.guild_id)
    call.platform.state.commands[old.id] = newer
    _told(call)
    return payloads.command(call.platform.state, newer)


def delete_command(call: Call) -> None:
    del call.platform.state.commands[_that(call).id]
    _told(call)


def _routes(start: str) -> tuple[Route, ...]:
    one = start + "/{command_id}"
    return (
        Route("GET", start, list_commands),
        Route("POST", start, make_command),
        Route("PUT", start, replace_commands),
        Route("GET", one, get_command),
        Route("PATCH", one, edit_command),
        Route("DELETE", one, delete_command),
    )


ROUTES: Final = (
    *_routes("/applications/{application_id}/commands"),
    *_routes("/applications/{application_id}/guilds/{guild_id}/commands"),
)
