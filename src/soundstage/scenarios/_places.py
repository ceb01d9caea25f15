"""Folders and ids of one machine and one run, taken out of recorded texts and put in again. Pure.

A throw-away home stands in many places of what the CLI says: in its prompt, in paths of transcripts, and as a slug,
with a hyphen for each sign, in the name of a folder. Two recordings would differ by nothing else. So a recording has
names in their place, and a replay puts its own folders there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

WORKSPACE: Final = "<workspace>"
HOME: Final = "<home>"
RUN: Final = "<run>"
_UUID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_NUMBERED: Final = "00000000-0000-4000-8000-{:012d}"
_SDK_REQUEST: Final = re.compile(r"\breq_(\d+)_[0-9a-f]{8}\b")
NORMALISED: Final = (
    "folders: <workspace>, <home> and <run> stand for the workspace and the throw-away folders, also in slugs of paths",
    "ids: UUIDs, ids of control requests and of subagents are numbered in the order in which they come",
    "times: neither dates nor durations are compared, nor sockets of the CLI",
)
"""Told in the metadata of each recording."""


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each text in it changed, names of fields too.

    >>> map_texts({"a": ["b", 1]}, str.upper)
    {'A': ['B', 1]}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): map_texts(item, change) for key, item in value.items()}
    return value


def slug(path: str) -> str:
    """A path as the CLI makes names of it.

    >>> slug("/tmp/a_b")
    '-tmp-a-b'
    """
    return re.sub(r"[^A-Za-z0-9]", "-", path)


class RunFolders(NamedTuple):
    """The folders for `<workspace>`, `<home>`, and `<run>`, which has the home and what else is thrown away."""

    workspace: str
    home: str
    run: str

    def _pairs(self) -> list[tuple[str, str]]:
        plain = ((self.workspace, WORKSPACE), (self.home, HOME), (self.run, RUN))
        slugs = ((slug(path), f"{name[:-1]}-slug>") for path, name in plain)
        return sorted((*plain, *slugs), key=lambda pair: -len(pair[0]))

    def take_out(self, value: Any) -> Any:
        """The value with names for the folders."""
        return self._swapped(value, self._pairs())

    def put_in(self, value: Any) -> Any:
        """The value with these folders for the names."""
        return self._swapped(value, [(name, path) for path, name in self._pairs()])

    @staticmethod
    def _swapped(value: Any, pairs: list[tuple[str, str]]) -> Any:
        def swap(text: str) -> str:
            for old, new in pairs:
                if old in text:
                    text = text.replace(old, new)
            return text

        return map_texts(value, swap)


class IdNumbers:
    """Numbers for the random ids of one recording, in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}
        self._others: dict[str, str] = {}

    def learn(self, line: dict[str, Any]) -> None:
        """Take note of ids that no pattern tells: those of subagents and of other tasks."""
        for name in ("task_id", "agent_id", "run_id"):
            found = line.get(name)
            if isinstance(found, str) and found and not _UUID.fullmatch(found):
                self._others.setdefault(found, f"task-{len(self._others) + 1}")

    def put_in(self, value: Any) -> Any:
        """The value with numbers for ids."""
        return map_texts(value, self._text)

    def _text(self, text: str) -> str:
        text = _UUID.sub(self._number, text)
        text = _SDK_REQUEST.sub(r"req_\1", text)
        for found, name in self._others.items():
            if found in text:
                text = text.replace(found, name)
        return text

    def _number(self, found: re.Match[str]) -> str:
        return self._numbers.setdefault(found[0], _NUMBERED.format(len(self._numbers) + 1))
