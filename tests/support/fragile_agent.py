"""An agent on an official SDK that takes notes, and ten ways to get its errors wrong.

    python fragile_agent.py openai|anthropic [DEFECT]

Without a defect it tries three times, waits as `retry-after` says, believes only replies that are complete, and says
what went wrong when it gives up.
"""

import importlib
import json
import sys
import time
from pathlib import Path

NAME, DEFECT = sys.argv[1], "".join(sys.argv[2:])
SDK = importlib.import_module(NAME)
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = {
    "openai": {"type": "function", "function": {"name": "append_note", "parameters": SCHEMA}},
    "anthropic": {"name": "append_note", "input_schema": SCHEMA},
}
TASK = "Note that milk and eggs are needed."
TIMEOUT = None if DEFECT == "no timeout" else 2.0
TRIES = {"no retry": 1, "retries for ever": 1_000_000}.get(DEFECT, 3)
BROKEN = [sys.modules[name].TransportError for name in ("httpx", "httpx2") if name in sys.modules]
TRANSIENT = (SDK.APIError, *BROKEN, ValueError, EOFError)


class Reply:
    """A reply in the making."""

    def __init__(self):
        self.text, self.calls, self.complete = "", {}, False

    def call(self, index):
        return self.calls.setdefault(index, {"id": "", "name": "", "arguments": ""})

    def read_openai(self, client, messages):
        asked = {"model": "gpt-5", "messages": messages, "tools": [TOOLS[NAME]], "stream": True}
        for chunk in client.chat.completions.create(**asked):
            for choice in chunk.choices:
                self.text += choice.delta.content or ""
                for piece in choice.delta.tool_calls or ():
                    call = self.call(piece.index)
                    call["id"] = piece.id or call["id"]
                    call["name"] = piece.function.name or call["name"]
                    call["arguments"] += piece.function.arguments or ""
                self.complete = self.complete or choice.finish_reason is not None

    def read_anthropic(self, client, messages):
        asked = {"model": "claude-sonnet-4-5", "max_tokens": 999, "tools": [TOOLS[NAME]], "stream": True}
        for event in client.messages.create(messages=messages, **asked):
            if event.type == "content_block_start" and event.content_block.type == "tool_use":
                self.call(event.index).update(id=event.content_block.id, name=event.content_block.name)
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                self.text += event.delta.text
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                self.call(event.index)["arguments"] += event.delta.partial_json
            self.complete = self.complete or event.type == "message_stop"


def ask(client, messages):
    """A complete reply; what goes wrong on the way is tried again."""
    kept = ""
    for attempt in range(TRIES):
        reply = Reply()
        try:
            getattr(reply, f"read_{NAME}")(client, messages)
            if not reply.complete or not (reply.text or reply.calls or DEFECT == "empty is an answer"):
                raise EOFError("the reply is not complete")
        except TRANSIENT as error:
            if DEFECT == "partial text is final" and reply.text and not reply.calls:
                return reply
            if DEFECT == "half a tool call" and reply.calls:
                return reply
            if DEFECT == "errors are unpacked":
                print(error.body["error"]["code"])
            kept += reply.text if DEFECT == "text twice" else ""
            if attempt == TRIES - 1 or DEFECT == "starts over":
                raise
            headers = getattr(getattr(error, "response", None), "headers", {})
            time.sleep(float(headers.get("retry-after", 0)))
        else:
            break
    reply.text = kept + reply.text
    return reply


def arguments_of(call):
    """The arguments of a call; half a text is closed, by one who knows no better."""
    text = call["arguments"]
    return json.loads(text + '"}' if DEFECT == "half a tool call" and not text.endswith("}") else text)


def history_of(reply, result):
    """The reply and the results of its tools, as messages."""
    if NAME == "openai":
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(arguments_of(call))},
            }
            for call in reply.calls.values()
        ]
        asked = {"role": "assistant", "content": reply.text or None, "tool_calls": calls}
        return [asked, *({"role": "tool", "tool_call_id": call["id"], "content": result} for call in calls)]
    content = [{"type": "text", "text": reply.text}] if reply.text else []
    for call in reply.calls.values():
        content.append(
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": arguments_of(call)}
        )
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": result} for call in reply.calls.values()
    ]
    return [{"role": "assistant", "content": content}, {"role": "user", "content": results}]


def work(client):
    """Ask until the model wants no more tools; the text of its last answer."""
    messages = [{"role": "user", "content": TASK}]
    while True:
        reply = ask(client, messages)
        if not reply.calls:
            return reply.text
        for call in reply.calls.values():
            with Path("notes.txt").open("a") as notes:
                notes.write(arguments_of(call)["text"] + "\n")
        messages += history_of(reply, "noted")


def main():
    """Work, and say what went wrong."""
    client = (SDK.OpenAI if NAME == "openai" else SDK.Anthropic)(max_retries=0, timeout=TIMEOUT)
    try:
        print(work(client))
    except TRANSIENT as error:
        if DEFECT == "starts over":
            print(work(client))
        elif DEFECT == "errors are answers":
            print("Sorry, something went wrong.")
        else:
            sys.exit(f"gave up: {type(error).__name__}: {str(error)[:80]}")


main()
