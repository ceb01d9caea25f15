"""An application on `query` of the Claude Agent SDK, which nobody has adapted for tests: it reviews a folder."""

from __future__ import annotations

import asyncio
import sys

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ResultMessage, TextBlock, query


async def review(folder: str) -> int:
    options = ClaudeAgentOptions(
        cwd=folder,
        system_prompt="You review code. Be brief.",
        model="claude-sonnet-4-5",
        allowed_tools=["Read"],
        max_turns=5,
        setting_sources=[],
    )
    failed = True
    async for message in query(prompt="Review shop.py: does total() count right?", options=options):
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, TextBlock):
                    print(f"review: {block.text}")
        elif isinstance(message, ResultMessage):
            print(f"turns: {message.num_turns}, cost: ${message.total_cost_usd:.4f}")
            failed = message.is_error
    return int(failed)


if __name__ == "__main__":
    sys.exit(asyncio.run(review(sys.argv[1])))
