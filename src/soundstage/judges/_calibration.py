"""A calibration: how far a judge agrees with people, and whether it is swayed by order or length. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, NamedTuple

import msgspec

from soundstage.agreement import cohen_kappa, share_interval
from soundstage.errors import WrongValueError
from soundstage.judges._events import JudgmentOutcome

AGREEMENT: Final = 0.7
KAPPA: Final = 0.4
BIAS: Final = 0.2
Counted = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class JudgedLabel(NamedTuple):
    """A transcript with the label of a person, and how it was judged.

    Args:
        passed: what the person says.
        outcome: what the judge says.
        swapped: what it says with the criteria in the opposite order; `None` if the rubric has only one.
        length: characters of the transcript.
    """

    passed: bool
    outcome: JudgmentOutcome
    swapped: JudgmentOutcome | None
    length: int


class LengthHalf(msgspec.Struct, frozen=True, kw_only=True):
    """The shorter or the longer half of the transcripts.

    Args:
        items: transcripts.
        people: those that people pass.
        judge: those that the judge passes.
    """

    items: Counted
    people: Counted
    judge: Counted

    @property
    def overrated(self) -> float:
        """The share that the judge passes, less the share that people pass."""
        return (self.judge - self.people) / self.items if self.items else 0.0


class CalibrationFloors(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds within which a judge may decide.

    Args:
        agreement: least lower end of the interval of the agreement with people.
        kappa: least agreement beyond chance.
        bias: largest share of verdicts that the order changes, and largest difference of the overrating of long and
            short transcripts.
    """

    agreement: Share = AGREEMENT
    kappa: Share = KAPPA
    bias: Share = BIAS


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The measurement of one judge on transcripts with labels of people.

    Args:
        judge: the model.
        fingerprint: of rubric, prompt and model; it holds for no others.
        gold: fingerprint of the labels.
        both_pass: judge and people pass.
        both_fail: neither does.
        lenient: the judge passes, people do not.
        strict: people pass, the judge does not.
        void: no verdict that holds, which agrees with nobody.
        swapped: transcripts that were judged with the criteria in the opposite order, too.
        changed: of them, those whose outcome was another one.
        shorter: the shorter half of the transcripts.
        longer: the longer half.
        floors: the bounds within which it may decide.
    """

    judge: str
    fingerprint: str
    gold: str
    both_pass: Counted
    both_fail: Counted
    lenient: Counted
    strict: Counted
    void: Counted
    swapped: Counted
    changed: Counted
    shorter: LengthHalf
    longer: LengthHalf
    floors: CalibrationFloors = CalibrationFloors()

    def __post_init__(self) -> None:
        counted = self.shorter.items + self.longer.items
        if counted != self.items or self.changed > self.swapped or not 0 <= self._void_pass <= self.void:
            raise WrongValueError("these counts do not belong together", seen=repr(self))

    @property
    def items(self) -> int:
        """Transcripts."""
        return self.agreed + self.lenient + self.strict + self.void

    @property
    def agreed(self) -> int:
        """Transcripts about which judge and people agree."""
        return self.both_pass + self.both_fail

    @property
    def interval(self) -> tuple[float, float]:
        """The shares of agreement that agree with the counts: Wilson's interval, 95 %."""
        return share_interval(self.agreed, self.items)

    @property
    def kappa(self) -> float | None:
        """The agreement beyond chance; `None` if nothing varies. A void verdict is a label of its own."""
        void_fail = self.void - self._void_pass
        return cohen_kappa(
            [("pass", "pass")] * self.both_pass
            + [("fail", "fail")] * self.both_fail
            + [("pass", "fail")] * self.lenient
            + [("fail", "pass")] * self.strict
            + [("void", "pass")] * self._void_pass
            + [("void", "fail")] * void_fail
        )

    @property
    def _void_pass(self) -> int:
        """Void verdicts on transcripts that people pass."""
        return self.shorter.people + self.longer.people - self.both_pass - self.strict

    @property
    def problems(self) -> tuple[str, ...]:
        """Why this judge may not decide, each in a line; empty if it may."""
        return tuple(self._problems())

    def _problems(self) -> Iterator[str]:
        low, floors = self.interval[0], self.floors
        if low < floors.agreement:
            yield (
                f"it agrees with people on {self.agreed} of {self.items}: perhaps only on {low:.0%}, "
                f"at least {floors.agreement:.0%} wanted"
            )
        if self.kappa is None:
            yield "it always says the same, which shows nothing"
        elif self.kappa < floors.kappa:
            yield f"beyond chance it hardly agrees: kappa {self.kappa:.2f}, at least {floors.kappa:g} wanted"
        if self.swapped and self.changed / self.swapped > floors.bias:
            yield (
                f"the order of the criteria changes {self.changed} of {self.swapped} verdicts, "
                f"at most {floors.bias:.0%} wanted"
            )
        if abs(self.length_bias) > floors.bias:
            more = "longer" if self.length_bias > 0 else "shorter"
            yield f"it favours {more} transcripts by {abs(self.length_bias):.0%}, at most {floors.bias:.0%} wanted"

    @property
    def length_bias(self) -> float:
        """The overrating of the longer half, less that of the shorter one."""
        return self.longer.overrated - self.shorter.overrated

    def __str__(self) -> str:
        low, high = self.interval
        kappa = "not defined" if self.kappa is None else f"{self.kappa:.2f}"
        order = (
            f"{self.changed} of {self.swapped} verdicts change"
            if self.swapped
            else "not measured: one criterion"
        )
        return "\n".join(
            [
                f"judge      {self.judge}",
                f"agreement  {self.agreed} of {self.items} = {self.agreed / self.items:.0%} [{low:.0%}, {high:.0%}]",
                f"           {self.lenient} too lenient, {self.strict} too strict, {self.void} void",
                f"kappa      {kappa}",
                f"order      {order}",
                f"length     longer transcripts are passed {self.length_bias:+.0%} more often than people do",
                f"may decide {'no: ' + '; '.join(self.problems) if self.problems else 'yes'}",
            ]
        )


def calibration_of(
    labels: Sequence[JudgedLabel], *, judge: str, fingerprint: str, gold: str, floors: CalibrationFloors
) -> Calibration:
    """Count how a judge and people agree.

    Args:
        labels: at least one.
        judge: the model.
        fingerprint: of rubric, prompt and model.
        gold: fingerprint of the labels.
        floors: the bounds within which the judge may decide.
    """
    said = [(one.outcome, one.passed) for one in labels]
    swapped = [one for one in labels if one.swapped is not None]
    by_length = sorted(labels, key=lambda one: one.length)
    middle = len(labels) // 2
    return Calibration(
        judge=judge,
        fingerprint=fingerprint,
        gold=gold,
        both_pass=said.count(("passed", True)),
        both_fail=said.count(("failed", False)),
        lenient=said.count(("passed", False)),
        strict=said.count(("failed", True)),
        void=sum(outcome == "void" for outcome, _ in said),
        swapped=len(swapped),
        changed=sum(one.outcome != one.swapped or one.outcome == "void" for one in swapped),
        shorter=_half(by_length[:middle]),
        longer=_half(by_length[middle:]),
        floors=floors,
    )


def _half(labels: Sequence[JudgedLabel]) -> LengthHalf:
    return LengthHalf(
        items=len(labels),
        people=sum(one.passed for one in labels),
        judge=sum(one.outcome == "passed" for one in labels),
    )
