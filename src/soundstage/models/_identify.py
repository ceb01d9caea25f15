"""Who asks, where the protocol does not say: the script's `agents` rules. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from soundstage.match import Regex
from soundstage.messages import ModelRequest
from soundstage.models._conditions import Context, Facts, compile_conditions
from soundstage.models._rule import AgentSpec, phase_matcher

ROUTERS: Final = frozenset({"orchestrator"})


class Identifier:
    """Completes the caller of a request: agent and phase, if a rule tells them."""

    def __init__(self, agents: Sequence[AgentSpec]) -> None:
        self._agents = [(spec, compile_conditions(spec.when), phase_matcher(spec.phase)) for spec in agents]
        self.routers = ROUTERS | {spec.name.casefold() for spec in agents if spec.router}

    def __call__(self, request: ModelRequest) -> ModelRequest:
        """`request`, with what the first fitting rule says about its caller. An explicit name stays."""
        if not self._agents:
            return request
        facts = Facts(request, Context())
        for spec, conditions, phase in self._agents:
            if all(condition.matches(facts.get(name)) for name, condition in conditions):
                return self._complete(request, spec, phase)
        return request

    def _complete(self, request: ModelRequest, spec: AgentSpec, phase: object) -> ModelRequest:
        caller = request.caller
        changes: dict[str, str] = {}
        if not caller.headers.get("x-soundstage-agent"):
            changes["agent"] = spec.name
        if isinstance(phase, Regex) and not caller.phase:
            found = phase.search(request.system_text)
            if found:
                changes["phase"] = found.group(1)
        return msgspec.structs.replace(request, caller=msgspec.structs.replace(caller, **changes))
