"""The connections that this process has open, by its descriptors: what native libraries opened is among them.

A library that has sockets of its own asks the system without Python, so no call of it can be judged. What it has opened
can be found afterwards, as long as it is open. How many segments with data a connection has sent is in what the kernel
tells about it (`struct tcp_info` of Linux), so a connection that was there before is known to have been used.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from typing import Final, NamedTuple

from soundstage.guard._attempts import EgressAttempt, to_address

_FOLDER: Final = "/proc/self/fd"
_DATA_SEGMENTS_OUT: Final = 156  # tcpi_data_segs_out in linux/tcp.h


class OpenConnection(NamedTuple):
    """An open connection: who is at its other end, and how many segments with data it has sent."""

    attempt: EgressAttempt
    sent: int


def open_connections() -> dict[str, OpenConnection]:
    """The connections that this process has made, by the names of their sockets; none where the system does not tell.

    What others have made to a server in this process is not among them.
    """
    found: dict[str, OpenConnection] = {}
    ports: dict[str, int] = {}
    listening: set[int] = set()
    try:
        descriptors = os.listdir(_FOLDER)  # noqa: PTH208  (each run does this; paths cost ten times as much)
    except OSError:
        return found
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            name = os.readlink(f"{_FOLDER}/{descriptor}")  # noqa: PTH115
            if not name.startswith("socket:"):
                continue
            with _copy(int(descriptor)) as copy:
                if copy.family not in (socket.AF_INET, socket.AF_INET6):
                    continue
                ports[name] = copy.getsockname()[1]
                if copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    listening.add(ports[name])
                elif (attempt := to_address(copy, copy.getpeername())) is not None:
                    found[name] = OpenConnection(attempt, _sent(copy))
    return {name: connection for name, connection in found.items() if ports[name] not in listening}


def _copy(descriptor: int) -> socket.socket:
    copied = os.dup(descriptor)
    try:
        return socket.socket(fileno=copied)
    except OSError:
        os.close(copied)
        raise


def _sent(sock: socket.socket) -> int:
    if sock.type != socket.SOCK_STREAM or not hasattr(socket, "TCP_INFO"):
        return 0
    told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _DATA_SEGMENTS_OUT + 4)
    size = _DATA_SEGMENTS_OUT + 4
    return int(struct.unpack_from("=I", told, _DATA_SEGMENTS_OUT)[0]) if len(told) >= size else 0
