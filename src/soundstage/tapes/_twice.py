"""A program run once more, on the tape of its first run: what it asks then that it did not ask before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from soundstage.messages import ModelRequest
from soundstage.tapes._learning import AskedTwice, Learned, learn
from soundstage.tapes._playback import normaliser_of
from soundstage.tapes._proposals import ORDER, WORDS
from soundstage.tapes._run import RunOptions, RunOutcome, run_with_tape
from soundstage.tapes._seen import SeenRequest, read_seen, seen_path
from soundstage.tapes._surroundings import Surroundings, without_settings
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import NO_PLACE, Verdict

_WHY_NOT: Final = {
    WORDS: "plain words: what the model reads differs",
    ORDER: "the same in another order: sort it",
}
_UNSURE: Final = "a mask for it would hide other texts, too"


class SecondRun(NamedTuple):
    """The second run of a program, on the tape of the first.

    Args:
        outcome: its end.
        learned: masks for what differed, and what got none.
        other: verdicts on calls that have no partner: more calls, fewer, in another order.
    """

    outcome: RunOutcome
    learned: Learned
    other: tuple[Verdict, ...]

    @property
    def steady(self) -> bool:
        """Whether a replay with the masks has no divergence."""
        return not (self.learned.left or self.other)


def run_again(options: RunOptions) -> SecondRun:
    """Run a program on its tape, and learn from the requests that differ. The tape is not changed.

    Args:
        options: those of the first run.

    Raises:
        TapeError: if the tape cannot be read.
        EnvironmentProblem: if the program cannot be run.
    """
    outcome = run_with_tape(options._replace(mode="none", relaxed=True, script=None))
    other = unpaired(outcome.verdicts)
    if not seen_path(options.tape).exists():
        return SecondRun(outcome, Learned(), other)
    seen = read_seen(options.tape)
    return SecondRun(outcome, learned_of(Tape.load(options.tape), seen.requests, seen.here), other)


def learned_of(tape: Tape, missed: Sequence[SeenRequest], here: Surroundings) -> Learned:
    """Masks for what a second run asked instead, and what got none.

    Args:
        tape: that of the first run.
        missed: requests that are not on it, each with the verdict.
        here: the folders of the second run.
    """
    requests = {
        one.number: without_settings(one.request, tape.head.masks)
        for one in tape.exchanges
        if one.request is not None
    }
    pairs = [
        pair._replace(seen=without_settings(pair.seen, tape.head.masks)) for pair in _pairs(missed, requests)
    ]
    differing = {one.verdict.nearest for one in missed}
    same = [request for number, request in requests.items() if number not in differing]
    return learn(pairs, same, lambda masks: normaliser_of(tape, here, masks))


def unpaired(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts on calls without a partner, and on MCP servers."""
    return tuple(one for one in verdicts if one.server or one.cause in NO_PLACE or not one.nearest)


def keep_masks(options: RunOptions, second: SecondRun) -> None:
    """Write the masks into the head of the tape, behind those that are there.

    Raises:
        EnvironmentProblem: if the tape cannot be written.
    """
    tape = Tape.load(options.tape)
    masks = (*tape.head.masks, *(mask for mask, _ in second.learned.masks))
    tape.head = msgspec.structs.replace(tape.head, masks=masks)
    tape.save(options.tape)
    if second.steady:
        seen_path(options.tape).unlink(missing_ok=True)


def _pairs(seen: Sequence[SeenRequest], requests: dict[int, ModelRequest]) -> Iterator[AskedTwice]:
    for one in seen:
        verdict = one.verdict
        if verdict.cause not in NO_PLACE and verdict.nearest in requests:
            yield AskedTwice(verdict.request, verdict.agent, requests[verdict.nearest], one.request)


def told(second: SecondRun) -> Iterator[str]:
    """The masks, each with both texts, and what has none, in lines."""
    for mask, sighting in second.learned.masks:
        yield f"mask: {mask}  ({sighting.place.kind}; {sighting})"
    for sighting in second.learned.left:
        yield f"not masked: {sighting.difference.cause}: {sighting} ({_WHY_NOT.get(sighting.place.kind, _UNSURE)})"
    for verdict in second.other:
        yield f"not masked: {verdict.cause}: {verdict.about}"
