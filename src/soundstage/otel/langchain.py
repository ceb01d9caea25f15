"""Spans of the GenAI conventions for LangChain and LangGraph.

    from soundstage.otel.langchain import LangChainTracing

    graph.invoke(state, {"callbacks": [LangChainTracing(provider, agents={"supervisor", "writer"})]})

Nothing is sent to LangSmith by this; whether LangChain does so by itself is decided by `LANGSMITH_TRACING`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from opentelemetry.sdk.trace import TracerProvider

from soundstage.otel import _names as names
from soundstage.otel._content import json_of, text_of
from soundstage.otel._tracer import SpanMaker

__all__ = ["LangChainTracing"]

_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


class LangChainTracing(BaseCallbackHandler):
    """A callback handler that makes OpenTelemetry spans.

    LangChain does not say which of its runs are agents: name the nodes or graphs that are.

    Args:
        provider: where the spans go.
        agents: names of nodes or graphs. A graph within a node of the same name is the same agent.
    """

    run_inline = True  # in the thread and in the order in which things happen

    def __init__(self, provider: TracerProvider, agents: Collection[str] = ()) -> None:
        self._spans = SpanMaker(provider, "langchain")
        self._agents = frozenset(agents)
        self._within: dict[UUID, str] = {}  # by run: the agent at work

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A graph, a node or a function begins."""
        name = str(kwargs.get("name") or (serialized or {}).get("name") or "chain")
        around = self._agent(parent_run_id)
        conversation = str((metadata or {}).get("thread_id") or "")
        if name in self._agents and name != around:
            self._within[run_id] = name
            attributes = {names.AGENT: name, names.CONVERSATION: conversation}
            self._spans.begin(run_id, parent_run_id, "invoke_agent", name, **attributes)
            return
        self._within[run_id] = around
        operation = "invoke_workflow" if parent_run_id is None else "chain"
        attributes = {names.WORKFLOW: name, names.CONVERSATION: conversation}
        self._spans.begin(run_id, parent_run_id, operation, name, **attributes)

    def _agent(self, run_id: UUID | None) -> str:
        return self._within.get(run_id, "") if run_id is not None else ""

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """It is over."""
        self._within.pop(run_id, None)
        self._spans.end(run_id, {})

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """It failed, or handed over to a graph around it, which LangGraph does by an exception."""
        self._within.pop(run_id, None)
        if type(error).__name__ == "ParentCommand":
            self._spans.end(run_id, {})
        else:
            self._fail(run_id, error)

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A model is asked."""
        facts: dict[str, Any] = metadata or {}
        asked: dict[str, Any] = kwargs.get("invocation_params") or {}
        model = str(facts.get("ls_model_name") or asked.get("model") or "")
        everything = [message for batch in messages for message in batch]
        system = [part for message in everything if message.type == "system" for part in _parts(message)]
        attributes = {
            names.PROVIDER: facts.get("ls_provider"),
            names.REQUEST_MODEL: model,
            names.AGENT: self._agent(parent_run_id),
            names.CONVERSATION: facts.get("thread_id"),
            names.INSTRUCTIONS: json_of(system) if system else None,
            names.INPUT: json_of([_message(one) for one in everything if one.type != "system"]),
            names.DEFINITIONS: json_of(asked["tools"]) if asked.get("tools") else None,
        }
        self._spans.begin(run_id, parent_run_id, "chat", model, **attributes)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """A model has answered."""
        said = [
            generation.message
            for batch in response.generations
            for generation in batch
            if isinstance(generation, ChatGeneration)
        ]
        usage = next(
            (one.usage_metadata for one in said if isinstance(one, AIMessage) and one.usage_metadata), None
        )
        facts: dict[str, Any] = said[0].response_metadata if said else {}
        details = usage.get("input_token_details", {}) if usage else {}
        self._spans.end(
            run_id,
            {
                names.OUTPUT: json_of([_message(one) for one in said]),
                names.RESPONSE_MODEL: facts.get("model_name"),
                names.RESPONSE_ID: facts.get("id"),
                names.FINISH_REASONS: [str(facts["finish_reason"])] if facts.get("finish_reason") else None,
                names.INPUT_TOKENS: usage["input_tokens"] if usage else None,
                names.OUTPUT_TOKENS: usage["output_tokens"] if usage else None,
                names.CACHE_READ: details.get("cache_read"),
            },
        )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A model has not answered."""
        self._fail(run_id, error)

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A tool begins."""
        name = str((serialized or {}).get("name") or kwargs.get("name") or "tool")
        self._within[run_id] = self._agent(parent_run_id)
        attributes = {
            names.TOOL: name,
            names.TOOL_TYPE: "function",
            names.CALL_ID: kwargs.get("tool_call_id"),
            names.CALL_ARGUMENTS: json_of(inputs) if inputs is not None else input_str,
        }
        self._spans.begin(run_id, parent_run_id, "execute_tool", name, **attributes)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool is done."""
        self._within.pop(run_id, None)
        attributes: dict[str, Any] = {names.CALL_RESULT: text_of(getattr(output, "content", output))}
        failed = None
        if isinstance(output, ToolMessage):
            attributes[names.CALL_ID] = output.tool_call_id
            failed = "error" if output.status == "error" else None
        self._spans.end(run_id, attributes, error=failed)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool has failed."""
        self._within.pop(run_id, None)
        self._fail(run_id, error)

    def _fail(self, run_id: UUID, error: BaseException) -> None:
        status = getattr(error, "status_code", None)
        kind = str(status) if isinstance(status, int) else type(error).__name__
        self._spans.end(run_id, {names.ERROR: kind}, error=str(error) or type(error).__name__)


def _message(message: BaseMessage) -> dict[str, Any]:
    return {"role": _ROLES.get(message.type, "user"), "parts": _parts(message)}


def _parts(message: BaseMessage) -> list[dict[str, Any]]:
    """The parts of a message in the form of the conventions."""
    if isinstance(message, ToolMessage):
        error = {"is_error": True} if message.status == "error" else {}
        text = message.text if isinstance(message.text, str) else text_of(message.content)
        return [{"type": "tool_call_response", "id": message.tool_call_id, "response": text, **error}]
    found = list(_texts(message.content))
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            found.append(
                {"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": call["args"]}
            )
        for bad in message.invalid_tool_calls:
            found.append(
                {"type": "tool_call", "id": bad["id"], "name": bad["name"], "arguments": bad["args"]}
            )
    return found


def _texts(content: str | Sequence[Any]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    blocks = [block if isinstance(block, dict) else {"type": "text", "text": str(block)} for block in content]
    kept = [block for block in blocks if block.get("type") not in ("tool_use", "function_call")]
    return [
        {"type": "text", "content": block["text"]} if block.get("type") == "text" else block for block in kept
    ]
