"""What a builder is given is looked at when the run is made, so that a wrong part is named before anything starts."""

from __future__ import annotations

from typing import Any, TypeVar

from soundstage.match import preview

T = TypeVar("T")


def check_part(thing: T, kind: Any, call: str, wanted: str) -> T:
    """The part, if it is one.

    Args:
        thing: what was given.
        kind: what it has to be: a class, or a protocol that can be asked for at run time.
        call: the call of the builder that it came from.
        wanted: what that call takes, in words.

    Raises:
        TypeError: if it is something else.
    """
    if not isinstance(thing, kind):
        raise TypeError(f"{call} takes {wanted}, and got {type(thing).__name__}: {preview(thing)}")
    return thing
