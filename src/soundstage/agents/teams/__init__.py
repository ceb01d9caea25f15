"""Teams: who works next, in which phase, and when it is over.

`TurnRouter` lets an orchestrator decide before every round of work; `PlanOrchestrator` has it plan once. Both run
any agents that can do a task (`soundstage.agents.runtime.TaskRunner`), so any model can be behind them.
"""

from soundstage.agents.teams._conversation import Phases, TeamConversation, TeamTurn
from soundstage.agents.teams._coordinator import ConversationCoordinator
from soundstage.agents.teams._errors import (
    AgentNotFoundError,
    ConversationNotFoundError,
    EmptyMessageError,
    PlanError,
    ReplyError,
    RoutingError,
    StateFileError,
    UnknownPhaseError,
)
from soundstage.agents.teams._events import GateJudged, PlanDecided, PlanMade, TaskSkipped
from soundstage.agents.teams._gates import (
    GateRule,
    QaCheck,
    Review,
    parse_qa,
    parse_review,
)
from soundstage.agents.teams._plan import Plan, PlannedTask, parse_plan, validate_plan
from soundstage.agents.teams._planner import PlanDraft, PlanOrchestrator
from soundstage.agents.teams._prompts import planning_prompt, routing_prompt
from soundstage.agents.teams._quality import Roles
from soundstage.agents.teams._retry import Backoff, RetryingModel
from soundstage.agents.teams._router import TurnRouter
from soundstage.agents.teams._routing import END, RoutingDecision, parse_routing
from soundstage.agents.teams._tools import flow_tools

__all__ = [
    "END",
    "AgentNotFoundError",
    "Backoff",
    "ConversationCoordinator",
    "ConversationNotFoundError",
    "EmptyMessageError",
    "GateJudged",
    "GateRule",
    "Phases",
    "Plan",
    "PlanDecided",
    "PlanDraft",
    "PlanError",
    "PlanMade",
    "PlanOrchestrator",
    "PlannedTask",
    "QaCheck",
    "ReplyError",
    "RetryingModel",
    "Review",
    "Roles",
    "RoutingDecision",
    "RoutingError",
    "StateFileError",
    "TaskSkipped",
    "TeamConversation",
    "TeamTurn",
    "TurnRouter",
    "UnknownPhaseError",
    "flow_tools",
    "parse_plan",
    "parse_qa",
    "parse_review",
    "parse_routing",
    "planning_prompt",
    "routing_prompt",
    "validate_plan",
]
