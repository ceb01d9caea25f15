"""Category 7: what an agent's words mean. Whatever the verdict is, it is a result; only a wrong question fails."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from soundstage.claude_code.harness._arguments import StageName
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.semantics import error_handled, keywords_in, suggested, transition


class Keywords(TypedDict):
    status: str
    passed: bool
    found_keywords: list[str]
    missing_keywords: list[str]
    match_ratio: float
    details: str


class TransitionVerdict(TypedDict):
    status: str
    passed: bool
    expected_transition: str
    actual_stage: str
    valid: bool
    details: str


class SuggestionVerdict(TypedDict):
    status: str
    passed: bool
    command_found: str | None
    location: int
    context: str
    details: str


class ErrorVerdict(TypedDict):
    status: str
    passed: bool
    graceful: bool
    recovery_suggested: bool
    error_acknowledged: bool
    type_named: bool
    details: str


Answered = Annotated[str, Meta(description="What the agent said: `response` of another tool.")]
Wanted = Annotated[
    list[str],
    Meta(description="What to look for, at least one; parts of words count.", examples=[["systematic"]]),
]
All = Annotated[bool, Meta(description="Whether all must be there; else one is enough.")]
CommandName = Annotated[
    str, Meta(description="With or without slash and plugin.", examples=["/plan", "/agent-loop:plan"])
]
ErrorType = Annotated[
    str,
    Meta(
        description="any, command_not_found, dependency_missing, file_not_found, git_error, invalid_input, "
        "merge_conflict, network_error, permission_denied, syntax_error, test_failure, timeout.",
        examples=["file_not_found"],
    ),
]
OfWorkflow = Annotated[
    str | None, Meta(description="agent-loop, epti or visual-iteration; any of them unless given.")
]


async def assert_contains_keywords(
    harness: Harness,  # noqa: ARG001  (every tool gets it)
    text: Answered,
    keywords: Wanted,
    require_all: All = False,  # noqa: FBT002  (clients name their arguments)
) -> Keywords:
    """Check that a text contains keywords. Capitals do not matter.

    Returns passed (one of them is there; all of them with require_all), found_keywords, missing_keywords,
    match_ratio (0 to 1) and details.

    Errors: an empty list, an empty keyword.

    Example: assert_contains_keywords(text="A systematic look", keywords=["systematic", "plan"])
    """
    found = keywords_in(text, keywords, require_all=require_all)
    return {
        "status": "success",
        "passed": found.passed,
        "found_keywords": list(found.found),
        "missing_keywords": list(found.missing),
        "match_ratio": found.ratio,
        "details": found.details,
    }


async def assert_workflow_transition(
    harness: Harness,  # noqa: ARG001
    from_stage: StageName,
    to_stage: StageName,
    actual_stage: StageName,
    workflow: OfWorkflow = None,
) -> TransitionVerdict:
    """Check that a workflow has reached a stage, and that the step from the stage before is allowed.

    Returns passed (actual_stage is to_stage, in capitals or not), valid (passed, and the graph has the step
    from_stage -> to_stage; false for stages that no workflow has), expected_transition, actual_stage, details.

    Errors: an empty stage, an unknown workflow.

    Example: assert_workflow_transition(from_stage="exploring", to_stage="planning", actual_stage="planning")
    """
    found = transition(from_stage, to_stage, actual_stage, workflow=workflow)
    return {
        "status": "success",
        "passed": found.passed,
        "expected_transition": found.expected,
        "actual_stage": found.actual,
        "valid": found.valid,
        "details": found.details,
    }


async def assert_command_suggested(
    harness: Harness,  # noqa: ARG001
    response: Answered,
    command_name: CommandName,
) -> SuggestionVerdict:
    """Check that an agent suggests a slash command. The whole command counts: /plan is not found in /planning.

    A name without a plugin is found with any: /plan in /agent-loop:plan.

    Returns passed, command_found (as it stands in the text, or null), location (its first character, or -1),
    context (20 characters on either side) and details.

    Errors: an empty name, or one that no command can have.

    Example: assert_command_suggested(response="Next, run /agent-loop:plan.", command_name="/plan")
    """
    found = suggested(response, command_name)
    return {
        "status": "success",
        "passed": found.passed,
        "command_found": found.found or None,
        "location": found.position,
        "context": found.context,
        "details": found.details,
    }


async def assert_error_handled_gracefully(
    harness: Harness,  # noqa: ARG001
    response: Answered,
    error_type: ErrorType,
) -> ErrorVerdict:
    """Check that an agent handled an error well: it admits and names it, shows no crash, and suggests a next step.

    Returns passed, graceful (acknowledged and no crash), recovery_suggested, error_acknowledged, type_named
    (the words fit error_type) and details.

    Errors: an unknown error_type.

    Example: assert_error_handled_gracefully(response="I couldn't find that file. Let's check the folder.",
    error_type="file_not_found")
    """
    found = error_handled(response, error_type)
    return {
        "status": "success",
        "passed": found.passed,
        "graceful": found.graceful,
        "recovery_suggested": found.recovery_suggested,
        "error_acknowledged": found.error_acknowledged,
        "type_named": found.type_named,
        "details": found.details,
    }
