"""The official SDKs as models: what a team asks goes over the wire in each provider's own way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import openai
from google import genai
from google.genai import types

from soundstage.live import LiveModel
from soundstage.messages import (
    FinishChunk,
    ModelChunk,
    ModelRequest,
    TextChunk,
    ToolCallChunk,
)
from soundstage.models import Model
from soundstage.wire import ModelServer
from support.agents import _contents, _items

Call = tuple[str, str, dict[str, Any]]


def _chunks(text: str | None, calls: list[Call]) -> list[ModelChunk]:
    found: list[ModelChunk] = [TextChunk(index=0, text=text)] if text else []
    for call_id, name, arguments in calls:
        piece = ToolCallChunk(index=len(found), id=call_id, name=name, arguments=json.dumps(arguments))
        found.append(piece)
    return [*found, FinishChunk(finish="tool_calls" if calls else "stop")]


class ResponsesModel:
    """Asks through `openai`, in the Responses format."""

    def __init__(self, server: ModelServer) -> None:
        self._client = openai.AsyncOpenAI(base_url=server.openai_url, api_key="test", max_retries=0)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        answer = await self._client.responses.create(
            model=request.model,
            instructions=request.system_text,
            input=[item for m in request.messages if m.role != "system" for item in _items(m)],
            tools=[
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                    "strict": False,
                }
                for tool in request.tools
            ],
        )
        calls = [
            (item.call_id, item.name, json.loads(item.arguments))
            for item in answer.output
            if item.type == "function_call"
        ]
        for chunk in _chunks(answer.output_text, calls):
            yield chunk

    async def close(self) -> None:
        await self._client.close()


class GeminiModel:
    """Asks through `google-genai`, in a thread: its asynchronous side uses a part of aiohttp that warns."""

    def __init__(self, server: ModelServer) -> None:
        options = types.HttpOptions(base_url=server.gemini_url)
        self._client = genai.Client(api_key="test", http_options=options)
        self._calls = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        declared = [
            types.FunctionDeclaration(
                name=tool.name, description=tool.description, parameters_json_schema=tool.schema
            )
            for tool in request.tools
        ]
        answer = await asyncio.to_thread(
            self._client.models.generate_content,
            model=request.model,
            contents=_contents([m for m in request.messages if m.role != "system"]),
            config=types.GenerateContentConfig(
                system_instruction=request.system_text,
                tools=[types.Tool(function_declarations=declared)] if declared else None,
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            ),
        )
        parts = answer.candidates[0].content.parts or []
        calls = [
            (self._id(part.function_call), part.function_call.name, dict(part.function_call.args or {}))
            for part in parts
            if part.function_call
        ]
        for chunk in _chunks("".join(part.text for part in parts if part.text), calls):
            yield chunk

    def _id(self, call: Any) -> str:
        self._calls += 1
        return call.id or f"gemini-call-{self._calls}"

    async def close(self) -> None:
        self._client.close()


def live(format_name: str, address: Callable[[ModelServer], str]) -> Callable[[ModelServer], Model]:
    return lambda server: LiveModel(format_name, base_url=address(server), api_key="test", allow=True)


MODELS: dict[str, Callable[[ModelServer], Any]] = {
    "openai-chat": live("openai", lambda server: server.openai_url),
    "openai-responses": ResponsesModel,
    "anthropic": live("anthropic", lambda server: server.anthropic_url),
    "gemini": GeminiModel,
}
