"""Makes the namespaces of one program and hands them over: a short-lived program of its own.

Why a process of its own. Only a process with a single thread may enter a new user namespace, and what it has
entered it cannot leave. So this file runs alone, with the standard library only, does its work and exits. What
it made lives on in the descriptors that it has sent to the harness, and in nothing else: when the harness has
closed them, or is dead, and the last program inside has ended, the kernel removes the lot. Nothing has to be
cleaned up, so nothing can be left behind.

What it makes. A user namespace, in which the user is who it was (root keeps all its ids, so files look as they
do outside), and which gives the right to make the rest without being root: user_namespaces(7). A mount
namespace, in which the few files that say how names are looked up are replaced. A network namespace with
loopback and one more interface, to which every other address is routed: a TUN device, whose other end is a
descriptor that the harness reads. Whoever tries to reach something outside talks to the harness.

Then it opens a listening socket for each server of the run, on the same address and port as outside, and sends
those along: a socket belongs to the namespace in which it was made, wherever it is used.

Called with namespaces that exist, of an earlier call or of a container, it enters them, makes the interface if it is
to, and opens sockets. With a view of the files besides (`_sandbox_mounts.py`), it makes that, and the namespaces in
which the program lives: it has no rights over the network then, nor over what it sees.
"""

# ruff: noqa: PTH120, PTH123, SIM105
# (pathlib and contextlib would cost a third of the time that this takes to start)

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWIPC = 0x00020000, 0x08000000  # unshare(2)
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
KINDS = {"user": CLONE_NEWUSER, "mnt": CLONE_NEWNS, "net": CLONE_NEWNET}  # in the order to enter them
CONFINED = {"user": CLONE_NEWUSER, "ipc": CLONE_NEWIPC, "mnt": CLONE_NEWNS}  # after those
# Of a network: a program that has no rights over it may serve any port, and ping.
RIGHTS = {"ip_unprivileged_port_start": "0", "ping_group_range": "0 2147483647"}
MS_BIND, MS_REC, MS_SLAVE = 4096, 16384, 524288  # mount(2)
SIOCADDRT, SIOCSIFFLAGS, SIOCGIFINDEX = 0x890B, 0x8914, 0x8933  # netdevice(7)
SIOCSIFADDR, SIOCSIFNETMASK = 0x8916, 0x891C
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # Documentation/networking/tuntap.rst of Linux
IFF_UP, RTF_UP = 0x1, 0x1
OUTSIDE = b"outside"
# Addresses that are reserved for documentation (RFC 5737, RFC 3849), so that they are nobody's.
ADDRESS, NETMASK, ADDRESS6 = "192.0.2.1", "255.255.255.0", "2001:db8::1"
BACKLOG = 2048

_libc: Any = ctypes.CDLL(None, use_errno=True)


class StepError(Exception):
    """A step and why it failed."""


def main(control: socket.socket) -> None:
    """Do what the harness asks for, and send the descriptors."""
    job = json.loads(control.makefile("rb").readline())
    try:
        made = [] if job["namespaces"] else _make(job["files"])
        for namespace in job["namespaces"]:
            _call("enter", _libc.setns, namespace, 0)
        if job["interface"]:
            made.append(_make_interface())
        sockets = [_listen(host, port) for host, port in job["listen"]]
        if job.get("view") is not None:
            made += _confine(job["view"])
    except StepError as failed:
        control.sendall(json.dumps({"step": failed.args[0], "failed": failed.args[1]}).encode())
        return
    socket.send_fds(
        control, [json.dumps({"made": len(made)}).encode()], [*made, *(s.fileno() for s in sockets)]
    )


def _make(files: dict[str, str]) -> list[int]:
    """All of the namespaces; descriptors of them."""
    _unshare(KINDS)
    _replace_files(files)
    _bring_up_loopback()
    _give_rights()
    return _opened(KINDS)


def _confine(view: dict[str, Any]) -> list[int]:
    """The namespaces of a program that sees this; descriptors of them."""
    sys.path.append(os.path.dirname(__file__))  # this runs alone, outside of its package
    from _sandbox_mounts import furnish  # type: ignore[import-not-found]

    def see() -> None:
        try:
            furnish(view)
        except OSError as error:
            raise StepError("sandbox", f"{error.filename}: {error.strerror}") from None

    _unshare(CONFINED, before=see)
    return _opened(CONFINED)


def _opened(kinds: dict[str, int]) -> list[int]:
    return [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in kinds]


