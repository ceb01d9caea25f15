"""An agent in process that takes notes, and eight ways to get its errors wrong: `NoteTaker(defect)`."""

from __future__ import annotations

import asyncio

from soundstage.errors import ModelError
from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    Message,
    ModelRequest,
    TextChunk,
    ToolDefinition,
    ToolResult,
    respond,
    user,
)

TOOL = ToolDefinition(name="append_note", schema={"type": "object"})
TIMEOUT = 60.0
TRIES = 4


class NoteTaker:
    """Asks until the model wants no more tools; gives its answer and the notes."""

    def __init__(self, defect: str = "") -> None:
        self.defect = defect

    async def __call__(self, model):
        messages, notes = [user("Note that milk and eggs are needed.")], []
        while True:
            reply = await self._ask(model, messages)
            if not reply.tool_calls:
                return reply.text, notes
            messages.append(reply.message())
            for call in reply.tool_calls:
                notes.append(call.arguments.get("text", call.raw))
                result = ToolResult(call_id=call.id, text="noted")
                messages.append(Message(role="tool", parts=(result,)))

    async def _ask(self, model, messages):
        tries = {"no retry": 1, "retries for ever": 1_000_000}.get(self.defect, TRIES)
        kept = []
        for attempt in range(tries):
            chunks = kept if self.defect == "text twice" else []
            try:
                async with asyncio.timeout(None if self.defect == "no timeout" else TIMEOUT):
                    await self._read(model, messages, chunks)
            except (ModelError, TimeoutError, EOFError) as error:
                half = any(not isinstance(chunk, TextChunk) for chunk in chunks)
                if chunks and self.defect == ("half a tool call" if half else "partial text is final"):
                    return respond(chunks)
                if self.defect == "errors are unpacked":
                    raise KeyError(error.headers["x-request-id"]) from None
                if attempt == tries - 1:
                    raise
                await asyncio.sleep(float(getattr(error, "headers", {}).get("retry-after", 2**attempt)))
                kept = [chunk for chunk in chunks if isinstance(chunk, TextChunk)]
            else:
                return respond(chunks)
        return None

    async def _read(self, model, messages, chunks):
        request = ModelRequest(model="m", messages=tuple(messages), tools=(TOOL,), stream=True)
        async for chunk in model.stream(request):
            chunks.append(chunk)
        garbled = any(isinstance(chunk, GarbledChunk) for chunk in chunks)
        empty = all(isinstance(chunk, FinishChunk) for chunk in chunks)
        if garbled or (empty and self.defect != "empty is an answer"):
            raise EOFError("a reply without content, or with bytes that no format allows")
