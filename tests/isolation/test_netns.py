"""A program in a network of its own: it reaches the servers of its run, and whatever else it tries is on record."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from soundstage.drivers import Command
from soundstage.drivers._isolation import Sandbox
from soundstage.errors import EnvironmentProblem
from soundstage.isolation import _netns
from soundstage.isolation._netns_setup import KINDS
from soundstage.journal import EgressTried, Journal, ProcessExited
from soundstage.lifecycle import LoopThread, Process
from soundstage.net import LOOPBACK, EgressProxy, Exchange, HttpRequest, HttpServer, listeners_of
from soundstage.terminal import Terminal
from support.footprint import open_files

FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"


async def hello(request: HttpRequest, exchange: Exchange) -> None:
    await exchange.reply(200, {}, f"hello {request.path}".encode())


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code), *arguments]


def run_inside(
    argv: Sequence[str], *, journal: Journal | None = None, **options: Any
) -> tuple[list[str], list[EgressTried]]:
    """Run a program in a network of its own. Returns the lines that it prints, and its tries to leave."""
    journal = journal if journal is not None else Journal()

    async def main() -> list[str]:
        command = Command(argv, journal, isolation="netns", **options)
        await command.start()
        try:
            await command.wait(None, within=30)
            return command.lines()
        finally:
            await command.stop()

    return asyncio.run(main()), journal.events(EgressTried)


def with_servers(body: Callable[[Journal, HttpServer], Awaitable[Any]]) -> tuple[Journal, Any]:
    journal = Journal()

    async def main() -> Any:
        server = HttpServer(hello, journal)
        await server.start()
        try:
            return await body(journal, server)
        finally:
            await server.stop()

    return journal, asyncio.run(main())


async def said_by(journal: Journal, argv: Sequence[str], **options: Any) -> list[str]:
    command = Command(argv, journal, isolation="netns", **options)
    await command.start()
    try:
        await command.wait(None, within=30)
        return command.lines()
    finally:
        await command.stop()


def test_a_server_of_the_run_is_reached_at_the_address_that_it_has_outside(netns):
    journal, lines = with_servers(
        lambda journal, server: said_by(journal, python(FETCH, f"{server.url}/there"))
    )
    assert lines == ["hello /there"]
    assert journal.events(EgressTried) == []


def test_a_server_in_another_thread_and_the_proxy_are_reached_too(netns):
    journal = Journal()
    server, proxy = HttpServer(hello, journal), EgressProxy(journal)
    with LoopThread() as beside:
        beside.call(server.start())
        beside.call(proxy.start())
        lines, tried = run_inside(
            python(
                FETCH + "\ntry: u.urlopen('http://far.example/x')\nexcept Exception as e: print(e)",
                server.url,
            ),
            journal=journal,
            proxy=proxy,
        )
        beside.call(proxy.stop())
        beside.call(server.stop())
    assert lines == ["hello /", "HTTP Error 403: Forbidden"]
    assert tried == [EgressTried(host="far.example", port=80, method="GET")]


def test_a_server_that_starts_later_is_reached_by_programs_that_start_after_it(netns):
    async def body(journal: Journal, first: HttpServer) -> list[list[str]]:
        sandbox = Sandbox(journal, isolation="netns")
        await sandbox.open()
        second = HttpServer(hello, journal)
        await second.start()
        heard: list[list[str]] = []
        for server in (first, second):
            heard.append([])
            process = Process(
                python(FETCH, server.url),
                journal,
                source="program",
                cwd=sandbox.home,
                environment=sandbox.environment(),
                on_line=lambda _, line: heard[-1].append(line),
                isolator=sandbox.isolator,
            )
            await process.start()
            assert await process.wait() == 0
        await sandbox.close()
        await second.stop()
        return heard

    assert with_servers(body)[1] == [["hello /"], ["hello /"]]


def test_a_server_of_another_run_is_not_reached(netns):
    async def body(journal: Journal, server: HttpServer) -> list[str]:
        code = f"{FETCH.partition(';')[0]}\ntry: u.urlopen(sys.argv[1])\nexcept Exception as e: print(e)"
        return await said_by(Journal(), python(code, server.url))

    assert with_servers(body)[1] == ["<urlopen error [Errno 111] Connection refused>"]


def test_after_its_last_program_a_server_serves_only_outside_again(netns):
    async def body(journal: Journal, server: HttpServer) -> tuple[int, str]:
        await said_by(journal, python(FETCH, server.url))
        reader, writer = await asyncio.open_connection(LOOPBACK, server.port)
        writer.write(b"GET /outside HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answer = (await reader.read()).decode()
        writer.close()
        [listener] = [one for one in listeners_of(journal) if one.port == server.port]
        return len(listener._servers), answer

    left, answer = with_servers(body)[1]
    assert left == 0
    assert answer.endswith("hello /outside")


TRIES = """
    import socket, subprocess, sys
    child = '''
    import socket
    for family, host in ((socket.AF_INET, "203.0.113.7"), (socket.AF_INET6, "2606:2800:220:1::1")):
        try:
            socket.socket(family).connect((host, 8443))
        except OSError as error:
            print(error.strerror, flush=True)
    try:
        socket.getaddrinfo("telemetry.example.com", 443)
    except OSError as error:
        print(error.strerror, flush=True)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.connect(("198.51.100.9", 8125))
    datagrams.send(b"count:1|c")
    try:
        datagrams.recv(1)
    except OSError as error:
        print(error.strerror, flush=True)
    '''
    import textwrap
    subprocess.run([sys.executable, "-I", "-c", textwrap.dedent(child)], env={})
