"""The launcher: a small process between us and a program, so that nothing of the program survives.

Why a process of its own. Killing a process group is not enough: agents start their tools in sessions of their
own, and tools start daemons. On Linux a process can declare itself the reaper of all its descendants
(`PR_SET_CHILD_SUBREAPER`, prctl(2)): an orphan becomes its child, so none can slip away, however often it
forks. The launcher is that process. It runs this file alone, and every program waits for it, so of the standard
library it uses what is loaded at once: that makes 20 ms, half of what json, signal and contextlib would make of it.

How it works. One socket connects it with the harness. What is said on it is marshalled, behind its length in four
bytes; both ends are the same Python. The harness says first what to run. The launcher forks, the child becomes leader
of a session of its own and then the program, on the same standard streams; if they are a terminal, it becomes the
session's own (`TIOCSCTTY`), so that Ctrl-C and window sizes reach the program. The answer has its process id, or the
error. From then on each byte that the harness sends is the number of a signal for the program's process group, and the
end of the stream means: end everything. That end comes too when the harness is killed, whatever kills it, because the
kernel closes its sockets. Should the launcher itself be killed, the program gets SIGKILL (`PR_SET_PDEATHSIG`).

If the program is to have a network of its own, the launcher has inherited descriptors of namespaces, and the child
enters them first (setns(2)). The launcher itself stays outside, where the program's folder can be removed.

Before the child becomes the program, it confines itself, where the kernel can (landlock(7), since Linux 6.12): neither
it nor what it starts can send a signal to other processes, look into them, as root neither, or reach the sockets
without a file that others have. So it cannot end the launcher or the harness, or read the harness's variables, memory
and descriptors. An older kernel, or another system, gives no such thing without side effects; nothing is done there.

When the program has exited, whatever it left running is ended. The last word to the harness has the exit code
(negative for a signal) and the names of what was left. If nobody is there to read it, the launcher removes
the program's throw-away folder, because nobody else will.

On a system without prctl and /proc, only the program's process group is ended.
"""

# ruff: noqa: PTH112, PTH123, PTH208, SIM105
# (pathlib and contextlib would cost a third of the time that this takes to start)

from __future__ import annotations

import marshal
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn
else:
    import _signal as signal  # without its enumerations, which take time to load

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_RESTRICT_SELF = 444, 446  # on every architecture
LANDLOCK_VERSION, LANDLOCK_SCOPES = 1, 6  # the flag that asks for the version; the first one with scopes
LANDLOCK_SCOPE_ABSTRACT_SOCKET, LANDLOCK_SCOPE_SIGNAL = 1, 2
FAILED = 127
LENGTH = 4  # bytes that say how long a message is
HAS_PROC = os.path.isdir("/proc/self")


def main(control: int) -> None:
    """Run one program to its end; `control` is the socket to the harness."""
    os.set_inheritable(control, False)  # noqa: FBT003
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    wakeup, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    job = heard(control)
    pid, problem = _start(job)
    if problem:
        tell(control, {"failed": problem})
        return
    tell(control, {"started": pid})
    let_go_of_streams()
    code = _watch(control, wakeup, pid)
    left = [] if code is None else [_name(other) for other in _descendants(os.getpid())]
    ended = _end_all(pid)
    if not tell(control, {"exited": ended if code is None else code, "left": left}) and job["scratch"]:
        _remove(job["scratch"])


def heard(control: int) -> dict[str, Any]:
    """Read the job that the harness sends."""
    size = int.from_bytes(_read(control, LENGTH), "little")
    job: dict[str, Any] = marshal.loads(_read(control, size))  # noqa: S302  (both ends are ours)
    return job


