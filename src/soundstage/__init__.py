"""Soundstage: end-to-end tests for LLM applications and agents, on a closed set.

The names below are what a test author needs most. Everything else is in the sub-packages: `soundstage.match`,
`.messages`, `.models`, `.journal`, `.trace`, `.worlds`, `.agents`, `.drivers`, `.host`, `.wire`, `.report`,
`.testing`.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from soundstage.clock import SystemClock, VirtualClock, run
    from soundstage.errors import ExpectationError, ScriptError, SoundstageError
    from soundstage.host import Host, HostBuilder
    from soundstage.journal import Event, Journal, event
    from soundstage.match import matcher
    from soundstage.messages import call
    from soundstage.models import Reply, Script, ScriptedModel
    from soundstage.trace import Trace
    from soundstage.wire import ModelServer

_HOME: Final = {
    "Event": "journal",
    "ExpectationError": "errors",
    "Host": "host",
    "HostBuilder": "host",
    "Journal": "journal",
    "ModelServer": "wire",
    "Reply": "models",
    "Script": "models",
    "ScriptError": "errors",
    "ScriptedModel": "models",
    "SoundstageError": "errors",
    "SystemClock": "clock",
    "Trace": "trace",
    "VirtualClock": "clock",
    "call": "messages",
    "event": "journal",
    "matcher": "match",
    "run": "clock",
}
__version__ = "0.1.0"

__all__ = [
    "Event",
    "ExpectationError",
    "Host",
    "HostBuilder",
    "Journal",
    "ModelServer",
    "Reply",
    "Script",
    "ScriptError",
    "ScriptedModel",
    "SoundstageError",
    "SystemClock",
    "Trace",
    "VirtualClock",
    "call",
    "event",
    "matcher",
    "run",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'soundstage' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"soundstage.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
