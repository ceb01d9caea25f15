"""The packaged scenarios by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from soundstage.agents.scenarios._feedback import feedback_loop
from soundstage.agents.scenarios._recovery import error_handling
from soundstage.agents.scenarios._relay import network_resilience
from soundstage.agents.scenarios._scenario import TeamScenario
from soundstage.agents.scenarios._several import concurrency_workflow, threading_workflow
from soundstage.agents.scenarios._state import state_persistence
from soundstage.errors import ScriptError, did_you_mean


class UnknownScenarioError(ScriptError, KeyError):
    """Raised for the name of a scenario that there is not. Also a `KeyError`."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would quote it


SCENARIOS: Final[Mapping[str, Callable[..., TeamScenario]]] = MappingProxyType(
    {
        "concurrency-workflow": concurrency_workflow,
        "error-handling": error_handling,
        "feedback-loop": feedback_loop,
        "network-resilience": network_resilience,
        "state-persistence": state_persistence,
        "threading-workflow": threading_workflow,
    }
)


def scenario(name: str, **options: Any) -> TeamScenario:
    """A packaged scenario.

    Args:
        name: how it is called.
        **options: what the function of the scenario takes.

    Raises:
        UnknownScenarioError: naming those that there are.

    Example:
        >>> scenario("network-resilience", failures=3).name
        'network-resilience'
    """
    make = SCENARIOS.get(name)
    if make is None:
        raise UnknownScenarioError(
            f"there is no scenario {name!r}",
            expected="one of " + ", ".join(SCENARIOS),
            hint=did_you_mean(name, SCENARIOS) or "a scenario of your own is a TeamScenario",
        )
    return make(**options)
