"""The coordinator: the conversations of a team, their phases, and what is kept of them between two runs.

It holds what the team needs to go on. What happened is in the journal: every change here appends its event.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

import msgspec

from soundstage.agents.teams._conversation import Phases, TeamConversation, TeamTurn
from soundstage.agents.teams._errors import (
    ConversationNotFoundError,
    EmptyMessageError,
    StateFileError,
    UnknownPhaseError,
)
from soundstage.agents.teams._store import FILE, read_state, write_state
from soundstage.clock import IdSource
from soundstage.journal import Journal, MessageReceived, Noted, PhaseChanged

SOURCE: Final = "team"
_SHOWN: Final = 10


class ConversationCoordinator:
    """The conversations of a team.

    Args:
        journal: gets what happens.
        phases: the phases that there are.
        ids: where ids of conversations come from.

    Example:
        >>> coordinator = ConversationCoordinator(Journal())
        >>> conversation = coordinator.create("Implement auth")
        >>> coordinator.get(conversation).phase
        'discovery'
    """

    def __init__(
        self, journal: Journal, *, phases: Phases | None = None, ids: IdSource | None = None
    ) -> None:
        self.journal = journal
        self.phases = phases if phases is not None else Phases()
        self._ids = ids if ids is not None else IdSource()
        self._conversations: dict[str, TeamConversation] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all conversations, oldest first."""
        return tuple(self._conversations)

    def create(self, message: str) -> str:
        """Begin a conversation with the user's words. Returns its id.

        Raises:
            EmptyMessageError: if there are none. It is a `ValueError` too.
        """
        _need_words(message)
        conversation = self._new_id()
        self._conversations[conversation] = TeamConversation(
            id=conversation, message=message, phase=self.phases.start
        )
        self._hear(conversation, message)
        return conversation

    def _new_id(self) -> str:
        """One that is not taken; after a restart the source may draw the old ones again."""
        while (drawn := self._ids.draw("conversation_", 12)) in self._conversations:
            pass
        return drawn

    def get(self, conversation: str) -> TeamConversation:
        """The conversation as it is now.

        Raises:
            ConversationNotFoundError: naming the ids that there are. It is a `LookupError` too.
        """
        found = self._conversations.get(conversation)
        if found is None:
            known = self.ids[-_SHOWN:]
            raise ConversationNotFoundError(
                f"there is no conversation {conversation!r}",
                expected="one of " + ", ".join(known) if known else "one that create() has returned",
                seen=f"{len(self._conversations)} conversations",
                hint="create(message) begins one; load(folder, ...) brings saved ones back",
            )
        return found

    def say(self, conversation: str, message: str) -> None:
        """Add the user's words, unless nobody has had a turn since the user said the same: that is one message.

        Raises:
            ConversationNotFoundError: for an unknown id.
            EmptyMessageError: if there are no words.
        """
        turns = self.get(conversation).turns
        _need_words(message)
        last = turns[-1] if turns else None
        if last is None or last.role != "user" or last.text != message:
            self._hear(conversation, message)

    def _hear(self, conversation: str, message: str) -> None:
        self.add_turn(conversation, TeamTurn(role="user", phase=self.get(conversation).phase, text=message))
        event = MessageReceived(text=message, channel=conversation, sender="user")
        self.journal.append(event, source=SOURCE)

    def add_turn(self, conversation: str, turn: TeamTurn) -> None:
        """Add a turn, and count it if an agent had it."""
        self._conversations[conversation] = self.get(conversation).with_turn(turn)

    def count_iteration(self, conversation: str) -> int:
        """Count another decision of the orchestrator; returns how many that makes."""
        now = self.get(conversation)
        changed = msgspec.structs.replace(now, iterations=now.iterations + 1)
        self._conversations[conversation] = changed
        return changed.iterations

    def enter(self, conversation: str, phase: str, *, cause: int | None = None) -> bool:
        """Move to another phase; returns whether it is another one.

        Raises:
            UnknownPhaseError: naming the phases that there are. It is a `ValueError` too.
        """
        now = self.get(conversation)
        entered = self.phases.resolve(phase)
        if entered == now.phase:
            return False
        self._conversations[conversation] = msgspec.structs.replace(now, phase=entered)
        event = PhaseChanged(entered=entered, left=now.phase, conversation=conversation)
        self.journal.append(event, source=SOURCE, cause=cause)
        return True

    def save(self, folder: Path | str) -> Path:
        """Keep all conversations in `folder`, without secrets. Returns the file.

        The file is replaced in one step; a process that dies leaves the old one or the new one.

        Raises:
            StateFileError: if the file that is there cannot be read (it stays as it is), or not be written.
        """
        return write_state(Path(folder), self._conversations.values(), self.journal.redactor)

    @classmethod
    def load(
        cls,
        folder: Path | str,
        journal: Journal,
        *,
        phases: Phases | None = None,
        ids: IdSource | None = None,
    ) -> Self:
        """A coordinator with the conversations that are kept in `folder`, each in its phase.

        Raises:
            StateFileError: if the file is missing, cut off or of a newer version, or a conversation is in a
                phase that `phases` does not have. The file stays as it is.
        """
        new = cls(journal, phases=phases, ids=ids)
        new._take(read_state(Path(folder)), Path(folder))
        return new

    def _take(self, conversations: Iterable[TeamConversation], folder: Path) -> None:
        for conversation in conversations:
            try:
                self.phases.resolve(conversation.phase)
            except UnknownPhaseError as error:
                raise StateFileError(
                    f"{folder / FILE} has a conversation that cannot go on; the file stays as it is",
                    expected=f"a phase that is {error.expected}",
                    seen=f"{conversation.id} is in the phase {conversation.phase!r}",
                    hint=error.hint,
                ) from None
            self._conversations[conversation.id] = conversation
            data = {"conversation": conversation.id, "phase": conversation.phase}
            self.journal.append(Noted(text="conversation resumed", data=data), source=SOURCE)


def _need_words(message: str) -> None:
    if not message.strip():
        raise EmptyMessageError(
            "a conversation cannot begin with an empty message",
            expected="what the user wants, in words",
            seen=repr(message),
        )
