"""Entries: the events with which the parts of an app speak to each other.

A family is a base class; its leaf classes are what is appended, routed and waited for. An app may add families
of its own: subclass `Event`, and that base again for each kind of entry.

| here                                            | Coven (R0.4)                                        |
|-------------------------------------------------|-----------------------------------------------------|
| `ChatReceived`, `ChatReply`                     | chat in (afferent), chat out (efferent)             |
| `ChatReceivedDraft`, `ChatReplyDraft`           | the drafts of both                                  |
| `ChatChunk`, `ChatStreamCompleted`, `ChatAck`   | chunk, stream-completed, ack                        |
| `AgentPrompt`, `AgentResponse`, `AgentThought`  | prompt, response, thought                           |
| `AgentResponseChunk`, `AgentThoughtChunk`       | the two chunk kinds that come from a model          |
| `AgentStreamCompleted`, `AgentAck`              | stream-completed, ack                               |
| `journal.ModelRequested`, `ModelResponded`      | LLM side: outgoing, incoming; they carry the model  |
| `journal.ModelChunked`                          | LLM side: chunk, thought chunk                      |
| `journal.MessageReceived`, `MessageSent`        | console and Discord entries, written by the worlds  |
| `journal.DaemonChanged`                         | daemon event                                        |

Response id and timestamp of Coven's entries are in the envelope here: `record.cause` and `record.time`.

Two rules for who writes entries. `cause` is the position of the entry that led to this one. Chunks of one stream
and the entry that completes it share `stream`, so that several streams at once are kept apart.
"""

from __future__ import annotations

from typing import ClassVar

from soundstage.journal import Event


def _piece(sender: str, text: str) -> str:
    return f"{sender}: {text!r}" if sender else repr(text)


def _complete(sender: str) -> str:
    return f"the stream of {sender} is complete" if sender else "the stream is complete"


class ChatEntry(Event, frozen=True, kw_only=True):
    """The family of entries between people and the app."""


class ChatReceived(ChatEntry, frozen=True, kw_only=True):
    """Somebody said something to the app. `sender` is who."""

    text: str
    sender: str = ""


class ChatReply(ChatEntry, frozen=True, kw_only=True):
    """The app says something, in the words in which it will be shown. `sender` is whose words they are."""

    text: str
    sender: str = ""


class ChatReceivedDraft(ChatEntry, frozen=True, kw_only=True):
    """Something was said that may have to be cut before the app sees it as `ChatReceived`."""

    text: str
    sender: str = ""


class ChatReplyDraft(ChatEntry, frozen=True, kw_only=True):
    """A reply that may have to be cut. Without a split policy it becomes a `ChatReply` as it is."""

    text: str
    sender: str = ""


class ChatChunk(ChatEntry, frozen=True, kw_only=True):
    """A piece of a reply; a window policy says when the pieces so far become a `ChatReply`."""

    routine: ClassVar[bool] = True

    text: str
    sender: str = ""
    stream: str = ""

    def __str__(self) -> str:
        return _piece(self.sender, self.text)


class ChatStreamCompleted(ChatEntry, frozen=True, kw_only=True):
    """No more chunks come in this stream: what is left becomes a `ChatReply`."""

    routine: ClassVar[bool] = True

    sender: str = ""
    stream: str = ""

    def __str__(self) -> str:
        return _complete(self.sender)


class ChatAck(ChatEntry, frozen=True, kw_only=True):
    """The entry at `position` has been dealt with. Whoever wrote this does not deal with it again."""

    routine: ClassVar[bool] = True

    position: int

    def __str__(self) -> str:
        return f"@{self.position} is done"


class AgentEntry(Event, frozen=True, kw_only=True):
    """The family of entries between the app and an agent."""


class AgentPrompt(AgentEntry, frozen=True, kw_only=True):
    """An agent is asked. `sender` is who asks."""

    text: str
    sender: str = ""


class AgentResponse(AgentEntry, frozen=True, kw_only=True):
    """An agent answers: the whole answer, or as much of a streamed one as its window policy put together."""

    text: str
    sender: str = ""


class AgentThought(AgentEntry, frozen=True, kw_only=True):
    """A thought of an agent before it answers, where the model shows it."""

    text: str
    sender: str = ""


class AgentResponseChunk(AgentEntry, frozen=True, kw_only=True):
    """A piece of an answer, as the model streamed it."""

    routine: ClassVar[bool] = True

    text: str
    sender: str = ""
    stream: str = ""

    def __str__(self) -> str:
        return _piece(self.sender, self.text)


class AgentThoughtChunk(AgentEntry, frozen=True, kw_only=True):
    """A piece of a thought, as the model streamed it."""

    routine: ClassVar[bool] = True

    text: str
    sender: str = ""
    stream: str = ""

    def __str__(self) -> str:
        return _piece(self.sender, self.text)


class AgentStreamCompleted(AgentEntry, frozen=True, kw_only=True):
    """No more chunks come in this stream, whether the model has finished, failed or was cancelled."""

    routine: ClassVar[bool] = True

    sender: str = ""
    stream: str = ""

    def __str__(self) -> str:
        return _complete(self.sender)


class AgentAck(AgentEntry, frozen=True, kw_only=True):
    """The prompt at `position` has been answered by the agent that wrote this."""

    routine: ClassVar[bool] = True

    position: int

    def __str__(self) -> str:
        return f"@{self.position} is done"
