"""A run's closed set: what its process may reach, and a record of what it has tried.

How it works. From `begin` to `end` the guard of the process asks us about each connection, datagram and look-up, in any
thread. The servers of our runs may be reached, and what the test has listed. What else is on this machine, such as
a test's own database, may be reached too and goes on record once, as `HostReached`; not so in a run that is `closed`.
Everything else is refused, and each try is an `EgressTried`.

Programs that the process starts have sockets of their own. They inherit variables that point them to a proxy which
refuses and records. On the machine's time it is there from the beginning; on virtual time, where programs are rare,
it is started with the first one. Clients of this process may read those variables too, and keep a proxy for longer
than a run (`urllib` does), so each run tries to listen on the port of the one before; what asks a port where no proxy
of ours listens any more is refused like the host behind it. Proxies that the user's variables name lead outside: the
variables are hidden, and their addresses are refused, also on loopback.

Native libraries ask the system without Python. What they have opened is found by the process's descriptors, if it is
open when the run is looked at: `look`. So is data that went over a connection from before the run.

We are called inside of calls of the system, from any thread, so nothing here raises. A copy of the process that was
made by `fork` goes on refusing, and tells us what it tries (`_forked`): its journal is a copy, which nobody reads.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Self, get_args
from urllib.parse import urlsplit

from soundstage.errors import InvalidStateError, ScriptError
from soundstage.guard import (
    EgressAttempt,
    begin,
    end,
    in_this_machine,
    open_connections,
    put,
    real_environment,
    unjudged,
)
from soundstage.journal import EgressTried, Event, HostReached, Journal
from soundstage.lifecycle import LoopThread
from soundstage.net._egress import EgressProxy
from soundstage.net._forked import ForkedProcesses
from soundstage.net._listeners import is_listening

Egress = Literal["fail", "allow", "closed"]
SOURCE: Final = "egress"
_ports: Final[list[int]] = []  # where proxies of this process have listened


class AllowedHost(NamedTuple):
    """A host that a test lists; port 0 stands for all of them."""

    host: str
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `name`, `name:port` or an address.

        Raises:
            ScriptError: if it is no host.

        Example:
            >>> AllowedHost.parse("db.example.com:5432"), AllowedHost.parse("[::1]:80")
            (AllowedHost(host='db.example.com', port=5432), AllowedHost(host='::1', port=80))
        """
        bare = isinstance(text, str) and text.count(":") > 1 and not text.startswith("[")
        try:
            parts = urlsplit(f"//[{text}]" if bare else f"//{text}")
            host, port = parts.hostname, parts.port or 0
        except ValueError:
            host, port = None, 0
        if not isinstance(text, str) or not host or parts.path or parts.query or "*" in host:
            raise ScriptError(
                "this is not a host",
                expected="a name or an address, with a port or without: 'db.example.com:5432'",
                seen=repr(text),
            )
        return cls(host, port)


