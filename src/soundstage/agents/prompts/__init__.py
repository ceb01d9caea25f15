"""Prompts of agents: a system prompt out of sections within a budget, and a history that fits its model.

>>> from soundstage.agents.runtime import AgentDefinition
>>> coder = AgentDefinition(slug="code", prompt="You write code.", conventions=True)
>>> print(PromptAssembler(conventions="Lines have at most 100 characters.").build(coder).text)
## System
<BLANKLINE>
You write code.
<BLANKLINE>
## Conventions
<BLANKLINE>
Lines have at most 100 characters.
"""

from soundstage.agents.prompts._budget import (
    PromptBuilder,
    PromptSection,
    PromptTooLargeError,
    estimate_tokens,
)
from soundstage.agents.prompts._history import TRIMMED, trim_history
from soundstage.agents.prompts._system import PromptAssembler

__all__ = [
    "TRIMMED",
    "PromptAssembler",
    "PromptBuilder",
    "PromptSection",
    "PromptTooLargeError",
    "estimate_tokens",
    "trim_history",
]
