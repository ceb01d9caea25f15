"""Sending a journal to a collector from the command line."""

from __future__ import annotations

import asyncio
import socket
import sys

import pytest

from soundstage.journal import Journal
from soundstage.otel import OtlpReceiver
from soundstage.otel.__main__ import main
from soundstage.trace import Trace


@pytest.fixture
def journal_file(team_run, tmp_path):
    path = tmp_path / "journal.jsonl"
    kept = Journal(path, run="run-1")
    for record in team_run().read():
        kept.append(record.event, source=record.source, cause=record.cause, at=record.time)
    kept.close()
    return path


def test_a_journal_is_sent_and_arrives_as_the_same_trace(journal_file, team_run, capsys):
    async def send():
        receiver = OtlpReceiver(Journal())
        await receiver.start()
        try:
            code = await asyncio.to_thread(main, [str(journal_file), "--endpoint", receiver.url])
        finally:
            await receiver.stop()
        return code, Trace.of(receiver.journal)

    code, trace = asyncio.run(send())
    assert code == 0
    assert "9 spans sent to http://127.0.0.1:" in capsys.readouterr().out
    assert trace.normalised()["conversations"] == Trace.of(team_run()).normalised()["conversations"]


def test_as_a_program_it_says_what_is_wrong_with_its_arguments():
    import subprocess

    command = [sys.executable, "-m", "soundstage.otel", "nowhere.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no such journal" in done.stderr


def test_a_collector_that_is_not_there_is_an_error(journal_file, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert main([str(journal_file), "--endpoint", url, "--timeout", "0.2"]) == 2
    assert "OTLPSpanExporter could not deliver 9 spans" in capsys.readouterr().err


@pytest.mark.parametrize("endpoint", ["localhost:4318", "ftp://x", "", "http://"])
def test_an_endpoint_that_is_no_address_is_an_error(journal_file, capsys, endpoint):
    assert main([str(journal_file), "--endpoint", endpoint]) == 2
    assert "the endpoint is no HTTP address" in capsys.readouterr().err


def test_a_file_that_is_no_journal_is_an_error(tmp_path, capsys):
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    assert main([str(path)]) == 2
    assert capsys.readouterr().err
