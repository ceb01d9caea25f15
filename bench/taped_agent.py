"""The program that is recorded: one long conversation with a model, on httpx as the official SDKs are.

    OPENAI_BASE_URL=... python taped_agent.py TURNS

It sends the whole conversation with each turn, as agents do, and prints the number of characters that it was told.
"""

from __future__ import annotations

import os
import sys

import httpx


def main() -> None:
    """Talk."""
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    messages = [{"role": "system", "content": "You are a careful assistant. " * 20}]
    told = 0
    with httpx.Client(headers={"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}) as client:
        for turn in range(int(sys.argv[1])):
            messages.append({"role": "user", "content": f"question {turn}: " + "why is that so? " * 6})
            answer = client.post(url, json={"model": "gpt-4.1", "messages": messages}).raise_for_status()
            text = answer.json()["choices"][0]["message"]["content"]
            messages.append({"role": "assistant", "content": text})
            told += len(text)
    print(told)


if __name__ == "__main__":
    main()
