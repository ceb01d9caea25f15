"""Reads the attempt of a call of Python's sockets from the arguments of its audit event. Pure."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from soundstage.guard._addresses import is_address

_LOCAL: Final = frozenset(
    {getattr(socket, name) for name in ("AF_UNIX", "AF_NETLINK", "AF_ALG") if hasattr(socket, name)}
)
_INTERNET: Final = frozenset({socket.AF_INET, socket.AF_INET6})


class EgressAttempt(NamedTuple):
    """A try to reach a host. `method` is `dns`, `tcp`, `udp`, or another kind of socket in small letters."""

    host: str
    port: int
    method: str


def to_address(sock: Any, address: Any) -> EgressAttempt | None:
    """A connection or a datagram; `None` if it stays in the machine by its kind, or goes to nobody new."""
    if address is None or sock.family in _LOCAL:
        return None
    if sock.family not in _INTERNET or not isinstance(address, tuple) or len(address) < 2:
        return EgressAttempt(str(address), 0, getattr(sock.family, "name", str(sock.family)).lower())
    kind = {socket.SOCK_STREAM: "tcp", socket.SOCK_DGRAM: "udp"}.get(sock.type, "raw")
    return EgressAttempt(_text(address[0]), _number(address[1]), kind)


def look_up(host: Any, port: Any = 0) -> EgressAttempt | None:
    """A question for a host; `None` if the answer needs no name server, since it is an address."""
    asked = question(host, port)
    return None if is_address(asked.host) else asked


def question(host: Any, port: Any = 0) -> EgressAttempt:
    """A question for a host, or for the name of an address."""
    return EgressAttempt(_text(host), _number(port), "dns")


# https://docs.python.org/3/library/audit_events.html
READERS: Final[dict[str, Callable[[tuple[Any, ...]], EgressAttempt | None]]] = {
    "socket.bind": lambda _: None,
    "socket.connect": lambda args: to_address(args[0], args[1]),
    "socket.getaddrinfo": lambda args: question(args[0], args[1]),
    "socket.gethostbyaddr": lambda args: question(args[0]),
    "socket.gethostbyname": lambda args: question(args[0]),
    "socket.getnameinfo": lambda args: question(*args[0][:2]),
    "socket.sendmsg": lambda args: to_address(args[0], args[1]),
    "socket.sendto": lambda args: to_address(args[0], args[1]),
}
FORWARD: Final = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})  # nobody is asked for an address


def _text(host: Any) -> str:
    if isinstance(host, bytes | bytearray):
        return bytes(host).decode("utf-8", "replace")
    return "" if host is None else str(host)


def _number(port: Any) -> int:
    """A port; that of a service by its name is in a table of the machine."""
    if isinstance(port, int):
        return port
    text = _text(port)
    if text.isdecimal():
        return int(text)
    try:
        return socket.getservbyname(text) if text else 0
    except OSError:
        return 0
