"""The place where the SDK makes its default transport, and what stands there while a scenario is recorded or replayed.

A program that nobody has adapted passes no transport. The SDK makes one then, a `SubprocessCLITransport`: `query` by
the name in its module `_internal.client`, `ClaudeSDKClient` by the name in `_internal.transport.subprocess_cli`,
which it looks up at each connect. Both names get our class, for this process, and are put back. A transport that a
program passes itself is its own affair. The class of ours is made from the SDK's: its command line is made by the
SDK's own code.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any, Final

from soundstage.errors import EnvironmentProblem, InvalidStateError

NAME: Final = "SubprocessCLITransport"
_PLACES: Final = ("claude_agent_sdk._internal.transport.subprocess_cli", "claude_agent_sdk._internal.client")
_taken: list[Any] = []


def sdk_transport() -> Any:
    """The class with which the SDK starts the CLI.

    Raises:
        EnvironmentProblem: if the SDK is not installed, or has it no longer.
    """
    found = [getattr(_module(place), NAME, None) for place in _PLACES]
    if any(one is None for one in found):
        raise _moved(f"no {NAME}")
    return _taken[0] if _taken else found[0]


def sdk_version() -> str:
    """The version of the SDK that is installed."""
    return str(_module("claude_agent_sdk").__version__)


@contextlib.contextmanager
def default_transport(made: Any) -> Iterator[None]:
    """Let the SDK use another class for programs that pass no transport.

    Raises:
        InvalidStateError: inside of another one.
    """
    if _taken:
        raise InvalidStateError(
            "a scenario is replayed or recorded already", hint="finish it first: one at a time in a process"
        )
    modules = [_module(place) for place in _PLACES]
    _taken.append(sdk_transport())
    try:
        for module in modules:
            setattr(module, NAME, made)
        yield
    finally:
        for module in modules:
            setattr(module, NAME, _taken[0])
        _taken.clear()


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == "claude_agent_sdk":
            raise EnvironmentProblem(
                "the Claude Agent SDK is not installed", hint="pip install 'soundstage[claude]'"
            ) from None
        raise _moved(str(error)) from None


def _moved(seen: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        "this version of the Claude Agent SDK makes its transport elsewhere",
        expected=f"{NAME} in {' and '.join(_PLACES)}, as in version 0.2.187",
        seen=seen,
        hint="pip install 'soundstage[claude]'",
    )
