"""Playback: which recorded exchange answers a request. Pure.

How it works. A request is answered by the exchange that asked the same and has not been played; of several the first,
so a failed attempt that was retried is played as failed, then as the retry. There is no one order of all exchanges:
agents, titles and probes ask side by side, each in a lane of its own. A lane is an agent and a purpose. One turn of a
conversation goes before the next. One conversation goes before another only in a lane in which none has ever overlapped
with another: the tasks of a pool end by chance in one order or another.

An exchange that is asked for while one that goes before it has not been is served: it may turn out that the earlier one
is never asked for, which is another cause. If it is asked for later, the order was swapped; if not, a call is missing,
which `finish` tells.

A request that was not recorded is told by its cause: it was played already, it is another agent's, or it differs from
the nearest exchange of its lane. Where nothing comes near, it is an extra call.

The MCP servers of the tape are played by `mcp`, with the same verdicts.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

import msgspec

from soundstage.differences import Cause, Difference, RequestSketch, differences, nearness, sketch_of
from soundstage.match import preview
from soundstage.messages import Message, ModelRequest
from soundstage.tapes._exchange import HttpCall, RecordedExchange
from soundstage.tapes._mcp_playback import McpPlayback
from soundstage.tapes._rewrite import edited
from soundstage.tapes._surroundings import (
    NOWHERE,
    WORKED_IN,
    Mask,
    Normal,
    Surroundings,
    as_file_name,
    normaliser,
    without_settings,
)
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import NO_PLACE, DivergenceError, Verdict

ASIDE: Final = frozenset({"title", "probe", "summary", "routing", "utility"})
"""Purposes of requests that a client makes when it likes: one that does not come is no divergence."""
_FOLDERS: Final = (
    "home",
    "tmp",
    "cwd",
    "tmp_path",
    "workspace",
)  # of two that are one folder, the last counts
_FAR: Final = 0.5  # nearness below which a request is another one, and not an edited one
_LOOKED_AT: Final = 100  # exchanges that are compared with a request that was not recorded
_CHAINS: Final = 32  # conversations of a lane that a request may go on


S = TypeVar("S", bound=msgspec.Struct)


class Played(NamedTuple):
    """The exchange that answers a request, and what differs, if the replay goes on nevertheless."""

    exchange: RecordedExchange
    verdict: Verdict | None = None


class _Entry(NamedTuple):
    """An exchange, with what it is found by.

    Args:
        exchange: it.
        request: what it was asked.
        agent: who asked.
        chain: number of its conversation within the recording.
        turn: number of its conversation in the order of its lane; 0 in a lane whose conversations overlap.
    """

    exchange: RecordedExchange
    request: ModelRequest
    agent: str
    chain: int
    turn: int = 0

    @property
    def number(self) -> int:
        return self.exchange.number

    @property
    def lane(self) -> tuple[str, str]:
        return self.agent, self.request.purpose


class Playback:
    """A tape that is played, and what of it has been played.

    Args:
        tape: what to play.
        here: folders and the day of this run.
        again: the command that records the tape anew, for verdicts.
        relaxed: answer a request that was not recorded with the exchange of its lane that comes nearest.

    Attributes:
        verdicts: the divergences so far, of models and MCP servers.
        mcp: plays the MCP servers.
        normal: takes what is volatile or secret out of texts of the tape and of the run.
        left: numbers of the exchanges that a run which has ended did not ask for, where a verdict says so.
    """

    def __init__(
        self, tape: Tape, *, here: Surroundings = NOWHERE, relaxed: bool = False, again: str = ""
    ) -> None:
        self.tape = tape
        self.relaxed = relaxed
        self.verdicts: list[Verdict] = []
        self.missed: list[tuple[Verdict, ModelRequest]] = []  # requests that were not recorded
        self.left: tuple[int, ...] = ()
        self.mcp = McpPlayback(tape, self.verdicts, relaxed=relaxed, again=again)
        self._told: set[tuple[str, Difference]] = set()
        self._again = again
        self._change = tape.head.fork.change if tape.head.fork is not None else None
        self._lock = threading.Lock()
        self._entries = _with_turns([*_entries(tape.exchanges)])
        self._by_number = {entry.number: entry for entry in self._entries}
        self._calls = [exchange for exchange in tape.exchanges if exchange.request is None]
        self._agents = {entry.agent for entry in self._entries}
        self._open: dict[tuple[str, str], dict[int, _Entry]] = {}  # not played yet, by lane, in order
        for entry in self._entries:
            self._open.setdefault(entry.lane, {})[entry.number] = entry
        self._played: set[int] = set()
        self._passed_over: set[int] = set()
        self._asked = 0
        self.settle(here)

    def settle(self, here: Surroundings) -> None:
        """Take these folders and this day for those of the run, before its first request."""
        self.here = here
        self.normal = _kept(normaliser_of(self.tape, here))
        self.mcp.settle(self.normal)
        self._sketches: dict[int, RequestSketch] = {}
        self._buckets: dict[tuple[int, str], list[_Entry]] = {}
        for entry in self._entries:
            self._buckets.setdefault(self._bucket(entry.request), []).append(entry)

    @property
    def unplayed(self) -> tuple[RecordedExchange, ...]:
        """The exchanges that no request has been answered with."""
        return tuple(one for one in self.tape.exchanges if one.number not in self._played)

    def take(self, request: ModelRequest) -> Played:
        """The exchange that answers a request. Any thread may ask.

        Raises:
            DivergenceError: if it was not recorded, unless the replay is relaxed.
        """
        with self._lock:
            return self._take(request)

    def _take(self, request: ModelRequest) -> Played:
        self._asked += 1
        self._asking = request = self._as_given(request)
        entry = self._same(request)
        if entry is None:
            return self._missed(request)
        if entry.number in self._passed_over:
            later = max(self._played)
            about = f"{_about(request)}, exchange {entry.number}, was asked for after exchange {later}"
            return self._diverged(self._verdict("order swapped", about, request, entry), entry)
        self._play(entry)
        return Played(entry.exchange)

    def find(self, request: ModelRequest) -> RecordedExchange | None:
        """The exchange that has not been played and asks the same, if there is one."""
        with self._lock:
            found = self._same(self._as_given(request))
        return found.exchange if found is not None else None

    def _as_given(self, request: ModelRequest) -> ModelRequest:
        """The request as the model was given it: on a branch with a change that the program knows nothing of."""
        edit = self._change.edit_of(request, self.normal) if self._change is not None else None
        if edit is None or self._same(request) is not None:
            return request
        changed = edited(request, edit)
        lane = self._candidates(request)
        if self._same(changed) is not None or not lane:
            return changed
        return max((request, changed), key=lambda one: self._nearest(one, lane)[1])

    def take_call(self, call: HttpCall) -> RecordedExchange | None:
        """The answer to a request that asks no model, by what was asked; the last one may be played again."""
        same = [one for one in self._calls if one.http is not None and self._alike(one.http, call)]
        unplayed = next((one for one in same if one.number not in self._played), None)
        found = unplayed if unplayed is not None else next(reversed(same), None)
        if found is not None:
            self._played.add(found.number)
        return found

    def finish(self, *, until: float = math.inf) -> Verdict | None:
        """The verdict on a run that has ended: a call may be missing. The first verdict of the run, if it has one.

        Args:
            until: number of the last exchange that has to have been asked for, without those of MCP servers.
        """
        if self.verdicts:
            return self.verdicts[0]
        left = [
            entry
            for entry in self._entries
            if entry.number not in self._played
            and entry.number <= until
            and entry.request.purpose not in ASIDE
        ]
        if not left:
            return self._noted(self.mcp.missing()) if until == math.inf else None
        self.left = tuple(entry.number for entry in left)
        about = f"{_about(left[0].request)}, exchange {left[0].number}, was not asked for"
        about += f", nor were {len(left) - 1} more" if len(left) > 1 else ""
        return self._noted(self._verdict("missing call", about, None, left[0]))

    def _noted(self, verdict: Verdict | None) -> Verdict | None:
        self.verdicts += [verdict] if verdict is not None else []
        return verdict

    def _news(self, verdict: Verdict) -> Verdict | None:
        """The verdict without what has been told of an earlier request that this one goes on from."""
        if not self.relaxed or verdict.cause in NO_PLACE:
            return verdict
        agent = verdict.agent
        new = tuple(one for one in verdict.differences if (agent, one) not in self._told)
        self._told.update((agent, one) for one in new)
        if new == verdict.differences:
            return verdict
        return _by_first(msgspec.structs.replace(verdict, differences=new)) if new else None

    def _alike(self, recorded: HttpCall, seen: HttpCall) -> bool:
        return (recorded.to, recorded.method, recorded.path, recorded.query) == (
            seen.to, seen.method, seen.path, seen.query,
        ) and self.normal(recorded.body) == self.normal(seen.body)  # fmt: skip

    def _bucket(self, request: ModelRequest) -> tuple[int, str]:
        """A cheap key that equal requests share: how long the conversation is, and its newest words."""
        return len(request.messages), self.normal(request.messages[-1].text) if request.messages else ""

    def _same(self, request: ModelRequest) -> _Entry | None:
        """The entry to play for a request: not played, and of the same agent if there is one."""
        alike = [entry for entry in self._buckets.get(self._bucket(request), ()) if self._is(entry, request)]
        unplayed = [entry for entry in alike if entry.number not in self._played]
        mine = [entry for entry in unplayed if entry.agent == request.caller.agent]
        return self._may_be(request, mine or unplayed)

    def _may_be(self, request: ModelRequest, found: list[_Entry]) -> _Entry | None:
        """The first of them that this agent may take: not what an agent of another name has asked for."""
        agent = request.caller.agent
        return next(
            (entry for entry in found if agent in (entry.agent, "") or agent not in self._agents), None
        )

    def _is(self, entry: _Entry, request: ModelRequest) -> bool:
        return _identical(entry.request, request) or not self._differences(entry, request)

    def _differences(self, entry: _Entry, request: ModelRequest) -> tuple[Difference, ...]:
        if not entry.request.format or not request.format:  # recorded in process, replayed on the wire
            request = msgspec.structs.replace(
                request, format=entry.request.format, stream=entry.request.stream
            )
        masks = self.tape.head.masks
        return differences(
            without_settings(entry.request, masks), without_settings(request, masks), normalise=self.normal
        )

    def _play(self, entry: _Entry) -> None:
        self._played.add(entry.number)
        lane = self._open[entry.lane]
        lane.pop(entry.number, None)
        for other in lane.values():
            if other.number > entry.number:
                break
            if other.chain == entry.chain or other.turn < entry.turn:
                self._passed_over.add(other.number)

    def _missed(self, request: ModelRequest) -> Played:
        played = [entry for entry in self._buckets.get(self._bucket(request), ()) if self._is(entry, request)]
        if played:
            mine = [entry for entry in played if entry.agent == request.caller.agent]
            entry = (mine or played)[-1]
            again = entry.number in self._played and entry.agent == request.caller.agent
            cause: Cause = "already played" if again else "other agent's call"
            whose = f"the agent {entry.agent}" if entry.agent else "the main agent"
            about = _about(request) + (
                f": exchange {entry.number} was this request, and has been played"
                if again
                else f": exchange {entry.number} was this request, by {whose}"
            )
            return self._diverged(self._verdict(cause, about, request, entry), self._next(request))
        return self._edited(request)

    def _edited(self, request: ModelRequest) -> Played:
        """The verdict on a request that nobody has made like that before."""
        lane = self._candidates(request)
        if not lane:
            about = f"{_about(request)}: all {len(self._entries)} recorded calls have been played"
            return self._diverged(self._verdict("extra call", about, request, None), None)
        near, score = self._nearest(request, lane)
        found = self._differences(near, request)
        if score < _FAR and not self._goes_on(near, request):
            about = f"{_about(request)}: no recorded call comes near it"
            return self._diverged(self._verdict("extra call", about, request, near, found), near)
        verdict = _by_first(self._verdict(found[0].cause, "", request, near, found))
        return self._diverged(verdict, near)

    def _candidates(self, request: ModelRequest) -> list[_Entry]:
        """Unplayed exchanges that a request may be instead: of its lane, else of its purpose; not too many."""
        lane = [*self._open.get((request.caller.agent, request.purpose), {}).values()]
        if not lane:
            lane = [
                entry
                for (_, purpose), entries in self._open.items()
                if purpose == request.purpose
                for entry in entries.values()
            ]
        return sorted(lane, key=lambda entry: abs(len(entry.request.messages) - len(request.messages)))[
            :_LOOKED_AT
        ]

    def _goes_on(self, entry: _Entry, request: ModelRequest) -> bool:
        """Whether a request stands where an exchange stood: its lane's next one, with the same instructions."""
        recorded = entry.request
        return (
            entry.number == next(iter(self._open[entry.lane]))
            and recorded.system_text == request.system_text
            and [tool.name for tool in recorded.tools] == [tool.name for tool in request.tools]
            and len(recorded.messages) == len(request.messages)
        )

    def _nearest(self, request: ModelRequest, lane: Iterable[_Entry]) -> tuple[_Entry, float]:
        sketch = sketch_of(request, normalise=self.normal)
        scored = [(nearness(self._sketch(entry), sketch), -entry.number) for entry in lane]
        score, number = max(scored)
        return self._by_number[-number], score

    def _sketch(self, entry: _Entry) -> RequestSketch:
        if entry.number not in self._sketches:
            self._sketches[entry.number] = sketch_of(entry.request, normalise=self.normal)
        return self._sketches[entry.number]

    def _next(self, request: ModelRequest) -> _Entry | None:
        """The next exchange of the lane, for a replay that goes on."""
        lane = self._open.get((request.caller.agent, request.purpose), {})
        return next(iter(lane.values()), None)

    def _verdict(
        self,
        cause: Cause,
        about: str,
        request: ModelRequest | None,
        entry: _Entry | None,
        found: tuple[Difference, ...] = (),
    ) -> Verdict:
        return Verdict(
            cause=cause,
            about=about,
            request=self._asked if request is not None else 0,
            agent=request.caller.agent if request is not None else "",
            nearest=entry.number if entry is not None else 0,
            of=len(self._entries),
            differences=found,
            tape=self.tape.name,
            again=self._again,
        )

    def _diverged(self, verdict: Verdict, entry: _Entry | None) -> Played:
        self._noted(self._news(verdict))
        self.missed.append((verdict, self._asking))
        if not self.relaxed or entry is None:
            raise DivergenceError(verdict)
        self._play(entry)
        return Played(entry.exchange, verdict)