class ClosedSet:
    """The hosts that a run's process may reach.

    Args:
        journal: where `EgressTried` and `HostReached` events go.
        egress: `closed` refuses what is on this machine, too, unless it is a server of a run.
        hosts: what may be reached: `name`, `name:port`, an address.

    Raises:
        ScriptError: for something that is no host, or another word than `fail`, `allow` or `closed`.
    """

    def __init__(self, journal: Journal, *, egress: Egress = "fail", hosts: Sequence[str] = ()) -> None:
        if egress not in get_args(Egress):
            raise ScriptError("unknown egress", expected="'fail', 'allow' or 'closed'", seen=repr(egress))
        if isinstance(hosts, str):
            raise ScriptError("hosts are a list", expected=f"hosts=[{hosts!r}]", seen=repr(hosts))
        self.journal = journal
        self._closed = egress == "closed"
        self._ways = [AllowedHost.parse(host) for host in hosts]
        self._resolved: dict[str, set[AllowedHost]] = {}  # address -> what was listed
        self._reached: set[EgressAttempt] = set()
        self._ours: set[tuple[str, int]] = set()  # reached by a live model
        self._connections = dict[str, int]()  # open ones, and what they had sent when they were looked at
        self._proxies: set[tuple[str, int]] = set()
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._last = contextlib.ExitStack()
        self._proxy: EgressProxy | None = None
        self._copies = ForkedProcesses()

    def begin(self) -> None:
        """Close the set."""
        theirs = {name: value for name, value in real_environment().items() if _is_proxy(name)}
        self._proxies = {address for value in theirs.values() if (address := _address_of(value)) is not None}
        self._last.callback(put(dict.fromkeys(theirs)))
        self._connections = {name: connection.sent for name, connection in open_connections().items()}
        begin(self)
        self._last.callback(end, self)
        self._copies.begin()
        self._last.callback(self._copies.end)
        self._last.callback(self._look_at_copies)
        if not self.journal.clock.virtual:
            self.proxy()

    def end(self) -> None:
        """Open it again. Harmless when repeated."""
        self._last.close()

    def look(self) -> None:
        """Keep what has been opened or used past the guard, as far as it is still open."""
        unjudged(self._look)

    def _look_at_copies(self) -> None:
        for event in self._copies.told():
            self._append(event)

    def _look(self) -> None:
        self._look_at_copies()
        for name, (attempt, sent) in open_connections().items():
            before = self._connections.get(name)
            self._connections[name] = sent
            if before is not None and sent <= before:
                continue
            known = attempt[:2] in self._ours or in_this_machine(attempt.host) or self._is_listed(attempt)
            if not known:
                self.refused(attempt._replace(method="native" if before is None else "open before"))

    def put(self, values: dict[str, str | None]) -> None:
        """Set variables of this process until the end; remove those whose value is `None`."""
        self._last.callback(put(values))

    def proxy(self) -> EgressProxy:
        """The proxy that refuses and records what programs try; this process and its programs are pointed to it."""
        with self._lock:
            if self._proxy is None:
                direct = [way.host for way in self._ways]
                made = EgressProxy(self.journal, direct=direct, port=_ports[0] if _ports else 0)
                thread = self._last.enter_context(LoopThread("soundstage egress"))
                thread.call(made.start())
                self._last.callback(lambda: thread.call(made.stop()))
                self._proxy = made
                if made.port not in _ports:
                    _ports.append(made.port)
                self.put({**made.environment()})
            return self._proxy

    def permits(self, attempt: EgressAttempt) -> bool:
        """Whether a host may be reached; see `soundstage.guard.Watch`."""
        if self._is_listed(attempt):
            if attempt.method == "dns":
                self._learn(attempt.host)
            return self._reach(attempt)
        if not in_this_machine(attempt.host):
            return False
        if attempt.method == "dns" or is_listening(attempt.port):
            return True
        leads_out = attempt.port in _ports or (attempt.host.lower(), attempt.port) in self._proxies
        if self._closed or leads_out:
            return False
        return self._reach(attempt)

    def refused(self, attempt: EgressAttempt) -> None:
        """Keep that somebody was refused."""
        self._append(EgressTried(host=attempt.host, port=attempt.port, method=attempt.method))

    def for_the_test(self, attempt: EgressAttempt) -> None:
        """A live model reaches a host."""
        self._ours.add(attempt[:2])

    def child_starts(self) -> None:
        """A program is about to inherit the variables of this process."""
        if os.getpid() == self._process and threading.current_thread().name != "soundstage egress":
            self.proxy()

    def _learn(self, name: str) -> None:
        """Addresses of a listed name are listed: the connection that follows its look-up is to one of them."""
        ways = [way for way in self._ways if way.host == name.lower().rstrip(".")]
        with contextlib.suppress(OSError, UnicodeError):
            for found in socket.getaddrinfo(name, None):
                self._resolved.setdefault(str(found[4][0]), set()).update(ways)

    def _is_listed(self, attempt: EgressAttempt) -> bool:
        host = attempt.host.lower().rstrip(".")
        ways = {way for way in self._ways if way.host == host} | self._resolved.get(host, set())
        return any(way.port in (0, attempt.port) or attempt.method == "dns" for way in ways)

    def _reach(self, attempt: EgressAttempt) -> Literal[True]:
        with self._lock:
            new = attempt.method != "dns" and attempt not in self._reached
            self._reached.add(attempt)
        if new:
            self._append(HostReached(host=attempt.host, port=attempt.port, method=attempt.method))
        return True

    def _append(self, event: Event) -> None:
        if os.getpid() != self._process:
            self._copies.tell(event)
            return
        with contextlib.suppress(InvalidStateError):  # the run is over
            self.journal.append(event, source=SOURCE)


def _is_proxy(name: str) -> bool:
    return name.lower().endswith("_proxy")


def _address_of(proxy: str) -> tuple[str, int] | None:
    """Host and port of a proxy, which is a URL or the part of one behind the slashes."""
    try:
        parts = urlsplit(proxy if "//" in proxy else f"//{proxy}")
        return (parts.hostname, parts.port or 80) if parts.hostname else None
    except ValueError:
        return None
