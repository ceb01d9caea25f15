"""Takes out of texts the parts that differ between two runs by nature: ids, times, folders of runs, ports.

The ids of calls and conversations are those that the traces know; the rest is known by its shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from soundstage.differences._shapes import VOLATILE_SHAPES
from soundstage.differences._types import Normaliser
from soundstage.trace import Trace

_SHORTEST: Final = 8  # a shorter id in a text may be a word; it is left as it is
_WORD: Final = re.compile(r"[\w-]{6,}")
_ID: Final = re.compile(r"(?=.*\d)[0-9a-f-]{6,}")  # an agent with such a name has another one in each run
_COMPILED: Final = tuple((re.compile(shape.pattern), shape.stands) for shape in VOLATILE_SHAPES)
_KEPT: Final = 4096  # texts whose answer is kept


def volatile_of(*traces: Trace, masks: Sequence[Callable[[str], str]] = ()) -> Normaliser:
    """A normaliser for texts of these runs.

    Args:
        traces: whose ids are known.
        masks: what else to replace, before anything else.
    """
    ids = {use.call_id: "<call>" for trace in traces for use in trace.tools}
    ids |= {step.agent: "<agent>" for trace in traces for step in trace.steps if _ID.fullmatch(step.agent)}
    ids |= {step.conversation: "<conversation>" for trace in traces for step in trace.steps}
    known = {name: by for name, by in ids.items() if len(name) >= _SHORTEST or by == "<agent>"}

    @lru_cache(maxsize=_KEPT)
    def normalise(text: str) -> str:
        for mask in masks:
            text = mask(text)
        if known:
            text = _WORD.sub(lambda found: known.get(found[0], found[0]), text)
        for shape, by in _COMPILED:
            text = shape.sub(by, text)
        return text

    return normalise