def _by_first(verdict: Verdict) -> Verdict:
    """The verdict by the first of its differences."""
    first = verdict.differences[0]
    call = f"{first.call}, " if first.call else ""
    about = f"{call}{first.where}: recorded {first.recorded}, seen {first.seen}"
    return msgspec.structs.replace(verdict, cause=first.cause, about=about)


def normaliser_of(tape: Tape, here: Surroundings, more: Iterable[Mask] = ()) -> Normal:
    """Takes what is volatile or secret out of texts of a tape, and of a run that replays it.

    Args:
        tape: the tape, with its masks.
        here: folders and the day of the run.
        more: masks besides.
    """
    normal = normaliser(tape.head.places, here, masks=(*tape.head.masks, *more))
    return lambda text: normal(tape.redactor.text(text))


def _kept(normal: Normal) -> Normal:
    """The same, with the answers for the texts that come again with each request."""
    known: dict[str, str] = {}

    def remembered(text: str) -> str:
        found = known.get(text)
        if found is None:
            if len(known) > 10_000:
                known.clear()
            found = known[text] = normal(text)
        return found

    return remembered


def _identical(recorded: ModelRequest, seen: ModelRequest) -> bool:
    """Whether two requests are equal as they stand: true of most, and found in C."""
    return (
        recorded.messages == seen.messages
        and recorded.model == seen.model
        and recorded.tools == seen.tools
        and recorded.settings == seen.settings
        and (recorded.format, recorded.stream) == (seen.format, seen.stream)
    )


