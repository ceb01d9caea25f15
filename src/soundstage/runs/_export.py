"""A run as one file, for a machine without the store."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from soundstage.errors import FileError
from soundstage.runs._files import LazyFile
from soundstage.runs._record import JOURNAL, RECORD
from soundstage.runs._stored import StoredRun

FILES: Final = "files"  # the folder of its files
CONTENTS: Final = "journal.objects"  # content that the journal names
TRANSCRIPTS: Final = "transcripts.json"
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)  # equal runs make equal archives


def export_run(run: StoredRun, path: Path | str) -> Path:
    """Write a run as a zip archive: `run.json`, `journal.jsonl`, `transcripts.json`, its files in `files/`, and
    files before and after changes in `journal.objects/`.

    The archive takes its place in one step; a file that is there is replaced.

    Args:
        run: as the store opened it.
        path: where to.

    Raises:
        ContentNotFoundError: if the store misses content of the run.
        DamagedContentError: if content is not what was saved.
        FileError: if the archive cannot be written.

    Example:
        ::

            export_run(store.open("4f1c"), "run.zip")
    """
    return write_archive(Path(path), parts_of(run), f"the run {run.record.id}")


def write_archive(path: Path, parts: Iterable[tuple[str, Iterable[bytes]]], told: str) -> Path:
    """Write a zip archive, which takes its place in one step. Equal parts make equal archives.

    Args:
        path: where to.
        parts: paths in the archive, each with its content in pieces.
        told: what it is, for messages.

    Raises:
        FileError: if it cannot be written; what was there stays.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, pieces in parts:
                with archive.open(_entry(name), "w") as file:
                    for piece in pieces:
                        file.write(piece)
        beside.replace(path)
    except OSError as error:
        raise FileError(
            f"{told} cannot be written to {path}",
            seen=error.strerror or str(error),
            hint="choose a folder that you may write to, with space",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    return path


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _MOMENT)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def parts_of(run: StoredRun) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The files of the archive of a run."""
    yield RECORD, iter([(run.path / RECORD).read_bytes()])
    yield JOURNAL, iter([(run.path / JOURNAL).read_bytes()])
    kept = run.bundle.transcripts
    if kept is not None:
        yield TRANSCRIPTS, LazyFile(TRANSCRIPTS, kept, run.objects).stream()
    for name, blob in sorted(run.bundle.files.items()):
        yield f"{FILES}/{name}", LazyFile(name, blob, run.objects).stream()
    for sha256, blob in sorted(run.bundle.contents.items()):  # where a journal of this name looks for them
        name = f"{CONTENTS}/{sha256[:2]}/{sha256[2:]}"
        yield name, LazyFile(name, blob, run.objects).stream()
