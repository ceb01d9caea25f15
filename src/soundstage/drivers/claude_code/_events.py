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
