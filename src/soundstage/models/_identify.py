"""Callers by the script's `agents` rules, for protocols that do not name them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from soundstage.errors import MatchError
from soundstage.match import Regex, matcher
from soundstage.messages import CALLER_HEADERS, ModelRequest
from soundstage.models._conditions import RequestContext, RequestFacts, When, compile_conditions
from soundstage.scripts import holds

ROUTERS: Final = frozenset({"orchestrator"})


class AgentSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A rule that recognises an agent where the protocol does not name the caller.

    Args:
        name: the agent's name in conditions and in the trace.
        when: conditions of the request; all must hold.
        router: a router hands work out; it never counts as `previous_agent`. `orchestrator` is one anyway.
        phase: an expression whose first group, found in the system prompt, is the phase: `/Phase: (\\w+)/`.
    """

    name: str
    when: When
    router: bool = False
    phase: str = ""


def phase_matcher(spec: str) -> Regex | None:
    """The expression that finds a phase in a system prompt; its first group is the phase.

    Raises:
        MatchError: if it is not `/regex/` with a group.
    """
    if not spec:
        return None
    found = matcher(spec)
    if not isinstance(found, Regex) or found.groups == 0:
        raise MatchError(
            "a phase is found by an expression with a group", seen=spec, hint="write it like /Phase: (\\w+)/"
        )
    return found


class Identifier:
    """Completes the caller of a request: agent and phase, if a rule tells them."""

    def __init__(self, agents: Sequence[AgentSpec]) -> None:
        self._agents = [(spec, compile_conditions(spec.when), phase_matcher(spec.phase)) for spec in agents]
        self.routers = ROUTERS | {spec.name.casefold() for spec in agents if spec.router}

    def __call__(self, request: ModelRequest) -> ModelRequest:
        """`request`, with what the first fitting rule says about its caller. An explicit name stays."""
        if not self._agents:
            return request
        facts = RequestFacts(request, RequestContext())
        for spec, conditions, phase in self._agents:
            if holds(conditions, facts):
                return self._complete(request, spec, phase)
        return request

    def _complete(self, request: ModelRequest, spec: AgentSpec, phase: Regex | None) -> ModelRequest:
        caller = request.caller
        changes: dict[str, str] = {}
        if not _explicit(request):
            changes["agent"] = spec.name
        if phase is not None and not caller.phase:
            found = phase.search(request.system_text)
            if found and found.group(1):
                changes["phase"] = found.group(1)
        if all(getattr(caller, field) == value for field, value in changes.items()):
            return request
        return msgspec.structs.replace(request, caller=msgspec.structs.replace(caller, **changes))


def _explicit(request: ModelRequest) -> bool:
    """Whether the app itself says who asks: our header on the wire, the caller's name in process.

    On the wire a name may also come from a provider's own header, and then it is a mere number of a
    sub-agent; a rule knows better.
    """
    if request.format:
        return bool(request.caller.headers.get(CALLER_HEADERS["agent"]))
    return bool(request.caller.agent)
