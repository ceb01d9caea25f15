"""The one record of a run: frozen events in an append-only journal.

Whatever produces facts appends events; whatever reads (trace, assertions, reports, usage) is a view over
them. There is no second log.
"""

from soundstage.journal._codec import SCHEMA_VERSION, decode_record, encode_record, encode_records
from soundstage.journal._events import (
    AgentFinished,
    AgentStarted,
    DaemonChanged,
    EgressTried,
    Event,
    FileChanged,
    FlowEnded,
    HookFired,
    HostReached,
    MessageReceived,
    MessageSent,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
    PhaseChanged,
    ProcessExited,
    ProcessStarted,
    Record,
    RequestRefused,
    RequestServed,
    Routed,
    RunFinished,
    RunStarted,
    ScreenChanged,
    ToolCalled,
    ToolReturned,
    UnknownEvent,
    event_types,
)
from soundstage.journal._file import read_journal
from soundstage.journal._journal import Journal
from soundstage.journal._redact import Redactor
from soundstage.journal._secrets import REDACTED, without_secrets
from soundstage.journal._stream_redactor import clean_records
from soundstage.journal._wanted import EventText, Wanted, event, event_matcher
from soundstage.journal._words import call_text, joined_facts, one_line, readable

__all__ = [
    "REDACTED",
    "SCHEMA_VERSION",
    "AgentFinished",
    "AgentStarted",
    "DaemonChanged",
    "EgressTried",
    "Event",
    "EventText",
    "FileChanged",
    "FlowEnded",
    "HookFired",
    "HostReached",
    "Journal",
    "MessageReceived",
    "MessageSent",
    "ModelChunked",
    "ModelFailed",
    "ModelRequested",
    "ModelResponded",
    "Noted",
    "PhaseChanged",
    "ProcessExited",
    "ProcessStarted",
    "Record",
    "Redactor",
    "RequestRefused",
    "RequestServed",
    "Routed",
    "RunFinished",
    "RunStarted",
    "ScreenChanged",
    "ToolCalled",
    "ToolReturned",
    "UnknownEvent",
    "Wanted",
    "call_text",
    "clean_records",
    "decode_record",
    "encode_record",
    "encode_records",
    "event",
    "event_matcher",
    "event_types",
    "joined_facts",
    "one_line",
    "read_journal",
    "readable",
    "without_secrets",
]
