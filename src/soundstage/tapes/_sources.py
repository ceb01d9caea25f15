"""Sources of nondeterminism: where they show in a request, their probable cause, and what to do about them. Pure.

The second run of a program is on the tape of the first, so the model has said the same. What its requests differ in
comes from the program, its tools or the system. A text that differs is looked for in what watched calls have returned,
in the run that it is of: a line whose calls fit in both runs is named. The clock's values are not known; there, a call
fits that was made in the second that the text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from soundstage.differences import digest_of, reply_differences
from soundstage.tapes._call_watch import WatchedCall
from soundstage.tapes._learning import Learned, Sighting
from soundstage.tapes._surroundings import Normal
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import Verdict

_SHORT: Final = 4  # characters; a shorter text is in too many others
_LINES: Final = 3  # lines of code that are named
_NEAR: Final = 0.005  # seconds
_FRACTION: Final = re.compile(r"\.\d{3,}")


class Nondeterminism(NamedTuple):
    """One source of nondeterminism of a program.

    Args:
        kind: `clock`, `random`, `order`, `process`, `tool`, `network`, `model`, `program`.
        where: the request and its part.
        differed: what stood there in both runs.
        cause: the probable cause.
        advice: what to do about it.
        lines: lines of code that it came from, as far as they are known.
    """

    kind: str
    where: str
    differed: str
    cause: str
    advice: str
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.where}: {self.differed}", f"  cause: {self.cause}"]
        lines += [f"  line: {line}" for line in self.lines]
        return "\n".join([*lines, f"  do: {self.advice}"])


_MASK: Final = "or record the tape with --twice, which masks it"
_OF_PLACES: Final = {  # kind of a place: kind of source, cause, advice
    "time": ("clock", "it reads the clock", f"give it the time as an argument, {_MASK}"),
    "duration": ("clock", "it measures how long something takes", f"leave it out, {_MASK}"),
    "id": ("random", "it draws an id, or shows an address in memory", f"draw ids from a seed, {_MASK}"),
    "number": ("random", "a number that is drawn, counted, or the system's", f"seed it, {_MASK}"),
    "port": ("process", "a free port of the system", f"leave it out, {_MASK}"),
    "temporary path": ("process", "a new temporary file or folder", f"give it a fixed name, {_MASK}"),
    "order": ("order", "the order of a set, of files in a folder, or of tasks", "sort it before it is sent"),
    "words": (
        "program",
        "a random choice, or something that the first run has left: a file, a cache, a database",
        "seed the choice; begin each run in the same state",
    ),
}
_OF_CALLS: Final = {  # kind of a watched call: kinds of places that it may fill
    "clock": frozenset({"time", "duration"}),
    "random": frozenset({"id", "number", "words", "temporary path"}),
    "process": frozenset({"number", "words", "id"}),
    "temporary path": frozenset({"temporary path", "words", "id"}),
}
_BY_CALLS: Final = {  # kind of a watched call: kind of source, cause
    "random": ("random", "it is drawn, or chosen at random"),
    "process": ("process", "the number or the name of its process"),
}


def sources_of(
    learned: Learned,
    other: Iterable[Verdict] = (),
    *,
    hosts: Iterable[str] = (),
    first: Sequence[WatchedCall] = (),
    then: Sequence[WatchedCall] = (),
) -> tuple[Nondeterminism, ...]:
    """The sources behind what two runs differ in.

    Args:
        learned: the places at which their requests differ.
        other: verdicts on calls without a partner.
        hosts: whom the program tried to reach.
        first: watched calls of the first run.
        then: those of the second.
    """
    sightings = [*(sighting for _, sighting in learned.masks), *learned.left]
    return (
        *(_of_sighting(one, _calls(one, first, then)) for one in sightings),
        *(_of_verdict(verdict) for verdict in other),
        *(_of_host(host) for host in dict.fromkeys(hosts)),
    )


def of_model(first: Tape, then: Tape, normal: Normal) -> Iterator[Nondeterminism]:
    """The requests that were the same in two live runs, and whose replies were not."""
    replies: dict[str, list[int]] = {}
    asked = {one.number: one for one in then.exchanges}
    for one in then.exchanges:
        if one.request is not None and one.response is not None:
            replies.setdefault(digest_of(one.request, normalise=normal), []).append(one.number)
    for one in first.exchanges:
        numbers = replies.get(digest_of(one.request, normalise=normal), []) if one.request is not None else []
        if one.response is None or not numbers:
            continue
        again = asked[numbers.pop(0)].response
        found = reply_differences(one.response, again, normalise=normal) if again is not None else ()
        if found:
            yield Nondeterminism(
                "model",
                f"request {one.number}, {found[0].where}",
                f"{found[0].recorded}, then {found[0].seen}",
                "the model answers the same request in other words; temperature 0 does not change that for all",
                "test on a tape or a script; check live answers by what they mean, not by their words",
            )


def _of_sighting(sighting: Sighting, calls: Sequence[WatchedCall]) -> Nondeterminism:
    where = f"request {sighting.number}, {sighting.difference.where}"
    where += f" of the agent {sighting.agent}" if sighting.agent else ""
    differed = f"{sighting.place.first!r}, then {sighting.place.then!r}"
    kind, cause, advice = _OF_PLACES[sighting.place.kind]
    for call in calls[:1]:  # it is known better
        kind, cause = _BY_CALLS.get(call.kind, (kind, cause))
    lines = tuple(dict.fromkeys(map(_told, calls)))
    if sighting.difference.cause == "tool result differs":
        cause = f"the result of {sighting.difference.call or 'a tool'}: {cause}"
        advice = f"fix what the tool reads, or let it say only what the task needs; {advice}"
        return Nondeterminism("tool", where, differed, cause, advice, lines)
    return Nondeterminism(kind, where, differed, cause, advice, lines)


def _of_verdict(verdict: Verdict) -> Nondeterminism:
    return Nondeterminism(
        "order" if verdict.cause == "order swapped" else "program",
        f"request {verdict.request}" if verdict.request else "the end of the run",
        f"{verdict.cause}: {verdict.about}",
        "calls are made in another order, or other ones: tasks side by side, a retry, a cache",
        "await one call before the next, or give the agents names: each has an order of its own",
    )


def _of_host(host: str) -> Nondeterminism:
    return Nondeterminism(
        "network",
        "the second run",
        f"it tried to reach {host}, and was refused",
        "a tool, or the program itself, reads from the network: its answers are on no tape",
        "serve it on loopback in the test, or put it behind an MCP server, which a tape records",
    )


def _calls(
    sighting: Sighting, first: Sequence[WatchedCall], then: Sequence[WatchedCall]
) -> list[WatchedCall]:
    """The calls that fit what differed, from lines that fit in both runs; those of packages if there are no others."""
    kind, texts = sighting.place.kind, (sighting.place.first, sighting.place.then)
    before = {_told(call) for call in first if _fits(call, kind, texts[0])}
    both = [call for call in then if _fits(call, kind, texts[1]) and (not first or _told(call) in before)]
    found = [call for call in both if not call.library] or both
    near = [call for call in found if call.kind == "clock" and _is_moment(call.at, texts[1])] or found
    return [*{_told(call): call for call in near}.values()][:_LINES]


def _told(call: WatchedCall) -> str:
    return f"{call.line}: {call.what}()"


def _fits(call: WatchedCall, kind: str, text: str) -> bool:
    if kind not in _OF_CALLS[call.kind]:
        return False
    if call.kind == "clock":
        return kind == "duration" or any(form in text for form in _forms(call.at))
    if text == call.value:
        return True
    plain, value = text.replace("-", ""), call.value.replace("-", "")
    return min(len(plain), len(value)) >= _SHORT and (plain in value or value in plain)


def _is_moment(at: float, text: str) -> bool:
    """Whether a text has the fraction of the second in which a call was made."""
    found = _FRACTION.search(text)
    return found is not None and abs(float(found[0]) - at % 1) < _NEAR


def _forms(at: float) -> Iterator[str]:
    """The second of a call, and those next to it, as texts say it."""
    for second in (int(at), int(at) - 1, int(at) + 1):
        yield str(second)
        for moment in (datetime.fromtimestamp(second, UTC), datetime.fromtimestamp(second).astimezone()):
            yield from (f"{moment:%H:%M:%S}", f"{moment:%H%M%S}")
    for moment in (datetime.fromtimestamp(at, UTC), datetime.fromtimestamp(at).astimezone()):
        yield from (f"{moment:%H:%M}", f"{moment:%I:%M}".lstrip("0"))
