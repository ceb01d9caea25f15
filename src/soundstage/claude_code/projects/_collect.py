"""Where artifacts come from. Pure, but for git."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.claude_code.projects._picture import pictures, screen_of
from soundstage.claude_code.projects._repository import Repository
from soundstage.errors import SoundstageError
from soundstage.journal import (
    HookFired,
    Journal,
    MessageReceived,
    MessageSent,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
    Record,
    ScreenChanged,
    encode_records,
)
from soundstage.terminal import Screen

NO_PICTURE: Final = (
    "no terminal has shown anything, and no tool has returned a picture: Claude Code runs without a screen"
)
EXCHANGE = (ModelRequested, ModelResponded, ModelFailed)


class Sources(NamedTuple):
    """The sources of artifacts."""

    journal: Journal
    after: int = 0
    project: Path | None = None
    screens: Mapping[str, Screen] = {}
    transcripts: Mapping[str, bytes] = {}
    state: Mapping[str, Any] = {}


class CollectedFiles(NamedTuple):
    """Files of one kind, name to text (bytes for pictures); or why there are none."""

    files: Mapping[str, str | bytes]
    missing: str = ""


def logs(sources: Sources) -> CollectedFiles:
    """The whole journal, and what was said to the model and by it."""
    records = sources.journal.read(sources.after)
    if not records:
        return CollectedFiles({}, "the journal is empty")
    lines = b"".join(encode_records(records)).decode()
    exchanges = [
        line for record in records if isinstance(record.event, EXCHANGE) for line in _exchange(record)
    ]
    return CollectedFiles(
        {"journal.jsonl": lines, "model.log": "\n".join(exchanges) + "\n" if exchanges else ""}
    )


def _exchange(record: Record) -> Iterator[str]:
    """A request by its last message, a reply by its text and its calls."""
    event = record.event
    head = f"{record.time:.3f} #{record.position} {record.source}"
    if isinstance(event, ModelRequested):
        last = event.request.messages[-1] if event.request.messages else None
        yield f"{head} asks {event.request.model}, {len(event.request.messages)} messages"
        yield from _indented(f"{last.role}: {last}" if last else "no message")
    elif isinstance(event, ModelResponded):
        yield f"{head} answers"
        yield from _indented(str(event))
    else:
        yield f"{head} fails"
        yield from _indented(str(event))


def _indented(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"    {line}"


def screenshots(sources: Sources) -> CollectedFiles:
    """Each screen of the journal that a test has named, the last one of each terminal, those given, and each picture
    that a tool has returned to the model, as tools that look at a browser do."""
    last: dict[str, Record] = {}
    named: dict[str, Screen] = dict(sources.screens)
    for record in sources.journal.read(sources.after, type=ScreenChanged):
        assert isinstance(record.event, ScreenChanged)
        last[record.event.channel] = record
        if record.event.label:
            named[f"{record.event.channel}-{record.event.label}"] = screen_of(record.event)
    for channel, record in last.items():
        assert isinstance(record.event, ScreenChanged)
        named[f"{channel}-last" if channel else "last"] = screen_of(record.event)
    screens = {f"{_file_name(name)}.svg": screen.svg() for name, screen in named.items()}
    files: dict[str, str | bytes] = {
        **screens,
        **pictures(sources.journal.read(sources.after, type=ModelRequested)),
    }
    return CollectedFiles(files, "" if files else NO_PICTURE)


def _file_name(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name).lstrip(".") or "screen"


def session_state(sources: Sources) -> CollectedFiles:
    """Each session as the journal has it, what was given, and the transcripts as they are."""
    sessions: dict[str, dict[str, Any]] = {}
    for record in sources.journal.read(sources.after, type=(MessageReceived, MessageSent, HookFired, Noted)):
        event = record.event
        if isinstance(event, MessageReceived | MessageSent):
            who = "user" if isinstance(event, MessageReceived) else "agent"
            turn = {"position": record.position, "time": record.time, "who": who, "text": event.text}
            _session(sessions, event.channel)["history"].append(turn)
        elif isinstance(event, HookFired):
            _session(sessions, record.source)["hooks"].append(msgspec.to_builtins(event))
        elif isinstance(event, Noted) and event.text == "session":
            _session(sessions, str(event.data.get("session_id", record.source)))["about"] = dict(event.data)
    texts = {
        f"transcripts/{name}": data.decode("utf-8", "replace") for name, data in sources.transcripts.items()
    }
    if not (sessions or texts or sources.state):
        return CollectedFiles({}, "no session has said or done anything in this run")
    state = {"sessions": sessions, **({"given": dict(sources.state)} if sources.state else {})}
    return CollectedFiles(
        {"state.json": msgspec.json.format(msgspec.json.encode(state)).decode() + "\n", **texts}
    )


def _session(sessions: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    return sessions.setdefault(name, {"history": [], "hooks": []})


def git_diffs(sources: Sources) -> CollectedFiles:
    """The commits of the project as patches, and what is not committed; new files too."""
    if sources.project is None:
        return CollectedFiles({}, "no project was named")
    repository = Repository(sources.project.resolve())
    try:
        log = repository.look("log", "--no-color", "--no-ext-diff", "--patch", "--stat", "--reverse")
        changed = repository.look("diff", "--no-color", "--no-ext-diff", "HEAD")
        new = "".join(repository.patch_of_new(path) for path in repository.untracked())
        status = repository.look("status", "--porcelain")
    except SoundstageError as error:
        return CollectedFiles(
            {}, f"{sources.project} has no commits that git can show: {error.summary}; {error.seen}"
        )
    return CollectedFiles({"commits.patch": log, "uncommitted.patch": changed + new, "status.txt": status})
