"""Tables of request fields, one for each format: served, without effect, or refused.

A scripted answer does not depend on how a model would be sampled, billed or stored, so such fields are accepted and
have no effect (`INERT`). A field that asks for something in the answer is served by the codec (`SERVED`), or refused
by name (`REFUSED`), unless its value asks for nothing. A field that is in no table is refused as the provider does.

The same holds of the objects that these fields hold (`inner`). What a script says rules over what is asked of a model
there: the schema of an answer, how much it should think, which tool it should call.

A test holds the tables equal to the request types of the official SDKs, so that a new field is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn

from soundstage.errors import RequestRejected


class RequestFields(NamedTuple):
    """The fields of one format, and what becomes of them.

    Attributes:
        served: names that the codec looks at.
        inert: names that cannot change a scripted answer.
        refused: name -> values that ask for nothing; null and what is empty never do.
        unknown: what the provider says about a name that it does not have, with a place for it.
        inner: name -> the fields of the objects under it, or of the objects in the list there.
    """

    served: frozenset[str]
    inert: frozenset[str]
    refused: Mapping[str, tuple[Any, ...]]
    unknown: str
    inner: Mapping[str, RequestFields] = {}

    @property
    def known(self) -> frozenset[str]:
        """All names."""
        return self.served | self.inert | frozenset(self.refused)

    def check(self, given: Mapping[str, Any], prefix: str = "") -> None:
        """Refuse what is not served: the first such field of the request.

        Args:
            given: the request, or an object in it.
            prefix: where that object is, with a dot.

        Raises:
            RequestRejected: with the name of the field.
        """
        served, inert = self.served, self.inert
        for name, value in given.items():
            if name in served or name in inert:
                continue
            if name not in self.refused:
                message = self.unknown.format(prefix + name)
                raise RequestRejected(message, param=prefix + name, code="unknown_parameter")
            if value is None or value in ([], {}, "") or any(_same(value, one) for one in self.refused[name]):
                continue
            raise unserved(prefix + name)
        if self.inner.keys().isdisjoint(given):
            return
        for name, fields in self.inner.items():
            value = given.get(name)
            for holder in value if isinstance(value, list) else (value,):
                if isinstance(holder, dict):
                    fields.check(holder, f"{prefix}{name}.")


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def unserved(name: str, what: str = "") -> RequestRejected:
    """The refusal of a field that asks for what we do not have; `what` is its value, where that matters."""
    shown = f" = {what}" if what else ""
    return RequestRejected(
        f"Unsupported parameter: '{name}'{shown}. Soundstage does not serve it.",
        param=name,
        code="unsupported_parameter",
    )


def _table(
    served: str,
    inert: str,
    refused: Mapping[str, tuple[Any, ...]],
    unknown: str,
    inner: Mapping[str, tuple[str, str, Mapping[str, tuple[Any, ...]]]] | None = None,
) -> RequestFields:
    """A format's table; `inner` has the first three columns for each object in it."""
    below = {name: _table(*columns, unknown) for name, columns in (inner or {}).items()}
    return RequestFields(frozenset(served.split()), frozenset(inert.split()), refused, unknown, below)


def _either(names: str) -> str:
    """Names as Gemini takes them: in camel case, and in snake case."""
    return f"{names} {re.sub('[A-Z]', lambda found: '_' + found[0].lower(), names)}"


