"""The state of a collection of tapes: which of them nobody plays, and which are too large, too old, or hold a secret.

Each finding is one line with the next step. Who plays a tape is known to its tests alone, and is given
(`_check_players`); all else stands on the tapes.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from soundstage.differences import digest_of
from soundstage.errors import TapeError
from soundstage.journal import Redactor
from soundstage.scripts import shown
from soundstage.tapes._check_secrets import lines_of, secrets_on
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._frames import digest
from soundstage.tapes._mcp_line import McpTapeLine
from soundstage.tapes._surroundings import Normal, normaliser
from soundstage.tapes._tape import FOLDER, OldTapeError, Tape

FindingKind = Literal[
    "orphaned",
    "unused",
    "duplicated",
    "oversized",
    "too old",
    "older format",
    "wrong model",
    "secret",
    "unreadable",
]
_LISTED: Final = 5  # exchanges that a line names


class TapeFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a tape.

    Args:
        tape: the file.
        kind: of the finding, in one of the fixed words.
        about: the facts.
        next: the next step.
    """

    tape: str
    kind: FindingKind
    about: str
    next: str

    def __str__(self) -> str:
        return f"{self.tape}: {self.kind}: {' '.join(self.about.split())}; next step: {self.next}"


class TapeLimits(NamedTuple):
    """Limits that tapes keep.

    Args:
        size: bytes of a file.
        days: since the recording; any number unless given.
        models: patterns such as `gpt-4.1*`, of which each model on a tape fits one; any model unless given.
    """

    size: int = 1_000_000
    days: int | None = None
    models: Sequence[str] = ()


class Players(NamedTuple):
    """The tests that play tapes.

    Args:
        played: tape -> the command that records it anew with a test that plays it.
        tests: test file -> the names of its tests, as tapes are named.
        unseen: test file -> why its tests cannot be seen; nothing is said of who plays its tapes.
        all_tapes: whether these are the players of all tapes, and not only of those in `__tapes__`.
    """

    played: Mapping[Path, str] = {}
    tests: Mapping[Path, frozenset[str]] = {}
    unseen: Mapping[Path, str] = {}
    all_tapes: bool = False


class _Checked(NamedTuple):
    """A tape that is checked: its file, its content, how findings name it, and the command that records it."""

    path: Path
    tape: Tape
    name: str
    again: str

    def finding(self, kind: FindingKind, about: str, step: str = "") -> TapeFinding:
        return TapeFinding(tape=self.name, kind=kind, about=about, next=step or self.again)


def check_tapes(
    paths: Iterable[Path], limits: TapeLimits, players: Players | None, redactor: Redactor, now: datetime
) -> list[TapeFinding]:
    """All that is wrong with some tapes.

    Args:
        paths: the files.
        limits: what they keep.
        players: who plays them; nothing is said of that unless given.
        redactor: knows secrets; it learns those that it finds in headers.
        now: the day of the check.
    """
    found: list[TapeFinding] = []
    first: dict[str, str] = {}
    for path in paths:
        tape, problems = _loaded(path, redactor)
        checked = _Checked(path, tape, shown(path), _again(path, players))
        if players is not None:
            found += _of_players(checked, players)
        found += [checked.finding(*problem) for problem in problems]
        found += _oversized(checked, limits.size)
        found += _secret(checked, redactor)
        if not problems:
            found += _too_old(checked, limits.days, now) if limits.days is not None else ()
            found += _wrong_models(checked, limits.models) if limits.models else ()
            found += _duplicated(checked, first)
    return found


def _loaded(path: Path, redactor: Redactor) -> tuple[Tape, list[tuple[FindingKind, str, str]]]:
    """The tape of a file, or an empty one and why it cannot be read."""
    try:
        tape = Tape.load(path, redactor=redactor)
        for exchange in tape.exchanges:
            _ = exchange.frames.body if exchange.frames is not None else b""
    except OldTapeError as error:
        return Tape(redactor=redactor), [("older format", f"{error.seen}, and {error.expected} is read", "")]
    except TapeError as error:
        about = f"{error.summary}{f': {error.seen}' if error.seen else ''}"
        return Tape(redactor=redactor), [("unreadable", about, error.hint)]
    return tape, []


def _again(path: Path, players: Players | None) -> str:
    """The way to record a tape anew."""
    if players is not None and path in players.played:
        return players.played[path]
    if path.parent.parent.name == FOLDER:
        return f"record it again with its test in {shown(test_file_of(path))}"
    return f"soundstage record --tape {shown(path)} --mode all -- COMMAND"


def test_file_of(path: Path) -> Path:
    """The test file of a tape that lies where `@pytest.mark.tape` puts it."""
    return path.parent.parent.parent / f"{path.parent.name}.py"


