"""Slash commands: which there are, and what becomes of one on the wire. Pure.

The CLI sends two blocks in place of a command, seen with 2.1.330: `<command-message>`, `<command-name>` and
`<command-args>` in the first, the body of the command's file in the second. `expand_command` says what that
second block should be; it follows the rules that were measured, so a test can compare.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from soundstage.errors import AppError
from soundstage.messages import ModelRequest, Text

_NAME: Final = re.compile(r"<command-name>/?(?P<name>[^<]*)</command-name>")
_ARGUMENTS: Final = re.compile(r"<command-args>(?P<arguments>.*?)</command-args>", re.DOTALL)
_FRONT_MATTER: Final = re.compile(r"\A---\r?\n.*?^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
_PLACEHOLDER: Final = re.compile(r"\$ARGUMENTS|\$(?P<number>\d+)(?!\w)")


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command or skill that a session offers. `plugin` is empty for those of the project or the CLI."""

    name: str
    description: str = ""
    argument_hint: str = ""
    plugin: str = ""
    builtin: bool = False


class Expansion(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command as the model server received it.

    Args:
        command: its name, without the slash.
        arguments: what came after it.
        text: the body of the command, expanded.
    """

    command: str
    arguments: str
    text: str


def slash_commands(items: Iterable[Any]) -> tuple[SlashCommand, ...]:
    """The commands of an `initialize` or `reload_plugins` answer."""
    return tuple(_slash_command(item) for item in items if isinstance(item, Mapping))


def _slash_command(item: Mapping[str, Any]) -> SlashCommand:
    name = str(item.get("name", ""))
    plugin = name.partition(":")[0] if ":" in name else ""
    description = str(item.get("description", ""))
    return SlashCommand(
        name=name,
        description=description.removeprefix(f"({plugin}) ") if plugin else description,
        argument_hint=str(item.get("argumentHint") or ""),
        plugin=plugin,
        builtin=item.get("builtin") is True,
    )


def expansions(request: ModelRequest) -> tuple[Expansion, ...]:
    """The commands that are new in a request: those after the model's last words, in order.

    Commands that the CLI ran by itself, such as `/clear`, are told to the model too; they do not count.
    """
    found: list[Expansion] = []
    for message in reversed(request.messages):
        if message.role == "assistant":
            break
        texts = [part.text for part in message.parts if isinstance(part, Text)]
        found[:0] = (
            _expansion(texts, number)
            for number, text in enumerate(texts)
            if text.startswith("<command-message>") and _NAME.search(text)
        )
    return tuple(found)


def _expansion(texts: list[str], number: int) -> Expansion:
    name, arguments = _NAME.search(texts[number]), _ARGUMENTS.search(texts[number])
    return Expansion(
        command=name["name"] if name else "",
        arguments=arguments["arguments"] if arguments else "",
        text=texts[number + 1] if number + 1 < len(texts) else "",
    )


def unknown_command(name: str, known: Sequence[str]) -> AppError:
    """The error for a command that a session does not have, with the nearest names."""
    bare = name.rpartition(":")[2]
    near = [found for found in known if found.rpartition(":")[2].casefold() == bare.casefold()]
    near += [found for found in difflib.get_close_matches(name, known, cutoff=0.5) if found not in near]
    return AppError(
        f"Claude Code has no command /{name}",
        expected="one of " + ", ".join(f"/{found}" for found in known),
        seen=f"/{name}",
        hint=f"perhaps /{near[0]}" if near else "install its plugin, then reload_plugins() or a new session",
    )


def expand_command(file: str, arguments: str = "", *, plugin_root: str = "", session_id: str = "") -> str:
    """What a command's file becomes for the model, by the rules of the CLI.

    `$ARGUMENTS` is everything, `$0` the first word, `$1` the second; a word that is not there stays as it is
    written. Without a placeholder, arguments are appended. Shell commands (`` !`...` ``) and `@files` are not
    carried out here.

    >>> expand_command("---\\ndescription: x\\n---\\nGreet $0, then $1.", "Bob Ann")
    'Greet Bob, then Ann.'
    >>> expand_command("Look around.", "the attic")
    'Look around.\\n\\nARGUMENTS: the attic'
    """
    body = _FRONT_MATTER.sub("", file, count=1).lstrip()
    words = _words(arguments)

    def value(found: re.Match[str]) -> str:
        if found["number"] is None:
            return arguments
        number = int(found["number"])
        return words[number] if number < len(words) else found[0]

    text, placeholders = _PLACEHOLDER.subn(value, body)
    if arguments and not placeholders:
        text += f"\n\nARGUMENTS: {arguments}"
    for name, known in (("CLAUDE_PLUGIN_ROOT", plugin_root), ("CLAUDE_SESSION_ID", session_id)):
        text = text.replace(f"${{{name}}}", known) if known else text
    return text


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an open quote
        return arguments.split()


def same_command(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Commands of several plugins that have one name behind the colon: `iterate` -> (`a:iterate`, `b:iterate`).

    >>> same_command(["a:iterate", "b:iterate", "a:plan"])
    {'iterate': ('a:iterate', 'b:iterate')}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        if ":" in name:
            found.setdefault(name.partition(":")[2], []).append(name)
    return {name: tuple(full) for name, full in found.items() if len(full) > 1}
