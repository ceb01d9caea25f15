"""The program that a client of a stdio server starts: it hands its streams on to a server in the harness.

It runs this file alone, with the standard library only, and starts in about 20 ms: `python -I -S _bridge.py URL`.
What comes on standard input goes to the server as binary messages of a WebSocket, what comes back goes to standard
output. When the input ends it says goodbye and exits with 0. When the server refuses it or cuts the connection it
exits with 1 and says so on standard error, like a server that has crashed. It says goodbye on SIGTERM and SIGINT too:
clients end their servers with them.

Of RFC 6455 it needs little: it never sends fragments, and it masks with a key of zeros, which is allowed and leaves
the bytes as they are; a mask protects proxies, and there is none on the way to loopback.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import threading

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
PIECE = 65536
NORMAL = b"\x03\xe8"  # the code 1000 of a closing frame
MASKED = 0x80
LONG, LONGER = 126, 127  # lengths that say that the real one follows, in 2 or in 8 bytes


def main(url: str) -> int:
    """Connect standard input and output with the server at `url`; the exit code."""
    host, _, port = url.removeprefix("http://").partition("/")[0].rpartition(":")
    try:
        sock = socket.create_connection((host.strip("[]"), int(port)))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        rest = _shake_hands(sock, host, port)
    except (OSError, ValueError) as error:
        return _fail(f"the server at {url} cannot be reached: {error}")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit)
    threading.Thread(target=_send, args=(sock,), daemon=True).start()
    try:
        code = _receive(_Reader(sock, rest), sock)
    except OSError:
        code = None
    except SystemExit:
        sock.sendall(_frame(CLOSE, NORMAL))
        raise
    return _fail("the connection to the server was cut") if code is None else code


def _exit(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def _fail(message: str) -> int:
    os.write(2, f"soundstage: {message}\n".encode())
    return 1


def _shake_hands(sock: socket.socket, host: str, port: str) -> bytes:
    """Ask for a WebSocket; what came after the answer."""
    lines = (
        "GET /stdio HTTP/1.1",
        f"Host: {host}:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: c291bmRzdGFnZWJyaWRnZQ==",  # any 16 bytes
        "Sec-WebSocket-Version: 13",
    )
    sock.sendall("\r\n".join([*lines, "", ""]).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = sock.recv(PIECE)
        if not piece:
            raise OSError("it hung up")
        answer += piece
    head, _, rest = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].decode("latin-1")
    if " 101 " not in f"{status} ":
        raise OSError(f"it answered {status!r}")
    return rest


def _frame(kind: int, data: bytes) -> bytes:
    size = len(data)
    if size < LONG:
        head = struct.pack("!BB", 0x80 | kind, MASKED | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x80 | kind, MASKED | LONG, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, MASKED | LONGER, size)
    return head + bytes(4) + data


def _send(sock: socket.socket) -> None:
    """Hand standard input on, until it ends."""
    try:
        while data := os.read(0, PIECE):
            sock.sendall(_frame(BINARY, data))
        sock.sendall(_frame(CLOSE, NORMAL))
    except OSError:
        return  # the other direction says why


class _Reader:
    """Reads so many bytes of a socket."""

    def __init__(self, sock: socket.socket, rest: bytes) -> None:
        self._sock = sock
        self._rest = rest

    def exactly(self, size: int) -> bytes:
        pieces = [self._rest[:size]]
        self._rest = self._rest[size:]
        missing = size - len(pieces[0])
        while missing:
            piece = self._sock.recv(min(missing, 1 << 20))
            if not piece:
                raise OSError("it hung up")
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)


def _receive(reader: _Reader, sock: socket.socket) -> int:
    """Write what comes to standard output, until a closing frame."""
    while True:
        kind, size = struct.unpack("!BB", reader.exactly(2))
        if size == LONG:
            (size,) = struct.unpack("!H", reader.exactly(2))
        elif size == LONGER:
            (size,) = struct.unpack("!Q", reader.exactly(8))
        data = reader.exactly(size)
        if kind & 0x0F == CLOSE:
            return 0
        if kind & 0x0F == PING:
            sock.sendall(_frame(PONG, data))
        elif kind & 0x0F in (CONTINUATION, TEXT, BINARY):
            _write(data)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1]))
