"""Shapes of texts that differ between two runs by nature: folders of runs, ids, times, durations, ports.

Durations are known only with a fraction (`0.03 s`), so that an edited "wait 5 s" is still seen.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class VolatileShape(NamedTuple):
    """Texts of one kind.

    Args:
        kind: of what they tell, in a word or two.
        pattern: a regular expression that finds them.
        stands: the text that stands for them when two texts are compared.
    """

    kind: str
    pattern: str
    stands: str


RUN_FOLDER: Final = VolatileShape("temporary path", r"soundstage-\d+-\d+-[\w-]{8}", "<folder>")
"""The name of a folder of a run, also in a name that was made of its path, which has `-` in the place of `_`."""

VOLATILE_SHAPES: Final = (
    VolatileShape(
        "temporary path",
        r"(?:/private)?(?:/var/folders/\w+/\w+/T|/tmp)/pytest-of-[^/\s]+/pytest-\d+",
        "<folder>",
    ),
    VolatileShape("temporary path", r"""(?:/[^\s/'"`]+)*/soundstage-[^\s/'"`]+""", "<folder>"),
    RUN_FOLDER,
    VolatileShape(
        "temporary path", r"""(?:/private)?(?:/var/folders/\w+/\w+/T|/tmp)/[^\s/'"`]+""", "<folder>"
    ),
    VolatileShape(
        "id", r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<id>"
    ),
    VolatileShape(
        "time",
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b",
        "<time>",
    ),
    VolatileShape("time", r"\b\d\d:\d\d:\d\d(?:\.\d+)?\b", "<time>"),
    VolatileShape("duration", r"\b\d+\.\d+ ?(?:ms|s|seconds)\b", "<duration>"),
    VolatileShape("port", r"(?:(?<=\b127\.0\.0\.1:)|(?<=\blocalhost:))\d+\b", "<port>"),
)
"""The known shapes, in the order in which they are looked for."""
