"""Hosts inside and outside of this machine, told apart without looking up a name or sending a packet."""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import re
import socket
from pathlib import Path
from typing import Final

_NAMES: Final = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})
_HOSTS: Final = Path("/etc/hosts")
_SPACE: Final = re.compile(r"\s")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_address(host: str) -> bool:
    """Whether a host is an address already, so that nobody has to look it up.

    >>> is_address("127.1"), is_address("fe80::1%eth0"), is_address("example.com")
    (True, True, False)
    """
    return _address(host) is not None


def is_known_here(name: str) -> bool:
    """Whether this machine knows a name by itself, without asking a name server.

    >>> is_known_here("localhost"), is_known_here("app.localhost"), is_known_here("example.com")
    (True, True, False)
    """
    plain = name.lower().rstrip(".")
    return plain in _NAMES or plain.endswith(".localhost") or plain in _hosts() or plain == _own_name()


def in_this_machine(host: str) -> bool:
    """Whether what is sent to a host stays in this machine: loopback, or an address of its own.

    >>> in_this_machine("127.9.9.9"), in_this_machine("::ffff:127.0.0.1"), in_this_machine("0.0.0.0")
    (True, True, True)
    >>> in_this_machine("192.0.2.1"), in_this_machine("localhost"), in_this_machine("255.255.255.255")
    (False, True, False)
    """
    address = _address(host)
    if address is None:
        addresses = _hosts().get(host.lower().rstrip("."), [])
        return is_known_here(host) and all(in_this_machine(one) for one in addresses)
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_loopback or mapped.is_unspecified or _is_own(mapped)


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if not host[:1].isdigit() or _SPACE.search(host):
        return None
    try:  # 127.1, 2130706433 and 0x7f000001 are addresses to the system, too
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _is_own(address: Address) -> bool:
    """Whether an address is one of this machine's: to reach that, the system would send from it.

    Connecting a datagram socket sends nothing.
    """
    if address.is_multicast:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((str(address), 9))
            own: str = asking.getsockname()[0]
    except OSError:
        return False
    return ipaddress.ip_address(own) == address


@functools.cache
def _hosts() -> dict[str, list[str]]:
    """The names in this machine's file of hosts, with their addresses."""
    found: dict[str, list[str]] = {}
    with contextlib.suppress(OSError):
        for line in _HOSTS.read_text("utf-8", "replace").splitlines():
            address, *names = line.partition("#")[0].split() or [""]
            for name in names:
                found.setdefault(name.lower().rstrip("."), []).append(address)
    return found


@functools.cache
def _own_name() -> str:
    return socket.gethostname().lower()
