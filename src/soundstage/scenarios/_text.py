"""Scenarios and recordings as text."""

from __future__ import annotations

from pathlib import Path

from soundstage.report import render_text
from soundstage.scenarios._definitions import definitions
from soundstage.scenarios._folder import ScenarioRecording, find_recording, read_metadata, recording_names
from soundstage.scenarios._result import journal_of
from soundstage.trace import Trace


def table_of_scenarios(root: Path) -> str:
    """One line for each scenario, recorded or defined."""
    known = definitions(root)
    rows = [("scenario", "version", "recorded with", "what must come of it")]
    for name in sorted({*known, *recording_names(root)}):
        folder = find_recording(root, name)
        metadata = read_metadata(folder) if folder is not None else None
        made = known.get(name)
        version = made.version if made is not None else metadata.version if metadata is not None else ""
        how = f"SDK {metadata.sdk}, CLI {metadata.cli}" if metadata is not None else "not recorded"
        if metadata is not None and metadata.note:
            how = f"copy of {metadata.copied_from}"
        note = metadata.note if metadata is not None else ""
        rows.append((name, str(version), how, made.sheet.output if made is not None else note))
    if len(rows) == 1:
        return f"no scenario in {root}"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def facts_of_recording(recording: ScenarioRecording) -> str:
    """Sheet, versions and trace of a recording."""
    known = recording.metadata
    facts = {
        "scenario": f"{known.name}, version {known.version}",
        "made with": f"claude-agent-sdk {known.sdk}, Claude Code {known.cli}",
        "note": known.note and f"{known.note} (copy of {known.copied_from})",
        **recording.json("input")["sheet"],
        "sessions": str(len(recording.sessions)),
        "hooks": str(len(recording.hooks)),
        "taken out": "\n             ".join(known.normalised),
        "folder": str(recording.folder),
    }
    lines = [f"{name:12} {value}" for name, value in facts.items() if value]
    return "\n".join([*lines, "", render_text(Trace.of(journal_of(recording)))])
