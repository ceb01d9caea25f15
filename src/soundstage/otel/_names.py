"""The names of the GenAI semantic conventions, and their meaning here. Tables only.

Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (spans for model calls, agents and tools). The names
are written out because the package of constants has marked them as moved; a test compares the two.
"""

from __future__ import annotations

from typing import Final, Literal

Kind = Literal["model", "tool", "agent", "handoff"]

OPERATION: Final = "gen_ai.operation.name"
AGENT: Final = "gen_ai.agent.name"
AGENT_ID: Final = "gen_ai.agent.id"
CONVERSATION: Final = "gen_ai.conversation.id"
PROVIDER: Final = "gen_ai.provider.name"
WORKFLOW: Final = "gen_ai.workflow.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INSTRUCTIONS: Final = "gen_ai.system_instructions"
INPUT: Final = "gen_ai.input.messages"
OUTPUT: Final = "gen_ai.output.messages"
DEFINITIONS: Final = "gen_ai.tool.definitions"
TOOL: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
CALL_ID: Final = "gen_ai.tool.call.id"
CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
CALL_RESULT: Final = "gen_ai.tool.call.result"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE: Final = "gen_ai.usage.cache_creation.input_tokens"
ERROR: Final = "error.type"

HANDOFF_FROM: Final = "gen_ai.handoff.from_agent"  # not in the conventions; what instrumentations agree on
HANDOFF_TO: Final = "gen_ai.handoff.to_agent"

PHASE: Final = "soundstage.phase"  # ours, for what the conventions have no word for
PURPOSE: Final = "soundstage.purpose"
FAILURE: Final = "soundstage.failure.reason"

KINDS: Final[dict[str, Kind]] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "handoff": "handoff",
    "agent_handoff": "handoff",
}
"""The meaning of a span by its operation. Spans of other operations are kept as they came."""

OLDER: Final = {
    PROVIDER: ("gen_ai.system",),
    INPUT: ("gen_ai.prompt",),
    OUTPUT: ("gen_ai.completion",),
    INPUT_TOKENS: ("gen_ai.usage.prompt_tokens",),
    OUTPUT_TOKENS: ("gen_ai.usage.completion_tokens",),
    ERROR: ("exception.type",),
}
"""Names that earlier versions of the conventions had for the same."""

SETTINGS: Final = {
    f"gen_ai.request.{name}": name
    for name in (
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "seed",
        "frequency_penalty",
        "presence_penalty",
        "stop_sequences",
    )
}
"""Settings of a request, by attribute."""
