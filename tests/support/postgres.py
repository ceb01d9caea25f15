"""A PostgreSQL server of one's own: Debian's, on a free port, with its data in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

PASSWORD = "correct-horse"


def postgres_programs():
    """The folder with the server's programs; None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    place = str(found[-1]) if found else shutil.which("initdb")
    return Path(place).parent if place else None


class PostgresServer:
    """The server, running inside a `with`. It refuses root, so as root another user has it."""

    def __init__(self, programs):
        self._programs = programs
        self._owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # its user must get there
        self._data = self._folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def __enter__(self):
        try:
            self._make()
            self.start()
        except BaseException:
            shutil.rmtree(self._folder)
            raise
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            shutil.rmtree(self._folder)

    @property
    def url(self):
        return f"postgresql://tester:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def _make(self):
        if self._owner is not None:
            os.chown(self._folder, self._owner.pw_uid, self._owner.pw_gid)
        word = self._folder / "word"
        word.write_text(PASSWORD)
        word.chmod(0o644)
        options = ("-E", "UTF8", "--locale=C", "-U", "tester", "-A", "scram-sha-256")
        self._call("initdb", "--no-sync", *options, f"--pwfile={word}", str(self._data))

    def start(self):
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        log = str(self._folder / "server")
        self._call("pg_ctl", "-D", str(self._data), "-w", "-l", log, "-o", options, "start")

    def stop(self):
        self._call("pg_ctl", "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def _call(self, program, *words):
        owner = self._owner
        as_user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if owner else {}
        with (self._folder / "log").open("ab") as log:  # a pipe would stay open as long as the server
            call = [self._programs / program, *words]
            quiet = {"cwd": "/", "stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            done = subprocess.run(call, check=False, **quiet, **as_user)
        assert done.returncode == 0, (self._folder / "log").read_text(errors="replace")
