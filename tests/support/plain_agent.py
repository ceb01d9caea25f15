"""An agent without an SDK, that starts fast: `python plain_agent.py [tries]`. It notes what the model tells it to."""

import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

TRIES = int("".join(sys.argv[1:]) or 2)
URL = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
TOOL = {"type": "function", "function": {"name": "append_note", "parameters": {"type": "object"}}}
FAILURES = (OSError, ValueError, EOFError, http.client.HTTPException)


def ask(messages):
    """The model's message; what goes wrong is tried again."""
    body = json.dumps({"model": "gpt-5", "messages": messages, "tools": [TOOL]}).encode()
    for attempt in range(TRIES):
        try:
            request = urllib.request.Request(URL, body, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=5) as answer:
                message = json.load(answer)["choices"][0]["message"]
            if not message.get("content") and not message.get("tool_calls"):
                raise EOFError("an empty reply")
        except FAILURES:
            if attempt == TRIES - 1:
                raise
        else:
            return message
    return None


messages = [{"role": "user", "content": "Note that milk and eggs are needed."}]
try:
    while (message := ask(messages)).get("tool_calls"):
        messages.append(message)
        for call in message["tool_calls"]:
            Path("notes.txt").write_text(json.loads(call["function"]["arguments"])["text"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "noted"})
except FAILURES as error:
    sys.exit(f"gave up: {error}")
print(message["content"])
