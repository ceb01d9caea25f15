"""Programs of the harness in a service that runs already: what waits in the service, and what stands for a program.

This file runs by itself, with the standard library only, in two ways.

`serve SOCKET` is the service's part. It waits on a Unix socket in a folder that service and harness share. Each
connection begins with a byte. `L` asks for sockets that listen on loopback in the service; their descriptors go back
to the harness, whose servers serve them then, at the addresses that they have outside. `R` brings the three streams
of a program. The connection is then the socket of a launcher (`lifecycle/_launcher.py`) in the service: it hears
what to run, then signals; the end of the stream means that all of it is to be ended.

`run SOCKET FOLDER PROGRAM...` is what the harness starts in place of the program. It hands over its streams and its
variables, passes signals on, and ends as the program does. Nothing is copied: the program in the service reads and
writes the pipes of the harness itself. Should this process be killed, its connection ends, and so does the program.
"""

# ruff: noqa: PTH100, PTH108, PTH118, PTH120, SIM105
# (pathlib and contextlib would cost a third of the time that this takes to start)

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from typing import Any

LAUNCHER = os.path.abspath(os.path.join(os.path.dirname(__file__), "../lifecycle/_launcher.py"))
LISTEN, RUN = b"L", b"R"
STREAMS = (0, 1, 2)
BACKLOG = 2048
FAILED = 127
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def serve(place: str) -> None:
    """Wait in the service for what the harness asks; each connection is a process of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # they are collected by the system
    try:
        os.unlink(place)  # of a service that was here before
    except FileNotFoundError:
        pass
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()
        print(f"waiting at {place}", flush=True)  # noqa: T201  (for the log of the service)
        while True:
            connection, _ = server.accept()
            with connection:
                if os.fork() == 0:
                    server.close()
                    _answer(connection)
                    os._exit(0)


def _answer(connection: socket.socket) -> None:
    word, streams, _, _ = socket.recv_fds(connection, 1, len(STREAMS))
    if word == RUN:
        _launch(connection, streams)
    elif word == LISTEN:
        _listen(connection)


def _launch(connection: socket.socket, streams: list[int]) -> None:
    """Become the launcher of a program on these streams."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptor, stream in zip(streams, STREAMS, strict=True):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    connection.set_inheritable(True)
    os.execv(sys.executable, [sys.executable, "-I", "-S", LAUNCHER, str(connection.fileno())])  # noqa: S606


def _listen(connection: socket.socket) -> None:
    """Open the sockets, and say where programs of the service are looked for."""
    places = json.loads(connection.makefile("rb").readline())
    try:
        made = [_listening(host, port) for host, port in places]
    except OSError as error:
        connection.sendall(json.dumps({"failed": str(error.strerror or error)}).encode())
        return
    said = json.dumps({"path": os.environ.get("PATH", os.defpath)}).encode()
    socket.send_fds(connection, [said], [one.fileno() for one in made])


def _listening(host: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    made.listen(BACKLOG)
    return made


def run(place: str, folder: str, argv: list[str]) -> int:
    """Stand for a program of the service; its exit code, negative for a signal."""
    sys.path.append(os.path.dirname(LAUNCHER))  # this runs alone, outside of its package
    import _launcher as launcher  # type: ignore[import-not-found]

    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # until the program is there to get them
    with socket.socket(socket.AF_UNIX) as control:
        try:
            control.connect(place)
            socket.send_fds(control, [RUN], STREAMS)
        except OSError as error:
            return _refuse(f"the service does not answer: {error.strerror}")
        job: dict[str, Any] = {"argv": tuple(argv), "cwd": folder, "env": dict(os.environ), "scratch": ""}
        launcher.tell(control.fileno(), job)
        for number in PASSED_ON:
            signal.signal(number, lambda number, _: _pass_on(control, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        problem = launcher.heard(control.fileno()).get("failed")
        if problem:
            return _refuse(f"{argv[0]} cannot be run in the service: {problem}")
        launcher.let_go_of_streams()
        return int(launcher.heard(control.fileno())["exited"] or 0)


def _pass_on(control: socket.socket, number: int) -> None:
    try:
        control.send(bytes([number]))
    except OSError:  # the program has just ended
        pass


def _refuse(why: str) -> int:
    sys.stderr.write(f"{why}\n")
    return FAILED


def end_as(code: int) -> None:
    """End with an exit code, or by the signal that it stands for."""
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    end_as(run(sys.argv[2], sys.argv[3], sys.argv[4:]))