def _entries(exchanges: Iterable[RecordedExchange]) -> Iterable[_Entry]:
    """The exchanges with models, each with its conversation."""
    live: dict[tuple[str, str], list[tuple[int, tuple[Message, ...]]]] = {}
    chains = 0
    for exchange in exchanges:
        request = exchange.request
        if request is None:
            continue
        agent = request.caller.agent
        lane = live.setdefault((agent, request.purpose), [])
        place = next((i for i, (_, said) in enumerate(lane) if _continues(request.messages, said)), None)
        if place is None:
            chains += 1
            chain = chains
        else:
            chain, _ = lane.pop(place)
        lane.insert(0, (chain, request.messages))
        del lane[_CHAINS:]
        yield _Entry(exchange, request, agent, chain)


def _continues(now: tuple[Message, ...], before: tuple[Message, ...]) -> bool:
    """Whether a conversation goes on from another, or is its repetition: a retry."""
    return len(now) >= len(before) and now[: len(before)] == before


def _with_turns(entries: list[_Entry]) -> list[_Entry]:
    """The entries with the turns of their conversations."""
    spans: dict[int, tuple[float, float]] = {}
    lanes: dict[tuple[str, str], dict[int, None]] = {}
    for entry in entries:
        begun, ended = entry.exchange.started_ms, entry.exchange.ended_ms
        first, last = spans.get(entry.chain, (begun, ended))
        spans[entry.chain] = first, max(last, ended)
        lanes.setdefault(entry.lane, {})[entry.chain] = None
    turns: dict[int, int] = {}
    for chains in lanes.values():
        order = sorted(chains, key=lambda chain: spans[chain][0])
        if all(spans[one][1] <= spans[next_one][0] for one, next_one in pairwise(order)):
            turns |= {chain: turn for turn, chain in enumerate(order, start=1)}
    return [entry._replace(turn=turns.get(entry.chain, 0)) for entry in entries]


