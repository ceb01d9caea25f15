"""Evaluators that measure how near the answer comes to a text. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.match import preview

_NONE: Final = 1e-7  # BLEU: the precision of an order of which no part is found
_ORDERS: Final = 4
_PENN: Final = re.compile(
    r"""n't(?!\w) | '(?:s|m|d|ll|re|ve)(?!\w) | -- | \.\.\.
    | (?:(?!n't(?!\w)|(?<=[^\s'])'(?!\S)|'(?:s|m|d|ll|re|ve)(?!\w)|--|\.\.\.|\.[\])}>'"\s]*$)
        [^\s,;:@\#$%&?!()\[\]{}<>"\ue000]|[,:](?=\d))+
    | \S""",
    re.VERBOSE | re.IGNORECASE,
)  # words, contractions and marks
_OPENING: Final = re.compile(r'(?<![^\s(\[{<])"')  # is another mark than a quote that closes


class NearSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To which text, and how many letters it may differ in."""

    to: str
    at_most: int = 5


class OverlapSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """With which text, or several, and how much at least, from 0 to 1."""

    to: str | list[str]
    at_least: float | None = None


def levenshtein(spec: str | NearSpec) -> Evaluator:
    """So many letters at most have to be changed, put in or left out to make the answer a text: `{to, at_most: 5}`."""
    wanted = NearSpec(spec) if isinstance(spec, str) else spec
    if wanted.at_most < 0:
        raise WrongValueError("`at_most` counts letters", expected="from 0", seen=repr(wanted.at_most))

    def evaluate(run: EvalRun) -> Grade:
        near = within_distance(run.output, wanted.to, wanted.at_most)
        reason = f"more than {wanted.at_most} letters differ from {preview(wanted.to)}: {preview(run.output)}"
        return Grade(passed=near, reason="" if near else reason)

    return evaluate


def rouge_n(spec: str | OverlapSpec) -> Evaluator:
    """The words that the answer shares with a text: `{to, at_least: 0.75}`, as ROUGE-1, the harmonic mean of precision
    and recall. It gives a score."""
    return _overlap(spec, 0.75, "ROUGE-1", lambda output, texts: rouge_1(output, texts[0]), several=False)


def bleu(spec: str | list[str] | OverlapSpec) -> Evaluator:
    """The runs of one to four words that the answer shares with a text, or with several: `{to, at_least: 0.5}`, as
    BLEU. It gives a score."""
    wanted = OverlapSpec(spec) if isinstance(spec, list) else spec
    return _overlap(wanted, 0.5, "BLEU", bleu_4, several=True)


def gleu(spec: str | list[str] | OverlapSpec) -> Evaluator:
    """The runs of one to four words that the answer shares with a text, as a share of those of the longer one:
    `{to, at_least: 0.5}`, as GLEU; of several texts the nearest counts. It gives a score."""
    wanted = OverlapSpec(spec) if isinstance(spec, list) else spec
    return _overlap(wanted, 0.5, "GLEU", gleu_4, several=True)


def _overlap(spec: str | OverlapSpec, usual: float, name: str, measure: Any, *, several: bool) -> Evaluator:
    wanted = OverlapSpec(spec) if isinstance(spec, str) else spec
    texts = [wanted.to] if isinstance(wanted.to, str) else wanted.to
    least = usual if wanted.at_least is None else wanted.at_least
    if not texts or not all(text.strip() for text in texts) or (len(texts) > 1 and not several):
        raise WrongValueError(f"{name} compares with a text", seen=repr(wanted.to))
    if not 0 <= least <= 1:
        raise WrongValueError("`at_least` is a share", expected="from 0 to 1", seen=repr(least))

    def evaluate(run: EvalRun) -> Grade:
        found = measure(run.output, texts)
        reason = f"{name} is {found:.3g}" + ("" if found >= least else f", below {least:g}")
        return Grade(passed=found >= least, score=found, reason=reason)

    return evaluate


def within_distance(one: str, other: str, most: int) -> bool:
    """Whether two texts are at most so far apart, in units of UTF-16. Only cells near the diagonal are counted."""
    first, second = (text.encode("utf-16-le", "surrogatepass") for text in (one, other))
    left, right = ([text[at : at + 2] for at in range(0, len(text), 2)] for text in (first, second))
    if abs(len(left) - len(right)) > most:
        return False
    far = most + 1
    row = [min(column, far) for column in range(len(right) + 1)]
    for number, letter in enumerate(left, 1):
        begin, end = max(1, number - most), min(len(right), number + most)
        new = [far] * (len(right) + 1)
        new[0] = min(number, far)
        for column in range(begin, end + 1):
            step = row[column - 1] + (letter != right[column - 1])
            new[column] = min(step, row[column] + 1, new[column - 1] + 1, far)
        row = new
        if min(row) >= far:
            return False
    return row[-1] <= most


def rouge_1(output: str, text: str) -> float:
    """ROUGE-1 of two texts, from 0 to 1; words as the Penn Treebank has them, in lower case."""
    found, wanted = (Counter(_PENN.findall(_OPENING.sub("\ue000", one.lower()))) for one in (output, text))
    shared = (found & wanted).total()
    return 2 * shared / (found.total() + wanted.total()) if shared else 0.0


def bleu_4(output: str, texts: Sequence[str]) -> float:
    """BLEU against several texts, from 0 to 1; words between spaces, in lower case, in runs of one to four."""
    words = output.lower().split()
    others = [text.lower().split() for text in texts]
    if not words:
        return 0.0
    orders = range(1, min(_ORDERS, len(words)) + 1)
    logs = []
    for order in orders:
        found = Counter(_runs(words, order))
        allowed: Counter[tuple[str, ...]] = Counter()
        for other in others:
            allowed |= Counter(_runs(other, order))
        logs.append(math.log((found & allowed).total() / found.total() or _NONE))
    nearest = min((abs(len(other) - len(words)), len(other)) for other in others)[1]
    shortness = 1.0 if len(words) >= nearest else math.exp(1 - nearest / len(words))
    return shortness * math.exp(sum(logs) / len(logs))


def gleu_4(output: str, texts: Sequence[str]) -> float:
    """GLEU against the nearest of several texts, from 0 to 1; words between spaces, in lower case, without the full
    stops behind them."""
    found, *others = (
        _all_runs([word.rstrip(".") for word in one.lower().split()]) for one in (output, *texts)
    )
    return max((found & other).total() / max(found.total(), other.total(), 1) for other in others)


def _all_runs(words: list[str]) -> Counter[tuple[str, ...]]:
    return (
        Counter(run for order in range(1, _ORDERS + 1) for run in _runs(words, order))
        if any(words)
        else Counter()
    )


def _runs(words: list[str], length: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[at : at + length]) for at in range(len(words) - length + 1))
