"""The events of the mail box."""

from __future__ import annotations

from soundstage.journal import Event


class MailReceived(Event):
    """The app has sent a mail."""

    sender: str
    recipients: tuple[str, ...]
    subject: str
    text: str

    def __str__(self) -> str:
        return f"mail from {self.sender} to {', '.join(self.recipients)}: {self.subject!r}"


class MailRefused(Event):
    """The mail box has refused a recipient."""

    recipient: str
    reply: str
