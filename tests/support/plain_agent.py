"""An agent without an SDK, that starts fast, and notes what it is told to: `python plain_agent.py [tries [stream]]`.

With `pieces` in the place of `stream` it believes that each piece of a stream is a text with whole lines. With
`stamped` it leaves its process id in its output and in a file.
"""

import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

TRIES = int((*sys.argv[1:], 2)[0])
STREAM, PIECES = sys.argv[2:] != [], sys.argv[2:] == ["pieces"]
URL = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
TOOL = {"type": "function", "function": {"name": "append_note", "parameters": {"type": "object"}}}
FAILURES = (OSError, ValueError, EOFError, http.client.HTTPException)


def lines_of(answer):
    """The lines of a stream; with a defect, those of each piece."""
    if not PIECES:
        yield from answer
    while PIECES and (piece := answer.read1()):
        yield from (line.encode() for line in piece.decode().split("\n"))


def message_in(lines):
    """The message of a stream of events; one without its end is an error."""
    text, calls, done = "", {}, False
    for line in lines:
        if line.startswith(b"data: {"):
            choice = json.loads(line[6:])["choices"][0]
            text += choice["delta"].get("content") or ""
            for piece in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(piece["index"], {"type": "function", "function": {"arguments": ""}})
                function = piece.pop("function")
                arguments = call["function"]["arguments"] + function.get("arguments", "")
                call["function"] = {**call["function"], **function, "arguments": arguments}
                call |= {name: value for name, value in piece.items() if name != "index"}
        done = done or line.strip() == b"data: [DONE]"
    if not done:
        raise EOFError("the stream has no end")
    message = {"role": "assistant", "content": text}
    return {**message, "tool_calls": list(calls.values())} if calls else message


def ask(messages):
    """The model's message; what goes wrong is tried again."""
    body = json.dumps({"model": "gpt-5", "messages": messages, "tools": [TOOL], "stream": STREAM}).encode()
    for attempt in range(TRIES):
        try:
            request = urllib.request.Request(URL, body, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=5) as answer:
                message = (
                    message_in(lines_of(answer)) if STREAM else json.load(answer)["choices"][0]["message"]
                )
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
if sys.argv[2:] == ["stamped"]:
    print(f"process {os.getpid()}")
    Path("run.log").write_text(f"{os.getpid()}")
