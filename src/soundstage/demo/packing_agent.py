"""The program of the tape scenario: an agent that says what to pack, with a forecast as its tool.

It knows nothing of Soundstage: it asks the server in ANTHROPIC_BASE_URL with the key in ANTHROPIC_API_KEY, by the
standard library alone, and has its system prompt from a file of its folder, `prompt.txt`:
`python -m soundstage.demo.packing_agent CITY`.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

FORECASTS = {"Bergen": "9 degrees, rain from noon", "Lisbon": "24 degrees, sun"}
TOOL = {
    "name": "forecast",
    "description": "The weather of tomorrow in a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def ask(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks that the model answers with."""
    body = {
        "model": "claude-haiku-5-5",
        "max_tokens": 300,
        "system": Path("prompt.txt").read_text().strip(),
        "messages": messages,
        "tools": [TOOL],
    }
    request = urllib.request.Request(  # noqa: S310  (the address is the user's own)
        f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages",
        json.dumps(body).encode(),
        {
            "x-api-key": os.environ["ANTHROPIC_API_KEY"],
            "anthropic-version": "2023-06-01",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        blocks: list[dict[str, Any]] = json.load(answer)["content"]
    return blocks


def main() -> None:
    """Ask, run the tools, ask again, until there is an answer; print it."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"What do I pack for {sys.argv[1]} tomorrow?"}
    ]
    while True:
        blocks = ask(messages)
        calls = [block for block in blocks if block["type"] == "tool_use"]
        if not calls:
            print(*(block["text"] for block in blocks))
            return
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": FORECASTS[call["input"]["city"]]}
            for call in calls
        ]
        messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]


if __name__ == "__main__":
    try:
        main()
    except urllib.error.HTTPError as error:
        sys.exit(f"the model cannot answer: {error}")
