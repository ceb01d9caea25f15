"""The keywords of `Script.on` and of `reply`, as types: editors complete them, and mypy finds a misspelt one.

They say for callers in Python what `When` and `Reply` say for files; a test holds the names equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from soundstage.match import Matcher
from soundstage.messages import FinishReason, ToolCall, Usage
from soundstage.models._conditions import NumberCondition, TextCondition
from soundstage.models._reply import BlockSpec, CallSpec, ErrorSpec, ReplyFault

Text = TextCondition | Matcher | Callable[[Any], object]
Number = NumberCondition | Matcher | Callable[[Any], object]


class Conditions(TypedDict, total=False):
    """The conditions of a rule; `When` says what each asks."""

    system: Text
    user: Text
    contains: Text
    agent: Text
    previous_agent: Text
    after_agent: Text
    continue_to_phase: Text
    previous_tool_calls: Text
    iteration: Number
    phase: Text
    turn: Number
    step: Number
    model: Text
    tool: Text
    tools: bool
    after_tool: Text
    tool_result: Text | bool
    header: Mapping[str, Text]
    purpose: Text


class ReplyFields(TypedDict, total=False):
    """The fields of a reply; `Reply` says what each does."""

    text: str
    chunks: Sequence[str]
    blocks: Sequence[BlockSpec | Mapping[str, Any]]
    tool_calls: Sequence[CallSpec | ToolCall | Mapping[str, Any]]
    error: ErrorSpec | Mapping[str, Any]
    fault: ReplyFault | Mapping[str, Any]
    usage: Usage | Mapping[str, int]
    finish: FinishReason
    model: str
    headers: Mapping[str, str]
    delay: float
    first_token_after: float
    tokens_per_second: float
    check_calls: bool
