"""Events of the work of an agent: hooks, files, commits, to-dos, notifications, tokens, and its end before time."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from soundstage.journal._events import Event
from soundstage.journal._words import joined_facts, said
from soundstage.messages import Usage

AbortReason = Literal["timeout", "session-timeout", "budget", "watcher", "interrupted", "closed"]
TodoStatus = Literal["pending", "in_progress", "completed"]


class Blob(msgspec.Struct, frozen=True):
    """A reference to content: its sha256 and its size in bytes."""

    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, msgspec.Meta(ge=0)]


class Todo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of a to-do list. `id` is empty where the agent numbers none."""

    text: str
    status: TodoStatus = "pending"
    id: str = ""


class Committed(Event, frozen=True, kw_only=True):
    """A commit was made: its hash and first line; author and files as far as somebody has looked."""

    hash: str
    subject: str
    author: str = ""
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        return joined_facts(self.hash[:9], self.subject)


class Notified(Event, frozen=True, kw_only=True):
    """The agent told its user something beside its answer. `kind` is its own word, e.g. `permission_prompt`."""

    text: str
    title: str = ""
    kind: str = ""

    def __str__(self) -> str:
        return joined_facts(self.kind, said(self.text, sender=self.title))


class TodosChanged(Event, frozen=True, kw_only=True):
    """The to-do list of an agent is this now: all items, in order."""

    todos: tuple[Todo, ...]
    agent: str = ""
    conversation: str = ""

    def __str__(self) -> str:
        done = sum(todo.status == "completed" for todo in self.todos)
        now = next((todo.text for todo in self.todos if todo.status == "in_progress"), "")
        return joined_facts(self.agent, f"{done} of {len(self.todos)} done", now)


class UsageReported(Event, frozen=True, kw_only=True):
    """The agent's own count of a turn: tokens, and dollars as it reckons; `None` if it does not say."""

    usage: Usage = Usage()
    cost: float | None = None
    model: str = ""

    def __str__(self) -> str:
        price = f"${self.cost:.4f}" if self.cost is not None else ""
        return joined_facts(self.model, f"{self.usage.total_tokens} tokens", price)


class RunAborted(Event, frozen=True, kw_only=True):
    """A run was ended before it was done. `detail` says more: the limit, the watcher."""

    reason: AbortReason
    detail: str = ""

    def __str__(self) -> str:
        return joined_facts(self.reason, self.detail)
