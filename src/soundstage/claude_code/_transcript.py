"""The CLI's own transcript of a session: files of JSON lines in its home. Read, never written.

Where they are, seen with 2.1.330: `.claude/projects/<folder>/<session>.jsonl`, with subagents in
`<session>/subagents/agent-<id>.jsonl` and what each is in `.meta.json` beside it. A transcript is complete
when the result of a turn has been printed.

The home belongs to the program under test, so nothing is read through a link: see `lifecycle._beneath`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path, PurePath
from typing import Any, Final, Literal

import msgspec

from soundstage.claude_code._stream import decode_line
from soundstage.lifecycle import files_beneath, read_beneath
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
        """The words of user and agent in order, tool calls and results included; without the CLI's additions."""
        return tuple(
            HistoryTurn(role="user" if entry.type == "user" else "assistant", parts=entry.parts)
            for entry in self.entries
            if entry.type in _TALK and not entry.meta
        )


def cost_so_far(home: Path, session_id: str) -> float:
    """Return the cost of a session at its end, in USD: a resumed one counts on from there."""
    path = find_transcript(home, session_id)
    states = [
        entry for entry in (_entries(home, path) if path is not None else ()) if entry.type == "cost-state"
    ]
    cost = states[-1].data.get("totalCostUSD") if states else None
    return float(cost) if isinstance(cost, int | float) else 0.0


def read_transcript(home: Path, session_id: str) -> Transcript:
    """The transcript of a session out of the home of its CLI."""
    path = find_transcript(home, session_id)
    if path is None:
        return Transcript(session_id=session_id)
    subagents = (found for found in _of_subagents(home, path) if found.match("subagents/agent-*.jsonl"))
    return Transcript(
        session_id=session_id,
        entries=_entries(home, path),
        subagents=tuple(_subagent(home, found) for found in subagents),
    )


def find_transcript(home: Path, session_id: str) -> PurePath | None:
    """Where the file of a session is below the home, whatever folder it worked in."""
    found = next((home / ".claude/projects").glob(f"*/{session_id}.jsonl"), None)
    return found.relative_to(home) if found is not None else None


def transcript_files(home: Path, session_id: str) -> dict[str, bytes]:
    """The files of a session and of its subagents, each by its path beside the session's; none behind a link."""
    path = find_transcript(home, session_id)
    if path is None:
        return {}
    files = {found: _read(home, found) for found in (path, *_of_subagents(home, path))}
    return {found.relative_to(path.parent).as_posix(): data for found, data in files.items() if data}


def keep_transcript(home: Path, session_id: str, folder: Path) -> Path | None:
    """Copy the transcript of a session, and those of its subagents, into a folder. Returns the session's copy."""
    files = transcript_files(home, session_id)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    copy = f"{session_id}.jsonl"
    return folder / copy if copy in files else None


def _of_subagents(home: Path, path: PurePath) -> list[PurePath]:
    return files_beneath(home, path.with_suffix(""))


def _subagent(home: Path, path: PurePath) -> SubagentTranscript:
    about = _read(home, path.with_suffix(".meta.json"))
    meta = _json(about) if about else {}
    return SubagentTranscript(
        id=path.stem.removeprefix("agent-"),
        agent=str(meta.get("agentType", "")),
        call_id=str(meta.get("toolUseId", "")),
        parent=str(meta.get("parentAgentId") or ""),
        entries=_entries(home, path),
    )


def _entries(home: Path, path: PurePath) -> tuple[TranscriptEntry, ...]:
    """The lines of a file; the last one may be torn if the CLI was killed, and is left out then."""
    lines = (_json(line) for line in _read(home, path).splitlines())
    return tuple(_entry(line) for line in lines if line)


def _read(home: Path, path: PurePath) -> bytes:
    """The content of a file; nothing if it is not there, or is none."""
    with contextlib.suppress(OSError):
        return read_beneath(home, path)
    return b""


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
