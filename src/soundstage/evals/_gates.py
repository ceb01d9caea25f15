"""The gates of the providers that one eval asks: one for each, shared by its runs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from soundstage.journal import Journal
from soundstage.live import LimitedModel, ProviderGate, ProviderLimits
from soundstage.models import Model, PlacedModel


class EvalGates:
    """Puts the models of runs behind the gates of their providers.

    A provider that is asked for real always has a gate, so that it may turn a request away for a while. A script has
    one if there are limits for all: its own 429 are otherwise a matter of the agent. A recording has none.

    Args:
        limits: of all providers, or by name.
        among: processes that share the limits, each of which has its part.
    """

    def __init__(self, limits: ProviderLimits | Mapping[str, ProviderLimits], *, among: int = 1) -> None:
        named = {"": limits} if isinstance(limits, ProviderLimits) else limits
        self._limits = {name: _part(one, among) for name, one in named.items()}
        self._gates: dict[str, ProviderGate] = {}

    def around(self, model: Model, journal: Journal) -> Model:
        """The model of a run, behind its gate if it has one."""
        provider = getattr(model, "provider", "")
        limits = self._limits.get(provider) or self._limits.get("")
        if isinstance(model, PlacedModel) or not (provider or limits):
            return model
        if provider not in self._gates:
            self._gates[provider] = ProviderGate(limits)
        return LimitedModel(model, self._gates[provider], journal)


def _part(limits: ProviderLimits, among: int) -> ProviderLimits:
    rates = {
        name: rate / among
        for name in ("requests_per_minute", "tokens_per_minute")
        if (rate := getattr(limits, name)) is not None
    }
    slots = {} if limits.concurrency is None else {"concurrency": max(1, limits.concurrency // among)}
    return msgspec.structs.replace(limits, **rates, **slots)
