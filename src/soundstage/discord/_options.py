"""Slash commands as a user types them: the command is found, its options are checked and put on the wire. Pure.

Source: https://discord.com/developers/docs/interactions/application-commands#application-command-object
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from soundstage.discord._records import ApplicationCommand
from soundstage.discord._routes_commands import CHAT_INPUT, shown
from soundstage.errors import ExpectationError

SUBCOMMAND: Final = 1
GROUP: Final = 2
STRING: Final = 3
INTEGER: Final = 4
BOOLEAN: Final = 5
USER: Final = 6
CHANNEL: Final = 7
MENTIONABLE: Final = 9
NUMBER: Final = 10

# type of an option -> the Python types that a test may give for it
_TYPES: Final[dict[int, tuple[type, ...]]] = {
    STRING: (str,),
    INTEGER: (int,),
    BOOLEAN: (bool,),
    NUMBER: (int, float),
}
_TYPE_NAMES: Final = {STRING: "text", INTEGER: "a whole number", BOOLEAN: "True or False", NUMBER: "a number"}


class Found(NamedTuple):
    """A command, the subcommands on the way to it, and the options that it takes."""

    command: ApplicationCommand
    path: tuple[tuple[int, str], ...]
    options: tuple[dict[str, Any], ...]


def find(commands: Iterable[ApplicationCommand], typed: str) -> Found | None:
    """The command that a user means with `/ask` or `/remind add`; those of the guild come first."""
    words = typed.removeprefix("/").split()
    chat = [command for command in commands if command.type == CHAT_INPUT]
    for command in sorted(chat, key=lambda command: command.guild_id is None):
        if words and command.name == words[0]:
            return _descend(command, words[1:])
    return None


def _descend(command: ApplicationCommand, words: list[str]) -> Found | None:
    options = command.spec.get("options") or []
    path: list[tuple[int, str]] = []
    for word in words:
        inner = next(
            (item for item in options if item["name"] == word and item["type"] in (SUBCOMMAND, GROUP)), None
        )
        if inner is None:
            return None
        path.append((inner["type"], word))
        options = inner.get("options") or []
    if any(item["type"] in (SUBCOMMAND, GROUP) for item in options):
        return None  # a group is not a command
    return Found(command, tuple(path), tuple(options))


def names(commands: Iterable[ApplicationCommand]) -> list[str]:
    """All that a user can type, with subcommands, for messages."""
    found: list[str] = []
    for command in commands:
        inner = command.spec.get("options") or []
        below = list(_below(inner))
        found += [f"{shown(command)} {name}" for name in below] if below else [shown(command)]
    return found


def _below(options: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for item in options:
        if item["type"] == SUBCOMMAND:
            yield item["name"]
        elif item["type"] == GROUP:
            yield from (f"{item['name']} {name}" for name in _below(item.get("options") or ()))


Resolve = Callable[[int, Any], int]


def encode(
    found: Found, values: Mapping[str, Any], resolve: Resolve, *, focused: str = ""
) -> list[dict[str, Any]]:
    """The options of a command as Discord sends them.

    Args:
        found: the command.
        values: what the user gives, by the names of the options.
        resolve: the id for a value that names a user, channel or role, given the type of the option.
        focused: the option that the user is just typing; it is not checked, nor are others missing.

    Raises:
        ExpectationError: if an option is not there, misses, or has a value that it does not take.
    """
    known = {item["name"]: item for item in found.options}
    for name in values:
        if name not in known:
            raise ExpectationError(
                f"{_typed(found)} has no option {name!r}", seen=", ".join(known) or "it takes no options"
            )
    missing = [name for name, item in known.items() if item.get("required") and name not in values]
    if missing and not focused:
        raise ExpectationError(
            f"{_typed(found)} needs the option {missing[0]!r}", seen=", ".join(values) or "no options"
        )
    sent: list[dict[str, Any]] = []
    for name, value in values.items():
        kind = known[name]["type"]
        wire = {"name": name, "type": kind}
        if name == focused:
            sent.append({**wire, "value": value, "focused": True})
        else:
            sent.append({**wire, "value": _value(found, known[name], value, resolve)})
    for kind, name in reversed(found.path):
        sent = [{"name": name, "type": kind, "options": sent}]
    return sent


def _typed(found: Found) -> str:
    return " ".join((shown(found.command), *(name for _, name in found.path)))


def _value(found: Found, option: Mapping[str, Any], value: Any, resolve: Resolve) -> Any:
    kind = option["type"]
    choices = option.get("choices") or []
    for choice in choices:
        if value in (choice["name"], choice["value"]):
            return choice["value"]
    if choices:
        raise ExpectationError(
            f"the option {option['name']!r} of {_typed(found)} has no choice {value!r}",
            seen=", ".join(repr(choice["name"]) for choice in choices),
        )
    if kind not in _TYPES:
        return str(resolve(kind, value))
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != BOOLEAN):
        raise ExpectationError(
            f"the option {option['name']!r} of {_typed(found)} does not take {value!r}",
            expected=_TYPE_NAMES[kind],
            seen=type(value).__name__,
        )
    return value