CHAT: Final = _table(
    "model messages tools stream stream_options max_tokens max_completion_tokens stop usage",
    "temperature top_p frequency_penalty presence_penalty logit_bias seed user metadata store service_tier "
    "reasoning_effort verbosity response_format tool_choice parallel_tool_calls prediction safety_identifier "
    "prompt_cache_key prompt_cache_options prompt_cache_retention "
    # what clients of compatible servers send: OpenRouter, vLLM, llama.cpp, DeepSeek, Ollama
    "top_k top_a min_p typical_p repetition_penalty repeat_penalty chat_template_kwargs enable_thinking thinking "
    "thinking_budget reasoning include_reasoning provider models route transforms cache_prompt keep_alive options "
    "session_id",
    {
        "n": (1,),
        "logprobs": (False,),
        "top_logprobs": (0,),
        "modalities": (["text"],),
        "audio": (),
        "functions": (),
        "function_call": ("none", "auto"),
        "web_search_options": (),
        "moderation": (),
    },
    "Unrecognized request argument supplied: {}",
    {
        "stream_options": ("include_usage", "include_obfuscation", {"continuous_usage_stats": (False,)}),
        "response_format": ("type", "json_schema schema", {}),
        "tool_choice": ("", "type function custom allowed_tools", {}),
        "prediction": ("", "type content", {}),
        "prompt_cache_options": ("", "mode ttl", {}),
    },
)
RESPONSES: Final = _table(
    "model input instructions tools stream previous_response_id store max_output_tokens include text reasoning prompt "
    # refused by the codec, with where they have moved
    "messages response_format reasoning_effort max_completion_tokens",
    "temperature top_p metadata user service_tier tool_choice parallel_tool_calls safety_identifier max_tool_calls "
    "prompt_cache_key prompt_cache_options prompt_cache_retention truncation stream_options context_management "
    "background_options access_programs "
    "client_metadata",  # of codex
    {
        "background": (False,),
        "conversation": (),
        "top_logprobs": (0,),
        "moderation": (),
        "image": (),
    },
    "Unknown parameter: '{}'.",
    {
        "text": ("format", "verbosity", {}),
        "reasoning": ("", "effort summary generate_summary context mode enabled max_tokens", {}),
        "prompt": ("id", "version variables", {}),
        "stream_options": ("", "include_obfuscation", {}),
        "tool_choice": ("", "type name mode tools server_label", {}),
        "prompt_cache_options": ("", "mode ttl prewarm comparison_response_id", {}),
        "background_options": ("", "completion_window continuation_id", {}),
        "context_management": ("", "type compact_threshold", {}),
        "access_programs": ("", "cyber", {}),
    },
)
EMBEDDINGS: Final = _table(
    "model input dimensions encoding_format",
    "user input_type truncate task",
    {},
    "Unrecognized request argument supplied: {}",
)
ANTHROPIC: Final = _table(
    "model messages system tools stream max_tokens stop_sequences "
    "thread",  # refused by the codec, with a code that the SDK knows
    "temperature top_p top_k metadata thinking tool_choice service_tier inference_geo cache_control speed "
    "user_profile_id workspace_id billing_policy fallback_credit_token "
    # what Claude Code always sends; none of it changes what a script says
    "context_management output_config output_format diagnostics betas",
    {
        "container": (),
        "mcp_servers": (),
        "fallbacks": (),
        "compaction": (),
    },
    "{}: Extra inputs are not permitted",
    {
        "thinking": ("type display", "budget_tokens block_binding", {}),
        "tool_choice": ("", "type name disable_parallel_tool_use", {}),
        "cache_control": ("", "type ttl", {}),
        "metadata": ("", "user_id", {}),
        "output_config": ("format", "effort task_budget", {}),
        "context_management": ("", "edits", {}),
        "diagnostics": ("", "previous_message_id", {}),
        "billing_policy": ("", "type bill_to", {}),
        "fallback_credit_token": ("", "token mode", {}),
    },
)
_GEMINI_UNKNOWN: Final = 'Invalid JSON payload received. Unknown name "{}": Cannot find field.'
GEMINI: Final = _table(
    "model contents systemInstruction tools generationConfig",
    "safetySettings toolConfig labels store serviceTier modelArmorConfig",
    {"cachedContent": (), "continuationToken": (), "automaticContinuation": ()},
    _GEMINI_UNKNOWN,
    {
        "toolConfig": (
            "",
            _either("functionCallingConfig retrievalConfig includeServerSideToolInvocations"),
            {},
        ),
        "safetySettings": ("", "category method threshold", {}),
    },
)
GENERATION: Final = _table(  # Gemini's `generationConfig`
    "maxOutputTokens stopSequences",
    "temperature topP topK seed presencePenalty frequencyPenalty responseMimeType responseSchema responseJsonSchema "
    "responseFormat thinkingConfig mediaResolution audioTimestamp routingConfig modelSelectionConfig "
    "enableEnhancedCivicAnswers",
    {
        "candidateCount": (1,),
        "responseModalities": (["TEXT"], ["text"], ["Text"]),
        "responseLogprobs": (False,),
        "logprobs": (0,),
        "speechConfig": (),
        "imageConfig": (),
        "audioTranscriptionConfig": (),
        "translationConfig": (),
        "enableAffectiveDialog": (False,),
        "generationOutputConfig": (),
    },
    _GEMINI_UNKNOWN,
    {"thinkingConfig": ("", _either("includeThoughts thinkingBudget thinkingLevel"), {})},
)


def check_limits(
    given: Mapping[str, Any],
    numbers: Mapping[str, int],
    texts: str,
    most: int,
    words: str = "Invalid value for '{name}': expected {wanted}.",
) -> None:
    """The limits of an answer have the types that the scripted model counts with.

    Args:
        given: the request, or the object in it that holds them.
        numbers: the names of limits in tokens, and the least that each may be.
        texts: the name of the stop sequences; empty for a format that has none.
        most: how many of these there may be.
        words: the provider's refusal of a `name`, with what is `wanted`.

    Raises:
        RequestRejected: for the first that is wrong.
    """
    for name, least in numbers.items():
        value = given.get(name)
        if value is not None and (type(value) is not int or value < least):
            _refuse_limit(words, name, f"an integer >= {least}")
    stops = given.get(texts)
    if isinstance(stops, str):
        stops = [stops]
    right = isinstance(stops, list) and len(stops) <= most and all(isinstance(stop, str) for stop in stops)
    if stops is not None and not right:
        _refuse_limit(words, texts, f"a string or an array of at most {most} strings")


def _refuse_limit(words: str, name: str, wanted: str) -> NoReturn:
    raise RequestRejected(words.format(name=name, wanted=wanted), param=name, code="invalid_value")
