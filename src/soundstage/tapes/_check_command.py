"""The command `tape check`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from soundstage.cli import FAILED, say, warn
from soundstage.errors import TapeError
from soundstage.journal import Redactor
from soundstage.scripts import shown
from soundstage.tapes._check import Players, TapeFinding, TapeLimits, check_tapes
from soundstage.tapes._exchange import HOW_TO_RECORD

_UNITS: Final = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([KMG]?B|)", re.IGNORECASE)
_NOT_LOOKED_INTO: Final = frozenset({"node_modules", "site-packages", "__pycache__"})


def check(
    places: Annotated[
        list[Path], typer.Argument(exists=True, help="Tapes, and folders in which `*.tape` are looked for.")
    ],
    tests: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            help="Files or folders of all tests; a tape outside of `__tapes__` that none of them plays is then unused. "
            "Repeatable.",
        ),
    ] = None,
    no_tests: Annotated[  # noqa: FBT002
        bool, typer.Option("--no-tests", help="Import no tests, and say nothing of who plays the tapes.")
    ] = False,
    max_size: Annotated[str, typer.Option(help="Of a tape, such as 500KB.")] = "1MB",
    max_age: Annotated[int | None, typer.Option(min=0, help="Days since the recording.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model that tapes may ask, such as `gpt-4.1*`; repeatable. Any unless given."),
    ] = None,
    as_data: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,  # noqa: FBT002
) -> None:
    """Check tapes: those that nobody plays, and what is too large, too old, asked of another model, or secret.

    pytest collects the tests beside the folders `__tapes__`, and runs none: a tape is orphaned if its test is gone, and
    unused if its test plays another or none. Exit code 0 if there is no finding, 1 if there is one, 2 for bad input.

    Example: `soundstage tape check tests --max-age 180 --model "gpt-4.1*"`
    """
    limits = TapeLimits(_bytes_of(max_size), max_age, tuple(model or ()))
    if no_tests and tests:
        raise typer.BadParameter("--tests and --no-tests exclude each other")
    tapes = [*dict.fromkeys(path.resolve() for place in places for path in _tapes_in(place))]
    if not tapes:
        raise TapeError(
            "there is no tape",
            expected="files that end in .tape, or the tape itself",
            seen=", ".join(map(str, places)),
            hint=HOW_TO_RECORD,
        )
    players = None if no_tests else _players(tapes, tests or [])
    redactor = Redactor.from_environment(os.environ)
    found = check_tapes(tapes, limits, players, redactor, datetime.now(UTC))
    unseen = dict(players.unseen) if players is not None else {}
    _tell_json(tapes, found, unseen) if as_data else _tell(tapes, found, unseen)
    if found:
        raise typer.Exit(FAILED)


def _players(tapes: list[Path], tests: list[Path]) -> Players:
    from soundstage.tapes._check_players import players_of  # it imports pytest

    return players_of(tapes, tests)


def _tell(tapes: list[Path], found: list[TapeFinding], unseen: dict[Path, str]) -> None:
    for file, why in unseen.items():
        warn(f"nothing is said of who plays the tapes of {shown(file)}: {why}")
    for finding in found:
        say(str(finding))
    bad = len({finding.tape for finding in found})
    say(f"{len(tapes)} tape(s), {len(found)} finding(s) in {bad}" if found else f"{len(tapes)} tape(s): good")


def _tell_json(tapes: list[Path], found: list[TapeFinding], unseen: dict[Path, str]) -> None:
    whole = {
        "tapes": len(tapes),
        "findings": found,
        "unseen": {shown(file): why for file, why in unseen.items()},
    }
    say(msgspec.json.format(msgspec.json.encode(whole)).decode())


def _tapes_in(place: Path) -> Iterator[Path]:
    if not place.is_dir():
        yield place
        return
    for path in sorted(place.rglob("*.tape")):
        folders = path.relative_to(place).parts[:-1]
        if path.is_file() and not any(name.startswith(".") or name in _NOT_LOOKED_INTO for name in folders):
            yield path


def _bytes_of(text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no size; write 500KB, 1MB or a number of bytes")
    return int(float(found[1]) * _UNITS[found[2].upper()])
