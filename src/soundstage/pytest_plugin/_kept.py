"""The journal of a run that has a page, kept beside it: for CI, where the machine is gone when somebody looks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from soundstage.journal import Record, encode_record


def keep_journal(page: Path, records: Sequence[Record], *, number: int = 0) -> Path:
    """Write a journal beside a page; `soundstage show` reads it, and `read_journal`.

    Args:
        page: the page.
        records: those of the run, without secrets.
        number: which run of the test it is, if the page has several.
    """
    path = page.with_name(f"{page.stem}-run-{number}.jsonl" if number else f"{page.stem}.jsonl")
    path.write_bytes(b"".join(encode_record(record) + b"\n" for record in records))
    return path
