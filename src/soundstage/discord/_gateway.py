"""The gateway's side of one connection, without the connection: payloads in, payloads out. Pure.

    connect -> HELLO ; IDENTIFY -> READY, GUILD_CREATE, events... | RESUME -> what was missed, RESUMED, events...

What a client may send is a table of operations; whatever is not in it, or comes at the wrong moment, closes the
connection with the code that Discord uses. The outbox takes what is sent; what has been put there first is sent
before a close. A heartbeat may come at any time, also before a session (discord.py sends one at once).

Source: https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec

from soundstage.discord import _payloads as payloads
from soundstage.discord._events import DiscordGatewayChanged
from soundstage.discord._intents import INTENTS, KNOWN, application_flags, disallowed, wants
from soundstage.discord._platform import Platform
from soundstage.discord._sessions import GatewayClose, GatewayOutbox, GatewaySession, encode
from soundstage.journal import Noted

HEARTBEAT: Final = 1
IDENTIFY: Final = 2
PRESENCE: Final = 3
VOICE: Final = 4
RESUME: Final = 6
RECONNECT: Final = 7
MEMBERS: Final = 8
INVALID: Final = 9
HELLO: Final = 10
ACK: Final = 11
CODES: Final = {
    4001: "Unknown opcode.",
    4002: "Error while decoding payload.",
    4003: "Not authenticated.",
    4004: "Authentication failed.",
    4005: "Already authenticated.",
    4007: "Invalid seq.",
    4008: "Rate limited.",
    4009: "Session timed out.",
    4010: "Invalid shard.",
    4012: "Invalid API version.",
    4013: "Invalid intent(s).",
    4014: "Disallowed intent(s).",
}
ENDING: Final = frozenset({1000, 1001, 4007, 4009})  # a session that ended like this cannot be resumed
GOING_AWAY: Final = 1012  # what the server itself says when it stops
LONGEST: Final = 4096  # bytes of a payload
PER_MINUTE: Final = 120  # payloads; heartbeats do not count here
VERSIONS: Final = ("9", "10")


class Wrong(Exception):  # noqa: N818  (it says what happened)
    """Raised by an operation that has to close the connection."""

    def __init__(self, code: int, why: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.why = why


class _Payload(msgspec.Struct):
    op: int
    d: Any = None


class _Identify(msgspec.Struct):
    token: str
    intents: int | None = None
    shard: tuple[int, int] = (0, 1)


class _Resume(msgspec.Struct):
    token: str
    session_id: str
    seq: int | None = None


class _Members(msgspec.Struct):
    guild_id: str | int
    query: str | None = None
    limit: int = 0
    user_ids: list[str | int] | str | int = []
    nonce: str | None = None


class Connection:
    """One connection of the bot.

    Args:
        platform: the Discord that it connects to.
        outbox: takes what is sent.
        version: of the API, from the address.
        transport: how payloads travel, for the journal.
    """

    def __init__(self, platform: Platform, outbox: GatewayOutbox, *, version: str, transport: str) -> None:
        self._platform = platform
        self._outbox = outbox
        self._version = version
        self._transport = transport
        self._session: GatewaySession | None = None
        self._times: deque[float] = deque()
        self._over = False
        self._table: Final[dict[int, Callable[[Any], None]]] = {
            HEARTBEAT: self._heartbeat,
            IDENTIFY: self._identify,
            PRESENCE: self._presence,
            VOICE: self._voice,
            RESUME: self._resume,
            MEMBERS: self._members,
        }

    @property
    def session(self) -> GatewaySession | None:
        """The session, unless it has been invalidated."""
        session = self._session
        return session if session is not None and session.id in self._platform.sessions else None

    def open(self) -> None:
        """The connection is there."""
        self._note("opened", detail={"transport": self._transport, "version": self._version})
        self._outbox.put(encode(HELLO, {"heartbeat_interval": int(self._platform.settings.heartbeat * 1000)}))
        if self._version not in VERSIONS:
            self._close(4012, f"v={self._version}")

    def receive(self, data: str | bytes, now: float) -> None:
        """One message from the bot, at a moment of the run's clock."""
        if self._over:
            return
        try:
            payload = _decoded(data)
            if payload.op != HEARTBEAT:
                self._count(now)
            operation = self._table.get(payload.op)
            if operation is None:
                raise Wrong(4001, f"op {payload.op}")
            if payload.op not in (HEARTBEAT, IDENTIFY, RESUME) and self.session is None:
                raise Wrong(4003, f"op {payload.op} before IDENTIFY")
            operation(payload.d)
        except Wrong as error:
            self._close(error.code, error.why)

    def late(self) -> None:
        """No heartbeat came in time."""
        self._close(4009, "no heartbeat in time")

    def left(self, code: int, reason: str) -> None:
        """The connection is gone, and it was not us who closed it."""
        if self._over:
            return
        self._over = True
        self._detach(code)
        self._note("closed", code=code, reason=reason, by="discord" if code == GOING_AWAY else "bot")

    def cut(self) -> None:
        """The connection is gone, because the test wanted it."""
        self._over = True

    def _close(self, code: int, why: str = "") -> None:
        if self._over:
            return
        self._over = True
        self._detach(code)
        reason = f"{CODES[code]} ({why})" if why else CODES[code]
        self._note("closed", code=code, reason=reason, by="discord")
        self._outbox.put(GatewayClose(code, CODES[code]))

    def _detach(self, code: int) -> None:
        session = self.session
        if session is not None and session.outbox is self._outbox:
            session.outbox = None
            if code in ENDING:
                self._platform.end_session(session)

    def _count(self, now: float) -> None:
        self._times.append(now)
        while now - self._times[0] > 60:
            self._times.popleft()
        if len(self._times) > PER_MINUTE:
            raise Wrong(4008)

    def _note(self, change: Any, **facts: Any) -> None:
        session = self._session.id if self._session else ""
        self._platform.record(DiscordGatewayChanged(change=change, session=session, **facts))

    # operations

    def _heartbeat(self, _: Any) -> None:
        self._outbox.put(encode(ACK))
        self._outbox.beaten()

    def _identify(self, data: Any) -> None:
        asked = _converted(data, _Identify)
        if self.session is not None:
            raise Wrong(4005)
        if asked.token.removeprefix("Bot ") != self._platform.settings.token:
            raise Wrong(4004)
        intents = self._allowed(asked.intents)
        number, count = asked.shard
        if not 0 <= number < count:
            raise Wrong(4010, f"shard {number} of {count}")
        session = GatewaySession(self._platform.ids.hex(32), intents, asked.shard)
        session.outbox = self._outbox
        self._session = self._platform.sessions[session.id] = session
        self._welcome(session)
        names = [name for name, bit in INTENTS.items() if intents & bit]
        self._note("identified", detail={"intents": names, "shard": list(asked.shard)})

    def _allowed(self, intents: int | None) -> int:
        if intents is None or intents & ~KNOWN or intents < 0:
            raise Wrong(4013, f"intents {intents}")
        refused = disallowed(intents, self._platform.settings.privileged)
        if refused:
            raise Wrong(4014, ", ".join(refused))
        return intents

    def _welcome(self, session: GatewaySession) -> None:
        platform, state = self._platform, self._platform.state
        here = session.holds(state.guild.id)
        ready = {
            "v": int(self._version),
            "user": payloads.user(state.bot) | {"verified": True, "mfa_enabled": False, "email": None},
            "guilds": [{"id": str(state.guild.id), "unavailable": True}] if here else [],
            "session_id": session.id,
            "resume_gateway_url": platform.settings.gateway,
            "shard": list(session.shard),
            "application": {
                "id": str(state.bot.id),
                "flags": application_flags(platform.settings.privileged),
            },
            "private_channels": [],
        }
        session.dispatch("READY", ready)
        if here and wants(session.intents, "GUILD_CREATE", private=False):
            session.dispatch("GUILD_CREATE", payloads.guild_create(state))

    def _resume(self, data: Any) -> None:
        asked = _converted(data, _Resume)
        if self.session is not None:
            raise Wrong(4005)
        if asked.token.removeprefix("Bot ") != self._platform.settings.token:
            raise Wrong(4004)
        session = self._platform.sessions.get(asked.session_id)
        if session is None:
            self._note("invalidated", reason="there is no such session to resume", by="discord")
            self._outbox.put(encode(INVALID, False))  # noqa: FBT003  (what Discord sends)
            return
        seen = asked.seq or 0
        if not 0 <= seen <= session.sequence:
            self._platform.end_session(session)
            raise Wrong(4007, f"seq {seen} of {session.sequence}")
        session.outbox = self._outbox
        self._session = session
        replayed = session.replay(seen)
        session.dispatch("RESUMED", {})
        self._note("resumed", detail={"replayed": replayed})

    def _presence(self, data: Any) -> None:
        self._platform.record(Noted(text="the bot set its presence", data={"presence": data}))

    def _voice(self, data: Any) -> None:
        self._platform.record(Noted(text="the bot asked for voice, which is not there", data={"voice": data}))

    def _members(self, data: Any) -> None:
        asked = _converted(data, _Members)
        session, state = self.session, self._platform.state
        if session is None or str(asked.guild_id) != str(state.guild.id):
            return
        everybody = asked.query == "" and not asked.limit
        if everybody and not session.intents & INTENTS["GUILD_MEMBERS"]:
            self._platform.record(Noted(text="all members were asked for without the intent GUILD_MEMBERS"))
            return
        found = [member for member in state.members.values() if self._fits(asked, member.user_id)]
        if asked.limit:
            found = found[: asked.limit]
        chunk = {
            "guild_id": str(state.guild.id),
            "members": [payloads.member(state, member) for member in found],
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": [],
        }
        session.dispatch("GUILD_MEMBERS_CHUNK", chunk | ({"nonce": asked.nonce} if asked.nonce else {}))

    def _fits(self, asked: _Members, user_id: int) -> bool:
        if asked.query is not None:
            return self._platform.name(user_id).lower().startswith(asked.query.lower())
        ids = asked.user_ids if isinstance(asked.user_ids, list) else [asked.user_ids]
        return str(user_id) in {str(wanted) for wanted in ids}


def _decoded(data: str | bytes) -> _Payload:
    if len(data) > LONGEST:
        raise Wrong(4002, f"a payload of {len(data)} bytes; {LONGEST} are allowed")
    try:
        return msgspec.json.decode(data, type=_Payload)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Wrong(4002, str(error)) from None


def _converted(data: Any, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise Wrong(4002, str(error)) from None
