"""Verdicts: what a page gets of them, and that the page of help knows each cause."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from soundstage.differences import Cause, Difference
from soundstage.report import CarriesVerdict, PageDifference
from soundstage.tapes import DivergenceError, Verdict

HELP = Path(__file__).resolve().parents[2] / "docs" / "replay-failed.md"
BESIDE_REPLAYS = {"reply differs", "message differs", "failure differs"}  # of two runs that are compared
FOUND = (Difference(cause="prompt edited", where="messages[0] user, part 1", recorded="'a'", seen="'b'"),)


def test_an_error_brings_its_verdict_to_the_page():
    error = DivergenceError(
        Verdict(
            cause="prompt edited",
            about="a word",
            request=1,
            nearest=2,
            of=3,
            differences=FOUND,
            tape="t.tape",
        )
    )
    assert isinstance(error, CarriesVerdict)
    assert error.section_verdict() == (
        "divergence: prompt edited: a word",
        [PageDifference("prompt edited", "messages[0] user, part 1", ("-'a'", "+'b'"))],
        "request 1 of the run; nearest: exchange 2 of 3 (t.tape)",
        (
            ("accept", "soundstage tape accept t.tape"),
            ("record again", "soundstage record --tape t.tape --mode all -- COMMAND"),
        ),
    )


def test_what_cannot_be_accepted_has_one_command():
    verdict = Verdict(cause="extra call", server="notes", tape="t.tape", again="pytest -k it")
    assert DivergenceError(verdict).section_verdict().steps == (("record again", "pytest -k it"),)
    assert "accept:" not in verdict.text()


@pytest.mark.parametrize("cause", sorted(set(get_args(Cause)) - BESIDE_REPLAYS))
def test_the_page_of_help_says_what_each_cause_means(cause):
    rows = [line for line in HELP.read_text().splitlines() if line.startswith("| `")]
    assert [row for row in rows if f"`{cause}`" in row.split("|")[1]] != []
