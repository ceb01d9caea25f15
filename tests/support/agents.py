"""One small agent loop, and five ways to reach its model: in process and over each provider's official SDK.

The loop keeps provider-neutral messages; each client turns them into its SDK's own calls. So one scenario
body runs over every wire, and what differs is the wire alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types

from soundstage.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    system,
    user,
)
from soundstage.models import Model, complete
from soundstage.wire import ModelServer

MODEL = "test-model"
TOOLS = (
    ToolDefinition(
        name="lookup",
        description="Looks a word up.",
        schema={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    ),
    ToolDefinition(name="ring", description="Rings a bell.", schema={"type": "object", "properties": {}}),
)
Client = Callable[[list[Message]], ModelResponse]


def run_agent(client: Client, task: str, tools: dict[str, Callable[..., str]]) -> str:
    """Ask until the model wants no more tools; the text of its last answer."""
    messages = [system("You are a clerk."), user(task)]
    while True:
        answer = client(messages)
        messages.append(answer.message())
        if not answer.tool_calls:
            return answer.text
        for call in answer.tool_calls:
            result = ToolResult(call_id=call.id, name=call.name, text=tools[call.name](**call.arguments))
            messages.append(Message(role="tool", parts=(result,)))


def in_process(model: Model) -> Client:
    def ask(messages: list[Message]) -> ModelResponse:
        request = ModelRequest(model=MODEL, messages=tuple(messages), tools=TOOLS)
        return asyncio.run(complete(model, request))

    return ask


def openai_chat(server: ModelServer) -> Client:
    client = openai.OpenAI(base_url=server.openai_url, api_key="test")

    def ask(messages: list[Message]) -> ModelResponse:
        answer = client.chat.completions.create(
            model=MODEL,
            messages=[_chat_message(message) for message in messages],
            tools=[
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": t.schema},
                }
                for t in TOOLS
            ],
        )
        message = answer.choices[0].message
        calls = [
            ToolCall(id=call.id, name=call.function.name, arguments=json.loads(call.function.arguments))
            for call in message.tool_calls or ()
        ]
        return _response(message.content, calls)

    return ask


def _chat_message(message: Message) -> Any:
    if message.role == "tool":
        result = message.parts[0]
        return {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
    given: dict[str, Any] = {"role": message.role, "content": message.text or None}
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    if calls:
        given["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_json},
            }
            for call in calls
        ]
    return given


def openai_responses(server: ModelServer) -> Client:
    client = openai.OpenAI(base_url=server.openai_url, api_key="test")

    def ask(messages: list[Message]) -> ModelResponse:
        answer = client.responses.create(
            model=MODEL,
            instructions=messages[0].text,
            input=[item for message in messages[1:] for item in _items(message)],
            tools=[
                {
                    "type": "function",
                    "name": t.name,
                    "description": t.description,
                    "parameters": t.schema,
                    "strict": False,
                }
                for t in TOOLS
            ],
        )
        calls = [
            ToolCall(id=item.call_id, name=item.name, arguments=json.loads(item.arguments))
            for item in answer.output
            if item.type == "function_call"
        ]
        return _response(answer.output_text, calls)

    return ask


def _items(message: Message) -> list[Any]:
    items: list[Any] = []
    for part in message.parts:
        if isinstance(part, Text):
            items.append({"role": message.role, "content": part.text})
        elif isinstance(part, ToolCall):
            items.append(
                {
                    "type": "function_call",
                    "call_id": part.id,
                    "name": part.name,
                    "arguments": part.arguments_json,
                }
            )
        elif isinstance(part, ToolResult):
            items.append({"type": "function_call_output", "call_id": part.call_id, "output": part.text})
    return items


def anthropic_messages(server: ModelServer) -> Client:
    client = anthropic.Anthropic(base_url=server.anthropic_url, api_key="test")

    def ask(messages: list[Message]) -> ModelResponse:
        answer = client.messages.create(
            model=MODEL,
            max_tokens=1000,
            system=messages[0].text,
            messages=_merged([_block_message(message) for message in messages[1:]]),
            tools=[{"name": t.name, "description": t.description, "input_schema": t.schema} for t in TOOLS],
        )
        calls = [
            ToolCall(id=block.id, name=block.name, arguments=dict(block.input))
            for block in answer.content
            if block.type == "tool_use"
        ]
        return _response("".join(block.text for block in answer.content if block.type == "text"), calls)

    return ask


def _block_message(message: Message) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Text):
            blocks.append({"type": "text", "text": part.text})
        elif isinstance(part, ToolCall):
            blocks.append({"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments})
        elif isinstance(part, ToolResult):
            blocks.append({"type": "tool_result", "tool_use_id": part.call_id, "content": part.text})
    return {"role": "assistant" if message.role == "assistant" else "user", "content": blocks}


def _merged(messages: list[dict[str, Any]]) -> Any:
    """Results of parallel calls belong into one message of this format."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += message["content"]
        else:
            merged.append(message)
    return merged


def gemini(server: ModelServer) -> Client:
    client = genai.Client(api_key="test", http_options=types.HttpOptions(base_url=server.gemini_url))
    declarations = [
        types.FunctionDeclaration(name=t.name, description=t.description, parameters_json_schema=t.schema)
        for t in TOOLS
    ]

    def ask(messages: list[Message]) -> ModelResponse:
        answer = client.models.generate_content(
            model=MODEL,
            contents=_contents(messages[1:]),
            config=types.GenerateContentConfig(
                system_instruction=messages[0].text,
                tools=[types.Tool(function_declarations=declarations)],
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            ),
        )
        parts = answer.candidates[0].content.parts or []
        calls = [
            ToolCall(
                id=part.function_call.id or f"call-{number}",
                name=part.function_call.name,
                arguments=dict(part.function_call.args or {}),
            )
            for number, part in enumerate(parts)
            if part.function_call
        ]
        return _response("".join(part.text for part in parts if part.text), calls)

    return ask


def _contents(messages: list[Message]) -> list[types.Content]:
    contents: list[types.Content] = []
    for message in messages:
        parts = []
        for part in message.parts:
            if isinstance(part, Text):
                parts.append(types.Part(text=part.text))
            elif isinstance(part, ToolCall):
                parts.append(
                    types.Part(function_call=types.FunctionCall(name=part.name, args=part.arguments))
                )
            elif isinstance(part, ToolResult):
                response = types.FunctionResponse(name=part.name, response={"output": part.text})
                parts.append(types.Part(function_response=response))
        role = "model" if message.role == "assistant" else "user"
        if contents and contents[-1].role == role:
            contents[-1].parts.extend(parts)
        else:
            contents.append(types.Content(role=role, parts=parts))
    return contents


def _response(text: str | None, calls: list[ToolCall]) -> ModelResponse:
    head = (Text(text=text),) if text else ()
    return ModelResponse(parts=(*head, *calls))


CLIENTS: dict[str, Callable[[ModelServer], Client]] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic_messages,
    "gemini": gemini,
}
