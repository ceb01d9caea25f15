"""Models: one seam, and peers behind it that script, replay, break or really ask."""

from soundstage.models._arguments import argument_problems
from soundstage.models._check import convert_source
from soundstage.models._compare import Difference
from soundstage.models._conditions import When
from soundstage.models._faulty import FaultyModel
from soundstage.models._file import read_source_file
from soundstage.models._journaled import JournaledModel, working_on
from soundstage.models._lint import Shadowed
from soundstage.models._live import LiveModel
from soundstage.models._parsed import in_one_line
from soundstage.models._protocol import Model, Wrapper, complete, kind_of
from soundstage.models._recording import RecordingModel
from soundstage.models._replay import Mismatch, ReplayModel
from soundstage.models._reply import BlockSpec, CallSpec, ErrorSpec, Fault, Reply
from soundstage.models._rule import AgentSpec, Rule
from soundstage.models._script import Script, load_rules, load_script, script_problems, script_schema
from soundstage.models._scripted import ScriptedModel, Served, script_of
from soundstage.models._source import (
    SourceField,
    SourceNode,
    SourceReport,
    read_source,
    wrap_source,
)
from soundstage.models._tape import RecordedExchange, RecordedFailure, Tape, TimedChunk
from soundstage.models._words import in_words

__all__ = [
    "AgentSpec",
    "BlockSpec",
    "CallSpec",
    "Difference",
    "ErrorSpec",
    "Fault",
    "FaultyModel",
    "JournaledModel",
    "LiveModel",
    "Mismatch",
    "Model",
    "RecordedExchange",
    "RecordedFailure",
    "RecordingModel",
    "ReplayModel",
    "Reply",
    "Rule",
    "Script",
    "ScriptedModel",
    "Served",
    "Shadowed",
    "SourceField",
    "SourceNode",
    "SourceReport",
    "Tape",
    "TimedChunk",
    "When",
    "Wrapper",
    "argument_problems",
    "complete",
    "convert_source",
    "in_one_line",
    "in_words",
    "kind_of",
    "load_rules",
    "load_script",
    "read_source",
    "read_source_file",
    "script_of",
    "script_problems",
    "script_schema",
    "working_on",
    "wrap_source",
]
