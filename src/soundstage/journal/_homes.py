"""Where event classes of the layers above live, by type name.

A reader of a file meets events of packages that it has not imported: of an app's parts, of a virtual Discord.
Importing them all would make every start slow, so a module is imported when the first of its events is met. The
names are those in the file, the modules are texts: the journal itself depends on none of them.

A class of another name that is not loaded stays an `UnknownEvent`: an app's own classes are known once the app
is imported.
"""

from __future__ import annotations

import importlib
from typing import Final

_MODULES: Final[dict[str, tuple[str, ...]]] = {
    "soundstage.agents._entries": (
        "AgentAck",
        "AgentEntry",
        "AgentPrompt",
        "AgentResponse",
        "AgentResponseChunk",
        "AgentStreamCompleted",
        "AgentThought",
        "AgentThoughtChunk",
        "ChatAck",
        "ChatChunk",
        "ChatEntry",
        "ChatReceived",
        "ChatReceivedDraft",
        "ChatReply",
        "ChatReplyDraft",
        "ChatStreamCompleted",
    ),
    "soundstage.agents.teams._events": (
        "GateJudged",
        "PlanDecided",
        "PlanMade",
        "TaskSkipped",
    ),
    "soundstage.drivers._container._events": ("HealthChanged",),
    "soundstage.drivers.claude_code._events": (
        "PluginManaged",
        "SubagentFinished",
        "SubagentStarted",
        "TranscriptKept",
    ),
    "soundstage.otel._events": (
        "SpanMatched",
        "SpanReceived",
    ),
    "soundstage.worlds.discord._events": (
        "DiscordAnswered",
        "DiscordChannelChanged",
        "DiscordCommandsRegistered",
        "DiscordGatewayChanged",
        "DiscordInteracted",
        "DiscordMessageChanged",
        "DiscordRateLimited",
        "DiscordReacted",
        "DiscordTyped",
    ),
    "soundstage.worlds.mcp._events": (
        "McpConnectionChanged",
        "McpFaultChanged",
        "McpMessageRefused",
        "McpMismatched",
        "McpNotified",
        "McpProbed",
        "McpServed",
        "McpToolCalled",
        "McpToolReturned",
        "McpToolsChanged",
    ),
    "soundstage.worlds.nostr._events": (
        "NostrAnswered",
        "NostrAuthenticated",
        "NostrConnectionChanged",
        "NostrEventReceived",
        "NostrEventRefused",
        "NostrEventSent",
        "NostrFaultChanged",
        "NostrMessageRefused",
        "NostrSubscriptionChanged",
    ),
}

HOMES: Final = {name: module for module, names in _MODULES.items() for name in names}


def load_home(kind: str) -> bool:
    """Import the module that has the event class called `kind`; whether there is one.

    A module that needs an extra which is not installed counts as none: its events stay unknown.
    """
    module = HOMES.get(kind)
    if module is None:
        return False
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("soundstage"):
            raise
        return False
    return True
