"""Slash commands: which there are, and what becomes of one on the wire. Pure.

The CLI sends two blocks in place of a command, seen with 2.1.330: `<command-message>`, `<command-name>` and
`<command-args>` in the first, the body of the command's file in the second. A command with `context: fork` has no
such blocks: its body is the first thing that a subagent is told, and the stream says which one it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from soundstage.claude_code._messages import StreamMessage, UserMessage
from soundstage.errors import AppError, near_names
from soundstage.messages import ModelRequest, Text

_NAME: Final = re.compile(r"<command-name>/?(?P<name>[^<]*)</command-name>")
_ARGUMENTS: Final = re.compile(r"<command-args>(?P<arguments>.*?)</command-args>", re.DOTALL)
_FORKED: Final = "forked-command-"  # what the CLI calls the tool call behind a subagent that runs a command


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
        agent: the type of the subagent that received it, for a command with `context: fork`; else empty.
    """

    command: str
    arguments: str
    text: str
    agent: str = ""


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


def forked_expansion(
    prompt: str, messages: Iterable[StreamMessage], requests: Iterable[ModelRequest]
) -> Expansion | None:
    """The command of a turn whose text went to a subagent (`context: fork`); `None` if none did.

    Args:
        prompt: what the turn began with: the command and its arguments.
        messages: what the CLI said.
        requests: what the model server received.
    """
    told = next(
        (item for item in messages if isinstance(item, UserMessage) and item.parent.startswith(_FORKED)), None
    )
    if told is None:
        return None
    command = told.parent.removeprefix(_FORKED)
    wanted = [part.text for part in told.parts if isinstance(part, Text)]
    received = (text for request in requests for text in _user_texts(request) if text in wanted)
    text = next(received, None)
    if text is None:
        return None
    return Expansion(
        command=command,
        arguments=prompt.strip().removeprefix(f"/{command}").strip(),
        text=text,
        agent=str(told.data.get("subagent_type") or ""),
    )


def _user_texts(request: ModelRequest) -> list[str]:
    return [
        part.text
        for message in request.messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, Text)
    ]


def unknown_command(name: str, known: Sequence[str]) -> AppError:
    """The error for a command that a session does not have, with the nearest names."""
    bare = name.rpartition(":")[2]
    near = [found for found in known if found.rpartition(":")[2].casefold() == bare.casefold()]
    near += [found for found in near_names(name, known, cutoff=0.5) if found not in near]
    return AppError(
        f"Claude Code has no command /{name}",
        expected="one of " + ", ".join(f"/{found}" for found in known),
        seen=f"/{name}",
        hint=f"perhaps /{near[0]}" if near else "install its plugin, then reload_plugins() or a new session",
    )


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
