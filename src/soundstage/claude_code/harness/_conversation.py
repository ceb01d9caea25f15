"""The state of one conversation: the process of the CLI, and what of the journal is its own.

Mode, stage, history and the log of hooks are not kept here a second time: they are views of the journal, from
the position at which the conversation began, and of the turns that the driver has returned.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from soundstage.claude_code import PERMISSION_MODES, ClaudeSession, ClaudeTurn
from soundstage.claude_code.harness._paths import PluginFolder, ProjectFolder, script_text
from soundstage.errors import ScriptError
from soundstage.models import ScriptedModel


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `start_conversation`."""

    script: dict[str, Any] | list[Any] | str | None = None
    strict: bool = False
    project_path: ProjectFolder | None = None
    plugin_dirs: tuple[PluginFolder, ...] = ()
    permission_mode: str = "default"
    allowed_tools: tuple[str, ...] = ()
    model: str = ""
    agent: str = ""
    max_turns: int | None = None
    settings: dict[str, Any] | None = None
    workflow: str | dict[str, str] = ""

    @classmethod
    def read(cls, given: dict[str, Any] | None, check: Callable[[type[Any], Any], Any]) -> Config:
        """The record.

        Args:
            given: what a client says.
            check: makes a path of a client's text: `Places.resolve`.

        Raises:
            ScriptError: for a key that does not exist, a value of the wrong type, a path that leads elsewhere.
        """
        try:
            config = msgspec.convert(given or {}, cls, dec_hook=check)
        except msgspec.ValidationError as error:
            raise ScriptError(
                "this is no config of a conversation",
                expected="the keys " + ", ".join(cls.__struct_fields__),
                seen=str(error),
            ) from None
        if config.permission_mode not in PERMISSION_MODES:
            raise ScriptError(
                "unknown permission mode",
                expected="one of " + ", ".join(PERMISSION_MODES),
                seen=repr(config.permission_mode),
            )
        if isinstance(config.script, str):
            config = msgspec.structs.replace(config, script=script_text(config.script, check))
        return config


class ConversationTurn(NamedTuple):
    """A prompt or a command that has been carried out. `command` is empty for a prompt."""

    id: str
    session_id: str
    turn: ClaudeTurn
    command: str = ""


class OpenConversation(NamedTuple):
    """A conversation that is open.

    Args:
        session: the process.
        config: what it was started with.
        project: the folder that it works in.
        model: what the model says.
        begin: the position of the journal at which it began.
        answers: what has been asked, oldest first.
    """

    session: ClaudeSession
    config: Config
    project: Path
    model: ScriptedModel
    begin: int
    answers: list[ConversationTurn]

    @property
    def id(self) -> str:
        """Its id, which is the CLI's session id too."""
        return self.session.id
