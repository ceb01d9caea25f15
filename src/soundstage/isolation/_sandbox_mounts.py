"""The files that a program in a sandbox sees, as mounts. Part of the program that makes namespaces.

How it works. In a mount namespace of our own, what is to be hidden gets an empty folder over it, what is to be seen
inside is put back there, and what is to be written is mounted over itself, so that it is a mount of its own. Then all
mounts become read-only at once (mount_setattr(2)), and those few writable again. The program does not run here but in
one more user and mount namespace, made afterwards: what comes from a namespace of more rights is locked there
(mount_namespaces(7)), so that not even root inside can make anything writable, or uncover it.

`/dev` has the devices that programs need, terminals of its own, and none that leads to a disk: who is root outside may
open those.
"""

# ruff: noqa: PTH102, PTH103, PTH112, PTH120, PTH211
# (pathlib would cost a third of the time that this takes to start)

from __future__ import annotations

import ctypes
import os
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLONE_NEWNS = 0x00020000  # unshare(2)
MS_NOSUID, MS_BIND, MS_REC, MS_PRIVATE = 2, 4096, 16384, 1 << 18  # mount(2)
SYS_MOUNT_SETATTR = 442  # on every architecture: its number was given after they were unified
AT_RECURSIVE, MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 0x8000, 0x1, 0x2  # mount_setattr(2)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
WRITABLE_DEVICES = ("/dev/shm", "/dev/pts")  # noqa: S108  (mounts of the sandbox's own)

_libc: Any = ctypes.CDLL(None, use_errno=True)


def furnish(view: dict[str, Any]) -> None:
    """Enter a mount namespace in which there is what the program may see.

    Args:
        view: absolute paths: `hide` folders, `links` with their targets, `show` and `write` what is not hidden.

    Raises:
        OSError: if the system does not let us.
    """
    _done(_libc.unshare(CLONE_NEWNS), "a mount namespace")
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    kept = {path: os.open(path, os.O_PATH) for path in (*view["show"], *view["write"])}
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in DEVICES}
    for path in sorted(view["hide"], key=len):
        if os.path.isdir(path):
            _mount("tmpfs", path, "tmpfs", MS_NOSUID, "mode=0755")
    for path, target in view["links"]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.lexists(path):
            os.symlink(target, path)
    for path in sorted(kept, key=len):
        _put(kept[path], path)
    _make_devices(devices)
    _set_attributes("/", AT_RECURSIVE, on=MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID)
    for path in (*view["write"], *WRITABLE_DEVICES):
        _set_attributes(path, 0, off=MOUNT_ATTR_RDONLY)
    for descriptor in (*kept.values(), *devices.values()):
        os.close(descriptor)


def _put(descriptor: int, path: str) -> None:
    """Mount what a descriptor stands for at a path, which is made if it is not there."""
    if not os.path.lexists(path):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.makedirs(path)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    _mount(f"/proc/self/fd/{descriptor}", path, None, MS_BIND | MS_REC)


def _make_devices(devices: dict[str, int]) -> None:
    _mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=0755")
    for name, descriptor in devices.items():
        _put(descriptor, f"/dev/{name}")
    for name, target in DEVICE_LINKS.items():
        os.symlink(target, f"/dev/{name}")
    for path in WRITABLE_DEVICES:
        os.mkdir(path)
    _mount("tmpfs", WRITABLE_DEVICES[0], "tmpfs", MS_NOSUID, "mode=1777")
    _mount("devpts", WRITABLE_DEVICES[1], "devpts", MS_NOSUID, "newinstance,ptmxmode=0666,mode=620")


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _done(_libc.mount(*words, ctypes.c_ulong(flags), options.encode()), target)


def _set_attributes(path: str, flags: int, *, on: int = 0, off: int = 0) -> None:
    attributes = struct.pack("QQQQ", on, off, 0, 0)  # struct mount_attr
    call = (SYS_MOUNT_SETATTR, -1, os.fsencode(path), flags, attributes, len(attributes))
    _done(_libc.syscall(*call), path)


def _done(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
