"""Read the decision of an orchestrator from its reply. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from soundstage.agents.teams._errors import AgentNotFoundError, RoutingError
from soundstage.agents.teams._json import shown
from soundstage.match import distinct, objects_in

END: Final = "END"
FORM: Final = '{"agents": ["slug", ...], "phase": "...", "reason": "..."}'


class RoutingDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Who goes next.

    Args:
        agents: slugs in the order in which they are to work; `END` ends the conversation when its turn comes.
        phase: the phase that the conversation enters; empty to stay.
        reason: why, in the orchestrator's words.
    """

    agents: tuple[str, ...]
    phase: str = ""
    reason: str = ""

    @property
    def targets(self) -> tuple[str, ...]:
        """The agents that get to work: those before `END`."""
        ends = [place for place, name in enumerate(self.agents) if _is_end(name)]
        return self.agents[: ends[0]] if ends else self.agents

    @property
    def ends(self) -> bool:
        """Whether the conversation ends after these agents."""
        return any(map(_is_end, self.agents))


def _is_end(name: str) -> bool:
    return name.casefold() == END.casefold()


def parse_routing(text: str) -> RoutingDecision:
    """The decision in a reply: the JSON object with `agents`, alone, in a code fence or among prose.

    Two objects with `agents` that say the same are one decision; two that differ are none, because nobody can
    tell which one counts.

    Raises:
        RoutingError: if there is no decision, or more than one. It carries the reply as it was.

    Example:
        >>> parse_routing('Next: {"agents": ["executor"], "phase": "execute"}').agents
        ('executor',)
    """
    found = distinct([value for value in objects_in(text) if "agents" in value])
    if not found:
        raise RoutingError(
            "the orchestrator's reply has no routing decision",
            raw=text,
            expected=FORM,
            seen=text or "an empty reply",
            hint='let it answer with a JSON object; {"agents": ["END"]} ends the conversation',
        )
    if len(found) > 1:
        raise RoutingError(
            f"the orchestrator's reply has {len(found)} routing decisions that differ",
            raw=text,
            expected="one decision",
            seen="\n".join(map(shown, found)),
            hint="let it answer with one JSON object and nothing else",
        )
    return _routing(found[0], text)


def _routing(value: dict[str, Any], text: str) -> RoutingDecision:
    agents = value["agents"]
    if not isinstance(agents, list) or not all(isinstance(name, str) and name.strip() for name in agents):
        raise _wrong("agents", "a list of slugs", agents, text)
    if not agents:
        raise _wrong("agents", "at least one slug, or END", agents, text)
    for field in ("phase", "reason"):
        if not isinstance(value.get(field), str | None):
            raise _wrong(field, "a text", value[field], text)
    return RoutingDecision(
        agents=tuple(name.strip() for name in agents),
        phase=(value.get("phase") or "").strip(),
        reason=value.get("reason") or "",
    )


def _wrong(field: str, expected: str, seen: Any, text: str) -> RoutingError:
    return RoutingError(
        f"`{field}` of the routing decision is not {expected}", raw=text, expected=FORM, seen=shown(seen)
    )


def resolve(routing: RoutingDecision, known: Sequence[str]) -> RoutingDecision:
    """The decision with the agents' own slugs; upper and lower case are alike.

    Raises:
        AgentNotFoundError: naming the agents that are not known, and those that are.
    """
    by_folded = {slug.casefold(): slug for slug in known}
    unknown = [name for name in routing.targets if name.casefold() not in by_folded]
    if unknown:
        raise AgentNotFoundError(
            "the orchestrator routed to " + ", ".join(map(repr, unknown)) + ", whom the team does not have",
            known=known,
            hint="correct the orchestrator's prompt, or add the agent to the team",
        )
    targets = tuple(by_folded[name.casefold()] for name in routing.targets)
    return msgspec.structs.replace(routing, agents=(*targets, END) if routing.ends else targets)
