"""Texts that differ between two runs of a program although nothing has changed. Pure, but for `Surroundings.here`.

Known are the folders, the user, the machine and the day: a recording notes its own, and a replay compares both sides
with `<cwd>` and the like in their place. The rest is learnt: `soundstage record --twice` writes masks into the head of
the tape, where they are reviewed.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.differences import RUN_FOLDER
from soundstage.errors import TapeError
from soundstage.messages import ModelRequest

_SETTINGS: Final = "settings"
WORKED_IN: Final = (
    "cwd",
    "tmp_path",
    "workspace",
)  # names are made of their paths, as Claude Code makes them
_RUN_FOLDER: Final = re.compile(RUN_FOLDER.pattern)
_LONG: Final = 4  # characters; `/`, `/tmp` is a word of too many texts to be told apart


class Mask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A text, or a setting, that differs from run to run.

    Args:
        pattern: a regular expression, applied to every text of a request.
        place: in the place of a pattern: a setting, such as `settings.seed`.
        stands: what stands for it when two requests are compared, such as `<order>`.
        why: where it was seen, for the one who reviews it.
    """

    pattern: str = ""
    place: str = ""
    stands: str = "<masked>"
    why: str = ""

    def __str__(self) -> str:
        return f"{self.stands}  {self.place or self.pattern}"


class Surroundings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where and when a program ran.

    Args:
        cwd: its working folder.
        home: the user's home folder.
        tmp: the folder for temporary files.
        day: the day, as `2026-01-31`.
        workspace: the project folder of a test.
        tmp_path: a test's folder for temporary files.
        user: the name of the user.
        host: the name of the machine.
    """

    cwd: str = ""
    home: str = ""
    tmp: str = ""
    day: str = ""
    workspace: str = ""
    tmp_path: str = ""
    user: str = ""
    host: str = ""

    @classmethod
    def here(cls, now: datetime, cwd: Path | None = None) -> Surroundings:
        """Those of this process."""
        return cls(
            cwd=str(cwd if cwd is not None else Path.cwd()),
            home=os.environ.get("HOME", ""),
            tmp=tempfile.gettempdir(),
            day=now.astimezone().date().isoformat(),
            user=os.environ.get("USER", "") or os.environ.get("LOGNAME", ""),
            host=socket.gethostname(),
        )

    def inside(self, *, workspace: str = "", tmp_path: str = "") -> Surroundings:
        """The same, with folders of a test."""
        return msgspec.structs.replace(self, workspace=workspace, tmp_path=tmp_path)

    def words(self) -> Iterator[tuple[str, str]]:
        """The texts and what stands for them: each folder as it is called, as it really lies, and as a file's name."""
        for name in ("user", "host", "day", "tmp", "home", "cwd", "tmp_path", "workspace"):
            text = getattr(self, name)
            forms = {text, os.path.realpath(text)} if text.startswith("/") else {text}
            for form in (
                *forms,
                *(as_file_name(form) for form in forms if name in WORKED_IN),
            ):
                if len(form) >= _LONG:
                    yield form, f"<{name}>"


def as_file_name(folder: str) -> str:
    """The name that Claude Code makes of a folder's path, for files about it."""
    return re.sub(r"[^A-Za-z0-9]", "-", folder)


NOWHERE: Final = Surroundings()
"""No place is known."""

Normal = Callable[[str], str]
"""Makes two texts equal that differ only in what is volatile."""


def normaliser(*runs: Surroundings, masks: Iterable[Mask] = ()) -> Normal:
    """A function that replaces the folders, names and days of some runs, then what the patterns of masks find.

    A program of ours has a home that is new in each run, so the names of such folders never count.

    Raises:
        TapeError: for a mask that is no expression, that matches everything, or whose place is no setting.

    Example:
        >>> shop = Surroundings(cwd="/srv/shop")
        >>> normal = normaliser(shop, masks=[Mask(pattern="order-[0-9]+", stands="<order>")])
        >>> normal("/srv/shop: order-7")
        '<cwd>: <order>'
    """
    words = {text: stands for one in runs for text, stands in one.words()}
    known = [_bounded(text) for text in sorted(words, key=len, reverse=True)]
    places = re.compile("|".join(known)) if known else None
    found_by_masks = [(_compiled(mask), mask.stands) for mask in masks if not _is_setting(mask)]

    def normal(text: str) -> str:
        if places is not None:
            text = places.sub(lambda found: words[found[0]], text)
        if "soundstage-" in text:
            text = _RUN_FOLDER.sub(RUN_FOLDER.stands, text)
        for pattern, stands in found_by_masks:
            text = pattern.sub(lambda _, stands=stands: stands, text)  # type: ignore[misc]
        return text

    return normal


def patterns(run: Surroundings, *, masks: Iterable[Mask] = ()) -> dict[str | re.Pattern[str], str]:
    """The expressions for the folders and the day of a run, then those of masks, and what stands for each.

    Raises:
        TapeError: for a mask that is no expression, or that matches everything.
    """
    words = sorted(run.words(), key=lambda pair: len(pair[0]), reverse=True)
    found: dict[str | re.Pattern[str], str] = {re.compile(_bounded(text)): stands for text, stands in words}
    return found | {_compiled(mask): mask.stands for mask in masks if not _is_setting(mask)}


def without_settings(request: ModelRequest, masks: Iterable[Mask]) -> ModelRequest:
    """A request with the settings that masks name replaced.

    Example:
        >>> request = ModelRequest(model="m", messages=(), settings={"seed": 7, "top_p": 1})
        >>> without_settings(request, [Mask(place="settings.seed", stands="<number>")]).settings
        {'seed': '<number>', 'top_p': 1}
    """
    places = {mask.place: mask.stands for mask in masks if mask.place}
    if not places:
        return request
    return msgspec.structs.replace(request, settings=_replaced(request.settings, _SETTINGS, places))


def _replaced(value: Any, place: str, places: Mapping[str, str]) -> Any:
    if place in places:
        return places[place]
    if isinstance(value, dict):
        return {key: _replaced(part, f"{place}.{key}", places) for key, part in value.items()}
    if isinstance(value, list):
        return [_replaced(part, f"{place}[{number}]", places) for number, part in enumerate(value)]
    return value


def _bounded(text: str) -> str:
    """An expression that finds a word or a path, and not one whose name goes on."""
    before = "(?<![A-Za-z0-9_])" if text[0].isalpha() else ""
    return f"{before}{re.escape(text)}(?![A-Za-z0-9_])"


def _is_setting(mask: Mask) -> bool:
    if not mask.place:
        return False
    if mask.pattern or not mask.place.startswith(f"{_SETTINGS}."):
        raise _refused(mask, "a pattern as well" if mask.pattern else f"{mask.place!r} is none")
    return True


def _compiled(mask: Mask) -> re.Pattern[str]:
    try:
        pattern = re.compile(mask.pattern)
    except re.error as error:
        raise _refused(mask, str(error)) from None
    if pattern.fullmatch(""):
        raise _refused(mask, "it matches the empty text")
    return pattern


def _refused(mask: Mask, seen: str) -> TapeError:
    return TapeError(
        "a mask of the tape cannot be used",
        expected="a regular expression that finds a text, or the place of a setting, as settings.seed",
        seen=f"{mask.pattern or mask.place!r}: {seen}",
        hint="correct it in the first line of the tape",
    )
