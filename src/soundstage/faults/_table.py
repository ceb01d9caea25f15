"""The table of a sweep: a row for each case, as text and as JSON. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

from soundstage.errors import ExpectationError
from soundstage.faults._cases import FaultCase
from soundstage.faults._outcome import VERDICTS, Outcome, Verdict, counted, judge, retries_in

ALLOWED: Final[tuple[Verdict, ...]] = ("survived", "gave up")
MOMENT: Final = 0.05  # seconds; a shorter wait is the way of a request


class SweepRow(NamedTuple):
    """One case and what came of it.

    Args:
        case: such as `2:cut-tool`.
        seed: of what was drawn.
        verdict: survived, gave up, wrong result, hung or crashed.
        reason: why, in words; empty if there is nothing to say.
        retries: how often the call was made again.
        waited: seconds that the app waited before it did.
        remark: what was injected, where the name of the case does not say it.
    """

    case: str
    seed: int
    verdict: Verdict
    reason: str
    retries: int
    waited: float
    remark: str


class Sweep(NamedTuple):
    """The rows of a sweep.

    Args:
        rows: one for each case, in the order of the calls.
        calls: of the model, in the good run.
        real: whether the app's waits were real.
        again: how to run one case again; `CASE` stands for it.
        allow: verdicts that are no findings.
        varies: what two good runs differed in, and was not compared.
    """

    rows: tuple[SweepRow, ...]
    calls: int
    real: bool
    again: str = ""
    allow: tuple[Verdict, ...] = ALLOWED
    varies: str = ""

    @property
    def findings(self) -> tuple[SweepRow, ...]:
        """The rows whose verdict is not allowed."""
        return tuple(row for row in self.rows if row.verdict not in self.allow)

    def __str__(self) -> str:
        return "\n".join([*_lines(self), "", *_summary(self)])

    def require_no_findings(self) -> None:
        """Require that every verdict is allowed.

        Raises:
            ExpectationError: with the table, if one is not.
        """
        if self.findings:
            raise ExpectationError(
                f"{len(self.findings)} of {len(self.rows)} faulty runs came to what is not allowed",
                expected=" or ".join(self.allow),
                seen=str(self),
                hint="mend the app, or allow the verdict: allow=(...)",
            )

    def as_json(self) -> dict[str, Any]:
        """The table as JSON values."""
        return {
            "calls": self.calls,
            "varies": self.varies,
            "allow": list(self.allow),
            "counts": dict(Counter(row.verdict for row in self.rows)),
            "rows": [row._asdict() | {"finding": row.verdict not in self.allow} for row in self.rows],
        }


def row_of(case: FaultCase, good: Outcome, seen: Outcome) -> SweepRow:
    """The row of a case: what its run came to, held against the good one."""
    verdict, reason = judge(good, seen)
    retries = retries_in(seen, case.injection)
    remark = case.injection.remark
    if len(seen.calls) < case.injection.call:
        remark = "the call was never made"
    return SweepRow(case.id, case.seed, verdict, reason, retries.times, retries.waited, remark)


def _lines(sweep: Sweep) -> list[str]:
    head = ("", "case", "seed", "verdict", "tries", "why")
    cells = [head, *(_cells(row, sweep) for row in sweep.rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head) - 1)]
    return [
        "  ".join(
            [*(text.ljust(width) for text, width in zip(line, widths, strict=False)), line[-1]]
        ).rstrip()
        for line in cells
    ]


def _cells(row: SweepRow, sweep: Sweep) -> tuple[str, ...]:
    mark = "" if row.verdict in sweep.allow else "!"
    return mark, row.case, str(row.seed), row.verdict, str(row.retries + 1), _why(row, real=sweep.real)


def _why(row: SweepRow, *, real: bool) -> str:
    untried = "" if row.retries or row.verdict == "survived" else "not tried again"
    kind = "real" if real else "virtual"
    waited = f"tried again after {row.waited:.2g} s ({kind})" if row.waited > MOMENT else ""
    return "; ".join(filter(None, (row.reason, untried, waited, row.remark)))


def _summary(sweep: Sweep) -> list[str]:
    counts = Counter(row.verdict for row in sweep.rows)
    shown = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    lines = [
        f"{counted(len(sweep.rows), 'faulty run')} over {counted(sweep.calls, 'model call')}: {shown or 'none'}"
    ]
    untried = [row.case for row in sweep.rows if row.verdict == "gave up" and not row.retries]
    if untried:
        lines.append(f"gave up at the first try: {', '.join(untried)}")
    if sweep.varies:
        lines.append(f"not compared, since two good runs differ in it: {sweep.varies}")
    if sweep.findings:
        lines.append(f"{len(sweep.findings)} to mend, marked with !")
        if sweep.again:
            lines.append(f"one of them again: {sweep.again.replace('CASE', sweep.findings[0].case, 1)}")
    return lines