def _read(control: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(control, size - len(data))
        if not piece:
            sys.exit(FAILED)
        data += piece
    return data


def tell(control: int, message: dict[str, Any]) -> bool:
    """Report to the harness; false if it is gone."""
    data = marshal.dumps(message)
    try:
        os.write(control, len(data).to_bytes(LENGTH, "little") + data)
    except OSError:
        return False
    return True


def _remove(folder: str) -> None:
    import shutil  # only here, because it takes time to load

    with open("/proc/self/mountinfo") if HAS_PROC else open(os.devnull) as file:
        places = [line.split()[4] for line in file]
    written = folder.replace(" ", "\\040")  # as it stands there: proc(5)
    if not any(
        f"{place}/".startswith(f"{written}/") for place in places
    ):  # else all of that would be removed
        shutil.rmtree(folder, ignore_errors=True)


def _prctl(option: int, value: int) -> None:
    import ctypes  # `main` comes here first; whoever imports this file for its protocol does not need it

    try:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (OSError, AttributeError):  # another system
        pass


def _enter(namespaces: list[int]) -> None:
    """In the child: go where the program is to live."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    for namespace in namespaces:
        if libc.setns(namespace, 0) != 0:
            raise OSError(0, f"its namespaces cannot be entered: {os.strerror(ctypes.get_errno())}")
        os.close(namespace)


def _confine() -> None:
    """In the child: let no other process be ended, looked into or reached without a file."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if not sys.platform.startswith("linux"):
        return
    if libc.syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION) < LANDLOCK_SCOPES:
        return
    rules = (ctypes.c_uint64 * 3)(0, 0, LANDLOCK_SCOPE_ABSTRACT_SOCKET | LANDLOCK_SCOPE_SIGNAL)
    ruleset = libc.syscall(SYS_LANDLOCK_CREATE_RULESET, rules, ctypes.sizeof(rules), 0)
    if (
        libc.syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0
    ):  # an ordinary user may not, unless it gives this up
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        libc.syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _start(job: dict[str, Any]) -> tuple[int, str]:
    """Fork and execute; the process id, and what went wrong."""
    report, reporter = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(job, reporter, parent)
    os.close(reporter)
    _close_all(job.get("namespaces", ()))
    problem = os.read(report, 4096).decode()
    if problem:
        os.waitpid(pid, 0)
    return pid, problem


def _become(job: dict[str, Any], reporter: int, parent: int) -> NoReturn:
    """In the child: turn into the program. The pipe `reporter` closes by itself when that works."""
    try:
        os.setsid()
        if job.get("terminal"):
            _take_terminal()
        _enter(job.get("namespaces", ()))
        _confine()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # entering a user namespace takes it back
        if os.getppid() != parent:
            os._exit(FAILED)
        _heed_signals()
        os.chdir(job["cwd"])
        os.execvpe(job["argv"][0], job["argv"], job["env"])  # noqa: S606  (this is what it is for)
    except OSError as error:
        os.write(reporter, f"{error.strerror or error}".encode())
    except ValueError as error:  # a NUL in an argument
        os.write(reporter, f"{error}".encode())
    os._exit(FAILED)


def _take_terminal() -> None:
    import fcntl  # only here, because they take time to load
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _heed_signals() -> None:
    """Reset ignored signals, which programs inherit: SIGPIPE by Python, Ctrl-C and hang-ups in the background."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def let_go_of_streams() -> None:
    """Keep the program's streams open nowhere but in the program, so that their ends are seen."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _watch(control: int, wakeup: int, pid: int) -> int | None:
    """Pass signals on until the program exits; its exit code, or `None` if the harness wants the end."""
    while True:
        code = _reaped(pid)
        if code is not None:
            return code
        ready, _, _ = select.select([control, wakeup], [], [])
        if wakeup in ready:
            os.read(wakeup, 4096)
        if control in ready:
            signals = _received(control)
            if not signals:
                return None
            for number in signals:
                _signal_group(pid, number)


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _received(control: int) -> bytes:
    try:
        return os.read(control, 64)
    except OSError:
        return b""


def _reaped(pid: int) -> int | None:
    """Collect every child that has exited; the exit code of `pid` if it is among them."""
    found = None
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if child == pid:
            found = os.waitstatus_to_exitcode(status)
        if child == 0:
            return found


def _end_all(pid: int) -> int | None:
    """Kill until no child is left; orphans of those killed become our children, for the next round."""
    code = None
    while True:
        for other in _descendants(os.getpid()):
            try:
                os.kill(other, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        if not HAS_PROC:
            _signal_group(pid, signal.SIGKILL)
        try:
            child, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return code
        if child == pid:
            code = os.waitstatus_to_exitcode(status)


def _descendants(root: int) -> list[int]:
    """All processes below `root`, zombies left out; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if HAS_PROC else ():
        if name.isdigit():
            children.setdefault(_parent(name), []).append(int(name))
    found: list[int] = []
    pending = [root]
    while pending:
        below = children.get(pending.pop(), [])
        found.extend(below)
        pending.extend(below)
    return found


def _parent(pid: str) -> int:
    """The parent of a process; 0 if it is gone, or a zombie. Fields after the name in brackets: proc(5)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return 0
    return 0 if state in (b"Z", b"X") else int(parent)


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return str(pid)


if __name__ == "__main__":
    main(int(sys.argv[1]))
