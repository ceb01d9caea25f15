"""Containers: the engine by its Docker API, programs in a container, services and whole compose files."""

from soundstage.drivers._container._compose import Compose, ComposeStage
from soundstage.drivers._container._container import Container, Mount
from soundstage.drivers._container._engine import engine_problem
from soundstage.drivers._container._events import HealthChanged
from soundstage.drivers._container._exec import Output
from soundstage.drivers._container._health import Health, HealthCheck
from soundstage.drivers._container._network import Network

__all__ = [
    "Compose",
    "ComposeStage",
    "Container",
    "Health",
    "HealthChanged",
    "HealthCheck",
    "Mount",
    "Network",
    "Output",
    "engine_problem",
]
