"""Runs as text: a table of many, the facts of one."""

from __future__ import annotations

from collections.abc import Sequence

from soundstage.runs._record import RunRecord
from soundstage.runs._stored import StoredRun


def table_of_runs(records: Sequence[RunRecord], kept: frozenset[str]) -> str:
    """One line for each run.

    Args:
        records: the runs.
        kept: the folders of those that are marked.
    """
    rows = [("run", "began", "took", "outcome", "tokens", "cost", "test")]
    for record in records:
        outcome = record.outcome if record.status == "complete" else f"{record.outcome}, {record.status}"
        mark = "*" if record.folder in kept else ""
        rows.append(
            (
                record.id + mark,
                f"{record.started.astimezone():%Y-%m-%d %H:%M:%S}",
                f"{record.seconds:.1f} s",
                outcome,
                "" if record.tokens is None else str(record.tokens),
                "" if record.cost is None else f"${record.cost:.4f}",
                record.test or record.name,
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([*lines, *(["* is kept whatever its age"] if kept else [])])


def facts_of_run(run: StoredRun) -> str:
    """All that is known of a run, without its trace."""
    record = run.record
    facts = {
        "run": record.id,
        "test": record.test,
        "name": record.name if record.name != record.test else "",
        "driver": record.driver,
        "began": f"{record.started.astimezone():%Y-%m-%d %H:%M:%S%z}, took {record.seconds:.1f} s",
        "status": f"{record.status}, {record.outcome}" + (f": {record.reason}" if record.reason else ""),
        "tokens": "" if record.tokens is None else str(record.tokens),
        "cost": "" if record.cost is None else f"${record.cost:.4f}",
        "labels": ", ".join(f"{name}={value}" for name, value in record.labels.items()),
        "kept": "yes, whatever its age" if run.kept else "",
        "folder": str(run.path),
    }
    lines = [f"{name:8}{value}" for name, value in facts.items() if value]
    lines += [f"{'warning':8}{warning}" for warning in record.warnings]
    lines += [f"{'file':8}{path} ({file.size} bytes)" for path, file in run.files.items()]
    return "\n".join(lines)