def _give_rights() -> None:
    for name, value in RIGHTS.items():
        try:
            _write(f"/proc/sys/net/ipv4/{name}", value)
        except OSError:
            pass  # it has the rights that it has


def _call(step: str, function: Any, *arguments: Any) -> None:
    if function(*arguments) != 0:
        raise StepError(step, os.strerror(ctypes.get_errno()))


def _unshare(kinds: dict[str, int], before: Callable[[], None] = lambda: None) -> None:
    """Enter new namespaces; a child that stays outside, from `before` on, writes who is who in them."""
    go, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        _write_ids(go, os.getppid())
    os.close(go)
    before()
    _call("unshare", _libc.unshare, sum(kinds.values()))
    os.write(told, b"x")
    os.close(told)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise StepError("ids", "the ids of the user namespace could not be written")


def _write_ids(go: int, pid: int) -> NoReturn:
    """In the child: wait for the namespace, then write its ids: the same as outside."""
    status = 1
    try:
        if os.read(go, 1):
            if os.geteuid() != 0:
                _write(f"/proc/{pid}/setgroups", "deny")  # without it an ordinary user may not map a group
            _write(f"/proc/{pid}/uid_map", _identity("uid", os.geteuid()))
            _write(f"/proc/{pid}/gid_map", _identity("gid", os.getegid()))
            status = 0
    finally:
        os._exit(status)


def _identity(kind: str, own: int) -> str:
    """Every id that there is for root; the own one for others, who may map no more."""
    if os.geteuid() != 0:
        return f"{own} {own} 1\n"
    with open(f"/proc/self/{kind}_map") as file:
        lines = [line.split() for line in file]
    return "".join(f"{inside} {inside} {count}\n" for inside, _, count in lines)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _replace_files(files: dict[str, str]) -> None:
    """Put our files over those of the machine, for these namespaces only."""
    _call("mount", _libc.mount, None, b"/", None, MS_REC | MS_SLAVE, None)
    for place, ours in files.items():
        if os.path.exists(place):  # noqa: PTH110
            _call("mount", _libc.mount, ours.encode(), place.encode(), None, MS_BIND, None)


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _ioctl("loopback", any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))


def _make_interface() -> int:
    """An interface to which everything but loopback is routed; the descriptor is its other end."""
    try:
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", OUTSIDE, IFF_TUN | IFF_NO_PI))
    except OSError as error:
        raise StepError("tun", error.strerror or str(error)) from None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for request, address in ((SIOCSIFADDR, ADDRESS), (SIOCSIFNETMASK, NETMASK)):
            _ioctl("interface", any_socket, request, struct.pack("16s16s8x", OUTSIDE, _ipv4(address)))
        _ioctl("interface", any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", OUTSIDE, IFF_UP))
        name = ctypes.create_string_buffer(OUTSIDE)
        anywhere = _ipv4("0.0.0.0")  # noqa: S104  (the default route)
        before, behind = (
            (0, *[anywhere] * 3, RTF_UP, *[0] * 4),
            [0] * 3,
        )  # a `struct rtentry`, and the device in it
        route = struct.pack("L16s16s16sHhLPhPLLH", *before, ctypes.addressof(name), *behind)
        _ioctl("interface", any_socket, SIOCADDRT, route)
    _route_ipv6()
    return device


def _ipv4(address: str) -> bytes:
    """A `struct sockaddr_in`."""
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))


def _route_ipv6() -> None:
    """The same for version 6 of the protocol, if the kernel has it."""
    try:
        any_socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    except OSError:
        return
    with any_socket:
        try:
            found = fcntl.ioctl(any_socket, SIOCGIFINDEX, struct.pack("16s24x", OUTSIDE))
            (index,) = struct.unpack_from("i", found, 16)
            address = socket.inet_pton(socket.AF_INET6, ADDRESS6)
            fcntl.ioctl(any_socket, SIOCSIFADDR, struct.pack("16sIi", address, 64, index))
            nowhere = bytes(16)
            route = struct.pack("16s16s16sIHHILIi", nowhere, nowhere, nowhere, 0, 0, 0, 1, 0, RTF_UP, index)
            fcntl.ioctl(any_socket, SIOCADDRT, route)
        except OSError:
            return  # switched off: then nobody gets out that way either


def _ioctl(step: str, any_socket: socket.socket, request: int, argument: bytes) -> None:
    try:
        fcntl.ioctl(any_socket, request, argument)
    except OSError as error:
        raise StepError(step, error.strerror or str(error)) from None


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)
    except OSError as error:
        raise StepError("listen", f"{host}:{port}: {error.strerror or error}") from None
    return made


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
