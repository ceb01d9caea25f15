"""Events of the work of an agent: hooks, files, commits, to-dos, notifications, tokens, and its end before time."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from soundstage.journal._events import Event
from soundstage.journal._words import joined_facts, patch_size, said
from soundstage.messages import Usage

AbortReason = Literal["timeout", "session-timeout", "budget", "watcher", "interrupted", "closed"]
TodoStatus = Literal["pending", "in_progress", "completed"]


class Blob(msgspec.Struct, frozen=True, kw_only=True):
    """A reference to content: its sha256 and its size in bytes."""

    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, msgspec.Meta(ge=0)]


class Todo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of a to-do list. `id` is empty where the agent numbers none."""

    text: str
    status: TodoStatus = "pending"
    id: str = ""


class HookFired(Event, frozen=True, kw_only=True):
    """A hook of an agent ran.

    Args:
        hook: its name: a command, or event and tool: `PreToolUse:Bash`.
        event: the event that it is for.
        outcome: `success`, `error`, `blocked`, `timeout`...
        exit_code: of a program.
        output: of the hook.
        call_id: the tool use that it is about; empty if it is about none, or nobody knows which.
        input: what the hook was given, as far as it is known: `tool_name`, `tool_input`, `tool_response`...
        paired: whether a hook for the end of the same tool use has to follow, unless the tool is not run.
    """

    hook: str
    event: str = ""
    outcome: str = ""
    exit_code: int | None = None
    output: str = ""
    call_id: str = ""
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    paired: bool = False

    def __str__(self) -> str:
        return joined_facts(self.hook, self.event, self.call_id, self.outcome, self.output)


class FileChanged(Event, frozen=True, kw_only=True):
    """A file of a workspace is different now.

    Args:
        path: below the workspace, with `/` between folders.
        change: of which kind.
        before: sha256 of the content before; `journal.contents` has it, unless it was too large. `None` for a file that
            was not there, or could not be read.
        after: the same of the content now.
        patch: the difference as a unified diff; empty for content that is not text.
    """

    path: str
    change: Literal["added", "modified", "deleted"]
    before: str | None = None
    after: str | None = None
    patch: str = ""

    def __str__(self) -> str:
        return joined_facts(f"{self.change} {self.path}", patch_size(self.patch))


class FactMissed(Event, frozen=True, kw_only=True):
    """A fact of the run that nobody could record: `what` it is about (`hook`, `commits`), and why."""

    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}"


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
