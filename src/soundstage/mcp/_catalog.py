"""The tools, resources and prompts of a server: plain records, and their form on the wire. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError
from soundstage.mcp._answer import Json, ToolAnswer, text_block

ANYTHING: Final[Json] = {"type": "object"}  # a schema that every call satisfies
_SLOT: Final = re.compile(r"\{(\w+)\}")

Completion = Sequence[str] | Callable[[str, Mapping[str, str]], Any]
"""Values of an argument; or a function of what has been typed and of the other arguments, which may be async."""


class McpTool(NamedTuple):
    """A tool as clients see it.

    Args:
        name: its name.
        description: what it does; the model reads it.
        schema: JSON Schema of its arguments.
        title: for people.
        output_schema: JSON Schema of a structured result.
        annotations: hints for clients: `{"readOnlyHint": True}`.
        default: the answer when no rule has one.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = ANYTHING
    title: str = ""
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None
    default: ToolAnswer | Callable[..., Any] | None = None

    def as_json(self) -> Json:
        """An entry of `tools/list`."""
        found: Json = {"name": self.name, "description": self.description, "inputSchema": dict(self.schema)}
        extra = {
            "title": self.title,
            "outputSchema": self.output_schema and dict(self.output_schema),
            "annotations": self.annotations and dict(self.annotations),
        }
        return found | {name: value for name, value in extra.items() if value}


class McpResource(NamedTuple):
    """A resource; with `{name}` in its address it is a template.

    Args:
        uri: its address.
        content: text, bytes, or a function of the names in the address that returns either.
        name: for people.
        description: what it is.
        mime_type: of the content.
        completes: for the names in a template, the values that clients may offer: a list, or a function of what
            has been typed and of the other arguments.
    """

    uri: str
    content: str | bytes | Callable[..., Any]
    name: str = ""
    description: str = ""
    mime_type: str = ""
    completes: Mapping[str, Completion] = {}

    @property
    def is_template(self) -> bool:
        """Whether its address has names in it."""
        return _SLOT.search(self.uri) is not None

    def values(self, uri: str) -> dict[str, str] | None:
        """The values in `uri` for the names of the address; nothing if it is another resource's."""
        pieces = _SLOT.split(self.uri)
        pattern = "".join(
            re.escape(piece) if place % 2 == 0 else f"(?P<{piece}>[^/]+)"
            for place, piece in enumerate(pieces)
        )
        found = re.fullmatch(pattern, uri)
        return found.groupdict() if found else None

    def as_json(self) -> Json:
        """An entry of `resources/list`, or of `resources/templates/list`."""
        key = "uriTemplate" if self.is_template else "uri"
        found: Json = {key: self.uri, "name": self.name or self.uri}
        extra = {"description": self.description, "mimeType": self.mime_type}
        return found | {name: value for name, value in extra.items() if value}


class McpPrompt(NamedTuple):
    """A prompt that clients offer to people.

    Args:
        name: its name.
        messages: pairs of a role and a text, in which `{argument}` stands for an argument; or a function of the
            arguments that returns a text or such pairs.
        description: what it is for.
        arguments: for each argument what it is; those that must be given end in `*`.
        completes: for arguments, the values that clients may offer, as of `McpResource`.
    """

    name: str
    messages: tuple[tuple[str, str], ...] | Callable[..., Any]
    description: str = ""
    arguments: Mapping[str, str] = {}
    completes: Mapping[str, Completion] = {}

    @property
    def required(self) -> list[str]:
        """The arguments that must be given."""
        return [name.removesuffix("*") for name in self.arguments if name.endswith("*")]

    def as_json(self) -> Json:
        """An entry of `prompts/list`."""
        listed = [
            {"name": name.removesuffix("*"), "description": what, "required": name.endswith("*")}
            for name, what in self.arguments.items()
        ]
        found: Json = {"name": self.name, "arguments": listed}
        return {**found, "description": self.description} if self.description else found

    def made(self, arguments: Mapping[str, str]) -> Json:
        """The result of `prompts/get`."""
        said = self.messages(**arguments) if callable(self.messages) else self.messages
        pairs = (("user", said),) if isinstance(said, str) else said
        filled = [(role, _filled(text, {} if callable(self.messages) else arguments)) for role, text in pairs]
        messages = [{"role": role, "content": text_block(text)} for role, text in filled]
        return {"description": self.description, "messages": messages}


def slots_of(uri: str) -> list[str]:
    """The names in the address of a template."""
    return _SLOT.findall(uri)


def _filled(text: str, arguments: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: str(arguments.get(slot[1], slot[0])), text)


def need_name(what: str, name: Any) -> str:
    """A name that can be one.

    Raises:
        ScriptError: if it is empty or no text.
    """
    if not isinstance(name, str) or not name.strip():
        raise ScriptError(f"{what} needs a name that is not blank", seen=repr(name))
    return name
