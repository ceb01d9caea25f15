"""A mask for a place at which two texts differ, if what stands there looks volatile. Pure.

How it works. Both texts are cut into words, and aligned. At each place that differs, the known shapes are tried, then
weaker forms: numbers, and words with digits in them. A shape that nobody mistakes, such as a UUID, is proposed as it
stands; one that could be anything, such as a number, only behind the words that stand before it. What is neither, plain
words or the same words in another order, gets no mask: that is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from soundstage.differences import VOLATILE_SHAPES
from soundstage.tapes._surroundings import Mask

WORDS: Final = "words"
ORDER: Final = "order"
_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")
_NAME: Final = re.compile(r"\w+")
_TOO_MANY: Final = 4000  # tokens that are aligned; of longer texts only the first place is looked at
_AROUND: Final = 28  # characters of the words before a number
_LONG: Final = 60  # characters of an example
_Region = tuple[
    tuple[int, int], tuple[int, int]
]  # a part of one text, from and to, and the part of the other
_WORD: Final = r"(?<![0-9A-Za-z]){}(?![0-9A-Za-z])"


class _Form(NamedTuple):
    """A form of volatile texts, and whether it is a mask without the words around it."""

    kind: str
    pattern: re.Pattern[str]
    stands: str
    alone: bool


def _form(kind: str, pattern: str, stands: str, *, alone: bool = False) -> _Form:
    return _Form(kind, re.compile(pattern), stands, alone)


_FORMS: Final = (
    *(_form(shape.kind, shape.pattern, shape.stands, alone=True) for shape in VOLATILE_SHAPES),
    _form("temporary path", r"""(?<=<tmp>/)[^\s/'"`<>]+""", "<name>", alone=True),
    _form("time", r"\b\d{8}T\d{6}(?:\.\d+)?Z?\b", "<time>", alone=True),
    _form("time", r"\b1[5-9]\d{8}(?:\.\d+|\d{3}|\d{6}|\d{9})?\b", "<time>", alone=True),
    _form("time", r"\b\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?\b", "<time>"),
    _form("id", r"\b0x[0-9a-fA-F]{6,}\b", "<address>", alone=True),
    _form("id", _WORD.format(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}"), "<id>"),
    _form("id", _WORD.format(r"(?=\w*\d)(?=\w*[A-Za-z])[\w-]{16,}"), "<id>"),
    _form("number", _WORD.format(r"\d+(?:\.\d+)?"), "<number>"),
    _form("id", _WORD.format(r"(?=[A-Za-z]*\d)[0-9A-Za-z]{4,}"), "<id>"),
)
"""Forms in the order in which they are tried; the less a form says, the later."""


class Place(NamedTuple):
    """A place at which two texts differ: what stands there in each, and its kind.

    Args:
        first: the text of the first run, cut if it is long.
        then: that of the second.
        kind: `time`, `id`, `number`, ..., else `words` or `order`.
        masks: masks that would cover it, the narrow one last.
    """

    first: str
    then: str
    kind: str
    masks: tuple[Mask, ...] = ()


def places_of(one: str, other: str) -> Iterator[Place]:
    """The places at which two texts differ.

    Example:
        >>> [place] = places_of("order 17 is late", "order 2041 is late")
        >>> place.kind, place.masks[0].pattern, place.masks[0].stands
        ('number', '(?<=order )\\\\d+(?:\\\\.\\\\d+)?', '<number>')
    """
    if sorted(_TOKEN.findall(one)) == sorted(_TOKEN.findall(other)):
        yield Place(_cut(one), _cut(other), ORDER)
        return
    left, covered = [], 0
    for ours, theirs in _regions(one, other):
        if ours[0] < covered:
            continue
        shared = _shared(one[slice(*ours)], other[slice(*theirs)])
        found = _volatile(one, other, ours[0] + shared, theirs[0] + shared)
        if found is None:
            left.append((ours, theirs))
        else:
            place, covered = found
            yield place
    yield from _plain(one, other, left)


def _shared(one: str, other: str) -> int:
    """The number of characters that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (ours, theirs) in pairs if ours != theirs), min(len(one), len(other)))


def _plain(one: str, other: str, left: list[_Region]) -> Iterator[Place]:
    """The places without a mask: those whose words only changed places, as one, and those with other words."""
    texts = [(one[slice(*ours)], other[slice(*theirs)]) for ours, theirs in left]
    gone = {word for text, _ in texts for word in _NAME.findall(text)}
    new = {word for _, text in texts for word in _NAME.findall(text)}
    moved = [
        region
        for region, (ours, theirs) in zip(left, texts, strict=True)
        if new.issuperset(_NAME.findall(ours)) and gone.issuperset(_NAME.findall(theirs))
    ]
    if len(moved) > 1:
        (ours, theirs), (ours_last, theirs_last) = moved[0], moved[-1]
        yield Place(_cut(one[ours[0] : ours_last[1]]), _cut(other[theirs[0] : theirs_last[1]]), ORDER)
    for region, pair in zip(left, texts, strict=True):
        if len(moved) < 2 or region not in moved:
            yield Place(_cut(pair[0]), _cut(pair[1]), WORDS)


def _regions(one: str, other: str) -> Iterator[_Region]:
    """The parts of two texts that differ, word by word."""
    ours, theirs = _tokens(one), _tokens(other)
    words = [token[2] for token in ours], [token[2] for token in theirs]
    if len(ours) + len(theirs) > _TOO_MANY:
        pairs = enumerate(zip(*words, strict=False))
        first = next((n for n, (word, its) in pairs if word != its), min(map(len, words)))
        apart = [(first, first + 1, first, first + 1)]
    else:
        aligned = SequenceMatcher(None, *words, autojunk=False).get_opcodes()
        apart = [ends for operation, *ends in aligned if operation != "equal"]  # type: ignore[misc]
    for i, j, k, m in apart:
        yield _span(ours, i, j, len(one)), _span(theirs, k, m, len(other))


def _tokens(text: str) -> list[tuple[int, int, str]]:
    return [(found.start(), found.end(), found[0]) for found in _TOKEN.finditer(text)]


def _span(tokens: list[tuple[int, int, str]], first: int, after: int, length: int) -> tuple[int, int]:
    start = tokens[first][0] if first < len(tokens) else length
    return start, tokens[after - 1][1] if first < after <= len(tokens) else start


def _volatile(one: str, other: str, at: int, at_other: int) -> tuple[Place, int] | None:
    """The volatile text that covers a place, if there is one on both sides; and where it ends."""
    for form in _FORMS:
        ours, theirs = _covering(form.pattern, one, at), _covering(form.pattern, other, at_other)
        if ours is None or theirs is None or ours[0] == theirs[0]:
            continue
        masks = [Mask(pattern=form.pattern.pattern, stands=form.stands)] if form.alone else []
        if _before(one, ours.start()) == _before(other, theirs.start()):
            masks.append(Mask(pattern=_narrow(form, one, ours), stands=form.stands))
        if masks and one[ours.end() :][:1] == other[theirs.end() :][:1]:
            return Place(_cut(ours[0]), _cut(theirs[0]), form.kind, tuple(masks)), ours.end()
    return None


def _narrow(form: _Form, text: str, found: re.Match[str]) -> str:
    """An expression that finds a form only where the words around it are the same."""
    before, inner = _before(text, found.start()), _inner(form.pattern.pattern)
    if before:
        return f"(?<={_literal(before)}){inner}"
    return rf"\A{inner}" + (
        f"(?={_literal(_after(text, found.end()))})" if found.end() < len(text) else r"\Z"
    )


def _covering(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """The find of a pattern around a place. It is searched for from the beginning of the line."""
    for found in pattern.finditer(text, text.rfind("\n", 0, at) + 1):
        if found.start() > at:
            return None
        if found.end() >= at:
            return found
    return None


def _before(text: str, at: int) -> str:
    """The words before a place, on its line or the one above."""
    words = text[max(at - _AROUND, 0) : at]
    if at > _AROUND:  # begin with a whole word
        words = re.sub(r"\A\w+", "", words) if re.search(r"\W\w", words) else words
    line = words.rfind("\n", 0, len(words.rstrip("\n")))
    return words[line + 1 :]


def _after(text: str, at: int) -> str:
    """The words behind a place."""
    return text[at : at + _AROUND].split("\n", maxsplit=1)[0] or "\n"


def _inner(pattern: str) -> str:
    """A form without the look at what stands before it: the words before it say that."""
    return pattern.removeprefix("(?<![0-9A-Za-z])").removesuffix("(?![0-9A-Za-z])").removeprefix(r"\b")


def _literal(text: str) -> str:
    """An expression for a text, as readable as it can be."""
    escaped = re.escape(text)
    for char, plain in (
        ("\\\n", r"\n"),
        ("\\\t", r"\t"),
        *((f"\\{sign}", sign) for sign in " -#&~<>\"':;,/"),
    ):
        escaped = escaped.replace(char, plain)
    return escaped


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."
