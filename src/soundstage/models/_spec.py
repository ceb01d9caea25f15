"""The form of a script file, as records. The published JSON Schema is made of these."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from soundstage.models._conditions import When
from soundstage.models._identify import AgentSpec
from soundstage.models._reply import Reply

Answer = str | Reply


class RuleSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One rule: when it applies, and what the model says then.

    Args:
        when: conditions of the request; all must hold. Without any, the rule serves once, in order.
        reply: what the model says: text, or a reply with all its details.
        priority: higher ones are asked first; equal ones in the order of the file.
        times: how often the rule serves before it steps aside; without limit unless given.
        name: how messages call it.
    """

    reply: Answer
    when: When = When()
    priority: int = 0
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    name: str = ""


class ScriptSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A script file: what a scripted model answers, and when.

    Args:
        schema: the address of this schema, for editors.
        version: the version of the form.
        name: what the script is about.
        description: more about it, for people.
        agents: how callers are recognised where the protocol does not say who asks.
        rules: what the model says; asked by priority, then in the order of the file.
        default: the reply when no rule matches.
        strict: a request that no rule answers is an error, and so is a rule that was never used.
        check_signatures: false for histories with thinking that are written by hand; otherwise thinking that comes back
            without the signature that it had is refused, as providers do.
    """

    schema: str = msgspec.field(default="", name="$schema")
    version: Literal[1] = 1
    name: str = ""
    description: str = ""
    agents: tuple[AgentSpec, ...] = ()
    rules: tuple[RuleSpec, ...]
    default: Answer | None = None
    strict: bool | None = None
    check_signatures: bool | None = None
