"""Values that a provider refuses although their fields are fine: out of range, of a wrong type, or not together.

None of them changes a scripted answer. A program that sends one would be green here and get 400 from the provider: a
temperature of "hot", a tool with a space in its name, a choice of a tool that is not offered. Where models differ,
nothing is refused. Source: the API references, the types of the official SDKs, and the words of the servers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from soundstage.errors import RequestRejected
from soundstage.messages import Message, ToolDefinition


class ValueRule(NamedTuple):
    """The values that a field may have, in words and as a test."""

    wanted: str
    fits: Callable[[Any], bool]


def _number(least: float, most: float) -> ValueRule:
    wanted = f"a number between {least:g} and {most:g}"
    return ValueRule(wanted, lambda value: type(value) in (int, float) and least <= value <= most)


_FLAG: Final = ValueRule("a boolean", lambda value: type(value) is bool)
_TEXT: Final = ValueRule("a string", lambda value: type(value) is str)
_WHOLE: Final = ValueRule("an integer", lambda value: type(value) is int)
_COUNT: Final = ValueRule("an integer >= 0", lambda value: type(value) is int and value >= 0)
_OBJECT: Final = ValueRule("an object", lambda value: type(value) is dict)
_TEXTS: Final = ValueRule(
    "an object of strings",
    lambda value: type(value) is dict and all(type(one) is str for one in value.values()),
)

_CHOICE: Final = ValueRule(  # "any" is what some compatible servers call "required"
    "'none', 'auto', 'required' or an object",
    lambda value: type(value) is dict or value in ("none", "auto", "required", "any"),
)
_LAYOUTS: Final = ("text", "json_object", "json_schema")
_LAYOUT: Final = ValueRule(
    "an object of type 'text', 'json_object' or 'json_schema'",
    lambda value: type(value) is dict and value.get("type") in _LAYOUTS,
)

_OPENAI: Final = {
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
    "parallel_tool_calls": _FLAG,
    "tool_choice": _CHOICE,
    "store": _FLAG,
    "metadata": _TEXTS,
    "user": _TEXT,
    "service_tier": _TEXT,
    "safety_identifier": _TEXT,
    "prompt_cache_key": _TEXT,
}
CHAT: Final[Mapping[str, ValueRule]] = _OPENAI | {
    "presence_penalty": _number(-2, 2),
    "frequency_penalty": _number(-2, 2),
    "seed": _WHOLE,
    "logit_bias": _OBJECT,
    "reasoning_effort": _TEXT,
    "response_format": _LAYOUT,
    "stream_options": _OBJECT,
}
RESPONSES: Final[Mapping[str, ValueRule]] = _OPENAI | {
    "reasoning": _OBJECT,
    "text": ValueRule(
        f"an object whose format is {_LAYOUT.wanted}",
        lambda value: type(value) is dict and (value.get("format") is None or _LAYOUT.fits(value["format"])),
    ),
    "truncation": ValueRule("'auto' or 'disabled'", lambda value: value in ("auto", "disabled")),
    "max_tool_calls": _COUNT,
}
ANTHROPIC: Final[Mapping[str, ValueRule]] = {
    "temperature": _number(0, 1),
    "top_p": _number(0, 1),
    "top_k": _COUNT,
    "metadata": _OBJECT,
    "thinking": _OBJECT,
    "tool_choice": _OBJECT,
    "output_config": _OBJECT,
    "service_tier": _TEXT,
}
GEMINI: Final[Mapping[str, ValueRule]] = {
    "temperature": _number(0, 2),
    "topP": _number(0, 1),
    "topK": _number(0, 2**31),
    "seed": _WHOLE,
    "presencePenalty": _number(-2, 2),
    "frequencyPenalty": _number(-2, 2),
    "responseMimeType": _TEXT,
    "thinkingConfig": _OBJECT,
}

INCLUDE: Final = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)
RESPONSES_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "reasoning.effort": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "reasoning.summary": ("auto", "concise", "detailed"),
    "reasoning.generate_summary": ("auto", "concise", "detailed"),
    "reasoning.context": ("auto", "current_turn", "all_turns"),
    "text.verbosity": ("low", "medium", "high"),
    "prompt_cache_retention": ("in_memory", "24h"),
    "service_tier": ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast"),
}
"""Of the Responses format only: servers that are compatible with the chat format have other words."""


def check_values(rules: Mapping[str, ValueRule], given: Mapping[str, Any], words: str) -> None:
    """Every value of a request is one that its field may have.

    Args:
        rules: of the format.
        given: the request, or the object in it that has the fields. Null is absent.
        words: the provider's refusal of the field `name`, with what is `wanted`.

    Raises:
        RequestRejected: for the first that is not.
    """
    if rules.keys().isdisjoint(given):
        return
    for name, rule in rules.items():
        value = given.get(name)
        if value is not None and not rule.fits(value):
            _refuse(words.format(name=name, wanted=rule.wanted), name, "invalid_value")


def _refuse(message: str, param: str = "", code: str = "") -> NoReturn:
    raise RequestRejected(message, param=param, code=code)


# OpenAI

_OPENAI_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")
_JSON_WORD: Final = re.compile("json", re.IGNORECASE)


def check_chat(
    given: Mapping[str, Any], messages: Iterable[Message], tools: Iterable[ToolDefinition]
) -> None:
    """Refuse a request of the chat format that asks for things that do not go together.

    Raises:
        RequestRejected: with the provider's words.
    """
    if given.get("max_tokens") is not None and given.get("max_completion_tokens") is not None:
        _refuse(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_completion_tokens",
            "invalid_parameter_combination",
        )
    if given.get("stream_options") is not None and not given.get("stream"):
        _refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if given.get("tools") == []:
        _refuse(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            "tools",
            "empty_array",
        )
    names = _openai_names(tools, "function.name")
    choice = given.get("tool_choice")
    if not names and (choice in ("required", "any") or isinstance(choice, dict)):
        _refuse(_ONLY_WITH_TOOLS.format("tool_choice"), "tool_choice")
    if not names and given.get("parallel_tool_calls") is not None:
        _refuse(_ONLY_WITH_TOOLS.format("parallel_tool_calls"), "parallel_tool_calls")
    if isinstance(choice, dict):
        inner = choice.get(str(choice.get("type")))
        _check_choice(inner.get("name") if isinstance(inner, dict) else None, names)
    layout = given.get("response_format")
    if isinstance(layout, dict) and layout.get("type") == "json_object" and not _says_json(messages):
        _refuse(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            "messages",
        )


_ONLY_WITH_TOOLS: Final = "Invalid value for '{0}': '{0}' is only allowed when 'tools' are specified."


def check_responses(
    given: Mapping[str, Any], messages: Iterable[Message], tools: Iterable[ToolDefinition]
) -> None:
    """Refuse a request of the Responses format that asks for things that do not go together.

    Raises:
        RequestRejected: with the provider's words.
    """
    tools = tuple(tools)
    names = _openai_names([tool for tool in tools if not tool.namespace], "name")
    choice = given.get("tool_choice")
    if choice == "required" and not tools:
        _refuse("Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("function", "custom"):
        _check_choice(choice.get("name"), names | {tool.name for tool in tools})
    text = given.get("text")
    layout = text.get("format") if isinstance(text, dict) else None
    if isinstance(layout, dict) and layout.get("type") == "json_object" and not _says_json(messages):
        _refuse(
            "Response input messages must contain the word 'json' in some form to use 'text.format' of type "
            "'json_object'.",
            "input",
        )


def _openai_names(tools: Iterable[ToolDefinition], field: str) -> set[str]:
    names = set()
    for number, tool in enumerate(tools):
        if tool.type in ("function", "custom") and not _OPENAI_NAME.fullmatch(tool.name):
            where = f"tools[{number}].{field}"
            _refuse(
                f"Invalid '{where}': string does not match pattern. Expected a string that matches the pattern "
                "'^[a-zA-Z0-9_-]+$'.",
                where,
                "invalid_value",
            )
        names.add(tool.name)
    return names


def _check_choice(name: Any, names: set[str]) -> None:
    if isinstance(name, str) and name not in names:
        _refuse(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")


def _says_json(messages: Iterable[Message]) -> bool:
    return any(_JSON_WORD.search(message.everything) for message in messages)


# Anthropic

_ANTHROPIC_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CHOICES: Final = ("any", "auto", "none", "tool")
_THINKING: Final = ("adaptive", "between_tools", "disabled", "enabled")
_LEAST_BUDGET: Final = 1024


def check_anthropic(
    given: Mapping[str, Any], declared: Iterable[ToolDefinition], offered: Iterable[ToolDefinition]
) -> None:
    """Refuse a request to Anthropic that asks for things that do not go together.

    Args:
        given: the request.
        declared: its `tools`.
        offered: those, with the changes that the conversation makes.

    Raises:
        RequestRejected: with the provider's words.
    """
    seen: set[str] = set()
    for number, tool in enumerate(declared):
        if tool.type == "function" and not _ANTHROPIC_NAME.fullmatch(tool.name):
            _refuse(f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if tool.name in seen and tool.name != tool.type:  # a toolset has no name
            _refuse("tools: Tool names must be unique.")
        seen.add(tool.name)
    choice = given.get("tool_choice") or {}
    _check_anthropic_choice(choice, {tool.name for tool in offered})
    _check_thinking(given.get("thinking") or {}, given, choice, with_tools=bool(seen))


def _check_anthropic_choice(choice: Mapping[str, Any], names: set[str]) -> None:
    if not choice:
        return
    kind = choice.get("type")
    if kind not in _CHOICES:
        expected = ", ".join(f"'{one}'" for one in _CHOICES)
        _refuse(
            f"tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}"
        )
    if kind in ("any", "tool") and not names:
        _refuse("tool_choice: may only be specified while providing tools")
    if kind == "tool" and choice.get("name") not in names:
        _refuse(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools")


def _check_thinking(
    thinking: Mapping[str, Any], given: Mapping[str, Any], choice: Mapping[str, Any], *, with_tools: bool
) -> None:
    kind = thinking.get("type")
    if thinking and kind not in _THINKING:
        expected = ", ".join(f"'{one}'" for one in _THINKING)
        _refuse(
            f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}"
        )
    if kind != "enabled":
        return
    budget = thinking.get("budget_tokens")
    if budget is None:
        _refuse("thinking.enabled.budget_tokens: Field required")
    if type(budget) is not int or budget < _LEAST_BUDGET:
        _refuse(f"thinking.enabled.budget_tokens: Input should be greater than or equal to {_LEAST_BUDGET}")
    most = given.get("max_tokens")
    if most is not None and budget >= most and not with_tools:  # with tools, thinking may go on between calls
        _refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if given.get("temperature") not in (None, 1):
        _refuse("`temperature` may only be set to 1 when thinking is enabled.")
    if choice.get("type") in ("any", "tool"):
        _refuse("Thinking may not be enabled when tool_choice forces tool use.")


# Gemini

_GEMINI_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_MODES: Final = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")


def check_gemini(given: Mapping[str, Any], tools: Iterable[ToolDefinition]) -> None:
    """Refuse a request to Gemini that asks for things that do not go together.

    Args:
        given: the request; its own names in camel case.
        tools: that it offers.

    Raises:
        RequestRejected: with the provider's words.
    """
    names: set[str] = set()
    for tool in tools:
        if tool.type != "function":
            continue
        if not _GEMINI_NAME.fullmatch(tool.name):
            _refuse(
                "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start "
                "with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), "
                f"colons (:), or dashes (-). It is {tool.name!r}.\n"
            )
        if tool.name in names:
            _refuse(f"Duplicate function declaration found: {tool.name}")
        names.add(tool.name)
    config = _snake(_snake(given.get("toolConfig")).get("function_calling_config"))
    mode = config.get("mode")
    if isinstance(mode, str) and mode.upper() not in _MODES:
        _refuse(
            "Invalid value at 'tool_config.function_calling_config.mode' "
            f'(type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), "{mode}"'
        )
    allowed = config.get("allowed_function_names")
    for name in allowed if isinstance(allowed, list) else ():
        if not isinstance(name, str) or name not in names:
            _refuse(
                "* GenerateContentRequest.tool_config.function_calling_config.allowed_function_names: "
                f"{name!r} is not the name of a function declaration.\n"
            )


def _snake(given: Any) -> dict[str, Any]:
    """The fields of an object by their names in snake case."""
    given = given if isinstance(given, dict) else {}
    return {
        re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name): value for name, value in given.items()
    }
