"""An application on `ClaudeSDKClient`, which nobody has adapted for tests: hooks, permissions, a tool of its own.

It lets an agent work on the files of a shop: a hook protects the secrets, a permission function lets it write price
lists alone, and a tool looks prices up.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    TextBlock,
    create_sdk_mcp_server,
    tool,
)

PRICES = {"apple": 3, "pear": 5}


@tool("price", "Look a price up", {"fruit": str})
async def price(arguments: dict[str, Any]) -> dict[str, Any]:
    print(f"tool: price of {arguments['fruit']}")
    return {"content": [{"type": "text", "text": str(PRICES[arguments["fruit"]])}]}


async def protect_secrets(data: Any, tool_use_id: str | None, _: Any) -> Any:
    if ".env" not in str(data["tool_input"]):
        return {}
    print(f"hook: refused {data['tool_name']}")
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "secrets stay where they are",
        }
    }


async def allow_lists(name: str, data: dict[str, Any], _: Any) -> Any:
    path = Path(data.get("file_path", ""))
    print(f"asked: may it {name} {path.name}".strip())
    if name == "mcp__shop__price" or (path.name == "prices.txt" and path.exists()):
        return PermissionResultAllow()
    return PermissionResultDeny(message=f"no {name} of {path.name}")


async def work(folder: str) -> int:
    options = ClaudeAgentOptions(
        cwd=folder,
        model="claude-sonnet-4-5",
        hooks={"PreToolUse": [HookMatcher(matcher="Bash|Read", hooks=[protect_secrets])]},
        can_use_tool=allow_lists,
        mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[price])},
        allowed_tools=["Bash(ls *)"],
        setting_sources=[],
    )
    async with ClaudeSDKClient(options) as client:
        for prompt in ("Put the price of a pear into prices.txt.", "Now delete .env."):
            await client.query(prompt)
            async for message in client.receive_response():
                if isinstance(message, AssistantMessage):
                    for block in message.content:
                        if isinstance(block, TextBlock):
                            print(f"agent: {block.text}")
                elif isinstance(message, ResultMessage) and message.is_error:
                    return 1
    print(f"prices.txt: {Path(folder, 'prices.txt').read_text().strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(work(sys.argv[1])))
