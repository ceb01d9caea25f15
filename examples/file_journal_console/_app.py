"""The app: a console, and a part written by hand that reads the journal."""

from __future__ import annotations

from typing import Final

from soundstage.agents import AppBuilder, AppScope, ChatReceived, ChatReply, Pump
from soundstage.journal import Record

LIST: Final = "list"  # the line that asks for all notes


def configure(app: AppBuilder) -> None:
    """A console, and the clerk who keeps the notes. Where the journal is kept is up to who runs the app."""
    app.use_console(line_format="{text}")
    app.with_daemon(_clerk)


def _clerk(scope: AppScope) -> Pump:
    def answer(record: Record) -> None:
        said = scope.journals.get(ChatReceived).read()
        so_far = [entry.event for entry in said if entry.position <= record.position]
        notes = [note for note in so_far if isinstance(note, ChatReceived) and note.text.strip() != LIST]
        text = f"kept as {len(notes)}" if record.event in notes else _told(notes)
        reply = ChatReply(text=text, sender="clerk")
        scope.journal.append(reply, source="clerk", cause=record.position)

    return Pump("clerk", scope.followers, (ChatReceived,), answer)


def _told(notes: list[ChatReceived]) -> str:
    lines = [f"{number}. {note.text} ({note.sender})" for number, note in enumerate(notes, start=1)]
    return "\n".join(lines) or "no notes yet"
