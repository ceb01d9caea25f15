"""Callers, as far as the protocol names them. Pure: headers and request in, request with its caller out.

The order: our own headers first, then what real clients send. Claude Code names the session and the
sub-agent in headers; other CLIs name a session or a thread.
What no header says, the script's `agents` rules decide later.

Side requests are told apart here too: requests that a client makes beside the agent's own steps. They are
recognised by what those clients really send (measured on the pinned CLI version, see docs/ARCHITECTURE.md),
and those of Claude Code and gemini-cli only if they say that they ask: any other app may well let its user say "Hi".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from soundstage.messages import CALLER_HEADERS, MAIN, Caller, ModelRequest

PURPOSE_HEADER: Final = "x-soundstage-purpose"

_CLAUDE_CODE: Final = "x-claude-code-session-id"
_GEMINI_CLI: Final = ("user-agent", "GeminiCLI")
_CONVERSATION_HEADERS: Final = (
    CALLER_HEADERS["conversation"],
    _CLAUDE_CODE,
    "session-id",
    "session_id",
    "x-session-id",
    "thread-id",
)
_NAMING: Final = frozenset(_CONVERSATION_HEADERS)
_SUBAGENT: Final = "x-claude-code-agent-id"
_PARENT: Final = "x-claude-code-parent-agent-id"
_TITLE: Final = re.compile(
    r"\btitle generator\b"
    r"|\bgenerate concise conversation titles\b"
    r"|\bgenerate an? [^.\n]{0,60}\btitle\b[^.\n]{0,80}\b(?:conversation|session|thread|chat)\b"
)


def _is_probe(request: ModelRequest, asked: str) -> bool:
    return asked == "Hi" and not request.tools and len(request.messages) <= 3


def _is_search(request: ModelRequest, asked: str) -> bool:
    return asked.startswith("Perform a web search for the query:") and len(request.tools) == 1


def _is_summary(_: ModelRequest, asked: str) -> bool:
    return asked.startswith("CRITICAL: Respond with TEXT ONLY")


def _is_title(request: ModelRequest, _: str) -> bool:
    if request.tools:
        return False
    system = request.system_text.lower()
    return "title" in system and _TITLE.search(system) is not None


def _is_gemini_search(request: ModelRequest, _: str) -> bool:
    return bool(request.tools) and all(tool.type in ("googleSearch", "urlContext") for tool in request.tools)


def _is_gemini_routing(request: ModelRequest, _: str) -> bool:
    return not request.tools and "specialized Task Routing AI" in request.system_text


def _is_gemini_summary(request: ModelRequest, _: str) -> bool:
    return (
        not request.tools
        and "distilling chat history into a structured XML <state_snapshot>" in request.system_text
    )


def _is_gemini_utility(request: ModelRequest, _: str) -> bool:
    """Its agents have instructions, and never ask for JSON."""
    generation = request.settings.get("generationConfig")
    wants_json = isinstance(generation, dict) and generation.get("responseMimeType") == "application/json"
    return not request.tools and (wants_json or not request.system_text)


class Purpose(NamedTuple):
    """A kind of side request.

    Attributes:
        name: the purpose.
        header: a header of its client; any client if empty.
        beginning: how the value of that header begins.
        fits: a test that also gets the last user text.
    """

    name: str
    header: str
    beginning: str
    fits: Callable[[ModelRequest, str], bool]


PURPOSES: Final = (
    Purpose("probe", _CLAUDE_CODE, "", _is_probe),
    Purpose("web_search", _CLAUDE_CODE, "", _is_search),
    Purpose("summary", _CLAUDE_CODE, "", _is_summary),
    Purpose("routing", *_GEMINI_CLI, _is_gemini_routing),
    Purpose("web_search", *_GEMINI_CLI, _is_gemini_search),
    Purpose("summary", *_GEMINI_CLI, _is_gemini_summary),
    Purpose("utility", *_GEMINI_CLI, _is_gemini_utility),
    Purpose("title", "", "", _is_title),
)


def with_caller(request: ModelRequest, headers: dict[str, str]) -> ModelRequest:
    """`request` with its caller and purpose.

    Args:
        request: as decoded.
        headers: names in lower case, secrets already taken out. The caller keeps them.

    Example:
        >>> with_caller(ModelRequest(model="m", messages=()), {"x-claude-code-session-id": "s1"}).caller.conversation
        's1'
    """
    subagent = headers.get(_SUBAGENT)
    caller = Caller(
        agent=headers.get(CALLER_HEADERS["agent"]) or (_numbered(subagent) if subagent else ""),
        conversation=_conversation(headers),
        within=headers.get(CALLER_HEADERS["within"], ""),
        parent=_parent(headers.get(_PARENT)) if subagent else "",
        phase=headers.get(CALLER_HEADERS["phase"], ""),
        headers=headers,
    )
    purpose = headers.get(PURPOSE_HEADER) or _purpose(request, headers)
    return msgspec.structs.replace(request, caller=caller, purpose=purpose)


def _numbered(subagent: str) -> str:
    return f"subagent-{subagent}"


def _parent(subagent: str | None) -> str:
    """The parent of a sub-agent: another one, or the main agent, which Claude Code does not number."""
    return _numbered(subagent) if subagent else MAIN


def _purpose(request: ModelRequest, headers: Mapping[str, str]) -> str:
    said = (message.text for message in reversed(request.messages) if message.role == "user")
    asked = next(
        filter(None, said), ""
    )  # a message of Claude Code's user has reminders in it, a probe has none
    for name, header, beginning, fits in PURPOSES:
        known = not header or (header in headers and headers[header].startswith(beginning))
        if known and fits(request, asked):
            return name
    return "main"


def _conversation(headers: Mapping[str, str]) -> str:
    if not _NAMING.isdisjoint(headers):
        for name in _CONVERSATION_HEADERS:
            if named := headers.get(name):
                return named
    return ""
