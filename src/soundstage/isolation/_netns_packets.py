"""Packets that programs in a network namespace send to the outside, and the answers to them. Pure.

Everything that does not stay on loopback arrives as an IP packet (version 4: RFC 791, version 6: RFC 8200). Of
each we want to know where it was to go, and each is refused in the way that its program notices at once, instead
of waiting for an answer that never comes:

- TCP: the first packet of a connection gets a reset (RFC 9293, section 3.5.2), which is "connection refused".
- a question for a name, UDP to port 53 (RFC 1035): there is no such name.
- other UDP, and pings: "destination unreachable" (RFC 792, RFC 4443), "connection refused" as well.

What the kernel itself sends on a new interface (neighbours, routers, multicast groups) is nobody's try.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import Final, NamedTuple

TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
_SYN, _RST, _ACK = 0x02, 0x04, 0x10
_ECHO: Final = {ICMP: 8, ICMPV6: 128}
_UNREACHABLE: Final = {4: (ICMP, 3, 3), 6: (ICMPV6, 1, 4)}  # protocol, type, code: the port is not reachable
_DNS_PORT: Final = 53
_QUOTED: Final = 512  # bytes of a packet that an ICMP answer quotes
_NO_SUCH_NAME: Final = 0x8183  # an answer, recursion desired and available, NXDOMAIN


class Packet(NamedTuple):
    """An IP packet of one of the protocols that we know."""

    version: int
    protocol: int
    source: bytes
    target: bytes
    payload: bytes
    raw: bytes


class Attempt(NamedTuple):
    """Who was to be reached: `method` is `tcp`, `udp`, `icmp`, or `dns` for a question about a name."""

    method: str
    host: str
    port: int
    source_port: int


def read_packet(raw: bytes) -> Packet | None:
    """A packet as it comes; `None` if it is none, or of a protocol that we do not know."""
    try:
        if raw[0] >> 4 == 4:
            start = (raw[0] & 0x0F) * 4
            return _known(Packet(4, raw[9], raw[12:16], raw[16:20], raw[start:], raw))
        if raw[0] >> 4 == 6:
            return _known(Packet(6, raw[6], raw[8:24], raw[24:40], raw[40:], raw))
    except IndexError:
        pass
    return None


def _known(packet: Packet) -> Packet | None:
    shortest = {TCP: 20, UDP: 8, ICMP: 8, ICMPV6: 8}.get(packet.protocol)
    return packet if shortest is not None and len(packet.payload) >= shortest else None


def attempt_of(packet: Packet) -> Attempt | None:
    """The attempt of a packet; `None` if it tries nothing, or continues an earlier attempt."""
    payload, host = packet.payload, str(ipaddress.ip_address(packet.target))
    source, port = struct.unpack_from("!HH", payload)
    if packet.protocol == TCP:
        return Attempt("tcp", host, port, source) if payload[13] & (_SYN | _ACK) == _SYN else None
    if packet.protocol == UDP:
        name = asked_name(payload[8:]) if port == _DNS_PORT else None
        return Attempt("dns", name, port, source) if name else Attempt("udp", host, port, source)
    if payload[0] == _ECHO[packet.protocol]:
        return Attempt("icmp", host, 0, struct.unpack_from("!H", payload, 4)[0])
    return None


def asked_name(message: bytes) -> str | None:
    """The name in a question to a name server; `None` if it is no question."""
    if len(message) < 17 or message[2] & 0x80 or message[4:6] == b"\0\0":
        return None
    labels, position = [], 12
    try:
        while length := message[position]:
            if length > 63:
                return None
            labels.append(message[position + 1 : position + 1 + length].decode("ascii", "replace"))
            position += 1 + length
    except IndexError:
        return None
    return ".".join(labels).lower() or None


def refusal(packet: Packet) -> bytes | None:
    """The packet that tells the program at once; `None` where none is due."""
    if packet.protocol == TCP:
        return _reset(packet)
    attempt = attempt_of(packet)
    if attempt is None:
        return None
    if attempt.method == "dns":
        return _no_such_name(packet)
    return _unreachable(packet)


def _reset(packet: Packet) -> bytes | None:
    source, port, number, acknowledged = struct.unpack_from("!HHII", packet.payload)
    flags = packet.payload[13]
    if flags & _RST:
        return None
    if flags & _ACK:
        return _answer(
            packet, TCP, struct.pack("!HHIIBBHHH", port, source, acknowledged, 0, 5 << 4, _RST, 0, 0, 0), 16
        )
    following = (number + (1 if flags & _SYN else 0)) & 0xFFFFFFFF
    head = struct.pack("!HHIIBBHHH", port, source, 0, following, 5 << 4, _RST | _ACK, 0, 0, 0)
    return _answer(packet, TCP, head, 16)


def _no_such_name(packet: Packet) -> bytes:
    source, port = struct.unpack_from("!HH", packet.payload)
    message = packet.payload[8:]
    end = message.index(b"\0", 12) + 5  # behind the name: its type and class
    answer = message[:2] + struct.pack("!HHHHH", _NO_SUCH_NAME, 1, 0, 0, 0) + message[12:end]
    head = struct.pack("!HHHH", port, source, 8 + len(answer), 0)
    return _answer(packet, UDP, head + answer, 6)


def _unreachable(packet: Packet) -> bytes:
    protocol, kind, code = _UNREACHABLE[packet.version]
    return _answer(packet, protocol, struct.pack("!BBHI", kind, code, 0, 0) + packet.raw[:_QUOTED], 2)


def _answer(packet: Packet, protocol: int, payload: bytes, checksum_at: int) -> bytes:
    """A packet back to where `packet` came from, with the checksum of its payload at `checksum_at`."""
    pseudo = b""
    if protocol != ICMP:  # its checksum is of its own bytes alone
        pseudo = packet.target + packet.source + struct.pack("!II", len(payload), protocol)
    found = checksum(pseudo + payload) or (0xFFFF if protocol == UDP else 0)
    payload = payload[:checksum_at] + struct.pack("!H", found) + payload[checksum_at + 2 :]
    if packet.version == 6:
        head = struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64)
        return head + packet.target + packet.source + payload
    start = struct.pack("!BBHHHBB", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol)
    sum_of_head = checksum(start + b"\0\0" + packet.target + packet.source)
    return start + struct.pack("!H", sum_of_head) + packet.target + packet.source + payload


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
