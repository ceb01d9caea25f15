"""Events of Claude Code that no other part of a run has."""

from __future__ import annotations

from soundstage.journal import Event


class PluginManaged(Event, frozen=True, kw_only=True):
    """The plugins of the throw-away home were changed or checked: `install`, `disable`, `validate`...

    `code` is the CLI's word for the cause when `ok` is false.
    """

    action: str
    plugin: str
    ok: bool
    message: str = ""
    code: str = ""

    def __str__(self) -> str:
        return f"{self.action} {self.plugin}: {'ok' if self.ok else self.code or 'failed'}" + (
            f" · {self.message}" if self.message else ""
        )


class SubagentStarted(Event, frozen=True, kw_only=True):
    """The agent started another one. Its cause is the reply whose tool call (`call_id`) asked for it.

    `agent_id` is what the subagent's requests carry in `x-claude-code-agent-id`; `parent` is the id of the
    agent that started it, empty for the main one.
    """

    agent_id: str
    agent: str
    call_id: str
    conversation: str
    parent: str = ""
    task: str = ""

    def __str__(self) -> str:
        return f"{self.agent} ({self.agent_id}): {self.task}"


class SubagentFinished(Event, frozen=True, kw_only=True):
    """A subagent is done; its cause is its `SubagentStarted`. `text` is what the agent that started it gets."""

    agent_id: str
    conversation: str
    status: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.agent_id} {self.status}: {self.text}"


class TranscriptKept(Event, frozen=True, kw_only=True):
    """The CLI's own transcript of a session, read before its home is thrown away.

    `path` is where a copy is; empty if nobody asked for one.
    """

    conversation: str
    entries: int
    subagents: int = 0
    path: str = ""
