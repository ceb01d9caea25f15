"""The mail box as a world: the app's side is SMTP, the test's side waits for mails."""

from __future__ import annotations

import asyncio
import email
import email.message
import email.policy
from collections.abc import Iterable
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

from soundstage.errors import InvalidStateError
from soundstage.journal import Journal, event
from soundstage.net import LOOPBACK, Listener, announce
from soundstage.worlds import World
from soundstage_mailbox._events import MailReceived, MailRefused


class Mailbox(World):
    """An SMTP server on a loopback port. It takes every mail, and sends none.

    Args:
        journal: where everything goes.
        refuses: recipients that it does not know.
        within: seconds that waits take, unless they are told otherwise.
        name: how messages and the journal call it.
    """

    real_time = True

    def __init__(
        self, journal: Journal, *, refuses: Iterable[str] = (), within: float = 5.0, name: str = "mailbox"
    ) -> None:
        super().__init__(name, journal)
        self._refuses = frozenset(refuses)
        self.within = within
        self._inbox = self.inbox(
            MailReceived,
            source=lambda record: record.event.sender,
            read=lambda mail: mail,
            show=str,
            noun="mail",
            missed=f"no such mail came to {name}",
        )
        self._server: asyncio.Server | None = None
        self._listener: Listener | None = None

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()

        def serve() -> SMTP:
            return SMTP(_Handler(self.journal, self.name, self._refuses), loop=loop, enable_SMTPUTF8=True)

        async def serve_also(sock: Any) -> asyncio.AbstractServer:
            return await loop.create_server(serve, sock=sock)

        self._server = await loop.create_server(serve, LOOPBACK, 0)
        self._listener = announce(self.journal, LOOPBACK, self.port, serve_also)

    async def _stop(self) -> None:
        if self._listener is not None:
            self._listener.withdraw()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        if self._server is None:
            raise InvalidStateError("the mail box has no port yet", hint="start it first")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def environment(self) -> dict[str, str]:
        """Variables that point a program at it."""
        return {"SMTP_HOST": LOOPBACK, "SMTP_PORT": str(self.port)}

    @property
    def mails(self) -> list[MailReceived]:
        """The mails of this run."""
        return self._inbox.items

    async def expect(self, *, within: float | None = None, **fields: Any) -> MailReceived:
        """Wait for a mail, after the one of the same sender that the last wait found.

        Args:
            within: seconds on the run's clock.
            **fields: what fields of `MailReceived` must be like: `subject="welcome"`, `sender="/@shop/"`.

        Raises:
            WaitTimeout: if none comes.
            ExpectationError: if the app ends first.
            MatchError: for an unknown field.
        """
        return await self._inbox.expect(event(MailReceived, **fields), within=within)

    async def expect_nothing(self, *, within: float) -> None:
        """Expect that no mail comes for `within` seconds; one that was not expected before counts.

        Raises:
            ExpectationError: if one comes.
        """
        await self._inbox.expect_nothing(within=within)

    async def collect(self, count: int, *, within: float | None = None) -> list[MailReceived]:
        """Wait for the next `count` mails: all of them before one deadline.

        Raises:
            WaitTimeout: if fewer come.
            ExpectationError: if the app ends first.
        """
        return await self._inbox.collect(count, within=within)


class _Handler:
    """The handler that aiosmtpd calls. https://aiosmtpd.aio-libs.org/en/stable/handlers.html"""

    def __init__(self, journal: Journal, name: str, refuses: frozenset[str]) -> None:
        self._journal = journal
        self._name = name
        self._refuses = refuses

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self._refuses:
            reply = f"550 nobody here is called {address}"
            self._journal.append(MailRefused(recipient=address, reply=reply), source=self._name)
            return reply
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        content = envelope.content if isinstance(envelope.content, bytes) else b""
        mail = email.message_from_bytes(content, policy=email.policy.default)
        received = MailReceived(
            sender=envelope.mail_from or "",
            recipients=tuple(envelope.rcpt_tos),
            subject=str(mail.get("subject", "")),
            text=_text(mail),
        )
        self._journal.append(received, source=self._name)
        return "250 taken"


def _text(mail: email.message.EmailMessage) -> str:
    body = mail.get_body(("plain", "html"))
    return "" if body is None else str(body.get_content()).replace("\r\n", "\n")
