"""The list of mutants that change nothing: each has a reason, and the code that it changes still stands there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import soundstage

LISTED = Path(__file__).parent / "mutants.toml"
SOURCE = Path(soundstage.__file__).parent


def test_each_mutant_that_is_listed_has_a_reason_and_its_code():
    rows = tomllib.loads(LISTED.read_text())["equivalent"]
    assert rows
    for row in rows:
        assert len(row["why"].split()) > 3, row
        assert row["was"] != row["now"]
        code = " ".join((SOURCE / row["file"]).read_text().split())
        assert row["was"] in code, (
            f"{row['was']!r} is no longer in {row['file']}; delete it from mutants.toml"
        )
        assert f"def {row['function']}(" in code if "function" in row else True
