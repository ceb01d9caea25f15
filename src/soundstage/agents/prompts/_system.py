"""The system prompt of an agent: its instructions, and what it should know of the project. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from soundstage.agents.prompts._budget import CAP, TARGET, BuiltPrompt, PromptBuilder, PromptSection
from soundstage.agents.runtime._contract import AgentDefinition, AgentTask

SYSTEM: Final = "System"
PROJECT: Final = "Project Context"
CONVENTIONS: Final = "Conventions"
_IMPORTANCE: Final = {SYSTEM: 100, CONVENTIONS: 90, PROJECT: 80}


class PromptAssembler(msgspec.Struct, frozen=True, kw_only=True):
    """Makes the system prompts of a team: `AgentLoop(..., assemble=PromptAssembler(project_context=...))`.

    An agent's instructions must be in its prompt. The project's context is in it unless the definition says
    no, the conventions are at its end if the definition says yes; both are left out when there is no room.

    Args:
        project_context: what there is to know of the project.
        conventions: how things are done in the project.
        sections: more, between the context and the conventions.
        budget: tokens to aim at.
        cap: tokens that are never exceeded.
        cut: whether what does not fit is cut instead of left out.

    Example:
        >>> prompts = PromptAssembler(project_context="A shop.")
        >>> starter = AgentDefinition(slug="init", prompt="Describe the project.", project_context=False)
        >>> [size.label for size in prompts.build(starter).manifest.sections]
        ['System']
    """

    project_context: str = ""
    conventions: str = ""
    sections: tuple[PromptSection, ...] = ()
    budget: int = TARGET
    cap: int = CAP
    cut: bool = False

    def __call__(self, definition: AgentDefinition, task: AgentTask) -> str:
        """The text of an agent's prompt; see `build`."""
        return self.build(definition).text

    def build(self, definition: AgentDefinition) -> BuiltPrompt:
        """An agent's prompt, with the manifest of what is in it.

        Raises:
            PromptTooLargeError: if the instructions alone are too large.
            SettingError: if two sections have one label, or the budget is none.
        """
        builder = PromptBuilder(budget=self.budget, cap=self.cap, cut=self.cut)
        builder.add(SYSTEM, definition.prompt, priority=_IMPORTANCE[SYSTEM], required=True)
        if definition.project_context and self.project_context.strip():
            builder.add(PROJECT, self.project_context, priority=_IMPORTANCE[PROJECT])
        for section in self.sections:
            builder.add(section.label, section.content, priority=section.priority, required=section.required)
        if definition.conventions and self.conventions.strip():
            builder.add(CONVENTIONS, self.conventions, priority=_IMPORTANCE[CONVENTIONS])
        return builder.build()
