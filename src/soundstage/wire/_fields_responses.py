"""OpenAI Responses: the fields of requests, at all depths; how to read the table is in `_fields`.

Source: the request types of the official SDK, and its answers to unknown fields in items (`Unknown parameter:
'input[3].status'.`). `client_metadata` and `internal_chat_message_metadata_passthrough` are of codex;
`created_by` and some `status` are of answers, which clients send back.
A `local_shell_call_output` has its id in `id` or in `call_id`; the SDK knows the first.
"""

from __future__ import annotations

from typing import Final

TABLE: Final = """
Request:
    context_management>ContextManagement include input>Input instructions max_completion_tokens max_output_tokens
    messages model previous_response_id prompt>Prompt reasoning>Reasoning reasoning_effort response_format store
    stream text>TextConfig tools>Tool | access_programs>AccessPrograms background_options>BackgroundOptions
    client_metadata max_tool_calls metadata parallel_tool_calls prompt_cache_key
    prompt_cache_options>PromptCacheOptions prompt_cache_retention safety_identifier service_tier
    stream_options>StreamOptions temperature tool_choice>ToolChoice top_p truncation user | background=false
    conversation>Conversation top_logprobs=0 moderation>Moderation image>Image
AccessPrograms: | cyber
BackgroundOptions: | completion_window continuation_id
ContextManagement: compact_threshold type |
Conversation: | id
Image: | context_compression
EasyInputMessage[-,message]:
    content>EasyInputMessageContent role type | internal_chat_message_metadata_passthrough phase
Message[-,message]: content>EasyInputMessageContent role type | status
OutputMessage[message]: content>OutputMessageContent role type | id phase status
FileSearchToolCall[file_search_call]: type | id queries results>Result status
ComputerToolCall[computer_call]:
    action>Action actions>Action call_id id type | pending_safety_checks>PendingSafetyCheck status
ComputerCallOutput[computer_call_output]:
    call_id id output>ComputerToolCallOutputScreenshot status type | created_by
    acknowledged_safety_checks>PendingSafetyCheck
FunctionWebSearch[web_search_call]: | action>FunctionWebSearchAction id status type
FunctionToolCall[function_call]: arguments call_id name namespace type | created_by async caller>Caller id status
FunctionCallOutput[function_call_output]:
    call_id name output>EasyInputMessageContent type | created_by caller>Caller id namespace status
ToolSearchCall[tool_search_call]: arguments call_id execution id type | created_by status
ToolSearchOutputItem[tool_search_output]: call_id execution id tools>Tool type | created_by status
AdditionalTools[additional_tools]: tools>Tool type | id role
ConfigurationUpdateItem[configuration_update]: | id reasoning>Reasoning2 type | text>Text
ReasoningItem[reasoning]: content>Content encrypted_content summary>Summary type | id status
CompactionItem[compaction]: encrypted_content type | created_by id
ImageGenerationCall[image_generation_call]:
    | action background error>ImageGenerationCallError id output_format quality result revised_prompt size status
    svg_usage>ImageGenerationCallSvgUsage type
CodeInterpreterToolCall[code_interpreter_call]: type | code container_id id outputs>Output status
LocalShellCall[local_shell_call]: action>LocalShellCallAction call_id id type | status
LocalShellCallOutput[local_shell_call_output]: call_id id output status type |
ShellCall[shell_call]:
    action>ShellCallAction call_id id type | created_by caller>Caller environment>Environment status
ShellCallOutput[shell_call_output]:
    call_id id output>FunctionShellCallOutputContent status type | created_by caller>Caller max_output_length
ApplyPatchCall[apply_patch_call]: call_id id operation>Operation type | created_by caller>Caller status
ApplyPatchCallOutput[apply_patch_call_output]: call_id id output status type | created_by caller>Caller
McpListTools[mcp_list_tools]: type | error id server_label tools>McpListToolsTool
McpApprovalRequest[mcp_approval_request]: | arguments id name server_label type
McpApprovalResponse[mcp_approval_response]: | approval_request_id approve id reason type
McpCall[mcp_call]: | approval_request_id arguments error>Error id name output server_label status type
CustomToolCallOutput[custom_tool_call_output]:
    call_id output>EasyInputMessageContent type | created_by status caller>Caller id
CustomToolCall[custom_tool_call]: call_id input name namespace type | created_by status async caller>Caller id
CompactionTrigger[compaction_trigger]: | id | type
ItemReference[-,item_reference]: id type |
Program[program]: | call_id code fingerprint id type
ProgramOutput[program_output]: | call_id id result status type
Moderation: | model policy>ModerationPolicy
Prompt: id | variables version
PromptCacheOptions: | mode ttl | prewarm=false comparison_response_id
Reasoning: | context effort enabled generate_summary max_tokens mode summary
StreamOptions: | | include_obfuscation=false
TextConfig: format>Format | verbosity
ToolChoiceAllowed[allowed_tools]: | mode tools type
ToolChoiceTypes[code_interpreter,computer,computer_use,computer_use_preview,file_search,image_generation,
    web_search_preview,web_search_preview_2025_03_11]: | type
ToolChoiceFunction[function]: | name type
ToolChoiceMcp[mcp]: | name server_label type
ToolChoiceCustom[custom]: | name type
ToolChoiceSpecificProgrammaticToolCalling[programmatic_tool_calling]: | type
ToolChoiceApplyPatch[apply_patch]: | type
ToolChoiceShell[shell]: | type
FunctionTool[function]: description name parameters type | allowed_callers async defer_loading output_schema strict
FileSearchTool[file_search]: type | filters>Filter max_num_results ranking_options>RankingOptions vector_store_ids
ComputerTool[computer]: type |
ComputerUsePreviewTool[computer_use_preview]: type | display_height display_width environment
WebSearchTool[web_search,web_search_2025_08_26]:
    type | external_web_access filters>Filters search_context_size user_location>UserLocation
Mcp[mcp]:
    | allowed_callers allowed_tools>McpAllowedToolsMcpToolFilter authorization connector_id defer_loading headers
    require_approval>McpRequireApprovalMcpToolApprovalFilter server_description server_label server_url tunnel_id
    type
CodeInterpreter[code_interpreter]: | allowed_callers container>CodeInterpreterContainerCodeInterpreterToolAuto type
ImageGeneration[image_generation]:
    | action background complexity frame_count frame_duration_ms input_fidelity
    input_image_mask>ImageGenerationInputImageMask model moderation output_compression output_format
    partial_images quality size svg>ImageGenerationSvg type
LocalShell[local_shell]: | type
FunctionShellTool[shell]: type | allowed_callers environment>FunctionShellToolEnvironment
CustomTool[custom]: description name type | allowed_callers async defer_loading format>CustomToolFormat
NamespaceTool[namespace]: name tools>NamespaceToolTools type | description
ToolSearchTool[tool_search]: type | description execution parameters
WebSearchPreviewTool[web_search_preview,web_search_preview_2025_03_11]:
    type | search_content_types search_context_size user_location>UserLocation2
ApplyPatchTool[apply_patch]: type | allowed_callers
InputText[input_text]: text type | prompt_cache_breakpoint>PromptCacheBreakpoint
InputImage[input_image]: | detail file_id image_url prompt_cache_breakpoint>PromptCacheBreakpoint type
InputFile[input_file]:
    | detail file_data file_id file_url filename prompt_cache_breakpoint>PromptCacheBreakpoint type
OutputText[output_text]: text type | annotations>Annotation logprobs>Logprob
OutputRefusal[refusal]: refusal type |
Result: | attributes file_id filename score text
PendingSafetyCheck: | code id message
ActionClick[click]: | button keys type x y
ActionDoubleClick[double_click]: | keys type x y
ActionDrag[drag]: | keys path>ActionDragPath type
ActionKeypress[keypress]: | keys type
ActionMove[move]: | keys type x y
ActionScreenshot[screenshot]: | type
ActionScroll[scroll]: | keys scroll_x scroll_y type x y
ActionType[type]: | text type
ActionWait[wait]: | type
ComputerToolCallOutputScreenshot[computer_screenshot]: type | file_id image_url
ActionSearch[search]: | queries query sources>ActionSearchSource type
ActionOpenPage[open_page]: | type url
ActionFind[find_in_page]: | pattern type url
CallerDirect[direct]: | type
CallerProgram[program]: | caller_id type
Reasoning2: | effort
Text: | format>TextFormat
Summary[summary_text]: text type |
Content[reasoning_text]: text type |
ImageGenerationCallError: | code message moderation_details>ImageGenerationCallErrorModerationDetails param type
ImageGenerationCallSvgUsage: | input_tokens model output_tokens reasoning_tokens total_tokens
OutputLogs[logs]: | logs type
OutputImage[image]: | type url
LocalShellCallAction[exec]: | command env timeout_ms type user working_directory
ShellCallAction: commands max_output_length timeout_ms |
LocalEnvironment[local]: | skills>LocalSkill type
ContainerReference[container_reference]: | container_id type
FunctionShellCallOutputContent: outcome>Outcome stderr stdout | created_by
ApplyPatchCallOperationCreateFile[create_file]: | diff path type
ApplyPatchCallOperationDeleteFile[delete_file]: | path type
ApplyPatchCallOperationUpdateFile[update_file]: | diff path type
McpListToolsTool: | annotations description input_schema name
McpProtocolError[mcp_protocol_error]: | code message type
McpToolExecutionError[mcp_tool_execution_error]: type | content
HTTPError[http_error]: | code message type
ModerationPolicy: | input>ModerationPolicyInput output>ModerationPolicyInput
FormatText[text]: type |
FormatTextJSONSchemaConfig[json_schema]: name schema type | description strict
FormatJSONObject[json_object]: type |
ComparisonFilter[eq,gt,gte,in,lt,lte,ne,nin]: | key type value
CompoundFilter[and,or]: | filters>ComparisonFilter type
RankingOptions: | hybrid_search>RankingOptionsHybridSearch ranker score_threshold
Filters: | allowed_domains
UserLocation[-,approximate]: | city country region timezone type
McpAllowedToolsMcpToolFilter: | read_only tool_names
McpRequireApprovalMcpToolApprovalFilter: | always>McpAllowedToolsMcpToolFilter never>McpAllowedToolsMcpToolFilter
CodeInterpreterContainerCodeInterpreterToolAuto[auto]: type | file_ids memory_limit network_policy>NetworkPolicy
ImageGenerationInputImageMask: | file_id image_url
ImageGenerationSvg: | model reasoning>Reasoning2
ContainerAuto[container_auto]: | file_ids memory_limit network_policy>NetworkPolicy skills>Skill type
Grammar[grammar]: | definition syntax type
UserLocation2[approximate]: | city country region timezone type
PromptCacheBreakpoint: | mode ttl
AnnotationFileCitation[file_citation]: | file_id filename index type
AnnotationURLCitation[url_citation]: | end_index start_index title type url
AnnotationContainerFileCitation[container_file_citation]: | container_id end_index file_id filename start_index type
AnnotationFilePath[file_path]: | file_id index type
Logprob: | bytes logprob token top_logprobs>LogprobTopLogprob
ActionDragPath: | x y
ActionSearchSource[url]: | type url
ImageGenerationCallErrorModerationDetails: | categories moderation_stage
LocalSkill: | description name path
OutcomeTimeout[timeout]: type |
OutcomeExit[exit]: exit_code type |
ModerationPolicyInput: | mode
RankingOptionsHybridSearch: | embedding_weight text_weight
ContainerNetworkPolicyDisabled[disabled]: | type
ContainerNetworkPolicyAllowlist[allowlist]: | allowed_domains domain_secrets>ContainerNetworkPolicyDomainSecret type
SkillReference[skill_reference]: | skill_id type version
InlineSkill[inline]: | description name source>InlineSkillSource type
LogprobTopLogprob: | bytes logprob token
ContainerNetworkPolicyDomainSecret: | domain name value
InlineSkillSource[base64]: | data media_type type
Input =
    AdditionalTools ApplyPatchCall ApplyPatchCallOutput CodeInterpreterToolCall CompactionItem CompactionTrigger
    ComputerCallOutput ComputerToolCall ConfigurationUpdateItem CustomToolCall CustomToolCallOutput
    EasyInputMessage FileSearchToolCall FunctionCallOutput FunctionToolCall FunctionWebSearch ImageGenerationCall
    ItemReference LocalShellCall LocalShellCallOutput McpApprovalRequest McpApprovalResponse McpCall McpListTools
    Message OutputMessage Program ProgramOutput ReasoningItem ShellCall ShellCallOutput ToolSearchCall
    ToolSearchOutputItem
ToolChoice =
    ToolChoiceAllowed ToolChoiceApplyPatch ToolChoiceCustom ToolChoiceFunction ToolChoiceMcp ToolChoiceShell
    ToolChoiceSpecificProgrammaticToolCalling ToolChoiceTypes
Tool =
    ApplyPatchTool CodeInterpreter ComputerTool ComputerUsePreviewTool CustomTool FileSearchTool FunctionShellTool
    FunctionTool ImageGeneration LocalShell Mcp NamespaceTool ToolChoiceSpecificProgrammaticToolCalling
    ToolSearchTool WebSearchPreviewTool WebSearchTool
EasyInputMessageContent = InputFile InputImage InputText
OutputMessageContent = OutputRefusal OutputText
Action =
    ActionClick ActionDoubleClick ActionDrag ActionKeypress ActionMove ActionScreenshot ActionScroll ActionType
    ActionWait
FunctionWebSearchAction = ActionFind ActionOpenPage ActionSearch
Caller = CallerDirect CallerProgram
Output = OutputImage OutputLogs
Environment = ContainerReference LocalEnvironment
Operation = ApplyPatchCallOperationCreateFile ApplyPatchCallOperationDeleteFile ApplyPatchCallOperationUpdateFile
Error = HTTPError McpProtocolError McpToolExecutionError
Format = FormatJSONObject FormatText FormatTextJSONSchemaConfig
Filter = ComparisonFilter CompoundFilter
FunctionShellToolEnvironment = ContainerAuto ContainerReference LocalEnvironment
CustomToolFormat = FormatText Grammar
NamespaceToolTools = CustomTool FunctionTool
Annotation = AnnotationContainerFileCitation AnnotationFileCitation AnnotationFilePath AnnotationURLCitation
TextFormat = FormatText FormatTextJSONSchemaConfig
Outcome = OutcomeExit OutcomeTimeout
NetworkPolicy = ContainerNetworkPolicyAllowlist ContainerNetworkPolicyDisabled
Skill = InlineSkill SkillReference
"""