def _of_players(checked: _Checked, players: Players) -> Iterator[TapeFinding]:
    path, delete = checked.path, f"delete it: rm {checked.name}"
    if path in players.played:
        return
    if path.parent.parent.name != FOLDER:
        if players.all_tapes and not players.unseen:
            yield checked.finding("unused", "no test plays it", delete)
        return
    file, test = test_file_of(path), path.stem
    if not file.exists():
        yield checked.finding("orphaned", f"its test file {shown(file)} is gone", delete)
    elif file in players.tests and test not in players.tests[file]:
        about = f"{shown(file)} has no test {test} any more, and no other test plays it"
        yield checked.finding("orphaned", about, delete)
    elif file in players.tests:
        about = f"the test {test} in {shown(file)} has no mark `tape`, or plays another tape"
        yield checked.finding("unused", about, f"{delete}, or give the test the mark `tape`")


def _oversized(checked: _Checked, most: int) -> Iterator[TapeFinding]:
    lines = [*lines_of(checked.path)]
    size = sum(len(line.text) + 1 for line in lines)
    if size <= most:
        return
    largest = max(lines, key=lambda line: len(line.text))
    about = f"{in_bytes(size)}, and {in_bytes(most)} is the limit; the largest is {largest.place}"
    about += f" with {in_bytes(len(largest.text))}"
    yield checked.finding("oversized", about, "let the test send and ask for less, or raise --max-size")


def in_bytes(size: int) -> str:
    """A size in words.

    Example:
        >>> in_bytes(2_345_678), in_bytes(999)
        ('2.35 MB', '999 B')
    """
    for unit, one in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= one:
            return f"{size / one:.3g} {unit}"
    return f"{size} B"


def _secret(checked: _Checked, redactor: Redactor) -> Iterator[TapeFinding]:
    for where in secrets_on(lines_of(checked.path), checked.tape, redactor):
        step = f"revoke it if it was ever committed, take it out or {checked.again}"
        yield checked.finding("secret", f"a secret is in {where}", step)


def _too_old(checked: _Checked, most: int, now: datetime) -> Iterator[TapeFinding]:
    recorded = _recorded(checked.tape)
    if recorded is None:
        yield checked.finding("too old", "nothing on it says when it was recorded")
        return
    days = (now.date() - recorded.astimezone(UTC).date()).days
    if days > most:
        about = f"recorded on {recorded.date().isoformat()}, {days} days ago, and {most} is the limit"
        yield checked.finding("too old", about)


def _recorded(tape: Tape) -> datetime | None:
    """When the recording began, by its head or else by its first line that says it."""
    stamps = (*(one.timestamp for one in tape.exchanges), *(line.timestamp for line in tape.mcp_lines))
    for text in (tape.head.recorded, *stamps, tape.head.places.day):
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            continue
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return None


def _wrong_models(checked: _Checked, allowed: Sequence[str]) -> Iterator[TapeFinding]:
    asked: dict[str, list[int]] = {}
    for one in checked.tape.exchanges:
        if one.request is not None and not any(
            fnmatch.fnmatchcase(one.request.model, pattern) for pattern in allowed
        ):
            asked.setdefault(one.request.model, []).append(one.number)
    for model, numbers in asked.items():
        about = f"{_exchanges(numbers)} asked {model!r}, and allowed is {', '.join(allowed)}"
        yield checked.finding("wrong model", about, f"let it ask an allowed model, then {checked.again}")


def _exchanges(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers[:_LISTED]))
    more = f" and {len(numbers) - _LISTED} more" if len(numbers) > _LISTED else ""
    return f"exchange{'' if len(numbers) == 1 else 's'} {listed}{more}"


def _duplicated(checked: _Checked, first: dict[str, str]) -> Iterator[TapeFinding]:
    """Whether an earlier tape has the same content; an empty tape is no copy."""
    tape = checked.tape
    normal = normaliser(tape.head.places, masks=tape.head.masks)
    content = [
        *(_content(one, normal) for one in tape.exchanges),
        *(_said(line, normal) for line in tape.mcp_lines),
    ]
    earlier = first.setdefault(digest(content), checked.name) if content else checked.name
    if earlier != checked.name:
        about = f"all requests and replies are those of {earlier}"
        step = "let both tests play one, by path= in the mark `tape`, or delete the one that nobody needs"
        yield checked.finding("duplicated", about, step)


def _content(exchange: RecordedExchange, normal: Normal) -> tuple[object, ...]:
    """An exchange without what differs between two recordings of one thing."""
    response = exchange.response
    asked = digest_of(exchange.request, normalise=normal) if exchange.request is not None else exchange.http
    who = (exchange.request.caller.agent, exchange.request.purpose) if exchange.request is not None else ()
    return who, asked, (response.parts, response.finish) if response is not None else None, exchange.failure


def _said(line: McpTapeLine, normal: Normal) -> tuple[str, ...]:
    """A line of an MCP server, likewise."""
    data = msgspec.json.encode((line.params, line.result, line.error), order="sorted")
    return line.server, line.kind, line.method, normal(data.decode())
