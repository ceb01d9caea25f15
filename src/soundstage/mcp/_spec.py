"""The form of a script file of MCP servers, as records. The published JSON Schema is made of these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from soundstage.mcp._answer import ToolAnswer
from soundstage.mcp._catalog import ANYTHING

Times = Annotated[int, msgspec.Meta(ge=1)]


class _Spec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of the records of a file."""


class ToolRuleSpec(_Spec, frozen=True, kw_only=True):
    """One rule of a tool: for which arguments, and what it answers.

    Args:
        returns: text, or an answer with all its details.
        when: for each argument a condition; for every call unless given.
        priority: higher ones are asked first; equal ones in the order of the file.
        times: how often it serves before it steps aside; without limit unless given.
        name: how messages call it.
    """

    returns: str | ToolAnswer
    when: dict[str, Any] = {}
    priority: int = 0
    times: Times | None = None
    name: str = ""


class ToolSpec(_Spec, frozen=True, kw_only=True):
    """A tool and its rules.

    Args:
        name: its name.
        description: what it does; the model reads it.
        schema: JSON Schema of its arguments, an object.
        title: for people.
        output_schema: JSON Schema of structured results.
        annotations: hints for clients, such as `readOnlyHint`.
        rules: what it answers, and when.
        returns: the answer when no rule has one.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    description: str = ""
    schema: dict[str, Any] = msgspec.field(default_factory=lambda: dict(ANYTHING))
    title: str = ""
    output_schema: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    rules: tuple[ToolRuleSpec, ...] = ()
    returns: str | ToolAnswer | None = None


class ResourceSpec(_Spec, frozen=True, kw_only=True):
    """A resource.

    Args:
        uri: its address.
        text: what it says.
        name: for people.
        description: what it is.
        mime_type: of the content.
    """

    uri: Annotated[str, msgspec.Meta(min_length=1)]
    text: str
    name: str = ""
    description: str = ""
    mime_type: str = ""


class MessageSpec(_Spec, frozen=True, kw_only=True):
    """A message of a prompt."""

    text: str
    role: Literal["user", "assistant"] = "user"


class PromptSpec(_Spec, frozen=True, kw_only=True):
    """A prompt.

    Args:
        name: its name.
        messages: a text that the user says, or messages; `{topic}` stands for an argument.
        description: what it is for.
        arguments: for each argument what it is; `topic*` must be given.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    messages: str | tuple[MessageSpec, ...]
    description: str = ""
    arguments: dict[str, str] = {}


class ServerSpec(_Spec, frozen=True, kw_only=True):
    """A server.

    Args:
        instructions: what it tells the model about itself.
        version: of the server, for clients.
        strict: a call that no rule answers is an error, and so is a rule that was never used.
        page_size: entries of a list that a client gets at once; all unless given.
        tools: what it can do.
        resources: what can be read.
        prompts: what people can start with.
    """

    instructions: str = ""
    version: str = "1.0.0"
    strict: bool | None = None
    page_size: Times | None = None
    tools: tuple[ToolSpec, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()
    prompts: tuple[PromptSpec, ...] = ()


class FileSpec(_Spec, frozen=True, kw_only=True):
    """Servers by name.

    Args:
        schema: the address of this schema, for editors.
        version: the version of the form.
        mcp: the servers.
    """

    schema: str = msgspec.field(default="", name="$schema")
    version: Literal[1] = 1
    mcp: dict[str, ServerSpec]
