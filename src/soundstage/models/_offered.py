"""Scripted tool calls that no model could make, found when they are served. Pure.

A model asks for tools that it was offered, with arguments that fit their schemas. A script that does otherwise by
mistake tests how the app handles nonsense, and nobody sees it; so it has to say that it means it.
"""

from __future__ import annotations

from typing import Final

from soundstage.errors import ScriptError, did_you_mean
from soundstage.messages import ModelRequest
from soundstage.models._built_in import FORMS, is_run_by_provider
from soundstage.models._reply import CallSpec, Reply
from soundstage.models._server_tools import SERVER_TOOLS
from soundstage.tools import argument_problems

DELIBERATE: Final = "if it is deliberate, say so in the reply: check_calls=False"
_MALFORMED = (AttributeError, TypeError, ValueError, RecursionError)


def check_calls(request: ModelRequest, reply: Reply, served_by: str) -> None:
    """Refuse calls of tools that `request` does not offer, and arguments that break a tool's schema.

    Arguments that are given as `raw` text are never checked: nobody writes those by mistake.

    Raises:
        ScriptError: naming the rule.
    """
    if not reply.check_calls or not (reply.tool_calls or reply.blocks):
        return
    for block in reply.ordered_blocks:
        if block.tool_call is not None:
            _check(request, block.tool_call, served_by)
        elif block.server_tool is not None:
            _check_server_tool(request, block.server_tool.name, served_by)


def _check(request: ModelRequest, call: CallSpec, served_by: str) -> None:
    offered = {tool.name: tool for tool in request.tools}
    tool = offered.get(call.name)
    if tool is None:
        raise ScriptError(
            f"{served_by} calls the tool {call.name!r}, which this request does not offer",
            expected=f"one of {', '.join(offered)}" if offered else "a request that offers tools",
            seen=f"a call of {call.name}",
            hint="; ".join(filter(None, [did_you_mean(call.name, list(offered)), DELIBERATE])),
        )
    if is_run_by_provider(tool):
        raise ScriptError(
            f"{served_by} calls the tool {call.name!r}, which the provider runs itself: no app is asked for it",
            expected="a call of a tool that the app executes",
            seen=f"a call of {call.name}, offered as {tool.type!r}",
            hint=f"script what the model says when it has used the tool; {DELIBERATE}",
        )
    schema = tool.schema if tool.type == "function" else FORMS.get(tool.type)
    if call.raw or schema is None:
        return
    problems = _problems(schema, call)
    if problems:
        raise ScriptError(
            f"{served_by} calls the tool {call.name!r} with arguments that break its schema",
            expected="arguments that the tool's schema allows",
            seen="\n".join(problems),
            hint=f"correct the arguments; {DELIBERATE}",
        )


def _check_server_tool(request: ModelRequest, name: str, served_by: str) -> None:
    begins = SERVER_TOOLS[name].offered
    if not any(tool.type.startswith(begins) for tool in request.tools):
        offered = ", ".join(tool.type for tool in request.tools if tool.type != "function")
        raise ScriptError(
            f"{served_by} has used the server tool {name!r}, which this request does not offer",
            expected=f"a tool of Anthropic whose type begins with {begins!r}",
            seen=offered or "no tool that a provider runs",
            hint=DELIBERATE,
        )


def _problems(schema: dict[str, object], call: CallSpec) -> list[str]:
    try:
        return argument_problems(schema, call.arguments)
    except _MALFORMED:  # the app's schema is none; providers differ in what they say to that
        return []
