"""Apps whose parts speak through the journal: branches, covenants between them, windows for what is streamed.

An app is a set of branches (a console, an agent, Discord) and a covenant that says which entries of one become
which entries of another; parts may be written by hand instead. It runs as one coroutine, on a host or for real:

    >>> from soundstage.agents import ChatReceived, ChatReply, configured_app
    >>> def configure(app):
    ...     chat = app.use_console()
    ...     echo = lambda said: ChatReply(text=said.text, sender="bot")
    ...     app.covenant().connect(chat).routes(lambda to: to.route(ChatReceived, ChatReply, echo))
    >>> from soundstage.host import HostBuilder
    >>> async def body(host):
    ...     await host.console.send("Hello, world!")
    ...     return await host.console.expect("Hello")
    >>> HostBuilder().with_app(configured_app(configure)).run(body)
    '[bot]: Hello, world!'
"""

from soundstage.agents._agent import AgentBranch
from soundstage.agents._app import JournalApp
from soundstage.agents._buffer import BatchOutput, StreamBuffer, Windowing
from soundstage.agents._builder import AppBuilder, configured_app
from soundstage.agents._console import ConsoleBranch, LineConsole
from soundstage.agents._covenant import Covenant, RouteBuilder
from soundstage.agents._discord import ChatGateway, DiscordBranch
from soundstage.agents._entries import (
    AgentAck,
    AgentEntry,
    AgentPrompt,
    AgentResponse,
    AgentResponseChunk,
    AgentStreamCompleted,
    AgentThought,
    AgentThoughtChunk,
    ChatAck,
    ChatChunk,
    ChatEntry,
    ChatReceived,
    ChatReceivedDraft,
    ChatReply,
    ChatReplyDraft,
    ChatStreamCompleted,
)
from soundstage.agents._errors import CovenantError, SettingError, UnknownEntryError
from soundstage.agents._followers import Followers
from soundstage.agents._journals import Journals, TypedJournal
from soundstage.agents._manifest import BranchManifest, EntryRoute
from soundstage.agents._pump import Pump
from soundstage.agents._scope import AppScope, BranchDaemons, StandaloneContext
from soundstage.agents._splitters import (
    ChainSplitter,
    LengthSplitter,
    MarkerSplitter,
    ParagraphSplitter,
    SentenceSplitter,
    SplitPolicy,
)
from soundstage.agents._system_console import SystemConsole
from soundstage.agents._transcript import TranscriptInput, TranscriptTurn, build_transcript
from soundstage.agents._windowing import AGENT, CHAT, DraftType, EntryFamily, WindowingDaemon
from soundstage.agents._windows import (
    AnyWindow,
    CompletionWindow,
    FunctionWindow,
    ImmediateWindow,
    LengthWindow,
    MarkerWindow,
    ParagraphWindow,
    SentenceWindow,
    Window,
    WindowPolicy,
)

__all__ = [
    "AGENT",
    "CHAT",
    "AgentAck",
    "AgentBranch",
    "AgentEntry",
    "AgentPrompt",
    "AgentResponse",
    "AgentResponseChunk",
    "AgentStreamCompleted",
    "AgentThought",
    "AgentThoughtChunk",
    "AnyWindow",
    "AppBuilder",
    "AppScope",
    "BatchOutput",
    "BranchDaemons",
    "BranchManifest",
    "ChainSplitter",
    "ChatAck",
    "ChatChunk",
    "ChatEntry",
    "ChatGateway",
    "ChatReceived",
    "ChatReceivedDraft",
    "ChatReply",
    "ChatReplyDraft",
    "ChatStreamCompleted",
    "CompletionWindow",
    "ConsoleBranch",
    "Covenant",
    "CovenantError",
    "DiscordBranch",
    "DraftType",
    "EntryFamily",
    "EntryRoute",
    "Followers",
    "FunctionWindow",
    "ImmediateWindow",
    "JournalApp",
    "Journals",
    "LengthSplitter",
    "LengthWindow",
    "LineConsole",
    "MarkerSplitter",
    "MarkerWindow",
    "ParagraphSplitter",
    "ParagraphWindow",
    "Pump",
    "RouteBuilder",
    "SentenceSplitter",
    "SentenceWindow",
    "SettingError",
    "SplitPolicy",
    "StandaloneContext",
    "StreamBuffer",
    "SystemConsole",
    "TranscriptInput",
    "TranscriptTurn",
    "TypedJournal",
    "UnknownEntryError",
    "Window",
    "WindowPolicy",
    "Windowing",
    "WindowingDaemon",
    "build_transcript",
    "configured_app",
]
