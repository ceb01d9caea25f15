"""A call of ours without `await` does nothing, and a test that asserts by it passes. It fails instead.

Python warns when such a coroutine goes away, at the latest when the test's function has returned.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from soundstage.errors import ScriptError

_OURS: Final = str(Path(__file__).parents[1])


@contextmanager
def every_call_awaited() -> Generator[None, None, None]:
    """While the body of a test runs: what it forgets to await of ours fails it, or is noted on its error.

    Raises:
        ScriptError: naming the call and the line.
    """
    forgotten: ScriptError | None = None
    try:
        with warnings.catch_warnings(record=True) as seen:
            yield
    except BaseException as error:
        forgotten = _tell(seen)
        if forgotten is not None:
            error.add_note(str(forgotten))
        raise
    forgotten = _tell(seen)
    if forgotten is not None:
        raise forgotten


def _tell(seen: list[warnings.WarningMessage]) -> ScriptError | None:
    """Give on the warnings that are not about us, and say what the first of ours is."""
    forgotten: ScriptError | None = None
    for one in seen:
        code = getattr(one.source, "cr_code", None)
        if code is None or not code.co_filename.startswith(_OURS):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno, source=one.source)
        elif forgotten is None:
            place = "" if one.filename.startswith(_OURS) else f"{one.filename}:{one.lineno}"
            forgotten = ScriptError(
                f"{_called(one.source)} was called and not awaited, so it did nothing",
                seen=place,
                hint="write `await` before the call",
            )
    return forgotten


def _called(coroutine: Any) -> str:
    """The call, by the class of its object: a method may be written in a base class."""
    itself = coroutine.cr_frame.f_locals.get("self") if coroutine.cr_frame is not None else None
    code = coroutine.cr_code
    return str(code.co_qualname) if itself is None else f"{type(itself).__name__}.{code.co_name}"
