"""An agent that makes the calls of a plan, on Chat Completions, with the official SDK."""

import json
import sys
from pathlib import Path

import openai

client = openai.OpenAI(max_retries=0)


def ask(call, messages):
    tools = [{"type": "function", "function": tool} for tool in call["tools"]]
    named = {"x-soundstage-agent": call["agent"]} if call["agent"] else {}
    extra = {"tools": tools} if tools else {}
    answer = client.chat.completions.create(
        model=call["model"], messages=messages, extra_headers=named, **call["settings"], **extra
    )
    return answer.choices[0].message


for call in json.loads(Path(sys.argv[1]).read_text()):
    messages = [{"role": "system", "content": call["system"]}, {"role": "user", "content": call["user"]}]
    reply = ask(call, messages)
    while reply.tool_calls:
        messages.append(reply.model_dump(exclude_none=True))
        for asked in reply.tool_calls:
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": call["result"]})
        reply = ask(call, messages)
    print(reply.content)