def _about(request: ModelRequest) -> str:
    """A request in a few words."""
    aside = f"{request.purpose} request " if request.purpose != "main" else ""
    return f"{aside}{preview(request.last_user_text or '(no text)')}"


def remapped(exchange: RecordedExchange, recorded: Surroundings, here: Surroundings) -> RecordedExchange:
    """The exchange with the folders of this run in its reply, in the place of the recorded ones.

    Tools that run for real work in this run's folders. The frames of such a reply are made anew.
    """
    if exchange.response is None:
        return exchange
    response = swapped(exchange.response, recorded, here)
    if response is exchange.response:
        return exchange
    return msgspec.structs.replace(exchange, response=response)


def swapped(value: S, before: Surroundings, now: Surroundings) -> S:
    """A record with the folders of one run in the place of another's; the same object if it has none of them.

    All at once, the longest first: the new folder of a test may lie in the old one for temporary files.
    """
    pairs = [(getattr(before, name), getattr(now, name)) for name in _FOLDERS]
    worked = [(getattr(before, name), getattr(now, name)) for name in WORKED_IN]
    pairs += [(as_file_name(old), as_file_name(new)) for old, new in worked if old.count("/") > 1]
    swaps = {_inside(old): _inside(new) for old, new in pairs if new and len(old) > 1}
    if all(old == new for old, new in swaps.items()):
        return value
    folders = b"|".join(map(re.escape, sorted(swaps, key=len, reverse=True)))
    data = msgspec.json.encode(value)
    changed = re.sub(b"(?:%b)(?![A-Za-z0-9_])" % folders, lambda found: swaps[found[0]], data)
    return value if changed == data else msgspec.json.decode(changed, type=type(value))


def _inside(text: str) -> bytes:
    """A text as it stands inside of JSON."""
    return msgspec.json.encode(text)[1:-1]