"""


def test_what_a_child_without_any_variables_tries_by_address_and_by_name_is_on_record_and_refused_at_once(
    netns,
):
    lines, tried = run_inside(python(TRIES))
    assert lines == [
        "Connection refused",
        "Connection refused",
        "Name or service not known",
        "Connection refused",
    ]
    assert {(event.host, event.port, event.method) for event in tried} == {
        ("203.0.113.7", 8443, "tcp"),
        ("2606:2800:220:1::1", 8443, "tcp"),
        ("telemetry.example.com", 53, "dns"),
        ("198.51.100.9", 8125, "udp"),
    }


def test_tries_are_on_record_before_the_exit_of_their_program(netns):
    journal = Journal()
    run_inside(
        python("import socket; socket.socket().connect_ex(('203.0.113.7', 1)); import os; os._exit(0)"),
        journal=journal,
    )
    kinds = [type(record.event) for record in journal.read()]
    assert kinds.index(EgressTried) < kinds.index(ProcessExited)


def test_a_question_to_a_name_server_of_its_own_choice_is_answered_by_us(netns):
    lines, tried = run_inside(
        python(
            """
            import socket, struct
            asked = struct.pack("!HHHHHH", 5, 256, 1, 0, 0, 0) + b"\\3api\\4evil\\4test\\0" + struct.pack("!HH", 1, 1)
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            server.sendto(asked, ("8.8.8.8", 53))
            print(server.recv(512)[3] & 15)
            """
        )
    )
    assert lines == ["3"]
    assert tried == [EgressTried(host="api.evil.test", port=53, method="dns")]


def test_the_own_name_and_localhost_are_known_and_no_try(netns):
    lines, tried = run_inside(
        python("import socket; print(*map(socket.gethostbyname, (socket.gethostname(), 'localhost')))")
    )
    assert lines == ["127.0.0.1 127.0.0.1"]
    assert tried == []


def test_programs_inside_talk_to_each_other_on_loopback(netns):
    lines, tried = run_inside(
        python(
            """
            import socket, subprocess, sys
            server = socket.create_server(("127.0.0.1", 0))
            code = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).send(b'hello')"
            subprocess.Popen([sys.executable, "-c", code, str(server.getsockname()[1])])
            print(server.accept()[0].recv(100).decode())
            """
        )
    )
    assert lines == ["hello"]
    assert tried == []


def test_a_program_on_a_terminal_can_have_such_a_network_too(netns):
    journal = Journal()

    async def main() -> None:
        terminal = Terminal(
            python("import socket; print(socket.socket().connect_ex(('203.0.113.7', 80)))"),
            journal,
            isolation="netns",
        )
        await terminal.start()
        await terminal.expect("111")
        await terminal.expect_exit(0)
        await terminal.stop()

    asyncio.run(main())
    assert [event.host for event in journal.events(EgressTried)] == ["203.0.113.7"]


def test_the_files_and_the_user_are_the_same_as_outside(netns, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    code = "import os, sys; p = sys.argv[1]; print(open(p).read(), os.stat(p).st_uid, os.getuid()); os.chown(p, 7, 7)"
    lines, _ = run_inside(
        python(code if os.geteuid() == 0 else code.rsplit(";", 1)[0], str(tmp_path / "notes.txt"))
    )
    assert lines == [f"mine {os.getuid()} {os.getuid()}"]
    assert (tmp_path / "notes.txt").stat().st_uid == (7 if os.geteuid() == 0 else os.getuid())


def test_the_machine_keeps_its_network_its_names_and_its_mounts(netns):
    before = [Path(f"/proc/self/ns/{kind}").readlink() for kind in KINDS]
    mounts, names = Path("/proc/self/mounts").read_text(), Path("/etc/resolv.conf").read_text()
    lines, _ = run_inside(
        python(f"import os; [print(os.readlink('/proc/self/ns/' + k)) for k in {list(KINDS)}]")
    )
    assert not set(lines) & {str(link) for link in before}
    assert [Path(f"/proc/self/ns/{kind}").readlink() for kind in KINDS] == before
    assert Path("/proc/self/mounts").read_text() == mounts
    assert Path("/etc/resolv.conf").read_text() == names


def test_no_descriptor_of_ours_reaches_the_program_and_none_is_left_open(netns):
    async def body(journal: Journal, server: HttpServer) -> tuple[list[str], set[str]]:
        await said_by(journal, python("pass"))
        before = open_files()
        seen = await said_by(journal, python("import os; print(os.listdir('/proc/self/fd'))"))
        await asyncio.sleep(0)  # what is closed is gone with the next turn of the loop
        return seen, open_files() - before

    seen, left = with_servers(body)[1]
    assert seen == ["['0', '1', '2', '3']"]  # 3 reads the folder
    assert left == set()


def test_an_address_that_the_program_has_taken_is_an_error_that_says_so(netns):
    async def body(journal: Journal, first: HttpServer) -> None:
        command = Command(
            python(
                "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1]); input()"
            ),
            journal,
            isolation="netns",
        )
        await command.start()
        port = int(await command.expect("/\\d+/"))
        late = HttpServer(hello, journal, port=port)
        await late.start()
        try:
            isolator = command._sandbox.isolator
            assert isolator is not None
            with pytest.raises(EnvironmentProblem, match=f"127.0.0.1:{port}: Address already in use"):
                await isolator.enter(None)  # type: ignore[arg-type]
        finally:
            await late.stop()
            await command.stop()

    with_servers(body)


@pytest.mark.parametrize(
    ("step", "hint"), [("unshare", "user namespaces"), ("tun", "/dev/net/tun"), ("loopback", "apparmor")]
)
def test_where_the_kernel_refuses_the_error_says_what_and_what_to_do(monkeypatch, tmp_path, step, hint):
    script = "import json, socket, sys; s = socket.socket(fileno=int(sys.argv[1])); s.recv(9999); s.sendall(json.dumps"
    fake = tmp_path / "setup.py"
    fake.write_text(f"{script}({{'step': {step!r}, 'failed': 'Operation not permitted'}}).encode())\n")
    monkeypatch.setattr(_netns, "SETUP", fake)
    with pytest.raises(EnvironmentProblem) as caught:
        run_inside(python("pass"))
    assert f"{step}: Operation not permitted" in str(caught.value)
    assert hint in str(caught.value)
    assert "isolation='process'" in str(caught.value)


JOB = '{"namespaces": [], "files": {}, "interface": true, "listen": [["127.0.0.1", 80]]}'


def test_an_ordinary_user_can_have_such_a_network_too(netns, tmp_path):
    """The program that makes it, not run as root: it sends the namespaces, the interface and a socket."""
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    tun = Path("/dev/net/tun")
    if tun.stat().st_mode & 0o006 != 0o006:
        pytest.skip(f"{tun} is closed to ordinary users here: chmod 666 {tun}")
    plain = shutil.which("python3", path="/usr/bin:/bin")
    assert plain, "the system's own Python is what nobody may run"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [plain, "-I", "-S", "-c", _netns.SETUP.read_text(), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            cwd="/",
            **nobody,
        )
        ours.sendall(JOB.encode() + b"\n")
        answer, descriptors, _, _ = socket.recv_fds(ours, 9999, 9)
        assert process.wait() == 0
    assert json.loads(answer) == {"made": len(KINDS) + 1}
    assert len(descriptors) == len(KINDS) + 2
    for descriptor in descriptors:
        os.close(descriptor)


PLANTED = '''
import subprocess, sys

AGENT = """
import subprocess
subprocess.run(["sh", "-c", "env -i getent hosts exfiltrate.example.org"])
subprocess.run(["env", "-i", {python!r}, "-c", "import socket; socket.socket().connect_ex(('203.0.113.99', 443))"])
"""

async def test_planted(command):
    agent = await command([sys.executable, "-c", AGENT.format(python=sys.executable)], isolation="netns")
    assert await agent.wait() == 0
'''


def test_a_planted_program_whose_children_want_out_fails_its_test_which_names_both_hosts(netns, pytester):
    pytester.makepyfile(PLANTED)
    result = pytester.runpytest_subprocess("-p", "no:randomly", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the app tried to leave the closed set*"])
    result.stdout.fnmatch_lines(["*seen: 203.0.113.99:443, exfiltrate.example.org:53*"])
    assert result.ret == 1
