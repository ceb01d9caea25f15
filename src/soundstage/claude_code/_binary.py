"""Where the Claude Code CLI is."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from soundstage.drivers import PROCESS, AnyIsolation, as_isolation
from soundstage.errors import EnvironmentProblem
from soundstage.isolation import InService

TESTED_VERSION: Final = "2.1.330"  # the one that the conformance test pins
VARIABLE: Final = "SOUNDSTAGE_CLAUDE"
INSTALL: Final = "pip install 'soundstage[claude]'"


def too_old(version: str) -> bool:
    """Whether a version is older than the one that we know. One that we cannot read is not.

    >>> too_old("1.0.128"), too_old(TESTED_VERSION), too_old("2.2.0"), too_old("dev")
    (True, False, False, False)
    """
    numbers = [part for part in version.split(".")[:3] if part.isdecimal()]
    if len(numbers) < len(TESTED_VERSION.split(".")):
        return False
    return [int(part) for part in numbers] < [int(part) for part in TESTED_VERSION.split(".")]


def find_cli(
    explicit: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    isolation: AnyIsolation = PROCESS,
) -> Path:
    """The CLI: `explicit`, else $SOUNDSTAGE_CLAUDE, else the one in claude-agent-sdk, else `claude` in PATH.

    Args:
        explicit: its path.
        environment: where to look for variables; ours unless given.
        isolation: how far it will be kept apart. A service has a CLI of its own: `explicit`, else `claude` in its PATH.

    Raises:
        EnvironmentProblem: if there is none, or the one that was named is not there.
    """
    if isinstance(as_isolation(isolation), InService):
        return Path(explicit or "claude")
    variables = os.environ if environment is None else environment
    for named, path in ((explicit, "cli="), (variables.get(VARIABLE), f"${VARIABLE}")):
        if named:
            return _named(Path(named), path)
    found = bundled_cli() or _in_path(variables)
    if found is None:
        raise EnvironmentProblem(
            "the Claude Code CLI is not installed",
            expected=f"${VARIABLE}, the package claude-agent-sdk, or `claude` in PATH",
            seen="none of them",
            hint=INSTALL,
        )
    return found


def _named(path: Path, by: str) -> Path:
    if not path.is_file():
        raise EnvironmentProblem(
            "the Claude Code CLI is not where it should be",
            expected=f"a program at {path}, as {by} says",
            seen="no such file",
            hint=f"correct the path, or leave it out and {INSTALL}",
        )
    return path.resolve()


def bundled_cli() -> Path | None:
    """The CLI that claude-agent-sdk brings; the package is only looked up, importing it takes a second."""
    package = importlib.util.find_spec("claude_agent_sdk")
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / "_bundled" / "claude"
    return path if path.is_file() else None


def _in_path(variables: Mapping[str, str]) -> Path | None:
    found = shutil.which("claude", path=variables.get("PATH", os.defpath))
    return Path(found) if found else None
