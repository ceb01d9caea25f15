"""An error becomes one entry of a list of problems."""

from __future__ import annotations

import pytest

from soundstage.errors import ScriptError
from soundstage.scripts import in_one_line


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ({}, "no"),
        ({"expected": "a"}, "no; expected a"),
        ({"seen": "b"}, "no; got b"),
        ({"hint": "do c"}, "no; do c"),
        ({"expected": "a\na", "seen": "b", "hint": "do\nc"}, "no; expected a a; got b; do c"),
    ],
)
def test_one_line_has_what_the_error_has_and_nothing_else(parts, line):
    assert in_one_line(ScriptError("no", **parts)) == line
