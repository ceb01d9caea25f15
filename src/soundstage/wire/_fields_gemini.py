"""Gemini: the fields of requests, at all depths; how to read the table is in `_fields`.

Source: the types of the official SDK. JSON of protocol buffers knows no other field, at no depth. Schemas are free.
"""

from __future__ import annotations

from typing import Final

TABLE: Final = """
Request:
    contents>Content generationConfig>GenerationConfig model systemInstruction>Content tools>Tool | labels
    modelArmorConfig>ModelArmorConfig safetySettings>SafetySetting serviceTier store toolConfig>ToolConfig |
    cachedContent continuationToken automaticContinuation
Content: parts>Part role |
Tool:
    functionDeclarations>FunctionDeclaration | codeExecution>Empty computerUse>ComputerUse
    enterpriseWebSearch>EnterpriseWebSearch exaAiSearch>ToolExaAiSearch fileSearch>FileSearch
    googleMaps>GoogleMaps googleSearch>GoogleSearch googleSearchRetrieval>GoogleSearchRetrieval
    mcpServers>McpServer parallelAiSearch>ToolParallelAiSearch retrieval>Retrieval urlContext>Empty
ToolConfig:
    | functionCallingConfig>FunctionCallingConfig includeServerSideToolInvocations retrievalConfig>RetrievalConfig
SafetySetting: | category method threshold
GenerationConfig:
    maxOutputTokens stopSequences | audioTimestamp enableEnhancedCivicAnswers frequencyPenalty mediaResolution
    modelSelectionConfig>ModelSelectionConfig presencePenalty responseFormat>ResponseFormat responseJsonSchema
    responseMimeType responseSchema routingConfig>GenerationConfigRoutingConfig seed temperature
    thinkingConfig>ThinkingConfig topK topP | candidateCount=1 responseModalities=["TEXT"]
    responseModalities=["text"] responseModalities=["Text"] responseLogprobs=false logprobs=0
    speechConfig>SpeechConfig imageConfig>ImageConfig audioTranscriptionConfig>AudioTranscriptionConfig
    translationConfig>TranslationConfig enableAffectiveDialog=false generationOutputConfig
ModelArmorConfig: | promptTemplateName responseTemplateName
Part:
    functionCall>FunctionCall functionResponse>FunctionResponse text thought thoughtSignature |
    audioMetadata>AudioMetadata audioTranscription>Transcription codeExecutionResult>CodeExecutionResult
    documentMetadata>DocumentMetadata executableCode>ExecutableCode fileData>FileData inlineData>Blob
    mediaProcessing mediaResolution>PartMediaResolution partMetadata speechMetadata>SpeechMetadata
    spreadsheetMetadata>SpreadsheetMetadata toolCall>ToolCall toolResponse>ToolResponse
    videoMetadata>VideoMetadata
Retrieval: | disableAttribution externalApi>ExternalApi vertexAiSearch>VertexAISearch vertexRagStore>VertexRagStore
ComputerUse: | disabledSafetyPolicies enablePromptInjectionDetection environment excludedPredefinedFunctions
FileSearch: | fileSearchStoreNames metadataFilter topK
GoogleSearch: | blockingConfidence excludeDomains searchTypes>SearchTypes timeRangeFilter>Interval
GoogleMaps: | authConfig>AuthConfig groundingTypes>GoogleMapsGroundingTypes | enableWidget=false
Empty: |
EnterpriseWebSearch: | blockingConfidence excludeDomains
FunctionDeclaration:
    description name parameters parametersJsonSchema | response responseJsonSchema | behavior="BLOCKING"
    behavior="UNSPECIFIED"
GoogleSearchRetrieval: | dynamicRetrievalConfig>DynamicRetrievalConfig
ToolParallelAiSearch: | apiKey customConfigs enableDataRetention enableZeroDataRetention
McpServer: | name streamableHttpTransport>StreamableHttpTransport
ToolExaAiSearch: | apiKey customConfigs
RetrievalConfig: | languageCode latLng>LatLng
FunctionCallingConfig: | allowedFunctionNames mode | streamFunctionCallArguments=false
ModelSelectionConfig: | featureSelectionPreference
GenerationConfigRoutingConfig:
    | autoMode>GenerationConfigRoutingConfigAutoRoutingMode
    manualMode>GenerationConfigRoutingConfigManualRoutingMode
SpeechConfig: | languageCode multiSpeakerVoiceConfig>MultiSpeakerVoiceConfig voiceConfig>VoiceConfig
ThinkingConfig: | includeThoughts thinkingBudget thinkingLevel
ResponseFormat:
    | text>TextResponseFormat | audio>AudioResponseFormat image>ImageResponseFormat video>VideoResponseFormat
TranslationConfig: | echoTargetLanguage targetLanguageCode
AudioTranscriptionConfig:
    | adaptationPhrases customVocabulary diarization languageAuto>Empty languageCodes languageHints>LanguageHints
    mode sourceText wordTimestamp
ImageConfig:
    | aspectRatio imageOutputOptions>ImageConfigImageOutputOptions imageSize outputCompressionQuality
    outputMimeType personGeneration prominentPeople
PartMediaResolution: | level numTokens
CodeExecutionResult: | id outcome output
ExecutableCode: | code id language
FileData: | displayName fileUri mimeType
FunctionCall: args id name | | willContinue=false partialArgs>PartialArg
FunctionResponse: id name parts>FunctionResponsePart response | scheduling | willContinue=false
Blob: | data displayName mimeType
VideoMetadata: | contentLayers endOffset fps startOffset
ToolCall: | args id toolType
ToolResponse: | id response toolType
Transcription: | endOffset finished languageCode speakerLabel startOffset text words>WordInfo
SpeechMetadata: | speaker style
DocumentMetadata: | contentLayers endPage startPage
SpreadsheetMetadata: | contentLayers sheetIndex visibleCells
AudioMetadata: | endOffset startOffset
ExternalApi:
    | apiAuth>ApiAuth apiSpec authConfig>AuthConfig elasticSearchParams>ExternalApiElasticSearchParams endpoint
    simpleSearchParams>Empty
VertexAISearch: | dataStoreSpecs>VertexAISearchDataStoreSpec datastore engine filter maxResults
VertexRagStore:
    | ragCorpora ragResources>VertexRagStoreRagResource ragRetrievalConfig>RagRetrievalConfig similarityTopK
    storeContext vectorDistanceThreshold
SearchTypes: | imageSearch>Empty webSearch>Empty
Interval: | endTime startTime
AuthConfig:
    | apiKey apiKeyConfig>ApiKeyConfig authType googleServiceAccountConfig>AuthConfigGoogleServiceAccountConfig
    httpBasicAuthConfig>AuthConfigHttpBasicAuthConfig oauthConfig>AuthConfigOauthConfig
    oidcConfig>AuthConfigOidcConfig
GoogleMapsGroundingTypes: | places>Empty routing>Empty
DynamicRetrievalConfig: | dynamicThreshold mode
StreamableHttpTransport: | headers sseReadTimeout terminateOnClose timeout url
LatLng: | latitude longitude
GenerationConfigRoutingConfigAutoRoutingMode: | modelRoutingPreference
GenerationConfigRoutingConfigManualRoutingMode: | modelName
VoiceConfig: | prebuiltVoiceConfig>PrebuiltVoiceConfig replicatedVoiceConfig>ReplicatedVoiceConfig voice
MultiSpeakerVoiceConfig: | speakerVoiceConfigs>SpeakerVoiceConfig
AudioResponseFormat: | bitRate delivery mimeType sampleRate
ImageResponseFormat: | aspectRatio delivery imageSize mimeType
TextResponseFormat: | mimeType schema
VideoResponseFormat: | aspectRatio delivery duration gcsUri resolution
LanguageHints: | languageCodes
ImageConfigImageOutputOptions: | compressionQuality mimeType
PartialArg: | boolValue jsonPath nullValue numberValue stringValue willContinue
FunctionResponsePart:
    | audioMetadata>AudioMetadata documentMetadata>DocumentMetadata fileData>FileData inlineData>Blob
    mediaProcessing mediaResolution>PartMediaResolution spreadsheetMetadata>SpreadsheetMetadata
    videoMetadata>VideoMetadata
WordInfo: | endOffset startOffset word
ApiAuth: | apiKeyConfig>ApiAuthApiKeyConfig
ExternalApiElasticSearchParams: | index numHits searchTemplate
VertexAISearchDataStoreSpec: | dataStore filter
VertexRagStoreRagResource: | ragCorpus ragFileIds
RagRetrievalConfig:
    | filter>RagRetrievalConfigFilter hybridSearch>RagRetrievalConfigHybridSearch
    ranking>RagRetrievalConfigRanking topK
ApiKeyConfig: | apiKeySecret apiKeyString httpElementLocation name
AuthConfigGoogleServiceAccountConfig: | serviceAccount
AuthConfigHttpBasicAuthConfig: | credentialSecret
AuthConfigOauthConfig: | accessToken serviceAccount
AuthConfigOidcConfig: | idToken serviceAccount
ReplicatedVoiceConfig: | consentAudio mimeType voiceConsentSignature>VoiceConsentSignature voiceSampleAudio
PrebuiltVoiceConfig: | voiceName
SpeakerVoiceConfig: | speaker voiceConfig>VoiceConfig
ApiAuthApiKeyConfig: | apiKeySecretVersion apiKeyString
RagRetrievalConfigFilter: | metadataFilter vectorDistanceThreshold vectorSimilarityThreshold
RagRetrievalConfigHybridSearch: | alpha
RagRetrievalConfigRanking:
    | llmRanker>GenerationConfigRoutingConfigManualRoutingMode
    rankService>GenerationConfigRoutingConfigManualRoutingMode
VoiceConsentSignature: | signature
"""
