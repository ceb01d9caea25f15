"""A comparison in words: for a terminal, and as Markdown. Pure."""

from __future__ import annotations

from typing import Final

from soundstage.evals._compare import COST, RATE, ChangedCase, ComparedMeasure, EvalComparison
from soundstage.evals._words import counted

_SHOWN: Final = 20  # cases
HEAD: Final = ("measure", "cases", "old", "new", "difference", "p", "would have shown", "")


def as_text(found: EvalComparison) -> str:
    """The comparison for a terminal."""
    rows = [HEAD, *map(_row, found.measures)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    lines += [f"  {_case(change)}" for change in found.changes[:_SHOWN]]
    return "\n".join([*lines, *_rest(found), verdict(found)])


def as_markdown(found: EvalComparison) -> str:
    """The comparison as Markdown, such as a step summary of GitHub shows."""
    lines = [
        f"### Eval `{found.suite}`: {verdict(found)}",
        "",
        f"| {' | '.join(HEAD)} |",
        "|" + "---|" * len(HEAD),
    ]
    lines += [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in _row(one)) + " |" for one in found.measures
    ]
    lines += ["", *(f"- {_case(change)}" for change in found.changes[:_SHOWN])]
    return "\n".join([*lines, "", *(f"{line}\n" for line in _rest(found))])


def verdict(found: EvalComparison) -> str:
    """The answer in a line."""
    if found.worse:
        return "significantly worse"
    better = any(one.decides and one.change == "better" for one in found.measures)
    if better or any(one.significant for one in found.changes):
        return "significantly better"
    rate = next(one for one in found.measures if one.name == RATE)
    if rate.smallest >= 1:
        return "no significant change, but so few runs hardly show any: use more cases or --repeat"
    return "no significant change"


def _row(one: ComparedMeasure) -> tuple[str, ...]:
    def number(value: float, sign: str = "") -> str:
        if one.name == RATE:
            return f"{value:{sign}.1%}"
        text = f"{value:{sign}.4g}"
        return text if one.name != COST else f"${text}" if text[0].isdigit() else f"{text[0]}${text[1:]}"

    known = "hardly anything" if one.name == RATE and one.smallest >= 1 else f"{number(one.smallest)} or more"
    change = one.change.upper() if one.decides and one.change == "worse" else one.change
    return (
        one.name,
        str(one.cases),
        number(one.old),
        number(one.new),
        number(one.difference, "+"),
        f"{one.p:.2g}",
        known,
        change if one.decides else f"{change} (decides nothing)",
    )


def _case(change: ChangedCase) -> str:
    word = "better" if change.new.rate > change.old.rate else "worse"
    known = f", significant (p = {change.p:.2g})" if change.significant else ""
    old, new = (f"{side.passed}/{side.runs}" for side in (change.old, change.new))
    return f"{word}: {change.case}: {old} -> {new}{known}"


def _rest(found: EvalComparison) -> list[str]:
    """All that was left out."""
    more = len(found.changes) - _SHOWN
    lines = [f"{counted(more, 'more case')} changed"] if more > 0 else []
    lines += [f"not compared: {one}" for one in found.not_compared]
    kinds = (
        ("the case is another one now, so not compared", found.other),
        ("only in the old result", found.only_old),
        ("only in the new result", found.only_new),
    )
    lines += [f"{why}: {', '.join(names)}" for why, names in kinds if names]
    return lines
