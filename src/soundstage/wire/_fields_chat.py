"""OpenAI Chat Completions: the fields of requests, at all depths; how to read the table is in `_fields`.

Source: the request types of the official SDK. At the top stand also those that clients of compatible servers send:
OpenRouter, vLLM, llama.cpp, DeepSeek, Ollama. Such servers have more fields in messages and tools too (`...`), which
are carried. Below the first level only `stream_options` asks for something in the answer.
"""

from __future__ import annotations

from typing import Final

TABLE: Final = """
Request:
    max_completion_tokens max_tokens messages>Message model stop stream stream_options>StreamOptions tools>Tool
    usage | cache_prompt chat_template_kwargs enable_thinking frequency_penalty include_reasoning keep_alive
    logit_bias metadata min_p models options parallel_tool_calls prediction>PredictionContent presence_penalty
    prompt_cache_key prompt_cache_options>PromptCacheOptions prompt_cache_retention provider reasoning
    reasoning_effort repeat_penalty repetition_penalty response_format>ResponseFormat route safety_identifier seed
    service_tier session_id store temperature thinking thinking_budget tool_choice>ToolChoice top_a top_k top_p
    transforms typical_p user verbosity | n=1 logprobs=false top_logprobs=0 modalities=["text"] audio>Audio
    functions>Function function_call>FunctionCallOption="none" function_call>FunctionCallOption="auto"
    web_search_options>WebSearchOptions moderation>Moderation
DeveloperMessage: content>ContentPartText role | name ...
UserMessage: content>Content role | name ...
AssistantMessage:
    audio>Audio2 content>AssistantMessageContent function_call>FunctionCall reasoning_content refusal role
    tool_calls>ToolCall | name ...
ToolMessage: content>ContentPartText name role tool_call_id | ...
FunctionMessage: content name role | ...
Audio: | format voice>Audio2
FunctionCallOption: | name
Function: | description name parameters
Moderation: | model policy>ModerationPolicy
PredictionContent[content]: | content>ContentPartText type
PromptCacheOptions: | mode ttl
FormatText[text]: | schema type
FormatJSONSchema[json_schema]: | json_schema>JSONSchema schema type
FormatJSONObject[json_object]: | schema type
StreamOptions: include_usage | | continuous_usage_stats=false include_obfuscation=false
AllowedToolChoice[allowed_tools]: | allowed_tools>AllowedTools type
NamedToolChoice[function]: | function>FunctionCallOption type
NamedToolChoiceCustom[custom]: | custom>FunctionCallOption type
FunctionTool[function]: function>FunctionDefinition type | ...
CustomTool[custom]: custom>Custom type | ...
WebSearchOptions: | search_context_size user_location>WebSearchOptionsUserLocation
ContentPartText[text]: text type | prompt_cache_breakpoint>PromptCacheOptions ...
ContentPartImage[image_url]: | image_url>ImageURL prompt_cache_breakpoint>PromptCacheOptions type ...
ContentPartInputAudio[input_audio]: | input_audio>InputAudio prompt_cache_breakpoint>PromptCacheOptions type ...
File[file]: | file>FileFile prompt_cache_breakpoint>PromptCacheOptions type ...
Audio2: | id ...
ContentPartRefusal[refusal]: refusal type | ...
FunctionCall: arguments name | ...
MessageFunctionToolCall[function]: function>FunctionCall id type | ...
MessageCustomToolCall[custom]: custom>Custom2 id type | ...
ModerationPolicy: | input>ModerationPolicyInput output>ModerationPolicyInput
JSONSchema: schema | description name strict
AllowedTools: | mode tools
FunctionDefinition: description name parameters | strict ...
Custom: name | description format>Format ...
WebSearchOptionsUserLocation[approximate]: | approximate>WebSearchOptionsUserLocationApproximate type
ImageURL: | detail url ...
InputAudio: | data format ...
FileFile: | file_data file_id filename ...
Custom2: input name | ...
ModerationPolicyInput: | mode
CustomFormatGrammar[grammar]: | grammar>CustomFormatGrammarGrammar type
WebSearchOptionsUserLocationApproximate: | city country region timezone
CustomFormatGrammarGrammar: | definition syntax
Message = AssistantMessage DeveloperMessage FunctionMessage ToolMessage UserMessage
ResponseFormat = FormatJSONObject FormatJSONSchema FormatText
ToolChoice = AllowedToolChoice NamedToolChoice NamedToolChoiceCustom
Tool = CustomTool FunctionTool
Content = ContentPartImage ContentPartInputAudio ContentPartText File
AssistantMessageContent = ContentPartRefusal ContentPartText
ToolCall = MessageCustomToolCall MessageFunctionToolCall
Format = CustomFormatGrammar FormatText
"""
