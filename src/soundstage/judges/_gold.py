"""Transcripts with the labels of people: JSON Lines."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import msgspec

from soundstage.errors import SoundstageError
from soundstage.judges._errors import GoldError
from soundstage.judges._transcript import JudgedTranscript, transcript_of
from soundstage.report import read_run
from soundstage.runs.result import build_result
from soundstage.scripts import SourceReport, convert_source, in_one_line, read_json_lines, shown


class GoldSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line: `transcript`, a text, or `journal`, a file beside the labels; and whether the run passes."""

    passed: bool
    transcript: str = ""
    journal: str = ""
    name: str = ""


class GoldRun(NamedTuple):
    """A transcript, and whether a person lets it pass."""

    name: str
    transcript: JudgedTranscript
    passed: bool


class GoldLabels(NamedTuple):
    """The labels of people: the runs, and a fingerprint of all."""

    runs: tuple[GoldRun, ...]
    fingerprint: str


def load_gold(path: Path | str) -> GoldLabels:
    """The labels in a file.

    Raises:
        GoldError: with all that is wrong, each with its line: not JSON, no label, no transcript, a transcript that is
            there twice, labels that are all the same.
    """
    path = Path(path)
    report = SourceReport(shown(path))
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        report.add(0, "", f"the file cannot be read: {error}")
        text = ""
    runs: list[GoldRun] = []
    lines: dict[str, int] = {}
    for line, node in read_json_lines(text, report):
        own = SourceReport(report.source)
        source = convert_source(GoldSource, node, own)
        run = _run(source, f"line {line}", path.parent, own) if source is not None else None
        if run is not None and (before := lines.setdefault(run.transcript.text, line)) != line:
            own.add(line, "transcript", f"the same transcript as in line {before}")
        for problem in own.problems:
            report.add(line, problem.key, problem.message)
        runs += [] if run is None else [run]
    if not report.problems and len({run.passed for run in runs}) < 2:
        all_of = f"{len(runs)} that are all {'good' if runs[0].passed else 'bad'}" if runs else "none"
        report.add(0, "passed", f"expected runs that pass and runs that do not, got {all_of}")
    if report.problems:
        raise GoldError(tuple(sorted(report.problems, key=lambda problem: problem.line)))
    counted = [(run.transcript.text, run.passed) for run in runs]
    return GoldLabels(tuple(runs), hashlib.sha256(msgspec.json.encode(counted)).hexdigest()[:16])


def _run(source: GoldSource, name: str, folder: Path, report: SourceReport) -> GoldRun | None:
    if bool(source.transcript.strip()) == bool(source.journal):
        got = "both" if source.journal else "neither"
        report.add(0, "transcript", f"expected one of transcript and journal, got {got}")
        return None
    made = source.transcript
    if source.journal:
        try:
            records = read_run(folder / source.journal).records
        except SoundstageError as error:
            report.add(0, "journal", in_one_line(error))
            return None
        return GoldRun(source.name or name, transcript_of(build_result(records)), source.passed)
    return GoldRun(source.name or name, transcript_of(made), source.passed)
