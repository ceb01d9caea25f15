"""Anthropic Messages: the fields of requests, at all depths; how to read the table is in `_fields`.

Source: the request types of the official SDK, beta included, and the provider's refusals of fields in blocks and tools
(`messages.1.content.1.tool_use.index: Extra inputs are not permitted`). `scope` of a cache control is of Claude Code.
Citations are refused: an answer has none, whatever a document says. `diagnostics` asks why the prompt cache was missed;
an answer without them says that it was not. Tools of MCP servers cannot be added, as `mcp_servers` is refused.
"""

from __future__ import annotations

from typing import Final

TABLE: Final = """
Request:
    context_management>ContextManagementConfig max_tokens messages>Message model stop_sequences stream
    system>TextBlock thread>Thread tools>Tools | betas billing_policy>BillingPolicy
    cache_control>CacheControlEphemeral diagnostics>Diagnostics fallback_credit_token>FallbackCreditToken
    inference_geo metadata>Metadata output_config>OutputConfig output_format service_tier speed temperature
    thinking>Thinking tool_choice>ToolChoice top_k top_p user_profile_id workspace_id | container>ContainerParams
    mcp_servers>RequestMCPServerURLDefinition fallbacks>Fallback compaction>CompactionConfig
UserMessage: content>Content role |
SystemMessage: content>SystemMessageContent role | output_config>SystemMessageOutputConfig | clear_at="never"
CacheControlEphemeral[ephemeral]: | scope ttl type
ContainerParams: | id skills>SkillParams
Diagnostics: | previous_message_id
Metadata: | user_id
OutputConfig: format>JSONOutputFormat | effort task_budget>TokenTaskBudget
TextBlock[text]: text type | cache_control>CacheControlEphemeral citations>Citation
ThinkingConfigEnabled[enabled]: | block_binding>ThinkingBlockBinding budget_tokens display type
ThinkingConfigDisabled[disabled]: | type
ThinkingConfigBetweenTools[between_tools]: type |
ThinkingConfigAdaptive[adaptive]: | block_binding>ThinkingBlockBinding display type
ToolChoiceAuto[auto]: | disable_parallel_tool_use type
ToolChoiceAny[any]: | disable_parallel_tool_use type
ToolChoiceTool[tool]: | disable_parallel_tool_use name type
ToolChoiceNone[none]: | type
Tool[-,custom]:
    description input_schema name type | allowed_callers cache_control>CacheControlEphemeral
    defer_loading eager_input_streaming input_examples strict
ToolBash20250124[bash_20250124]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading input_examples strict
CodeExecutionTool20250522[code_execution_20250522]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading strict
CodeExecutionTool20250825[code_execution_20250825]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading strict
CodeExecutionTool20260120[code_execution_20260120]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading strict
CodeExecutionTool20260521[code_execution_20260521]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading strict
BrowserToolset20260801[browser_toolset_20260801]:
    type | cache_control>CacheControlEphemeral configs>BrowserToolsetConfigs
MemoryTool20250818[memory_20250818]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading input_examples strict
ComputerToolset20260801[computer_toolset_20260801]:
    type | cache_control>CacheControlEphemeral configs>ComputerToolsetConfigs
ToolTextEditor20250124[text_editor_20250124]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading input_examples strict
ToolTextEditor20250429[text_editor_20250429]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading input_examples strict
ToolTextEditor20250728[text_editor_20250728]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading input_examples max_characters
    strict
WebSearchTool20250305[web_search_20250305]:
    name type | allowed_callers allowed_domains blocked_domains cache_control>CacheControlEphemeral defer_loading
    max_uses strict user_location>UserLocation
WebFetchTool20250910[web_fetch_20250910]:
    name type | allowed_callers allowed_domains blocked_domains cache_control>CacheControlEphemeral
    citations>CitationsConfig defer_loading max_content_tokens max_uses strict url_sources>WebFetchURLSources
WebSearchTool20260209[web_search_20260209]:
    name type | allowed_callers allowed_domains blocked_domains cache_control>CacheControlEphemeral defer_loading
    max_uses strict user_location>UserLocation
WebFetchTool20260209[web_fetch_20260209]:
    name type | allowed_callers allowed_domains blocked_domains cache_control>CacheControlEphemeral
    citations>CitationsConfig defer_loading max_content_tokens max_uses strict url_sources>WebFetchURLSources
WebFetchTool20260309[web_fetch_20260309]:
    name type | allowed_callers allowed_domains blocked_domains cache_control>CacheControlEphemeral
    citations>CitationsConfig defer_loading max_content_tokens max_uses strict url_sources>WebFetchURLSources
    use_cache
WebSearchTool20260318[web_search_20260318]:
    name type | allowed_callers allowed_domains blocked_domains cache_control>CacheControlEphemeral defer_loading
    max_uses response_inclusion strict user_location>UserLocation
WebFetchTool20260318[web_fetch_20260318]:
    name type | allowed_callers allowed_domains blocked_domains cache_control>CacheControlEphemeral
    citations>CitationsConfig defer_loading max_content_tokens max_uses response_inclusion strict
    url_sources>WebFetchURLSources use_cache
ToolSearchToolBm25_20251119[tool_search_tool_bm25,tool_search_tool_bm25_20251119]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading strict
ToolSearchToolRegex20251119[tool_search_tool_regex,tool_search_tool_regex_20251119]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading strict
BillingPolicy[billing_policy]: | bill_to type
CompactionConfig[summarize]: | instructions type
ContextManagementConfig: edits>Edit |
FallbackCreditToken: | mode token
Fallback: | max_tokens model output_config>OutputConfig speed thinking>Thinking
RequestMCPServerURLDefinition[url]:
    | authorization_token name tool_configuration>RequestMCPServerToolConfiguration type url
ThreadCreateParams[create]: | type
ThreadContinueParams[continue]: | previous_message_id type
ToolBash20241022[bash_20241022]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading input_examples strict
ToolComputerUse20241022[computer_20241022]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading display_height_px display_number
    display_width_px input_examples strict
ToolComputerUse20250124[computer_20250124]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading display_height_px display_number
    display_width_px input_examples strict
ToolTextEditor20241022[text_editor_20241022]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading input_examples strict
ToolComputerUse20251124[computer_20251124]:
    name type | allowed_callers cache_control>CacheControlEphemeral defer_loading display_height_px display_number
    display_width_px enable_zoom input_examples strict
AdvisorTool20260301[advisor_20260301]:
    name type | allowed_callers cache_control>CacheControlEphemeral caching>CacheControlEphemeral defer_loading
    max_tokens max_uses model strict
MCPToolset[mcp_toolset]:
    type | cache_control>CacheControlEphemeral configs default_config>MCPToolDefaultConfig mcp_server_name
    tools>MCPTool
ImageBlock[image]: | cache_control>CacheControlEphemeral source>Source transformations>ImageTransformations type
DocumentBlock[document]:
    | cache_control>CacheControlEphemeral citations>CitationsConfig context source>DocumentSource title type
SearchResultBlock[search_result]:
    | cache_control>CacheControlEphemeral citations>CitationsConfig content>TextBlock source title type
ThinkingBlock[thinking]: signature thinking type |
RedactedThinkingBlock[redacted_thinking]: | data type
ToolUseBlock[tool_use]: id input name type | cache_control>CacheControlEphemeral caller>Caller toolset_name
ToolResultBlock[tool_result]:
    content>ToolResultContent is_error tool_use_id type | cache_control>CacheControlEphemeral toolset_name
ServerToolUseBlock[server_tool_use]: name type | cache_control>CacheControlEphemeral caller>Caller id input
WebSearchToolResultBlock[web_search_tool_result]:
    type | cache_control>CacheControlEphemeral caller>Caller content>WebSearchToolResultContent tool_use_id
WebFetchToolResultBlock[web_fetch_tool_result]:
    type | cache_control>CacheControlEphemeral caller>Caller content>WebFetchToolResultContent tool_use_id
CodeExecutionToolResultBlock[code_execution_tool_result]:
    type | cache_control>CacheControlEphemeral content>CodeExecutionToolResultContent tool_use_id
BashCodeExecutionToolResultBlock[bash_code_execution_tool_result]:
    type | cache_control>CacheControlEphemeral content>BashCodeExecutionToolResultContent tool_use_id
TextEditorCodeExecutionToolResultBlock[text_editor_code_execution_tool_result]:
    type | cache_control>CacheControlEphemeral content>TextEditorCodeExecutionToolResultContent tool_use_id
ToolSearchToolResultBlock[tool_search_tool_result]:
    type | cache_control>CacheControlEphemeral content>ToolSearchToolResultContent tool_use_id
ContainerUploadBlock[container_upload]: | cache_control>CacheControlEphemeral file_id type
SkillParams[anthropic,custom]: | skill_id type version
JSONOutputFormat[json_schema]: schema type |
CitationCharLocation[char_location]:
    | cited_text document_index document_title end_char_index file_id start_char_index type
CitationPageLocation[page_location]:
    | cited_text document_index document_title end_page_number file_id start_page_number type
CitationContentBlockLocation[content_block_location]:
    | cited_text document_index document_title end_block_index file_id start_block_index type
CitationWebSearchResultLocation[web_search_result_location]: | cited_text encrypted_index title type url
CitationSearchResultLocation[search_result_location]:
    | cited_text end_block_index search_result_index source start_block_index title type
BrowserToolsetConfigs:
    | close_tab>MCPToolDefaultConfig double_click>MCPToolDefaultConfig file_upload>MCPToolDefaultConfig
    find>MCPToolDefaultConfig form_input>MCPToolDefaultConfig get_page_text>MCPToolDefaultConfig
    hold_key>MCPToolDefaultConfig hover>MCPToolDefaultConfig javascript_exec>MCPToolDefaultConfig
    key>MCPToolDefaultConfig left_click>MCPToolDefaultConfig left_click_drag>MCPToolDefaultConfig
    left_mouse_down>MCPToolDefaultConfig left_mouse_up>MCPToolDefaultConfig list_tabs>MCPToolDefaultConfig
    middle_click>MCPToolDefaultConfig mouse_move>MCPToolDefaultConfig navigate>MCPToolDefaultConfig
    new_tab>MCPToolDefaultConfig read_console>MCPToolDefaultConfig read_network>MCPToolDefaultConfig
    read_page>MCPToolDefaultConfig right_click>MCPToolDefaultConfig screenshot>MCPToolDefaultConfig
    scroll>MCPToolDefaultConfig scroll_to>MCPToolDefaultConfig switch_tab>MCPToolDefaultConfig
    triple_click>MCPToolDefaultConfig type>MCPToolDefaultConfig wait>MCPToolDefaultConfig
    zoom>MCPToolDefaultConfig
ComputerToolsetConfigs:
    | cursor_position>MCPToolDefaultConfig double_click>MCPToolDefaultConfig hold_key>MCPToolDefaultConfig
    key>MCPToolDefaultConfig left_click>MCPToolDefaultConfig left_click_drag>MCPToolDefaultConfig
    left_mouse_down>MCPToolDefaultConfig left_mouse_up>MCPToolDefaultConfig middle_click>MCPToolDefaultConfig
    mouse_move>MCPToolDefaultConfig right_click>MCPToolDefaultConfig screenshot>MCPToolDefaultConfig
    scroll>MCPToolDefaultConfig triple_click>MCPToolDefaultConfig type>MCPToolDefaultConfig
    wait>MCPToolDefaultConfig zoom>MCPToolDefaultConfig
UserLocation[approximate]: | city country region timezone type
CitationsConfig: | | enabled=false
WebFetchURLSources: | client_tool_results>ClientToolResult server_tool_results>ClientToolResult user_input>UserInput
AdvisorToolResultBlock[advisor_tool_result]:
    type | cache_control>CacheControlEphemeral content>AdvisorToolResultContent tool_use_id
MCPToolUseBlock[mcp_tool_use]: name type | cache_control>CacheControlEphemeral id input server_name
RequestMCPToolResultBlock[mcp_tool_result]:
    type | cache_control>CacheControlEphemeral content>TextBlock is_error tool_use_id
CompactionBlock[compaction]:
    content encrypted_content tool_changes>ToolChange type | cache_control>CacheControlEphemeral signature
RequestToolAdditionBlock[tool_addition]: tool>ToolAdditionTool type | cache_control>CacheControlEphemeral
RequestToolRemovalBlock[tool_removal]: tool>ToolRemovalTool type | cache_control>CacheControlEphemeral
MCPToolListingBlock[mcp_tool_listing]: type | mcp_server_name tools>MCPTool
FallbackBlock[fallback]: | from>FallbackInfo to>FallbackInfo trigger>FallbackRefusalTrigger type
MCPToolResultBlock[mcp_tool_result]: type | content>TextBlock is_error tool_use_id
SystemMessageOutputConfig: | effort
ClearToolUses20250919Edit[clear_tool_uses_20250919]:
    clear_at_least>InputTokensClearAtLeast exclude_tools keep>ToolUsesKeep trigger>Trigger type | clear_tool_inputs
ClearThinking20251015Edit[clear_thinking_20251015]: keep>Keep type |
Compact20260112Edit[compact_20260112]:
    pause_after_compaction trigger>InputTokensClearAtLeast type | instructions
RequestMCPServerToolConfiguration: | allowed_tools enabled
TokenTaskBudget[tokens]: | remaining total type
ThinkingBlockBinding: | prefix_mismatch_behavior
MCPToolDefaultConfig: | defer_loading enabled
MCPTool: | description input_schema name
Base64ImageSource[base64]: | data media_type type
URLImageSource[url]: | type url
FileImageSource[file]: | file_id type
ImageTransformations: | oversized_image
PlainTextSource[text]: | data media_type type
ContentBlockSource[content]: | content>ContentBlockSourceContent type
DirectCaller[direct]: | type
ServerToolCaller[code_execution_20250825]: type | tool_id
ServerToolCaller20260120[code_execution_20260120]: type | tool_id
ToolReferenceBlock[tool_reference]: type | cache_control>CacheControlEphemeral tool_name
BrowserStateBlock[browser_state]:
    | cache_control>CacheControlEphemeral state_changes>StateChange tabs>BrowserStateTabEntry type
WebSearchResultBlock[web_search_result]: | encrypted_content page_age title type url
WebSearchToolRequestErrorObject[web_search_tool_result_error]: type | error_code
WebFetchToolResultErrorBlock[web_fetch_tool_result_error]: type | error_code
WebFetchBlock[web_fetch_result]: | content>DocumentBlock retrieved_at type url
CodeExecutionToolResultError[code_execution_tool_result_error]: type | error_code
CodeExecutionResultBlock[code_execution_result]: | content>CodeExecutionOutputBlock return_code stderr stdout type
EncryptedCodeExecutionResultBlock[encrypted_code_execution_result]:
    | content>CodeExecutionOutputBlock encrypted_stdout return_code stderr type
BashCodeExecutionToolResultError[bash_code_execution_tool_result_error]: type | error_code
BashCodeExecutionResultBlock[bash_code_execution_result]:
    | content>BashCodeExecutionOutputBlock return_code stderr stdout type
TextEditorCodeExecutionToolResultError[text_editor_code_execution_tool_result_error]:
    type | error_code error_message
TextEditorCodeExecutionViewResultBlock[text_editor_code_execution_view_result]:
    | content file_type num_lines start_line total_lines type
TextEditorCodeExecutionCreateResultBlock[text_editor_code_execution_create_result]: | is_file_update type
TextEditorCodeExecutionStrReplaceResultBlock[text_editor_code_execution_str_replace_result]:
    | lines new_lines new_start old_lines old_start type
ToolSearchToolResultError[tool_search_tool_result_error]: type | error_code error_message
ToolSearchToolSearchResultBlock[tool_search_tool_search_result]: type | tool_references>ToolReferenceBlock
WebFetchURLSourceAll[all]: | type
WebFetchURLSourceOnly[only]: | tools>ToolChangeToolReference type
WebFetchURLSourceExcept[except]: | tools>ToolChangeToolReference type
AdvisorToolResultError[advisor_tool_result_error]: type | error_code
AdvisorResultBlock[advisor_result]: | stop_reason text type
AdvisorRedactedResultBlock[advisor_redacted_result]: | encrypted_content stop_reason type
ToolChangeToolReference[tool_reference]: name type |
ToolChangeMCPToolReference[mcp_tool_reference]: name type | | server_name
ToolChangeMCPToolsetReference[mcp_toolset_reference]: type | | server_name
ToolChangeToolDefinition[tool_definition]: definition>Tools type |
FallbackInfo: | model
ToolAdditionBlock[tool_addition]: tool>ToolAdditionTool type |
ToolRemovalBlock[tool_removal]: tool>ToolRemovalTool type |
FallbackRefusalTrigger[refusal]: | category type
InputTokensClearAtLeast[input_tokens]: type value |
ToolUsesKeep[tool_uses]: type | value
ThinkingTurns[thinking_turns]: type value |
BrowserStateTabEntry: | active tab_id title url
BrowserStateChangeTabOpened[tab_opened]: | tab_id type
BrowserStateChangeDownloadStarted[download_started]: | download_id type url
BrowserStateChangeDownloadCompleted[download_completed]: | download_id path size_bytes type url
BrowserStateChangeDownloadFailed[download_failed]: | download_id error type url
CodeExecutionOutputBlock[code_execution_output]: | file_id type
BashCodeExecutionOutputBlock[bash_code_execution_output]: | file_id type
Message = SystemMessage UserMessage
Thinking = ThinkingConfigAdaptive ThinkingConfigBetweenTools ThinkingConfigDisabled ThinkingConfigEnabled
Thread = ThreadContinueParams ThreadCreateParams
ToolChoice = ToolChoiceAny ToolChoiceAuto ToolChoiceNone ToolChoiceTool
Tools =
    AdvisorTool20260301 BrowserToolset20260801 CodeExecutionTool20250522 CodeExecutionTool20250825
    CodeExecutionTool20260120 CodeExecutionTool20260521 ComputerToolset20260801 MCPToolset MemoryTool20250818 Tool
    ToolBash20241022 ToolBash20250124 ToolComputerUse20241022 ToolComputerUse20250124 ToolComputerUse20251124
    ToolSearchToolBm25_20251119 ToolSearchToolRegex20251119 ToolTextEditor20241022 ToolTextEditor20250124
    ToolTextEditor20250429 ToolTextEditor20250728 WebFetchTool20250910 WebFetchTool20260209 WebFetchTool20260309
    WebFetchTool20260318 WebSearchTool20250305 WebSearchTool20260209 WebSearchTool20260318
Content =
    AdvisorToolResultBlock BashCodeExecutionToolResultBlock CodeExecutionToolResultBlock CompactionBlock
    ContainerUploadBlock DocumentBlock FallbackBlock ImageBlock MCPToolListingBlock MCPToolResultBlock
    MCPToolUseBlock RedactedThinkingBlock RequestMCPToolResultBlock RequestToolAdditionBlock
    RequestToolRemovalBlock SearchResultBlock ServerToolUseBlock TextBlock TextEditorCodeExecutionToolResultBlock
    ThinkingBlock ToolResultBlock ToolSearchToolResultBlock ToolUseBlock WebFetchToolResultBlock
    WebSearchToolResultBlock
SystemMessageContent = RequestToolAdditionBlock RequestToolRemovalBlock TextBlock
Citation =
    CitationCharLocation CitationContentBlockLocation CitationPageLocation CitationSearchResultLocation
    CitationWebSearchResultLocation
Edit = ClearThinking20251015Edit ClearToolUses20250919Edit Compact20260112Edit
Source = Base64ImageSource FileImageSource URLImageSource
DocumentSource = Base64ImageSource ContentBlockSource FileImageSource PlainTextSource URLImageSource
Caller = DirectCaller ServerToolCaller ServerToolCaller20260120
ToolResultContent = BrowserStateBlock DocumentBlock ImageBlock SearchResultBlock TextBlock ToolReferenceBlock
WebSearchToolResultContent = WebSearchResultBlock WebSearchToolRequestErrorObject
WebFetchToolResultContent = WebFetchBlock WebFetchToolResultErrorBlock
CodeExecutionToolResultContent =
    CodeExecutionResultBlock CodeExecutionToolResultError EncryptedCodeExecutionResultBlock
BashCodeExecutionToolResultContent = BashCodeExecutionResultBlock BashCodeExecutionToolResultError
TextEditorCodeExecutionToolResultContent =
    TextEditorCodeExecutionCreateResultBlock TextEditorCodeExecutionStrReplaceResultBlock
    TextEditorCodeExecutionToolResultError TextEditorCodeExecutionViewResultBlock
ToolSearchToolResultContent = ToolSearchToolResultError ToolSearchToolSearchResultBlock
ClientToolResult = ToolChoiceNone WebFetchURLSourceAll WebFetchURLSourceExcept WebFetchURLSourceOnly
UserInput = ToolChoiceNone WebFetchURLSourceAll
AdvisorToolResultContent = AdvisorRedactedResultBlock AdvisorResultBlock AdvisorToolResultError
ToolChange = RequestToolAdditionBlock RequestToolRemovalBlock ToolAdditionBlock ToolRemovalBlock
ToolAdditionTool =
    ToolChangeMCPToolReference ToolChangeMCPToolsetReference ToolChangeToolDefinition ToolChangeToolReference
ToolRemovalTool = ToolChangeMCPToolReference ToolChangeMCPToolsetReference ToolChangeToolReference
Trigger = InputTokensClearAtLeast ToolUsesKeep
Keep = ThinkingTurns WebFetchURLSourceAll
ContentBlockSourceContent = ImageBlock TextBlock
StateChange =
    BrowserStateChangeDownloadCompleted BrowserStateChangeDownloadFailed BrowserStateChangeDownloadStarted
    BrowserStateChangeTabOpened
"""
