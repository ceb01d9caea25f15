"""Scripts that send an agent round in a circle, found from the request alone. Pure.

The usual way into it: a rule on the user's words asks for a tool, the agent comes back with the result, the
user's words are still the latest ones, and the same rule asks again. Without a limit that goes on for ever.
"""

from __future__ import annotations

from typing import Any, Final

from soundstage.errors import ScriptError
from soundstage.messages import Message, ModelRequest, ToolCall
from soundstage.models._reply import Reply

LIMIT: Final = 100  # an agent that waits for something may well ask the same a dozen times


def check_loop(request: ModelRequest, reply: Reply, served_by: str) -> None:
    """Refuse to ask for the same tools once more, when the last `LIMIT` answers of this turn have.

    Raises:
        ScriptError: naming the rule.
    """
    if len(request.messages) < 2 * LIMIT:
        return
    wanted = [
        (block.tool_call.name, block.tool_call.arguments) for block in reply.ordered_blocks if block.tool_call
    ]
    if wanted and _repeats(request, wanted) >= LIMIT:
        raise ScriptError(
            f"{served_by} has asked for the same tools {LIMIT} times in a row",
            expected="another answer once the tools have returned",
            seen=", ".join(f"{name} {arguments}" for name, arguments in wanted),
            hint="give the rule times=1 or iteration=1, or put a rule on the tool's result before it",
        )


def _repeats(request: ModelRequest, wanted: list[tuple[str, dict[str, Any]]]) -> int:
    """Count the model's last messages in this turn that ask for just these tools."""
    count = 0
    for message in reversed(request.messages):
        if message.role == "user" and message.text:
            break
        if message.role == "assistant":
            if _asked(message) != wanted:
                break
            count += 1
    return count


def _asked(message: Message) -> list[tuple[str, dict[str, Any]]]:
    return [(part.name, part.arguments) for part in message.parts if isinstance(part, ToolCall)]
