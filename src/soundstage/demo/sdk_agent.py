"""The program of the SDK scenario: a small agent on the official OpenAI SDK, with tools and streaming.

It knows nothing of Soundstage: it reads OPENAI_BASE_URL and OPENAI_API_KEY like any such program, and runs
against the real service just as well: `python -m soundstage.demo.sdk_agent FOLDER TASK`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {field: {"type": "string"} for field in fields},
                "required": fields,
            },
        },
    }
    for name, description, fields in (
        ("list_files", "Names of the files in the folder.", []),
        ("read_file", "The text of a file.", ["name"]),
        ("write_file", "Write a file.", ["name", "text"]),
    )
]


def run_tool(folder: Path, name: str, arguments: dict[str, Any]) -> str:
    """Run one tool; what goes wrong is an answer too."""
    try:
        if name == "list_files":
            return "\n".join(sorted(path.name for path in folder.iterdir()))
        if name == "read_file":
            return Path(folder, arguments["name"]).read_text()
        Path(folder, arguments["name"]).write_text(arguments["text"])
    except (OSError, KeyError) as error:
        return f"error: {error!r}"
    return "written"


def step(client: Any, messages: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """One streamed answer: prints its text as it comes, returns it with the tool calls."""
    text = ""
    calls: list[dict[str, Any]] = []
    stream = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS, stream=True)
    for chunk in stream:
        delta = chunk.choices[0].delta if chunk.choices else None
        if delta is None:
            continue
        if delta.content:
            text += delta.content
            print(delta.content, end="", flush=True)
        for piece in delta.tool_calls or ():
            while len(calls) <= piece.index:
                calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
            call = calls[piece.index]
            call["id"] += piece.id or ""
            call["function"]["name"] += piece.function.name or ""
            call["function"]["arguments"] += piece.function.arguments or ""
    if text:
        print(flush=True)
    return text, calls


def main() -> None:
    """Work on a task until the model asks for no more tools."""
    import openai

    folder, task = Path(sys.argv[1]), sys.argv[2]
    client = openai.OpenAI()
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an archivist. Use the tools."},
        {"role": "user", "content": task},
    ]
    while True:
        text, calls = step(client, messages)
        if not calls:
            return
        messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
        for call in calls:
            result = run_tool(folder, call["function"]["name"], json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


if __name__ == "__main__":
    main()
