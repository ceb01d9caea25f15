"""The CLI's own transcript of a session: files of JSON lines in its home. Read, never written.

Where they are, seen with 2.1.330: `.claude/projects/<folder>/<session>.jsonl`, with subagents in
`<session>/subagents/agent-<id>.jsonl` and what each is in `.meta.json` beside it. A transcript is complete
when the result of a turn has been printed.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from soundstage.drivers.claude_code._stream import decode_line
from soundstage.messages import Part, Text

_TALK: Final = ("user", "assistant")


class TranscriptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a transcript. `data` is the line as it is; `parts` what was said, for users and assistants.

    `meta` marks what the CLI has put in by itself.
    """

    type: str
    parts: tuple[Part, ...] = ()
    id: str = ""
    parent: str = ""
    meta: bool = False
    data: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """The plain text of it."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    def __repr__(self) -> str:
        return f"TranscriptEntry(type={self.type!r}, parts={self.parts!r})"


class HistoryTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of the history: who, and what."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The plain text of it."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


class SubagentTranscript(msgspec.Struct, frozen=True, kw_only=True):
    """The transcript of a subagent."""

    id: str
    agent: str
    call_id: str
    parent: str = ""
    entries: tuple[TranscriptEntry, ...] = ()


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """All that the CLI has written down about a session. Empty before the first prompt."""

    session_id: str
    entries: tuple[TranscriptEntry, ...] = ()
    subagents: tuple[SubagentTranscript, ...] = ()

    @property
    def history(self) -> tuple[HistoryTurn, ...]:
        """What user and agent said, in order, tool calls and results included; without the CLI's additions."""
        return tuple(
            HistoryTurn(role="user" if entry.type == "user" else "assistant", parts=entry.parts)
            for entry in self.entries
            if entry.type in _TALK and not entry.meta
        )


def cost_so_far(home: Path, session_id: str) -> float:
    """What a session had cost when it was ended, in USD: a resumed one counts on from there."""
    path = find_transcript(home, session_id)
    states = [entry for entry in (_entries(path) if path is not None else ()) if entry.type == "cost-state"]
    cost = states[-1].data.get("totalCostUSD") if states else None
    return float(cost) if isinstance(cost, int | float) else 0.0


def read_transcript(home: Path, session_id: str) -> Transcript:
    """The transcript of a session out of the home of its CLI."""
    path = find_transcript(home, session_id)
    if path is None:
        return Transcript(session_id=session_id)
    folder = path.with_suffix("") / "subagents"
    return Transcript(
        session_id=session_id,
        entries=_entries(path),
        subagents=tuple(_subagent(found) for found in sorted(folder.glob("agent-*.jsonl"))),
    )


def find_transcript(home: Path, session_id: str) -> Path | None:
    """The file of a session, whatever folder it worked in."""
    return next((home / ".claude/projects").glob(f"*/{session_id}.jsonl"), None)


def keep_transcript(home: Path, session_id: str, folder: Path) -> Path | None:
    """Copy the transcript of a session, and those of its subagents, into a folder. Returns the copy."""
    path = find_transcript(home, session_id)
    if path is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    if path.with_suffix("").is_dir():
        shutil.copytree(path.with_suffix(""), folder / session_id, dirs_exist_ok=True)
    return Path(shutil.copy(path, folder / path.name))


def _subagent(path: Path) -> SubagentTranscript:
    meta = (
        _json(path.with_suffix(".meta.json").read_bytes()) if path.with_suffix(".meta.json").exists() else {}
    )
    return SubagentTranscript(
        id=path.stem.removeprefix("agent-"),
        agent=str(meta.get("agentType", "")),
        call_id=str(meta.get("toolUseId", "")),
        parent=str(meta.get("parentAgentId") or ""),
        entries=_entries(path),
    )


def _entries(path: Path) -> tuple[TranscriptEntry, ...]:
    """The lines of a file; the last one may be torn if the CLI was killed, and is left out then."""
    lines = (_json(line) for line in path.read_bytes().splitlines())
    return tuple(_entry(line) for line in lines if line)


def _entry(data: dict[str, Any]) -> TranscriptEntry:
    said = decode_line(msgspec.json.encode(data)) if data.get("type") in _TALK else None
    return TranscriptEntry(
        type=str(data.get("type", "")),
        parts=getattr(said, "parts", ()),
        id=str(data.get("uuid") or ""),
        parent=str(data.get("parentUuid") or ""),
        meta=data.get("isMeta") is True,
        data=data,
    )


def _json(line: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
