"""Who asks, as far as the protocol says. Pure: headers and request in, request with its caller out.

The order: our own headers first, then what real clients send. Claude Code names the session and the
sub-agent in headers; other CLIs name a session or a thread; the Responses format may name a conversation.
What no header says, the script's `agents` rules decide later.

Side requests are told apart here too: requests that a client makes beside the agent's own steps. They are
recognised by what those clients really send (measured on the pinned CLI version, see docs/ARCHITECTURE.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from soundstage.messages import Caller, ModelRequest

AGENT_HEADER: Final = "x-soundstage-agent"
CONVERSATION_HEADER: Final = "x-soundstage-conversation"
PHASE_HEADER: Final = "x-soundstage-phase"
PURPOSE_HEADER: Final = "x-soundstage-purpose"

_CONVERSATION_HEADERS: Final = (
    CONVERSATION_HEADER,
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
    "thread-id",
)
_SUBAGENT: Final = "x-claude-code-agent-id"
_PARENT: Final = "x-claude-code-parent-agent-id"


def _is_probe(request: ModelRequest, asked: str) -> bool:
    return asked == "Hi" and not request.tools and len(request.messages) <= 3


def _is_search(request: ModelRequest, asked: str) -> bool:
    return asked.startswith("Perform a web search for the query:") and len(request.tools) == 1


def _is_summary(request: ModelRequest, asked: str) -> bool:
    return asked.startswith("CRITICAL: Respond with TEXT ONLY")


def _is_title(request: ModelRequest, asked: str) -> bool:
    if request.tools:
        return False
    system = request.system_text.lower()
    return "title" in system and ("generate" in system or "title generator" in system)


PURPOSES: Final[tuple[tuple[str, Callable[[ModelRequest, str], bool]], ...]] = (
    ("probe", _is_probe),
    ("web_search", _is_search),
    ("summary", _is_summary),
    ("title", _is_title),
)  # name, and whether a request is one, given its last user text


def with_caller(request: ModelRequest, headers: dict[str, str]) -> ModelRequest:
    """`request` with its caller and purpose.

    Args:
        request: as decoded.
        headers: names in lower case, secrets already taken out. The caller keeps them.
    """
    subagent = headers.get(_SUBAGENT)
    caller = Caller(
        agent=headers.get(AGENT_HEADER) or (f"subagent-{subagent}" if subagent else ""),
        conversation=_conversation(request, headers),
        parent=headers.get(_PARENT, ""),
        phase=headers.get(PHASE_HEADER, ""),
        headers=headers,
    )
    purpose = headers.get(PURPOSE_HEADER) or _purpose(request)
    return msgspec.structs.replace(request, caller=caller, purpose=purpose)


def _purpose(request: ModelRequest) -> str:
    asked = request.last_user_text or ""
    for name, fits in PURPOSES:
        if fits(request, asked):
            return name
    return "main"


def _conversation(request: ModelRequest, headers: Mapping[str, str]) -> str:
    for name in _CONVERSATION_HEADERS:
        if named := headers.get(name):
            return named
    conversation = request.settings.get("conversation")
    if isinstance(conversation, Mapping):
        conversation = conversation.get("id")
    return conversation if isinstance(conversation, str) else ""
