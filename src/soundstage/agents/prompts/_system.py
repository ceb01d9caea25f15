"""The system prompt of an agent: its instructions, and what it should know of the project. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from soundstage.agents.prompts._budget import CAP, TARGET, BuiltPrompt, PromptBuilder, PromptSection
from soundstage.agents.runtime._contract import AgentDefinition

SYSTEM: Final = "System"
PROJECT: Final = "Project Context"
CONVENTIONS: Final = "Conventions"
_IMPORTANCE: Final = {SYSTEM: 100, CONVENTIONS: 90, PROJECT: 80}


def assemble_prompt(
    definition: AgentDefinition,
    *,
    project_context: str = "",
    conventions: str = "",
    sections: Iterable[PromptSection] = (),
    budget: int = TARGET,
    cap: int = CAP,
    cut: bool = False,
) -> BuiltPrompt:
    """Make the system prompt of an agent.

    Its instructions must be in it. The project's context is in it unless the definition says no, the
    conventions are at its end if the definition says yes; both may be left out when there is no room.

    Args:
        definition: the agent.
        project_context: what there is to know of the project.
        conventions: how things are done in the project.
        sections: more, between the context and the conventions.
        budget: tokens to aim at.
        cap: tokens that are never exceeded.
        cut: whether what does not fit is cut instead of left out.

    Raises:
        PromptTooLargeError: if the instructions alone are too large.
        SettingError: if two sections have one label.

    Example:
        >>> starter = AgentDefinition(slug="init", prompt="Describe the project.", project_context=False)
        >>> [size.label for size in assemble_prompt(starter, project_context="a shop").manifest.sections]
        ['System']
    """
    builder = PromptBuilder(budget=budget, cap=cap, cut=cut)
    builder.add(SYSTEM, definition.prompt, priority=_IMPORTANCE[SYSTEM], required=True)
    if definition.project_context and project_context.strip():
        builder.add(PROJECT, project_context, priority=_IMPORTANCE[PROJECT])
    for section in sections:
        builder.add(section.label, section.content, priority=section.priority, required=section.required)
    if definition.conventions and conventions.strip():
        builder.add(CONVENTIONS, conventions, priority=_IMPORTANCE[CONVENTIONS])
    return builder.build()
