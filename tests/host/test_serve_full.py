"""`soundstage serve` on a disk that is full."""

from __future__ import annotations

import signal
import subprocess
import sys

import httpx

from soundstage.journal import read_journal

SERVE = """
import resource, sys
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
sys.dont_write_bytecode = True  # a module would be cut off at the limit, for every later program
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, hard))
from soundstage.cli import main
sys.argv = ["soundstage", "serve", "--script", sys.argv[1], "--journal", sys.argv[2]]
main()
"""
ASKED = {"model": "m", "messages": [{"role": "user", "content": "x" * 300}]}


def test_a_full_disk_is_told_by_the_answer_and_by_the_exit_code(tmp_path):
    script, journal = tmp_path / "script.yaml", tmp_path / "journal.jsonl"
    script.write_text("version: 1\nrules:\n  - {when: {contains: x}, reply: {text: hello}}\n")
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, script, journal],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        line = server.stdout.readline()
        assert line.startswith("serving "), server.communicate()
        url = line.split()[1]
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
            answers = [http.post("/v1/chat/completions", json=ASKED) for _ in range(20)]
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=60)
    assert answers[0].status_code == 200
    last = answers[-1]
    assert last.status_code == 500
    assert "cannot be written" in last.json()["error"]["message"]
    assert last.headers["x-should-retry"] == "false"
    assert server.returncode == 2
    assert "cannot be written" in said
    assert [record.position for record in read_journal(journal)] == list(
        range(1, len(read_journal(journal)) + 1)
    )
