"""Models: one seam, and peers behind it that script, replay, break or really ask."""

from soundstage.models._conditions import When
from soundstage.models._journaled import JournaledModel, working_on
from soundstage.models._protocol import Model, Wrapper, complete, kind_of
from soundstage.models._reply import BlockSpec, CallSpec, ErrorSpec, Fault, Reply
from soundstage.models._rule import AgentSpec, Rule, Script
from soundstage.models._scripted import ScriptedModel

__all__ = [
    "AgentSpec",
    "BlockSpec",
    "CallSpec",
    "ErrorSpec",
    "Fault",
    "JournaledModel",
    "Model",
    "Reply",
    "Rule",
    "Script",
    "ScriptedModel",
    "When",
    "Wrapper",
    "complete",
    "kind_of",
    "working_on",
]
