"""Models: one seam, and peers behind it that script, journal or break replies."""

from soundstage.models._conditions import When
from soundstage.models._context import asked_tokens, context, context_edits, edited_context, tokens_in
from soundstage.models._faulty import FaultyModel
from soundstage.models._identify import AgentSpec
from soundstage.models._journaled import JournaledModel, working_on
from soundstage.models._parsed import ParsedRule, ParsedScript
from soundstage.models._protocol import Model, PlacedModel, Wrapper, close, complete, kind_of
from soundstage.models._reply import BlockSpec, CallSpec, ErrorSpec, Reply, ReplyFault, ServerToolSpec
from soundstage.models._script import Script, load_rules, load_script, script_problems, script_schema
from soundstage.models._scripted import ScriptedModel, ServedRule, script_of

__all__ = [
    "AgentSpec",
    "BlockSpec",
    "CallSpec",
    "ErrorSpec",
    "FaultyModel",
    "JournaledModel",
    "Model",
    "ParsedRule",
    "ParsedScript",
    "PlacedModel",
    "Reply",
    "ReplyFault",
    "Script",
    "ScriptedModel",
    "ServedRule",
    "ServerToolSpec",
    "When",
    "Wrapper",
    "asked_tokens",
    "close",
    "complete",
    "context",
    "context_edits",
    "edited_context",
    "kind_of",
    "load_rules",
    "load_script",
    "script_of",
    "script_problems",
    "script_schema",
    "tokens_in",
    "working_on",
]
