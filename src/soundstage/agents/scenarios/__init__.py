"""Scenarios of teams: workflows that are ready to be played, and the stage to play your own.

>>> from soundstage.clock import run
>>> [trace] = run(play("network-resilience", seed=1))
>>> trace.stop_reason
'complete'
"""

from soundstage.agents.scenarios._feedback import feedback_loop
from soundstage.agents.scenarios._leak import assert_no_leak, check_no_leak
from soundstage.agents.scenarios._named import SCENARIOS, UnknownScenarioError, scenario
from soundstage.agents.scenarios._recovery import error_handling
from soundstage.agents.scenarios._relay import network_resilience
from soundstage.agents.scenarios._scenario import TeamScenario, TeamUnderTest
from soundstage.agents.scenarios._several import concurrency_workflow, threading_workflow
from soundstage.agents.scenarios._stage import TeamStage, play
from soundstage.agents.scenarios._state import state_persistence
from soundstage.agents.scenarios._team import complete, hand_on, route, team

__all__ = [
    "SCENARIOS",
    "TeamScenario",
    "TeamStage",
    "TeamUnderTest",
    "UnknownScenarioError",
    "assert_no_leak",
    "check_no_leak",
    "complete",
    "concurrency_workflow",
    "error_handling",
    "feedback_loop",
    "hand_on",
    "network_resilience",
    "play",
    "route",
    "scenario",
    "state_persistence",
    "team",
    "threading_workflow",
]
