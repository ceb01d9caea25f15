"""The bridge: a small process that stands for a program in a container.

Why a process. Programs run below the launcher, on pipes or on a terminal; everything that starts, reads, signals and
ends programs relies on that. For a program in a container the launcher runs this file instead, with the standard
library only. It passes on what goes in and out, signals, and the size of the terminal, and exits with the code of
the program.

How it works. The container waits at a gate, a FIFO, before it becomes the program. The bridge attaches to it
(a request of the Docker API that turns into a stream in both directions), then opens the gate, so nothing that the
program writes is missed. A service has no gate: it is attached to, then started, and a first line says how that
went. Without a terminal the stream from the container comes in pieces that say which of the two
outputs they belong to; with one it is raw, and our own terminal is made raw, too: the one in the container does the
rest. One thread carries the input, so that a program which does not read its input can still be heard.

Should the bridge be killed, the harness removes the container; should the harness be killed as well, the next one
does.
"""

# ruff: noqa: PTH123
# (pathlib would cost a third of the time that this takes to start)

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import signal
import socket
import struct
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from typing import Any

FAILED = 127
PIECE = 65536
LOCAL = 3  # place in what tcgetattr returns
PASSED_ON = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def main(job: dict[str, Any]) -> int:
    """Carry everything to and fro until the program has ended; its exit code."""
    path, container, on_terminal = job["socket"], job["container"], job["terminal"]
    try:
        stream, first = open_stream(
            path, f"/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
        )
    except OSError as error:
        sys.stderr.write(f"the container cannot be attached to: {error}\n")
        return FAILED
    for name in PASSED_ON:
        signal.signal(
            getattr(signal, name),
            lambda number, _: _post(path, f"/containers/{container}/kill?signal={number}"),
        )
    word, resize = "go", None
    if on_terminal:
        word = "go" if termios.tcgetattr(0)[LOCAL] & termios.ECHO else "silent"
        tty.setraw(0, termios.TCSANOW)
        resize = _Size(path, container)
        signal.signal(signal.SIGWINCH, lambda *_: resize())
        resize()
    if job["gate"]:
        with open(job["gate"], "w") as gate:
            gate.write(f"{word}\n")
    else:
        _start(path, container)
    threading.Thread(target=_carry_input, args=(stream, resize), daemon=True).start()
    (_carry_raw if on_terminal else _carry_pieces)(stream, first)
    answer = json.loads(_post(path, f"/containers/{container}/wait") or b"{}")
    return int(answer.get("StatusCode", FAILED))


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


def _post(path: str, url: str) -> bytes:
    return _request(path, url)[1]


def _request(path: str, url: str) -> tuple[int, bytes]:
    """Status and body of the answer to a POST."""
    connection = _Connection(path)
    try:
        connection.request("POST", url)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""  # the container or the engine has gone
    finally:
        connection.close()


def _start(path: str, container: str) -> None:
    """Start a service, and say in a first line how that went."""
    status, body = _request(path, f"/containers/{container}/start")
    problem = "" if 200 <= status < 400 else body.decode("utf-8", "replace") or "the engine has gone"
    _write(1, json.dumps({"problem": problem}).encode() + b"\n")
    if problem:
        sys.exit(FAILED)


def open_stream(path: str, url: str, body: bytes = b"") -> tuple[socket.socket, bytes]:
    """A request that turns into a stream in both directions, and what has come of it with the answer.

    The Docker SDK would lose the latter: its HTTP client has read it, and the SDK goes on with the socket.
    """
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(path)
    head = (
        f"POST {url} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    stream.sendall(head.encode() + body)
    data = b""
    while b"\r\n\r\n" not in data and (piece := stream.recv(PIECE)):
        data += piece
    answer, _, first = data.partition(b"\r\n\r\n")
    if answer[9:12] not in (b"101", b"200"):
        stream.close()
        raise ConnectionError(data.decode("utf-8", "replace") or "the engine has hung up")
    return stream, first


class _Size:
    """Keeps the size of the container's terminal that of ours."""

    def __init__(self, path: str, container: str) -> None:
        self._path = path
        self._container = container
        self._known = b""
        self._lock = threading.RLock()  # a signal may come while its handler runs

    def __call__(self) -> None:
        with self._lock:
            found = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
            if found != self._known:
                self._known = found
                rows, columns, _, _ = struct.unpack("HHHH", found)
                _post(self._path, f"/containers/{self._container}/resize?h={rows}&w={columns}")


def _carry_input(stream: socket.socket, resize: _Size | None) -> None:
    with contextlib.suppress(OSError):
        while data := os.read(0, PIECE):
            if resize is not None:
                resize()  # a change of size comes before what was typed after it
            stream.sendall(data)
    with contextlib.suppress(OSError):
        stream.shutdown(socket.SHUT_WR)


def _carry_raw(stream: socket.socket, first: bytes) -> None:
    data = first
    while True:
        _write(1, data)
        data = _receive(stream)
        if not data:
            return


def _carry_pieces(stream: socket.socket, first: bytes) -> None:
    for channel, data in pieces(stream, first):
        _write(channel, data)


def pieces(stream: socket.socket, first: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces of a stream without a terminal: 1 or 2 for its output, and the bytes.

    Each piece has a head of 8 bytes: which output, three zeros, and how many bytes (API of Docker, "attach").
    """
    held = bytearray(first)
    while True:
        while len(held) >= 8 and len(held) >= 8 + (length := int.from_bytes(held[4:8], "big")):
            yield (2 if held[0] == 2 else 1), bytes(held[8 : 8 + length])
            del held[: 8 + length]
        data = _receive(stream)
        if not data:
            return
        held += data


def _receive(stream: socket.socket) -> bytes:
    """Return the next bytes; empty at the end, also when that is a reset, because some input has not been read."""
    with contextlib.suppress(ConnectionResetError):
        return stream.recv(PIECE)
    return b""


def _write(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
