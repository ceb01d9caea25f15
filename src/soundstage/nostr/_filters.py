"""Filters of NIP-01 and NIP-50: which events a subscription gets. Pure.

The conditions of one filter must all hold; of several filters, one must match. `limit` counts for the events
that are there when the subscription begins, and means nothing for those that come later.

NIP-50 leaves to the relay how it searches. Here every word of the search has to stand in the content, whatever its
case, and `name:value` pairs, the extensions of the NIP, are skipped. The content with the whole search in one piece
comes first, then the one with more of its words, then the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec

from soundstage.nostr._record import Id, Kind, NostrEvent, Seconds

_ID: Final = re.compile(r"[0-9a-f]{64}")
_TAG_NAME: Final = re.compile(r"#[a-zA-Z]")
_EXTENSION: Final = re.compile(r"(include|domain|language|sentiment|nsfw):\S*")
_HEX_TAGS: Final = frozenset("ep")
T = TypeVar("T")


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """One filter; a condition that is `None` holds for every event.

    Args:
        ids: ids of events.
        authors: public keys.
        kinds: kinds.
        tags: values by the name of a tag, one letter.
        since: the earliest `created_at`.
        until: the latest one.
        limit: how many of the events there are to begin with: the newest, or of a search the best.
        search: words that the content has, in lower case; the first is the whole search.
    """

    ids: frozenset[str] | None = None
    authors: frozenset[str] | None = None
    kinds: frozenset[int] | None = None
    tags: Mapping[str, frozenset[str]] = {}
    since: int | None = None
    until: int | None = None
    limit: int | None = None
    search: tuple[str, ...] = ()


class _Plain(msgspec.Struct):
    """The conditions that are not about tags, as they are written."""

    ids: list[Id] | None = None
    authors: list[Id] | None = None
    kinds: list[Kind] | None = None
    since: Seconds | None = None
    until: Seconds | None = None
    limit: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None
    search: str | None = None


KNOWN: Final = frozenset(_Plain.__struct_fields__)


class FilterProblem(Exception):  # noqa: N818  (answered, never raised to a user)
    """Raised when something is not a filter. The text begins with a prefix of NIP-01."""


def read_filter(value: Any) -> Filter:
    """The filter in a piece of JSON.

    Raises:
        FilterProblem: if it is none, or asks for more than NIP-01 has.
    """
    if not isinstance(value, dict):
        raise FilterProblem("invalid: a filter is an object")
    tags = {key[1:]: _tag_values(key, item) for key, item in value.items() if _TAG_NAME.fullmatch(key)}
    rest = {key: item for key, item in value.items() if not _TAG_NAME.fullmatch(key)}
    if unknown := sorted(set(rest) - KNOWN):
        raise FilterProblem(f"unsupported: filter contains unknown elements: {', '.join(unknown)}")
    try:
        plain = msgspec.convert(rest, _Plain)
    except msgspec.ValidationError as error:
        raise FilterProblem(f"invalid: in a filter: {error}") from None
    return Filter(
        ids=_set(plain.ids),
        authors=_set(plain.authors),
        kinds=_set(plain.kinds),
        tags=tags,
        since=plain.since,
        until=plain.until,
        limit=plain.limit,
        search=_search(plain.search or ""),
    )


def _set(values: Iterable[T] | None) -> frozenset[T] | None:
    return None if values is None else frozenset(values)


def _search(text: str) -> tuple[str, ...]:
    """The words of a search behind the search itself; nothing if there are none."""
    words = [word for word in text.casefold().split() if not _EXTENSION.fullmatch(word)]
    return (" ".join(words), *dict.fromkeys(words)) if words else ()


def _tag_values(key: str, values: Any) -> frozenset[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise FilterProblem(f"invalid: in a filter: {key} is a list of texts")
    if key[1:] in _HEX_TAGS and not all(_ID.fullmatch(value) for value in values):
        raise FilterProblem(f"invalid: in a filter: the values of {key} are 64 lowercase hexadecimal digits")
    return frozenset(values)


def passes(event: NostrEvent, wanted: Filter) -> bool:
    """Whether an event meets every condition of a filter, its limit aside."""
    return (
        (wanted.ids is None or event.id in wanted.ids)
        and (wanted.authors is None or event.pubkey in wanted.authors)
        and (wanted.kinds is None or event.kind in wanted.kinds)
        and (wanted.since is None or wanted.since <= event.created_at)
        and (wanted.until is None or event.created_at <= wanted.until)
        and all(_has_tag(event, name, values) for name, values in wanted.tags.items())
        and (not wanted.search or _says(event, wanted.search))
    )


def _says(event: NostrEvent, words: tuple[str, ...]) -> bool:
    content = event.content.casefold()
    return all(word in content for word in words[1:])


def _has_tag(event: NostrEvent, name: str, values: frozenset[str]) -> bool:
    return any(tag[0] == name and len(tag) > 1 and tag[1] in values for tag in event.tags)


def passes_any(event: NostrEvent, filters: Iterable[Filter]) -> bool:
    """Whether an event passes one of the filters."""
    return any(passes(event, wanted) for wanted in filters)


def newest_first(event: NostrEvent) -> tuple[int, str]:
    """A key for sorting: the newest event first, of two of one second the one with the lower id."""
    return -event.created_at, event.id


def best_first(event: NostrEvent, wanted: Filter) -> tuple[int, int, int, str]:
    """A key for sorting what a filter lets through: what fits its search better first, then the newest."""
    if not wanted.search:
        return 0, 0, *newest_first(event)
    content = " ".join(event.content.casefold().split())
    whole, *words = wanted.search
    return -content.count(whole), -sum(map(content.count, words)), *newest_first(event)


def select(events: Iterable[NostrEvent], filters: Sequence[Filter]) -> list[NostrEvent]:
    """The events that a subscription with these filters begins with, each once.

    The newest come first; if there is a search among the filters, what the first filter finds comes first.
    """
    known, found = list(events), dict[str, NostrEvent]()
    for wanted in filters:
        fitting = [event for event in known if passes(event, wanted)]
        fitting.sort(key=lambda event: best_first(event, wanted))
        for event in fitting[: wanted.limit]:
            found.setdefault(event.id, event)
    if any(wanted.search for wanted in filters):
        return list(found.values())
    return sorted(found.values(), key=newest_first)
